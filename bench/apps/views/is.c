/* is: ranks of integers, the kernel of NPB's IS: keys of its generator's kind, counted into buckets that n views share; every process
 * adds to each view, beginning at another one. Ten rounds; the result is compared with the sum of all keys and the order of the ranks.
 *   is [LOG2 OF KEYS] [LOG2 OF THE LARGEST KEY] [ROUNDS] */
#include "program.h"

static double generator = 314159265.0;
/* x = 5^13 x mod 2^46, as NPB's randlc. */
static double random_46(void) {
    uint64_t x = (uint64_t)generator;
    x = (x * 1220703125u) & (((uint64_t)1 << 46) - 1);
    generator = (double)x;
    return (double)x / (double)((uint64_t)1 << 46);
}

int main(int argc, char **argv) {
    start(argc, argv);
    const long keys = 1L << argument(argc, argv, 1, 16), range = 1L << argument(argc, argv, 2, 11);
    const int rounds = (int)argument(argc, argv, 3, 10);
    const long mine = keys / n, part = range / n ? range / n : 1, buckets = part * n >= range ? part * n : (part + 1) * n, slice = buckets / n;
    int *const key = malloc((size_t)(mine + 1) * sizeof(int)), *const count = malloc((size_t)buckets * sizeof(int));
    for (long i = 0; i < mine * me * 4; ++i) random_46();
    for (long i = 0; i < mine; ++i) {
        const double x = random_46() + random_46() + random_46() + random_46();
        key[i] = (int)((double)range / 4 * x);
    }
#if FORM == MPI_FORM
    int *const total = malloc((size_t)buckets * sizeof(int));
#else
    int *const total = shared((size_t)buckets * sizeof(int)), *const result = malloc((size_t)buckets * sizeof(int));
    int *const filled = shared((size_t)n * 4096);
    (void)filled;
#if FORM == DECLARED
    for (int v = 0; v < n; ++v) declare(v, total + v * slice, (size_t)slice * sizeof(int));
#endif
#endif
    int right = 1;
    everybody();
    const double from = seconds_now();
    for (int round = 0; round < rounds; ++round) {
        memset(count, 0, (size_t)buckets * sizeof(int));
        for (long i = 0; i < mine; ++i) ++count[key[i]];
#if FORM == MPI_FORM
        TRY(MPI_Allreduce(count, total, (int)buckets, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        const int *const ranks = total;
        const long times = 1;
#else
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
        const int *const ranks = result;
        const long times = round + 1;
#endif
        long all = 0;
        for (long j = 0; j < buckets; ++j) all += ranks[j];
        right &= all == mine * n * times;
        for (long j = 0; j < buckets; j += 97) right &= ranks[j] >= count[j];
    }
    return verdict("is", seconds_now() - from, right);
}
