/* sor: red-black relaxation of a square, rows in n bands; the rows at the borders are views (streams) of the band they belong to. The
 * result has the bits that one process computes.   sor [ROWS] [STEPS] */
#include "program.h"

static void relax_row(double *row, const double *above, const double *below, long columns, long first) {
    for (long j = first; j < columns - 1; j += 2) row[j] = 0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1]);
}
static double initial(long i, long j) { return (double)((i * 7 + j * 13) % 17); }

int main(int argc, char **argv) {
    start(argc, argv);
    const long size = argument(argc, argv, 1, 256), steps = argument(argc, argv, 2, 20);
    const long begin = size * me / n, end = size * (me + 1) / n, band = end - begin;
    const size_t bytes = (size_t)size * sizeof(double);
    /* Rows begin-1 .. end of the square. */
    double *const a = malloc(bytes * (size_t)(band + 2));
    for (long i = begin - 1; i <= end; ++i)
        for (long j = 0; j < size; ++j) a[(i - begin + 1) * size + j] = initial((i + size) % size, j);
    double *const first = a + size, *const last = a + band * size, *const before = a, *const after = a + (band + 1) * size;
#if FORM != MPI_FORM
    /* View 2p: the first row of band p, for the band before it; 2p+1: the last, for the band behind. */
    const size_t step = (bytes + 4095) / 4096 * 4096;
    char *const base = shared(step * 2 * (size_t)n);
    double *const mine[2] = {(double *)(void *)(base + step * (size_t)(2 * me)), (double *)(void *)(base + step * (size_t)(2 * me + 1))};
#if FORM == DECLARED
    for (int p = 0; p < n; ++p)
        for (int side = 0; side < 2; ++side) {
            const int reader = side == 0 ? p - 1 : p + 1;
            if (reader < 0 || reader >= n || (me != p && me != reader)) continue;
            declare(2 * p + side, base + step * (size_t)(2 * p + side), bytes);
            TRY(Vdcx_stream(2 * p + side, p, &reader, 1, 2));
        }
#endif
#endif
    everybody();
    const double from = seconds_now();
    for (long s = 0; s < 2 * steps; ++s) {
#if FORM == MPI_FORM
        MPI_Request r[4];
        int k = 0;
        if (me > 0) {
            TRY(MPI_Irecv(before, (int)size, MPI_DOUBLE, me - 1, 0, MPI_COMM_WORLD, &r[k++]));
            TRY(MPI_Isend(first, (int)size, MPI_DOUBLE, me - 1, 1, MPI_COMM_WORLD, &r[k++]));
        }
        if (me < n - 1) {
            TRY(MPI_Irecv(after, (int)size, MPI_DOUBLE, me + 1, 1, MPI_COMM_WORLD, &r[k++]));
            TRY(MPI_Isend(last, (int)size, MPI_DOUBLE, me + 1, 0, MPI_COMM_WORLD, &r[k++]));
        }
        TRY(MPI_Waitall(k, r, MPI_STATUSES_IGNORE));
#else
        for (int side = 0; side < 2; ++side) {
            const int reader = side == 0 ? me - 1 : me + 1;
            if (reader < 0 || reader >= n) continue;
            WRITE_VIEW(2 * me + side);
            memcpy(mine[side], side == 0 ? first : last, bytes);
            WRITTEN(2 * me + side);
        }
#if FORM == PAPER
        Vdc_barrier(1);
#endif
        for (int side = 0; side < 2; ++side) {
            const int writer = side == 0 ? me - 1 : me + 1, view = 2 * writer + 1 - side;
            if (writer < 0 || writer >= n) continue;
            READ_VIEW(view);
            memcpy(side == 0 ? before : after, base + step * (size_t)view, bytes);
            HAVE_READ(view);
        }
#if FORM == PAPER
        Vdc_barrier(2);
#endif
#endif
        for (long i = begin; i < end; ++i) {
            double *const row = a + (i - begin + 1) * size;
            if (i > 0 && i < size - 1) relax_row(row, row - size, row + size, size, 1 + (i + s) % 2);
        }
    }
    const double seconds = seconds_now() - from;
    int right = 1;
    double *const b = malloc(bytes * (size_t)size);
    if (size <= 512) {
        for (long i = 0; i < size * size; ++i) b[i] = initial(i / size, i % size);
        for (long s = 0; s < 2 * steps; ++s)
            for (long i = 1; i < size - 1; ++i) relax_row(b + i * size, b + (i - 1) * size, b + (i + 1) * size, size, 1 + (i + s) % 2);
        right = memcmp(b + begin * size, first, bytes * (size_t)band) == 0;
    }
    return verdict("sor", seconds, right);
}
