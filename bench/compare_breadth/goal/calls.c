/* A group's collectives by one call each: done, started, or prepared once and started again and again. */
#include "kinds.h"

static GOAL_Team team;
static GOAL_Started kept;
static int over;

static void open_team(void) {
    TRY(GOAL_Team_open(&world, 7, 0, NULL, NULL, NULL, &team));
    TRY(GOAL_Team_share(team));
}
static void close_team(void) { GOAL_Team_close(&team); }

static GOAL_Call sum(void) {
    const GOAL_Call call = {.kind = GOAL_CALL_ALLREDUCE, .in = in, .out = out, .count = kCount, .type = GOAL_INT64, .op = GOAL_ADD};
    return call;
}
static void check_sum(void) { expect(out[0] == turn * ranks); }
static void moved(GOAL_Call_kind kind) {
    const GOAL_Call call = {.kind = kind, .in = in, .out = out, .bytes = kCount * sizeof *in};
    ++turn;
    for (int i = 0; i < ranks; ++i) in[i * kCount] = turn;
    TRY(GOAL_Call_run(team, &call));
    if (kind != GOAL_CALL_GATHER || me == 0) expect(out[0] == turn);
}
static void barrier(void) {
    const GOAL_Call call = {.kind = GOAL_CALL_BARRIER};
    TRY(GOAL_Call_run(team, &call));
}
static void bcast(void) {
    const GOAL_Call call = {.kind = GOAL_CALL_BCAST, .out = out, .bytes = kCount * sizeof *out};
    ++turn;
    if (me == 0) out[0] = turn;
    TRY(GOAL_Call_run(team, &call));
    expect(out[0] == turn);
}
static void gather(void) { moved(GOAL_CALL_GATHER); }
static void scatter(void) { moved(GOAL_CALL_SCATTER); }
static void allgather(void) { moved(GOAL_CALL_ALLGATHER); }
static void alltoall(void) { moved(GOAL_CALL_ALLTOALL); }
static void allreduce(void) {
    const GOAL_Call call = sum();
    in[0] = ++turn;
    TRY(GOAL_Call_run(team, &call));
    check_sum();
}

static void ended(void *unused) {
    (void)unused;
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
}
static void await_end(GOAL_Started started) {
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) PtlxProgress();
    TRY(GOAL_Result(started));
    check_sum();
}
static void start(void) {
    const GOAL_Call call = sum();
    GOAL_Started started;
    in[0] = ++turn;
    over = 0;
    TRY(GOAL_Start(team, &call, ended, NULL, &started));
    await_end(started);
    GOAL_Release(&started);
}
static void restart(void) {
    in[0] = ++turn;
    over = 0;
    TRY(GOAL_Restart(kept, ended, NULL));
    await_end(kept);
}
static void prepare(void) {
    const GOAL_Call call = sum();
    open_team();
    TRY(GOAL_Prepare(team, &call, &kept));
}
static void make(void) {
    const GOAL_Call call = sum();
    open_team();
    TRY(GOAL_Make(team, &call, &kept));
}
static void release(void) {
    GOAL_Release(&kept);
    close_team();
}

const struct Kind calls[] = {
    {"call-barrier", barrier, open_team, close_team},
    {"call-bcast", bcast, open_team, close_team},
    {"call-gather", gather, open_team, close_team},
    {"call-scatter", scatter, open_team, close_team},
    {"call-allgather", allgather, open_team, close_team},
    {"call-alltoall", alltoall, open_team, close_team},
    {"call-allreduce", allreduce, open_team, close_team},
    {"start-allreduce", start, open_team, close_team},
    {"restart-prepared", restart, prepare, release},
    {"restart-made", restart, make, release},
    {NULL, NULL, NULL, NULL},
};
