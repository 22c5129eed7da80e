/* Heat spreads over a square plate: Jacobi steps on rows that are spread over the PEs. After each step a PE puts its outer
 * rows into its neighbours' memory, each with a signal that tells which step they are of; nobody waits for anybody else.
 *
 * There are two grids, for even and odd steps. A neighbour's rows of step s arrive in the grid that held step s - 2, which
 * is free: the neighbour has my rows of step s - 1, and I sent them after my last look at step s - 2.
 * The result is right if it equals, to the bit, what one PE computes alone.
 */
#include "app.h"

typedef struct {
    size_t columns, rows; /* of the plate; of each PE, without the two of its neighbours */
    double *grid[2];
} Plate;

static uint64_t from_above, from_below; /* the step whose rows have arrived */

/* The upper edge is hot, everything else begins cold; the columns at the edges stay so. */
static void warm(double *grid, size_t rows, size_t columns, int is_top) {
    memset(grid, 0, (rows + 2) * columns * sizeof *grid);
    for (size_t c = 0; is_top && c < columns; ++c) grid[c] = 100;
}

static void step_rows(double *to, const double *from, size_t rows, size_t columns) {
    for (size_t r = 1; r <= rows; ++r)
        for (size_t c = 1; c + 1 < columns; ++c) {
            const double *const at = from + r * columns + c;
            to[r * columns + c] = 0.25 * (at[-1] + at[1] + at[-(ptrdiff_t)columns] + at[columns]);
        }
}

static void exchange(const Plate *plate, long step) {
    const int me = shmem_my_pe(), n = shmem_n_pes();
    double *const grid = plate->grid[step % 2];
    const size_t columns = plate->columns, last = plate->rows * columns;
    if (me > 0)
        shmem_double_put_signal(grid + last + columns, grid + columns, columns, &from_below, (uint64_t)step, SHMEM_SIGNAL_SET, me - 1);
    if (me + 1 < n)
        shmem_double_put_signal(grid, grid + last, columns, &from_above, (uint64_t)step, SHMEM_SIGNAL_SET, me + 1);
    if (me > 0) shmem_signal_wait_until(&from_above, SHMEM_CMP_GE, (uint64_t)step);
    if (me + 1 < n) shmem_signal_wait_until(&from_below, SHMEM_CMP_GE, (uint64_t)step);
}

static int equals_alone(const Plate *plate, long steps) {
    const size_t columns = plate->columns, rows = plate->rows * (size_t)shmem_n_pes();
    double *alone[2];
    for (int i = 0; i < 2; ++i) {
        alone[i] = app_local((rows + 2) * columns * sizeof(double));
        warm(alone[i], rows, columns, 1);
    }
    for (long step = 0; step < steps; ++step) step_rows(alone[(step + 1) % 2], alone[step % 2], rows, columns);
    const double *const wanted = alone[steps % 2] + ((size_t)shmem_my_pe() * plate->rows + 1) * columns;
    return memcmp(wanted, plate->grid[steps % 2] + columns, plate->rows * columns * sizeof(double)) == 0;
}

int main(int argc, char **argv) {
    Option options[] = {{"rows", "rows of each PE", 128, 1, 1 << 20},
                        {"columns", "columns of the plate", 256, 3, 1 << 20},
                        {"steps", "time steps", 200, 1, 100000000}};
    app_start(argc, argv, "heat on a plate, with rows of the neighbours by put with signal.", options, 3);
    Plate plate = {.rows = (size_t)options[0].value, .columns = (size_t)options[1].value};
    const long steps = options[2].value;
    for (int i = 0; i < 2; ++i) {
        plate.grid[i] = app_memory((plate.rows + 2) * plate.columns * sizeof(double));
        warm(plate.grid[i], plate.rows, plate.columns, shmem_my_pe() == 0);
    }
    shmem_barrier_all();
    const double begin = app_seconds();
    for (long step = 0; step < steps; ++step) {
        step_rows(plate.grid[(step + 1) % 2], plate.grid[step % 2], plate.rows, plate.columns);
        exchange(&plate, step + 1);
    }
    shmem_barrier_all();
    const double seconds = app_seconds() - begin;
    return app_verdict(equals_alone(&plate, steps), seconds, "%zu x %zu, %ld steps, %.2f us a step",
                       plate.rows * (size_t)shmem_n_pes(), plate.columns, steps, 1e6 * seconds / (double)steps);
}
