/* is: ranks of integers, the kernel of NPB's IS, with its keys: counted into buckets that n views share. By the paper's calls every process
 * adds to each view, beginning at another one; else counts are summed by streams. Of each of the rounds the ranks of five keys are those that
 * NPB prints for its classes S and A; in the end all counts are compared with those of one process.
 *   is [LOG2 OF KEYS] [LOG2 OF THE LARGEST KEY] [ROUNDS] */
#include "sum_all.h"

enum { TESTS = 5, MOST_ROUNDS = 10 };
static const long s_index[TESTS] = {48427, 17148, 23627, 62548, 4431}, s_rank[TESTS] = {0, 18, 346, 64917, 65463};
static const long a_index[TESTS] = {2112377, 662041, 5336171, 3642833, 4250760}, a_rank[TESTS] = {104, 17523, 123928, 8288932, 8388264};

static const uint64_t MODULUS = ((uint64_t)1 << 46) - 1, FACTOR = 1220703125u;
static uint64_t generator = 314159265u;
/* x = 5^13 x mod 2^46, as NPB's randlc. */
static double random_46(void) {
    generator = generator * FACTOR & MODULUS;
    return (double)generator / (double)((uint64_t)1 << 46);
}
static void seed(long skipped) {
    uint64_t factor = FACTOR;
    for (generator = 314159265u; skipped; skipped /= 2, factor = factor * factor & MODULUS)
        if (skipped & 1) generator = generator * factor & MODULUS;
}
static long range;
static int next_key(void) {
    double x = random_46();
    for (int i = 0; i < 3; ++i) x += random_46();
    return (int)((double)(range / 4) * x);
}
/* Changes that NPB makes before round 1, 2 .. */
static void change(int *key, int round) {
    key[round] = round;
    key[round + MOST_ROUNDS] = (int)range - round;
}

#if FORM == DECLARED
static void add_ints(void *to, const void *from, const void *more, long count) {
    int *const a = to;
    const int *const b = from, *const c = more;
    for (long i = 0; i < count; ++i) a[i] = b[i] + c[i];
}
#endif

/* How many keys are smaller than the tested ones, and how many there are. */
static void ranks_of(const int *count, long buckets, const int *tested, long *below) {
    int order[TESTS];
    for (int i = 0; i < TESTS; ++i) {
        int at = i;
        for (; at > 0 && tested[order[at - 1]] > tested[i]; --at) order[at] = order[at - 1];
        order[at] = i;
    }
    long sum = 0, j = 0;
    for (int i = 0; i <= TESTS; ++i) {
        const long end = i < TESTS ? tested[order[i]] : buckets;
        for (; j < end; ++j) sum += count[j];
        below[i < TESTS ? order[i] : TESTS] = sum;
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    const long log_keys = argument(argc, argv, 1, 16), keys = 1L << log_keys;
    range = 1L << argument(argc, argv, 2, 11);
    const int rounds = (int)argument(argc, argv, 3, MOST_ROUNDS);
    const int class_s = log_keys == 16 && range == 1L << 11, class_a = log_keys == 23 && range == 1L << 19;
    const long first = keys * me / n, mine = keys * (me + 1) / n - first, slice = (range + n - 1) / n, buckets = slice * n;
    if (rounds > MOST_ROUNDS || mine < 2 * MOST_ROUNDS + 1) return 2;
    int *const key = malloc((size_t)mine * sizeof(int));
    seed(first * 4);
    for (long i = 0; i < mine; ++i) key[i] = next_key();
    int tested[TESTS];
    for (int i = 0; i < TESTS; ++i) {
        seed(4 * (class_a ? a_index[i] : class_s ? s_index[i] : keys / (i + 2)));
        tested[i] = next_key();
    }
#if FORM == MPI_FORM
    int *const count = malloc((size_t)buckets * sizeof(int)), *const total = malloc((size_t)buckets * sizeof(int));
#elif FORM == PAPER
    int *const count = malloc((size_t)buckets * sizeof(int)), *const result = malloc((size_t)buckets * sizeof(int));
    int *const total = shared((size_t)buckets * sizeof(int));
#else
    sum_open(buckets, sizeof(int), add_ints);
#endif
    int right = 1;
    long had[TESTS + 1] = {0};
    const int *counts = NULL;
    everybody();
    const double from = seconds_now();
    for (int round = 1; round <= rounds; ++round) {
        if (me == 0) change(key, round);
#if FORM == DECLARED
        int *const count = sum_begin();
#endif
        memset(count, 0, (size_t)buckets * sizeof(int));
        for (long i = 0; i < mine; ++i) ++count[key[i]];
#if FORM == MPI_FORM
        TRY(MPI_Allreduce(count, total, (int)buckets, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        counts = total;
#elif FORM == PAPER
        /* Counts go on growing from round to round: no view has to be cleared. */
        for (int i = 0; i < n; ++i) {
            const int v = (i + me) % n;
            WRITE_VIEW(v);
            for (long j = v * slice; j < (v + 1) * slice; ++j) total[j] += count[j];
            WRITTEN(v);
        }
        everybody();
        for (int i = 0; i < n; ++i) {
            const int v = (i + me) % n;
            READ_VIEW(v);
            memcpy(result + v * slice, total + v * slice, (size_t)slice * sizeof(int));
            HAVE_READ(v);
        }
        everybody();
        counts = result;
#else
        counts = sum_end();
#endif
        long below[TESTS + 1];
        ranks_of(counts, buckets, tested, below);
        for (int i = 0; i <= TESTS; ++i) {
            long rank = below[i];
#if FORM == PAPER
            rank -= had[i];
            had[i] = below[i];
#endif
            const int by = class_s ? round : round - 1;
            if (i == TESTS) right &= rank == keys;
            else if (class_s || class_a) right &= rank == (class_s ? s_rank : a_rank)[i] + (i <= 2 ? by : -by);
        }
    }
    const double seconds = seconds_now() - from;
    (void)had;
    if (me == 0) {
        int *const all = malloc((size_t)keys * sizeof(int)), *const expected = calloc((size_t)buckets, sizeof(int));
        seed(0);
        for (long i = 0; i < keys; ++i) all[i] = next_key();
        for (int round = 1; round <= rounds; ++round) {
            change(all, round);
            if (FORM == PAPER || round == rounds)
                for (long i = 0; i < keys; ++i) ++expected[all[i]];
        }
        right &= memcmp(expected, counts, (size_t)buckets * sizeof(int)) == 0;
    }
#if FORM == DECLARED
    sum_close();
#endif
    return verdict("is", seconds, right);
}
