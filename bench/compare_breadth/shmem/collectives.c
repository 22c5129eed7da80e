/* Barriers and syncs; collectives on teams, and on active sets.
 *
 * Results come to kAtOnce places in turn, so that nobody writes where somebody still looks: PEs are less than that many calls apart, since
 * broadcasts have each PE as their root in turn. Calls on active sets need a pSync of their own besides, and a barrier before its reuse.
 */
#include "kinds.h"

enum { kSync = SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE };
static long syncs[kAtOnce][kSync];
static long works[2][kCount / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];

static void set_syncs(void) {
    for (int i = 0; i < kAtOnce; ++i)
        for (int k = 0; k < kSync; ++k) syncs[i][k] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
}
static long *next_sync(void) {
    if (turn % kAtOnce == 0) shmem_barrier_all();
    return syncs[turn % kAtOnce];
}
#define EVERYBODY 0, 0, pes

/* The part for each other PE begins with the number of the round. */
static long *next_result(void) {
    ++turn;
    for (int i = 0; i < pes; ++i) given[i * kCount] = turn;
    return exposed + (turn % kAtOnce) * pes * kCount;
}
static int root(void) { return (int)(turn % pes); }
static void check_parts(const long *result, int count) {
    for (int i = 0; i < count; ++i) expect(result[i * kCount] == turn);
}
static void check_one(const long *result, long value) { expect(result[0] == value); }
static long product(void) {
    long value = 1;
    for (int i = 0; i < pes; ++i) value *= given[0];
    return value;
}
/* A collect of one number of odd PEs, and of kCount of even ones, is looked at where the last PE's part begins. */
static int own_count(int pe) { return pe % 2 ? 1 : kCount; }
static void check_uneven(const long *result) {
    int at = 0;
    for (int i = 0; i < pes - 1; ++i) at += own_count(i);
    expect(result[0] == turn && result[at] == turn);
}

static void barrier_all(void) { shmem_barrier_all(); }
static void sync_all(void) { shmem_sync_all(); }
static void barrier(void) {
    ++turn;
    shmem_barrier(EVERYBODY, next_sync());
}
static void sync(void) {
    ++turn;
    shmem_sync(EVERYBODY, next_sync());
}
#if HAS_1_5
static shmem_team_t part;
static void team_sync(void) { expect(shmem_team_sync(SHMEM_TEAM_WORLD) == 0); }
static void team_sync_part(void) { expect(shmem_team_sync(part) == 0); }
static void make_part(void) { /* every second PE */
    shmem_team_t even, odd;
    const int half = pes / 2;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, half, NULL, 0, &even);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, half, NULL, 0, &odd);
    part = me % 2 ? odd : even;
}
static void free_part(void) { shmem_team_destroy(part); }
#endif

const struct Kind synchronization[] = {
    {"barrier-all", barrier_all, NULL, NULL},
    {"sync-all", sync_all, NULL, NULL},
    {"barrier", barrier, set_syncs, NULL},
    {"sync", sync, set_syncs, NULL},
    SINCE_1_5("team-sync", team_sync, NULL, NULL),
    SINCE_1_5("team-sync-half", team_sync_part, make_part, free_part),
    {NULL, NULL, NULL, NULL},
};

#if HAS_1_5
#define WORLD SHMEM_TEAM_WORLD
static void team_broadcast(void) {
    long *const to = next_result();
    expect(shmem_long_broadcast(WORLD, to, given, kCount, root()) == 0);
    check_one(to, turn);
}
static void team_broadcastmem(void) {
    long *const to = next_result();
    expect(shmem_broadcastmem(WORLD, to, given, kCount * sizeof *given, root()) == 0);
    check_one(to, turn);
}
#define MOVES(X)                                                              \
    X(collect, shmem_long_collect(WORLD, to, given, kCount))                  \
    X(collectmem, shmem_collectmem(WORLD, to, given, kCount * sizeof *given)) \
    X(fcollect, shmem_long_fcollect(WORLD, to, given, kCount))                \
    X(fcollectmem, shmem_fcollectmem(WORLD, to, given, kCount * sizeof *given)) \
    X(alltoall, shmem_long_alltoall(WORLD, to, given, kCount))                \
    X(alltoallmem, shmem_alltoallmem(WORLD, to, given, kCount * sizeof *given))
