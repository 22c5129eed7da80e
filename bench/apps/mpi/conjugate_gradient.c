/* Solves the five-point Laplace equation on a square by conjugate gradients: rows of the square are spread over the ranks,
 * neighbours exchange outer rows, and inner products are all-reduced. The right side is made from a known solution.
 * Source: Hestenes, Stiefel 1952. */
#include "app.h"

#include <math.h>

static long side, count; /* unknowns in a row; rows here */

/* out = A v. v has a row of room before and after its own for the neighbours'. */
static void apply(double *v, double *out) {
    const int up = me == 0 ? MPI_PROC_NULL : me - 1, down = me == ranks - 1 ? MPI_PROC_NULL : me + 1, n = (int)side;
    MPI_Sendrecv(v + side, n, MPI_DOUBLE, up, 1, v + (count + 1) * side, n, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(v + count * side, n, MPI_DOUBLE, down, 2, v, n, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (long r = 1; r <= count; ++r)
        for (long c = 0; c < side; ++c) {
            const double *at = v + r * side + c;
            out[r * side + c] = 4 * at[0] - at[-side] - at[side] - (c ? at[-1] : 0) - (c + 1 < side ? at[1] : 0);
        }
}

static double product(const double *a, const double *b) {
    double mine = 0, all;
    for (long i = side; i < (count + 1) * side; ++i) mine += a[i] * b[i];
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv) {
    Option options[] = {{"side", "unknowns in a row of the square", 200, 1, 20000},
                        {"most", "iterations at most", 2000, 1, 1000000}};
    app_start(argc, argv, "conjugate gradients for the five-point Laplace equation.", options, 2);
    side = options[0].value;
    if (side < ranks) {
        if (me == 0) fprintf(stderr, "conjugate_gradient: there must be a row for each of the %d ranks\n", ranks);
        app_leave(2);
    }
    long first, iterations = 0;
    count = app_share(side, &first);
    const size_t bytes = (size_t)((count + 2) * side) * sizeof(double);
    double *x = app_memory(bytes), *r = app_memory(bytes), *p = app_memory(bytes), *q = app_memory(bytes), *known = app_memory(bytes);
    for (long i = side; i < (count + 1) * side; ++i) known[i] = (double)(app_random((uint64_t)((first - 1) * side + i)) % 1000) / 1000;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    apply(known, r);
    memcpy(p, r, bytes);
    double rest = product(r, r);
    const double enough = rest * 1e-24;
    for (; iterations < options[1].value && rest > enough; ++iterations) {
        apply(p, q);
        const double step = rest / product(p, q), before = rest;
        for (long i = side; i < (count + 1) * side; ++i) x[i] += step * p[i], r[i] -= step * q[i];
        rest = product(r, r);
        for (long i = side; i < (count + 1) * side; ++i) p[i] = r[i] + rest / before * p[i];
    }
    const double seconds = MPI_Wtime() - begin;
    double worst = 0;
    for (long i = side; i < (count + 1) * side; ++i) worst = fmax(worst, fabs(x[i] - known[i]));
    free(x), free(r), free(p), free(q), free(known);
    return app_verdict(worst < 1e-7, seconds, "%ld unknowns, %ld iterations, off by %.1e", side * side, iterations, worst);
}
