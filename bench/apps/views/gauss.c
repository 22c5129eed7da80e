/* gauss: elimination without pivoting, rows dealt round: the owner of row k gives it to all, who eliminate with it. The result has the
 * bits that one process computes.   gauss [ROWS] */
#include "program.h"

static long rows;
static double element(long i, long j) { return i == j ? (double)rows * 2 : 1.0 / (double)(1 + (i * 31 + j * 17) % 101); }

int main(int argc, char **argv) {
    start(argc, argv);
    rows = argument(argc, argv, 1, 256);
    const size_t bytes = (size_t)rows * sizeof(double);
    double **const a = calloc((size_t)rows, sizeof *a);
    for (long i = me; i < rows; i += n) {
        a[i] = malloc(bytes);
        for (long j = 0; j < rows; ++j) a[i][j] = element(i, j);
    }
    double *pivot = NULL;
#if FORM == MPI_FORM
    double *const row = malloc(bytes);
#elif FORM == PAPER
    double *const row = shared(bytes);
#else
    /* A stream for each process that owns rows: no barrier in the loop. */
    enum { DEPTH = 4 };
    const size_t step = (bytes + 4095) / 4096 * 4096;
    char *const base = shared(step * (size_t)n);
    int *const readers = malloc((size_t)n * sizeof(int));
    for (int w = 0; w < n && n > 1; ++w) {
        int count = 0;
        for (int p = 0; p < n; ++p)
            if (p != w) readers[count++] = p;
        declare(w, base + step * (size_t)w, bytes);
        TRY(Vdcx_stream(w, w, readers, (unsigned)count, DEPTH));
    }
#endif
    everybody();
    const double from = seconds_now();
    for (long k = 0; k < rows; ++k) {
        const int owner = (int)(k % n);
#if FORM == MPI_FORM
        if (me == owner) memcpy(row, a[k], bytes);
        TRY(MPI_Bcast(row, (int)rows, MPI_DOUBLE, owner, MPI_COMM_WORLD));
        pivot = row;
#elif FORM == PAPER
        if (me == owner) {
            WRITE_VIEW(0);
            memcpy(row, a[k], bytes);
            WRITTEN(0);
        }
        Vdc_barrier(1);
        READ_VIEW(0);
        pivot = row;
#else
        pivot = me == owner ? a[k] : (double *)(void *)(base + step * (size_t)owner);
        if (n > 1) {
            if (me == owner) {
                TRY(Vdcx_acquire(owner, VDCX_OVERWRITE, -1));
                memcpy(base + step * (size_t)owner, a[k], bytes);
                TRY(Vdcx_release(owner));
            } else {
                READ_VIEW(owner);
            }
        }
#endif
        for (long i = me; i < rows; i += n) {
            if (i <= k) continue;
            const double factor = a[i][k] / pivot[k];
            for (long j = k; j < rows; ++j) a[i][j] -= factor * pivot[j];
        }
#if FORM == PAPER
        HAVE_READ(0);
        Vdc_barrier(2);
#elif FORM == DECLARED
        if (n > 1 && me != owner) HAVE_READ(owner);
#endif
    }
    const double seconds = seconds_now() - from;
    /* One process does the same, as far as half of it is affordable. */
    int right = 1;
    if (me == 0 && rows <= 512) {
        double *const b = malloc(bytes * (size_t)rows);
        for (long i = 0; i < rows * rows; ++i) b[i] = element(i / rows, i % rows);
        for (long k = 0; k < rows; ++k)
            for (long i = k + 1; i < rows; ++i) {
                const double factor = b[i * rows + k] / b[k * rows + k];
                for (long j = k; j < rows; ++j) b[i * rows + j] -= factor * b[k * rows + j];
            }
        for (long i = 0; i < rows; i += n) right &= memcmp(b + i * rows, a[i], bytes) == 0;
    }
    return verdict("gauss", seconds, right);
}
