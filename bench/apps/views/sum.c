/* sum: the paper's first program: n slices of a shared array are added to by all processes, each beginning at another one.
 *   sum [INTS] */
#include "program.h"

int main(int argc, char **argv) {
    start(argc, argv);
    const long slice = argument(argc, argv, 1, 1 << 16) / n, size = slice * n;
    int *const local = malloc((size_t)size * sizeof(int));
    for (long i = 0; i < size; ++i) local[i] = (int)(i % 1000) * (me + 1);
    long sum = 0, expected = 0;
    for (long i = 0; i < size; ++i) expected += i % 1000;
    expected *= (long)n * (n + 1) / 2;
#if FORM == MPI_FORM
    int *const all = malloc((size_t)size * sizeof(int));
    everybody();
    const double from = seconds_now();
    TRY(MPI_Reduce(local, all, (int)size, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    if (me == 0)
        for (long i = 0; i < size; ++i) sum += all[i];
#else
    int *const all = shared((size_t)size * sizeof(int));
#if FORM == DECLARED
    for (int v = 0; v < n; ++v) declare(v, all + v * slice, (size_t)slice * sizeof(int));
#endif
    everybody();
    const double from = seconds_now();
    for (int i = 0; i < n; ++i) {
        const int v = (i + me) % n;
        WRITE_VIEW(v);
        for (long j = v * slice; j < (v + 1) * slice; ++j) all[j] += local[j];
        WRITTEN(v);
    }
    everybody();
    if (me == 0) {
        for (int v = 0; v < n; ++v) READ_VIEW(v);
        for (long i = size - 1; i >= 0; --i) sum += all[i];
        for (int v = 0; v < n; ++v) HAVE_READ(v);
    }
#endif
    return verdict("sum", seconds_now() - from, me != 0 || sum == expected);
}
