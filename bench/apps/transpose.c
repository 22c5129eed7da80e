/* The transpose of a square matrix whose rows are spread over the PEs: every PE has a block for every other one.
 *
 * Each block is turned in local memory and then put row by row into the rows of its new owner.
 */
#include "app.h"

typedef struct {
    size_t order, rows; /* of the matrix; of each PE */
    double *from, *to, *block;
} Matrix;

static double element(const Matrix *matrix, size_t row, size_t column) { return (double)(row * matrix->order + column); }

static void send_block(const Matrix *matrix, int pe) {
    enum { kTile = 16 }; /* rows and columns that the cache holds at once */
    const size_t rows = matrix->rows, order = matrix->order, first = (size_t)pe * rows;
    for (size_t top = 0; top < rows; top += kTile)
        for (size_t left = 0; left < rows; left += kTile)
            for (size_t r = top; r < top + kTile && r < rows; ++r)
                for (size_t c = left; c < left + kTile && c < rows; ++c)
                    matrix->block[c * rows + r] = matrix->from[r * order + first + c];
    for (size_t r = 0; r < rows; ++r)
        shmem_double_put(matrix->to + r * order + (size_t)shmem_my_pe() * rows, matrix->block + r * rows, rows, pe);
}

static int is_transposed(const Matrix *matrix) {
    const size_t first = (size_t)shmem_my_pe() * matrix->rows;
    for (size_t r = 0; r < matrix->rows; ++r)
        for (size_t c = 0; c < matrix->order; ++c)
            if (matrix->to[r * matrix->order + c] != element(matrix, c, first + r)) return 0;
    return 1;
}

int main(int argc, char **argv) {
    Option options[] = {{"rows", "rows of each PE; the matrix is this times the PEs in both directions", 256, 1, 1 << 20},
                        {"rounds", "how often it is transposed", 10, 1, 1000000}};
    app_start(argc, argv, "transpose of a distributed matrix.", options, 2);
    const int me = shmem_my_pe(), n = shmem_n_pes();
    Matrix matrix = {.rows = (size_t)options[0].value};
    matrix.order = matrix.rows * (size_t)n;
    const size_t bytes = matrix.rows * matrix.order * sizeof(double);
    matrix.from = app_memory(bytes);
    matrix.to = app_memory(bytes);
    matrix.block = app_local(matrix.rows * matrix.rows * sizeof(double));
    for (size_t r = 0; r < matrix.rows; ++r)
        for (size_t c = 0; c < matrix.order; ++c)
            matrix.from[r * matrix.order + c] = element(&matrix, (size_t)me * matrix.rows + r, c);
    shmem_barrier_all();
    const double begin = app_seconds();
    for (long round = 0; round < options[1].value; ++round) {
        for (int step = 0; step < n; ++step) send_block(&matrix, (me + step) % n);
        shmem_barrier_all();
    }
    const double seconds = app_seconds() - begin;
    return app_verdict(is_transposed(&matrix), seconds, "%zu x %zu doubles, %.2f GB/s", matrix.order, matrix.order,
                       1e-9 * (double)bytes * n * (double)options[1].value / seconds);
}