#define MOVE(name, call)                 \
    static void team_##name(void) {      \
        long *const to = next_result();  \
        expect(call == 0);               \
        check_parts(to, pes);            \
    }
MOVES(MOVE)
static void team_collect_uneven(void) {
    long *const to = next_result();
    expect(shmem_long_collect(WORLD, to, given, (size_t)own_count(me)) == 0);
    check_uneven(to);
}
static void team_alltoalls(void) {
    long *const to = next_result();
    for (int i = 0; i < pes; ++i) given[2 * i * kCount] = turn;
    expect(shmem_long_alltoalls(WORLD, to, given, 1, 2, kCount) == 0);
    check_parts(to, pes);
}
#define REDUCE(name, call, type, value)                                                                       \
    static void name(void) {                                                                                  \
        long *const to = next_result();                                                                       \
        given[0] = 1 + turn % 2;                                                                              \
        expect(shmem_##call##_reduce(WORLD, (type *)to, (const type *)given, kCount) == 0);                   \
        expect(*(type *)to == (type)(value));                                                                 \
    }
REDUCE(and_reduce, ulong_and, unsigned long, given[0])
REDUCE(or_reduce, ulong_or, unsigned long, given[0])
REDUCE(xor_reduce, ulong_xor, unsigned long, pes % 2 ? given[0] : 0)
REDUCE(max_reduce, long_max, long, given[0])
REDUCE(min_reduce, long_min, long, given[0])
REDUCE(sum_reduce, long_sum, long, given[0] * pes)
REDUCE(prod_reduce, long_prod, long, product())
REDUCE(int_sum_reduce, int_sum, int, given[0] * pes)
static void double_sum_reduce(void) {
    double *const to = (double *)next_result();
    ((double *)given)[0] = (double)turn;
    expect(shmem_double_sum_reduce(WORLD, to, (const double *)given, kCount) == 0);
    expect(to[0] == (double)(turn * pes));
}
static void sum_one(void) {
    long *const to = next_result();
    expect(shmem_long_sum_reduce(WORLD, to, given, 1) == 0);
    check_one(to, turn * pes);
}
static void sum_part(void) {
    long *const to = next_result();
    expect(shmem_long_sum_reduce(part, to, given, kCount) == 0);
    check_one(to, turn * (pes / 2));
}
#endif
#if HAS_1_6
static void sum_inscan(void) {
    long *const to = next_result();
    expect(shmem_long_sum_inscan(WORLD, to, given, kCount) == 0);
    check_one(to, turn * (me + 1));
}
static void sum_exscan(void) {
    long *const to = next_result();
    expect(shmem_long_sum_exscan(WORLD, to, given, kCount) == 0);
    check_one(to, turn * me);
}
#endif

const struct Kind teams[] = {
    SINCE_1_5("team-broadcast", team_broadcast, NULL, NULL),
    SINCE_1_5("team-broadcastmem", team_broadcastmem, NULL, NULL),
    SINCE_1_5("team-collect", team_collect, NULL, NULL),
    SINCE_1_5("team-collect-uneven", team_collect_uneven, NULL, NULL),
    SINCE_1_5("team-collectmem", team_collectmem, NULL, NULL),
    SINCE_1_5("team-fcollect", team_fcollect, NULL, NULL),
    SINCE_1_5("team-fcollectmem", team_fcollectmem, NULL, NULL),
    SINCE_1_5("team-alltoall", team_alltoall, NULL, NULL),
    SINCE_1_5("team-alltoallmem", team_alltoallmem, NULL, NULL),
    SINCE_1_5("team-alltoalls", team_alltoalls, NULL, NULL),
    SINCE_1_5("and-reduce", and_reduce, NULL, NULL),
    SINCE_1_5("or-reduce", or_reduce, NULL, NULL),
    SINCE_1_5("xor-reduce", xor_reduce, NULL, NULL),
    SINCE_1_5("max-reduce", max_reduce, NULL, NULL),
    SINCE_1_5("min-reduce", min_reduce, NULL, NULL),
    SINCE_1_5("sum-reduce", sum_reduce, NULL, NULL),
    SINCE_1_5("prod-reduce", prod_reduce, NULL, NULL),
    SINCE_1_5("int-sum-reduce", int_sum_reduce, NULL, NULL),
    SINCE_1_5("double-sum-reduce", double_sum_reduce, NULL, NULL),
    SINCE_1_5("sum-reduce-1", sum_one, NULL, NULL),
    SINCE_1_5("sum-reduce-half", sum_part, make_part, free_part),
    SINCE_1_6("sum-inscan", sum_inscan, NULL, NULL),
    SINCE_1_6("sum-exscan", sum_exscan, NULL, NULL),
    {NULL, NULL, NULL, NULL},
};

static void broadcast(void) {
    long *const to = next_result();
    const int from = root();
    shmem_broadcast64(to, given, kCount, from, EVERYBODY, next_sync());
    expect(me == from || to[0] == turn); /* the root's own is left alone */
}
#define SETS(X)                                                             \
    X(collect, shmem_collect64(to, given, kCount, EVERYBODY, next_sync()))   \
    X(fcollect, shmem_fcollect64(to, given, kCount, EVERYBODY, next_sync())) \
    X(alltoall, shmem_alltoall64(to, given, kCount, EVERYBODY, next_sync()))
#define ON_SET(name, call)               \
    static void name(void) {             \
        long *const to = next_result();  \
        call;                            \
        check_parts(to, pes);            \
    }
SETS(ON_SET)
static void collect_uneven(void) {
    long *const to = next_result();
    shmem_collect64(to, given, (size_t)own_count(me), EVERYBODY, next_sync());
    check_uneven(to);
}
static void alltoalls(void) {
    long *const to = next_result();
    for (int i = 0; i < pes; ++i) given[2 * i * kCount] = turn;
    shmem_alltoalls64(to, given, 1, 2, kCount, EVERYBODY, next_sync());
    check_parts(to, pes);
}
#define TO_ALL(name, value)                                                                           \
    static void name##_to_all(void) {                                                                 \
        long *const to = next_result();                                                               \
        given[0] = 1 + turn % 2;                                                                      \
        shmem_long_##name##_to_all(to, given, kCount, EVERYBODY, works[turn % 2], next_sync());       \
        check_one(to, value);                                                                         \
    }
TO_ALL(and, given[0])
TO_ALL(or, given[0])
TO_ALL(xor, pes % 2 ? given[0] : 0)
TO_ALL(max, given[0])
TO_ALL(min, given[0])
TO_ALL(sum, given[0] * pes)
TO_ALL(prod, product())

const struct Kind active_sets[] = {
    {"broadcast", broadcast, set_syncs, NULL},
    {"collect", collect, set_syncs, NULL},
    {"collect-uneven", collect_uneven, set_syncs, NULL},
    {"fcollect", fcollect, set_syncs, NULL},
    {"alltoall", alltoall, set_syncs, NULL},
    {"alltoalls", alltoalls, set_syncs, NULL},
    {"and-to-all", and_to_all, set_syncs, NULL},
    {"or-to-all", or_to_all, set_syncs, NULL},
    {"xor-to-all", xor_to_all, set_syncs, NULL},
    {"max-to-all", max_to_all, set_syncs, NULL},
    {"min-to-all", min_to_all, set_syncs, NULL},
    {"sum-to-all", sum_to_all, set_syncs, NULL},
    {"prod-to-all", prod_to_all, set_syncs, NULL},
    {NULL, NULL, NULL, NULL},
};
