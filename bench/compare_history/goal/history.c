/* A GOAL schedule that is run and waited for, again and again: an allreduce of BYTES, or BYTES that go around the ring. As history.c. */
#include <goal.h>
#include <goal_collectives.h>

#include "../job.h"

#define TRY(call) do { if ((call) != GOAL_SUCCESS) PtlxJobAbort(1, GOAL_Explain()); } while (0)

static int me, ranks;
static int64_t *in, *out, turn;
static GOAL_Schedule schedules[2];

static void make_schedules(size_t bytes) {
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    GOAL_Group world;
    GOAL_Op heard, said;
    TRY(GOAL_World(&world));
    TRY(GOAL_Create(&schedules[0]));
    TRY(GOAL_Allreduce(&schedules[0], &world, GOAL_User(in), GOAL_User(out), bytes / 8, GOAL_INT64, GOAL_ADD, NULL));
    TRY(GOAL_Create(&schedules[1]));
    TRY(GOAL_Recv(schedules[1], GOAL_User(out), bytes, left, 0, &heard));
    TRY(GOAL_Send(schedules[1], GOAL_User(me == 0 ? in : out), bytes, right, 0, &said));
    if (me != 0) TRY(GOAL_Requires(schedules[1], said, heard));
    TRY(GOAL_Compile(schedules[0]));
    TRY(GOAL_Compile(schedules[1]));
}

static void run(GOAL_Schedule schedule, int64_t times) {
    GOAL_Request request;
    in[0] = ++turn;
    TRY(GOAL_Run(schedule, &request));
    TRY(GOAL_Wait(&request));
    if (out[0] != times * turn) PtlxJobAbort(3, "history: the data of a schedule are wrong");
}
static void run_allreduce(long i) { (void)i; run(schedules[0], ranks); }
static void run_ring(long i) { (void)i; run(schedules[1], 1); }
const struct Kind kinds[] = {{"run-allreduce", run_allreduce, 0}, {"run-ring", run_ring, 0}, {NULL, NULL, 0}};

void rounds(int kind, long count) {
    for (long i = 0; i < count; ++i) kinds[kind].round(i);
}

int main(int argc, char **argv) {
    TRY(GOAL_Init(&me, &ranks));
    const struct Arguments given = arguments(argc, argv);
    if (given.kind < 0) {
        usage();
        PtlxJobAbort(2, "history: wrong arguments");
    }
    in = calloc(1, kMostBytes);
    out = calloc(1, kMostBytes);
    make_schedules((size_t)given.bytes);
    tell_history(history_of(given), me, ranks);
    TRY(GOAL_Free(&schedules[0]));
    TRY(GOAL_Free(&schedules[1]));
    TRY(GOAL_Finalize());
    return 0;
}
