/* Nonblocking collectives of GOAL schedules: overlap and what they take from the application (measured.h). "file" is an exchange with
 * both neighbours in a ring whose compiled schedule was written to a file and loaded from it; "chain" are kChain messages between the first
 * two ranks, each the answer to the one before; "pipeline" and "step" are between these, too, as in overlap_mpi.c. */
#include "meeting.h"

enum { kBarrier, kBcast, kAllreduce, kReduce, kAlltoall, kAllgather, kFile, kLinks, kPipeline, kStep, kOperations };

static GOAL_Schedule schedule;
static GOAL_Request request;

static void start(void) { TRY(GOAL_Run(schedule, &request)); }
static void wait_for_it(void) { TRY(GOAL_Wait(&request)); }

/* The schedule knows its memory as arguments, so that a block of it is worth keeping. */
static void exchange_of_file(char *in, char *out, size_t bytes) {
    GOAL_Schedule written;
    size_t length;
    FILE *const file = tmpfile();
    TRY(GOAL_Create(&written));
    TRY(GOAL_Bind(written, 0, in, bytes));
    TRY(GOAL_Bind(written, 1, out, bytes));
    TRY(GOAL_Recv(written, GOAL_Arg(1, 0), bytes, (rank + size - 1) % size, 0, NULL));
    TRY(GOAL_Send(written, GOAL_Arg(0, 0), bytes, (rank + 1) % size, 0, NULL));
    TRY(GOAL_Compile(written));
    TRY(GOAL_Save(written, NULL, &length));
    char *const block = malloc(length), *const read = malloc(length);
    if (!file || !block || !read) {
        fprintf(stderr, "overlap_goal: no memory, or no temporary file, for %zu bytes\n", length);
        exit(1);
    }
    TRY(GOAL_Save(written, block, &length));
    TRY(GOAL_Free(&written));
    if (fwrite(block, 1, length, file) != length || fseek(file, 0, SEEK_SET) != 0 || fread(read, 1, length, file) != length) {
        fprintf(stderr, "overlap_goal: a temporary file could not be written and read\n");
        exit(1);
    }
    TRY(GOAL_Load(read, length, &schedule));
    TRY(GOAL_Bind(schedule, 0, in, bytes));
    TRY(GOAL_Bind(schedule, 1, out, bytes));
    TRY(GOAL_Compile(schedule));
    fclose(file);
    free(block);
    free(read);
}

static void chain_of(char *in, char *out, size_t bytes) {
    GOAL_Op last;
    TRY(GOAL_Create(&schedule));
    for (int i = 0; i < kChain && rank < 2; ++i) {
        const int sends = i % 2 == rank;
        GOAL_Op op;
        TRY(sends ? GOAL_Send(schedule, GOAL_User(in), bytes, 1 - rank, (uint32_t)i, &op)
                  : GOAL_Recv(schedule, GOAL_User(out), bytes, 1 - rank, (uint32_t)i, &op));
        if (i > 0) TRY(GOAL_Requires(schedule, op, last));
        last = op;
    }
    TRY(GOAL_Compile(schedule));
}

