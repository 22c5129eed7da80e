/* nn: a network of 64 inputs, 128 hidden and 10 output units learns from patterns that are dealt to the processes; after each epoch the
 * changes of the weights are summed. In fixed point of 64 bits, so the sum has the same bits for every n.   nn [PATTERNS] [EPOCHS] */
#include "sum_all.h"

enum { IN = 64, HIDDEN = 128, OUT = 10, WEIGHTS = IN * HIDDEN + HIDDEN * OUT };
static const int64_t ONE = 1 << 16;

static int64_t squash(int64_t x) { return x > 2 * ONE ? ONE : x < -2 * ONE ? -ONE : x / 2; }

/* Adds what pattern p would change. */
static void learn(long p, const int64_t *w, int64_t *change) {
    int64_t in[IN], hidden[HIDDEN], back[HIDDEN] = {0};
    for (int i = 0; i < IN; ++i) in[i] = ((p * 73 + i * 37) % 13 - 6) * ONE / 6;
    for (int h = 0; h < HIDDEN; ++h) {
        int64_t sum = 0;
        for (int i = 0; i < IN; ++i) sum += w[h * IN + i] * in[i] / ONE;
        hidden[h] = squash(sum / 8);
    }
    const int64_t *const w2 = w + IN * HIDDEN;
    for (int o = 0; o < OUT; ++o) {
        int64_t sum = 0;
        for (int h = 0; h < HIDDEN; ++h) sum += w2[o * HIDDEN + h] * hidden[h] / ONE;
        const int64_t error = (p % OUT == o ? ONE : 0) - squash(sum / 8);
        for (int h = 0; h < HIDDEN; ++h) {
            change[IN * HIDDEN + o * HIDDEN + h] += error * hidden[h] / ONE / 64;
            back[h] += error * w2[o * HIDDEN + h] / ONE;
        }
    }
    for (int h = 0; h < HIDDEN; ++h)
        for (int i = 0; i < IN; ++i) change[h * IN + i] += back[h] * in[i] / ONE / 256;
}

#if FORM == DECLARED
static void add_longs(void *to, const void *from, const void *more, long count) {
    int64_t *const a = to;
    const int64_t *const b = from, *const c = more;
    for (long i = 0; i < count; ++i) a[i] = b[i] + c[i];
}
#endif

int main(int argc, char **argv) {
    start(argc, argv);
    const long patterns = argument(argc, argv, 1, 512), epochs = argument(argc, argv, 2, 5);
    int64_t *const w = malloc(WEIGHTS * sizeof *w);
    for (long i = 0; i < WEIGHTS; ++i) w[i] = (i * 29 % 31 - 15) * ONE / 64;
#if FORM == MPI_FORM
    int64_t *const change = malloc(WEIGHTS * sizeof *w), *const sums = malloc(WEIGHTS * sizeof *w);
#elif FORM == PAPER
    int64_t *const change = malloc(WEIGHTS * sizeof *w), *const sums = shared(WEIGHTS * sizeof *sums), *const had = calloc(WEIGHTS, sizeof *w);
    long begin[65];
    const int views = n < 64 ? n : 64;
    for (int v = 0; v <= views; ++v) begin[v] = (long)WEIGHTS * v / views;
#else
    sum_open(WEIGHTS, sizeof *w, add_longs);
#endif
    everybody();
    const double from = seconds_now();
    for (long epoch = 0; epoch < epochs; ++epoch) {
#if FORM == DECLARED
        int64_t *const change = sum_begin();
#endif
        memset(change, 0, WEIGHTS * sizeof *change);
        for (long p = me; p < patterns; p += n) learn(p, w, change);
#if FORM == MPI_FORM
        TRY(MPI_Allreduce(change, sums, WEIGHTS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
        for (long i = 0; i < WEIGHTS; ++i) w[i] += sums[i] / 32;
#elif FORM == PAPER
        for (int k = 0; k < views; ++k) {
            const int v = (k + me) % views;
            WRITE_VIEW(v);
            for (long i = begin[v]; i < begin[v + 1]; ++i) sums[i] += change[i];
            WRITTEN(v);
        }
        everybody();
        /* The sums go on growing: what is new since the last epoch is the difference. */
        for (int k = 0; k < views; ++k) {
            const int v = (k + me) % views;
            READ_VIEW(v);
            for (long i = begin[v]; i < begin[v + 1]; ++i) {
                w[i] += (sums[i] - had[i]) / 32;
                had[i] = sums[i];
            }
            HAVE_READ(v);
        }
        everybody();
#else
        const int64_t *const sums = sum_end();
        for (long i = 0; i < WEIGHTS; ++i) w[i] += sums[i] / 32;
#endif
    }
    const double seconds = seconds_now() - from;
    int right = 1;
    if (me == 0 && patterns * epochs <= 4096) {
        int64_t *const one = malloc(WEIGHTS * sizeof *one), *const change = malloc(WEIGHTS * sizeof *one);
        for (long i = 0; i < WEIGHTS; ++i) one[i] = (i * 29 % 31 - 15) * ONE / 64;
        for (long epoch = 0; epoch < epochs; ++epoch) {
            memset(change, 0, WEIGHTS * sizeof *change);
            for (long p = 0; p < patterns; ++p) learn(p, one, change);
            for (long i = 0; i < WEIGHTS; ++i) one[i] += change[i] / 32;
        }
        right = memcmp(one, w, WEIGHTS * sizeof *w) == 0;
    }
#if FORM == DECLARED
    sum_close();
#endif
    return verdict("nn", seconds, right);
}
