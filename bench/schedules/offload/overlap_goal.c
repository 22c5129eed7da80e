/* Nonblocking collectives of GOAL schedules: overlap and what they take from the application (measured.h). */
#include "measured.h"

#include "engine/goal/goal_collectives.h"

static int rank, size;
static GOAL_Schedule schedule, meeting, maximum, maxima;
static GOAL_Request request;
static double mine, theirs, all_mine[kMost], all_theirs[kMost];

#define TRY(call) \
    do { \
        if ((call) != GOAL_SUCCESS) { \
            fprintf(stderr, "overlap_goal: %s\n", GOAL_Explain()); \
            exit(1); \
        } \
    } while (0)

static void run(GOAL_Schedule what) {
    GOAL_Request running;
    TRY(GOAL_Run(what, &running));
    TRY(GOAL_Wait(&running));
}
static void meet(void) { run(meeting); }
static double largest(double value) {
    mine = value;
    run(maximum);
    return theirs;
}
static void largest_each(double *values) {
    memcpy(all_mine, values, sizeof all_mine);
    run(maxima);
    memcpy(values, all_theirs, sizeof all_theirs);
}
static void start(void) { TRY(GOAL_Run(schedule, &request)); }
static void wait_for_it(void) { TRY(GOAL_Wait(&request)); }

int main(int argc, char **argv) {
    static const char *const kNames[] = {"barrier", "bcast", "allreduce", "reduce", "alltoall", "allgather"};
    struct wanted wanted;
    GOAL_Group all;
    if (!read_wanted(argc, argv, &wanted)) {
        fprintf(stderr, "usage: %s OPERATIONS SIZES RATIO SECONDS, as: %s barrier,alltoall 8,64 2 0.3\n", argv[0], argv[0]);
        return 2;
    }
    TRY(GOAL_Init(&rank, &size));
    TRY(GOAL_World(&all));
    TRY(GOAL_Barrier(&meeting, &all, NULL));
    TRY(GOAL_Allreduce(&maximum, &all, GOAL_User(&mine), GOAL_User(&theirs), 1, GOAL_DOUBLE, GOAL_MAX, NULL));
    TRY(GOAL_Allreduce(&maxima, &all, GOAL_User(all_mine), GOAL_User(all_theirs), kMost, GOAL_DOUBLE, GOAL_MAX, NULL));
    calibrate();
    for (int o = 0; o < 6; ++o) {
        const struct operation op = {kNames[o], start, wait_for_it};
        for (int s = 0; among(wanted.operations, kNames[o]) && s < (o == 0 ? 1 : wanted.num_sizes); ++s) {
            const size_t bytes = o == 0 ? 0 : wanted.sizes[s], room = bytes * (o >= 4 ? (size_t)size : 1) + 64;
            char *in = calloc(1, room), *out = calloc(1, room);
            if (!in || !out) {
                fprintf(stderr, "overlap_goal: no memory for %zu bytes\n", room);
                return 1;
            }
            schedule = NULL;
            if (o == 0) TRY(GOAL_Barrier(&schedule, &all, NULL));
            if (o == 1) TRY(GOAL_Bcast(&schedule, &all, GOAL_User(in), bytes, 0, NULL));
            if (o == 2) TRY(GOAL_Allreduce(&schedule, &all, GOAL_User(in), GOAL_User(out), bytes / 4, GOAL_FLOAT, GOAL_ADD, NULL));
            if (o == 3) TRY(GOAL_Reduce(&schedule, &all, GOAL_User(in), GOAL_User(out), bytes / 4, GOAL_FLOAT, GOAL_ADD, 0, NULL));
            if (o == 4) TRY(GOAL_Alltoall(&schedule, &all, GOAL_User(in), GOAL_User(out), bytes, NULL));
            if (o == 5) TRY(GOAL_Allgather(&schedule, &all, GOAL_User(in), GOAL_User(out), bytes, NULL));
            measure(&op, bytes, wanted.ratio, wanted.seconds, rank == 0);
            meet();
            TRY(GOAL_Free(&schedule));
            free(in);
            free(out);
        }
    }
    TRY(GOAL_Free(&meeting));
    TRY(GOAL_Free(&maximum));
    TRY(GOAL_Free(&maxima));
    TRY(GOAL_Finalize());
    return 0;
}