static GOAL_Op add(void *to, const void *from, size_t bytes, GOAL_Op after) {
    GOAL_Op op;
    TRY(GOAL_Local(schedule, GOAL_ADD, GOAL_FLOAT, GOAL_User(to), GOAL_User(to), GOAL_User(from), bytes / 4, &op));
    TRY(GOAL_Requires(schedule, op, after));
    return op;
}
static void pipeline_of(char *in, char *out, size_t bytes) {
    TRY(GOAL_Create(&schedule));
    for (int i = 0; i < kChain && rank < 2; ++i) {
        char *const here = in + (size_t)i * bytes, *const there = out + (size_t)i * bytes;
        const uint32_t tag = (uint32_t)i;
        GOAL_Op come, go;
        if (rank == 0) {
            TRY(GOAL_Send(schedule, GOAL_User(here), bytes, 1, tag, NULL));
            TRY(GOAL_Recv(schedule, GOAL_User(there), bytes, 1, kChain + tag, NULL));
        } else {
            TRY(GOAL_Recv(schedule, GOAL_User(here), bytes, 0, tag, &come));
            TRY(GOAL_Send(schedule, GOAL_User(here), bytes, 0, kChain + tag, &go));
            TRY(GOAL_Requires(schedule, go, add(here, there, bytes, come)));
        }
    }
    TRY(GOAL_Compile(schedule));
}
static void step_of(char *in, char *out, size_t bytes) {
    static float sums[2];
    TRY(GOAL_Create(&schedule));
    if (rank < 2) {
        GOAL_Op sent, last, go, come;
        TRY(GOAL_Send(schedule, GOAL_User(in), bytes, 1 - rank, 0, &sent));
        TRY(GOAL_Recv(schedule, GOAL_User(out), bytes, 1 - rank, 0, &last));
        for (uint32_t i = 0; i < 2; ++i) {
            const GOAL_Op computed = add(in, out, bytes, last);
            TRY(GOAL_Requires(schedule, computed, sent));
            TRY(GOAL_Send(schedule, GOAL_User(in), sizeof *sums, 1 - rank, 1 + i, &go));
            TRY(GOAL_Requires(schedule, go, computed));
            TRY(GOAL_Recv(schedule, GOAL_User(&sums[i]), sizeof *sums, 1 - rank, 1 + i, &come));
            TRY(GOAL_Requires(schedule, come, computed));
            sent = go;
            last = add(&sums[i], in, sizeof *sums, come);
        }
    }
    TRY(GOAL_Compile(schedule));
}

int main(int argc, char **argv) {
    static const char *const kNames[kOperations] = {"barrier", "bcast", "allreduce", "reduce", "alltoall", "allgather", "file", "chain", "pipeline", "step"};
    struct wanted wanted;
    if (!read_wanted(argc, argv, &wanted)) {
        fprintf(stderr, "usage: %s OPERATIONS SIZES RATIO SECONDS, as: %s barrier,alltoall 8,64 2 0.3\n", argv[0], argv[0]);
        return 2;
    }
    join();
    calibrate();
    for (int o = 0; o < kOperations; ++o) {
        const struct operation op = {kNames[o], start, wait_for_it};
        for (int s = 0; among(wanted.operations, kNames[o]) && s < (o == kBarrier ? 1 : wanted.num_sizes); ++s) {
            const size_t parts = o == kPipeline ? kChain : o == kAlltoall || o == kAllgather ? (size_t)size : 1;
            const size_t bytes = o == kBarrier ? 0 : wanted.sizes[s], room = bytes * parts + 64;
            char *in = calloc(1, room), *out = calloc(1, room);
            if (!in || !out) {
                fprintf(stderr, "overlap_goal: no memory for %zu bytes\n", room);
                return 1;
            }
            schedule = NULL;
            if (o == kBarrier) TRY(GOAL_Barrier(&schedule, &all, NULL));
            if (o == kBcast) TRY(GOAL_Bcast(&schedule, &all, GOAL_User(in), bytes, 0, NULL));
            if (o == kAllreduce) TRY(GOAL_Allreduce(&schedule, &all, GOAL_User(in), GOAL_User(out), bytes / 4, GOAL_FLOAT, GOAL_ADD, NULL));
            if (o == kReduce) TRY(GOAL_Reduce(&schedule, &all, GOAL_User(in), GOAL_User(out), bytes / 4, GOAL_FLOAT, GOAL_ADD, 0, NULL));
            if (o == kAlltoall) TRY(GOAL_Alltoall(&schedule, &all, GOAL_User(in), GOAL_User(out), bytes, NULL));
            if (o == kAllgather) TRY(GOAL_Allgather(&schedule, &all, GOAL_User(in), GOAL_User(out), bytes, NULL));
            if (o == kFile) exchange_of_file(in, out, bytes);
            if (o == kLinks) chain_of(in, out, bytes);
            if (o == kPipeline) pipeline_of(in, out, bytes);
            if (o == kStep) step_of(in, out, bytes);
            measure(&op, bytes, wanted.ratio, wanted.seconds, rank == 0);
            meet();
            TRY(GOAL_Free(&schedule));
            free(in);
            free(out);
        }
    }
    part();
    return 0;
}
