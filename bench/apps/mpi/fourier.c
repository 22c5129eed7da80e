/* Fourier transforms of a square of complex numbers whose rows are spread over the ranks: rows, transposed by MPI_Alltoall, columns, and
 * back again. There and back the square is what it was.
 * Source: Cooley and Tukey, 1965; the transposes of parallel transforms in many libraries. */
#include <math.h>

#include "app.h"

typedef struct {
    double re, im;
} Complex;

/* In place; n is a power of two; roots[k] is the k-th of n. */
static void transform(Complex *x, long n, const Complex *roots, int back) {
    for (long i = 1, j = 0; i < n; ++i) {
        long bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j |= bit;
        if (i < j) {
            const Complex swap = x[i];
            x[i] = x[j], x[j] = swap;
        }
    }
    for (long half = 1; half < n; half *= 2)
        for (long begin = 0; begin < n; begin += 2 * half)
            for (long k = 0; k < half; ++k) {
                const Complex w = roots[k * (n / (2 * half))], b = x[begin + half + k], a = x[begin + k];
                const double im = back ? -w.im : w.im;
                const Complex turned = {w.re * b.re - im * b.im, w.re * b.im + im * b.re};
                x[begin + k] = (Complex){a.re + turned.re, a.im + turned.im};
                x[begin + half + k] = (Complex){a.re - turned.re, a.im - turned.im};
            }
}

/* `rows` rows of each rank: a block for each other rank, which gets it with rows and columns exchanged. */
static void transpose(Complex *square, Complex *blocks, long n, long rows) {
    for (int to = 0; to < ranks; ++to)
        for (long c = 0; c < rows; ++c)
            for (long r = 0; r < rows; ++r) blocks[(to * rows + c) * rows + r] = square[r * n + to * rows + c];
    const int count = (int)(2 * rows * rows);
    Complex *const got = blocks + rows * n;
    MPI_Alltoall(blocks, count, MPI_DOUBLE, got, count, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; ++from)
        for (long c = 0; c < rows; ++c) memcpy(square + c * n + from * rows, got + (from * rows + c) * rows, (size_t)rows * sizeof *got);
}

static void square_transform(Complex *square, Complex *blocks, long n, long rows, const Complex *roots, int back) {
    for (int half = 0; half < 2; ++half) {
        for (long r = 0; r < rows; ++r) transform(square + r * n, n, roots, back);
        transpose(square, blocks, n, rows);
    }
}

int main(int argc, char **argv) {
    Option options[] = {{"side", "of the square, a power of two and a multiple of the ranks", 256, 1, 1 << 15},
                        {"rounds", "there and back", 10, 0, 1000000}};
    app_start(argc, argv, "Fourier transforms, with transposes.", options, 2);
    const long n = options[0].value, rows = n / ranks;
    if ((n & (n - 1)) != 0 || rows * ranks != n) {
        if (me == 0) fprintf(stderr, "fourier: %ld is no power of two that %d ranks can share evenly\n", n, ranks);
        app_leave(2);
    }
    Complex *square = app_memory((size_t)(rows * n) * sizeof *square), *blocks = app_memory((size_t)(2 * rows * n) * sizeof *blocks);
    Complex *roots = app_memory((size_t)n * sizeof *roots);
    for (long k = 0; k < n; ++k) roots[k] = (Complex){cos(2 * 3.14159265358979323846 * (double)k / (double)n), -sin(2 * 3.14159265358979323846 * (double)k / (double)n)};
    for (long i = 0; i < rows * n; ++i) square[i].re = (double)(app_random((uint64_t)(me * rows * n + i)) % 1000) / 1000;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (long round = 0; round < options[1].value; ++round) {
        square_transform(square, blocks, n, rows, roots, 0);
        square_transform(square, blocks, n, rows, roots, 1);
        for (long i = 0; i < rows * n; ++i) square[i].re /= (double)(n * n), square[i].im /= (double)(n * n);
    }
    const double seconds = MPI_Wtime() - begin;
    double off = 0;
    for (long i = 0; i < rows * n; ++i) {
        const double was = (double)(app_random((uint64_t)(me * rows * n + i)) % 1000) / 1000;
        off = fmax(off, fmax(fabs(square[i].re - was), fabs(square[i].im)));
    }
    free(square), free(blocks), free(roots);
    return app_verdict(off < 1e-9, seconds, "%ld x %ld, %ld rounds", n, n, options[1].value);
}
