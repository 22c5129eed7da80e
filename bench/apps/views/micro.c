/* micro: what a single hand-over costs, between processes 0 and 1: prints "micro WHAT VALUE UNIT" lines.   micro [ROUNDS] */
#include "program.h"

#include <shmem.h>

static void line(const char *what, double value, const char *unit) {
    if (me == 0) printf("micro %s %.3f %s\n", what, value, unit);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

/* The two alternate: each waits until the other has counted up. */
static double turns(int view, volatile long *count, long rounds) {
    Vdc_barrier(3);
    const double from = seconds_now();
    for (long done = 0; done < rounds;) {
        TRY(Vdcx_acquire(view, VDCX_WRITE, -1));
        if (*count % 2 == me) ++*count, ++done;
        TRY(Vdcx_release(view));
    }
    Vdc_barrier(4); /* the other's last turn counts */
    return (seconds_now() - from) / (double)(2 * rounds);
}
/* Process 1 has had it last when this begins, so each turn is a hand-over. */
static double alternate(int view, volatile long *count, long rounds) {
    turns(view, count, 1);
    return turns(view, count, rounds);
}

static void compute(long steps) {
    static volatile uint64_t state = 1;
    uint64_t x = state;
    for (long i = 0; i < steps; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
    state = x;
}
static double slowest(double mine) {
    static double here, all;
    here = mine;
    shmem_barrier_all();
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &all, &here, 1);
    return all;
}

/* Process 1 has begun to acquire what process 0 writes, and releases just now; then both compute `steps`. Seconds of the slower. */
static double ahead(int view, char *data, size_t bytes, long steps, long round) {
    Vdcx_request request = NULL;
    if (me == 0) {
        TRY(Vdcx_acquire(view, VDCX_WRITE, -1));
        memset(data, (int)round, bytes);
    }
    Vdc_barrier(5);
    if (me == 1) TRY(Vdcx_begin(view, VDCX_READ, &request));
    Vdc_barrier(6);
    const double from = seconds_now();
    if (me == 0) TRY(Vdcx_release(view));
    compute(steps);
    if (me == 1) TRY(Vdcx_wait(&request, -1));
    const double seconds = seconds_now() - from;
    if (me == 1) {
        if (data[0] != (char)round || data[bytes - 1] != (char)round) {
            fprintf(stderr, "micro: an old version came\n");
            Vdc_exit(1);
        }
        TRY(Vdcx_release(view));
    }
    return slowest(seconds);
}

/* How much of an acquire is hidden behind twice as much computing, as bench/offload says it. */
static void overlap(int view, char *data, size_t bytes, const char *name) {
    enum { TURNS = 25 };
    double alone[TURNS], computing[TURNS], both[TURNS];
    for (int turn = 0; turn < TURNS; ++turn) alone[turn] = ahead(view, data, bytes, 0, turn);
    const double pure = median(alone, TURNS);
    double from = seconds_now();
    const long sample = 1000000;
    compute(sample);
    const long steps = (long)(sample * 2 * pure / slowest(seconds_now() - from)) + 1;
    for (int turn = 0; turn < TURNS; ++turn) {
        shmem_barrier_all();
        from = seconds_now();
        compute(steps);
        computing[turn] = slowest(seconds_now() - from);
        both[turn] = ahead(view, data, bytes, steps, turn + 1);
    }
    const double hidden = 1 - (median(both, TURNS) - median(computing, TURNS)) / pure;
    char what[64];
    snprintf(what, sizeof what, "ahead_%s_alone", name);
    line(what, pure * 1e6, "us");
    snprintf(what, sizeof what, "ahead_%s_overlap", name);
    line(what, hidden < 0 ? 0 : hidden > 1 ? 1 : hidden, "share");
}

int main(int argc, char **argv) {
    start(argc, argv);
    const long rounds = argument(argc, argv, 1, 2000);
    if (n != 2) return verdict("micro", 0, 0);
    long *const word = shared(4096), *const again = shared(4096);
    char *const large = shared(1 << 20), *const some = shared(65536);
    declare(0, word, 8);
    declare(1, again, 8);
    declare(2, large, 1 << 20);
    declare(3, some, 65536);
    Vdc_barrier(1);
    if (me == 0) {
        enum { TURNS = 15 };
        double took[TURNS];
        for (int turn = 0; turn < TURNS; ++turn) {
            const double from = seconds_now();
            for (long i = 0; i < 10 * rounds; ++i) {
                TRY(Vdcx_acquire(1, VDCX_WRITE, -1));
                ++*again;
                TRY(Vdcx_release(1));
            }
            took[turn] = (seconds_now() - from) / (double)(10 * rounds) * 1e9;
        }
        line("again", median(took, TURNS), "ns");
    }
    Vdc_barrier(2);
    /* A put of 8 bytes and its answer. */
    static long flag;
    shmem_barrier_all();
    double from = seconds_now();
    for (long i = 1; i <= rounds; ++i) {
        if (me == 0) shmem_long_p(&flag, i, 1);
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, i);
        if (me == 1) shmem_long_p(&flag, i, 0);
    }
    const double trip = (seconds_now() - from) / (double)rounds;
    line("put_round_trip", trip * 1e6, "us");
    const double small = alternate(0, word, rounds);
    line("hand_over_8", small * 1e6, "us");
    line("hand_over_8_in_round_trips", small / trip, "trips");
    const double big = alternate(2, (long *)(void *)large, rounds / 20 + 1);
    line("hand_over_1MiB", big * 1e6, "us");
    overlap(3, some, 65536, "64KiB");
    overlap(2, large, 1 << 20, "1MiB");
    return verdict("micro", 0, 1);
}
