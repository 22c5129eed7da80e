/* Heat spreads over a square plate: Jacobi steps on rows that are spread over the ranks. After each step a rank puts its outer
 * rows into its neighbours' windows; only neighbours wait for each other (MPI_Win_post, start, complete, wait).
 *
 * There are two grids, for even and odd steps: while a neighbour's rows of one arrive, nobody reads them. The result is right if
 * it equals, to the bit, what one rank computes alone.
 */
#include "app.h"

typedef struct {
    long columns, rows; /* of the plate; of each rank, without the two of its neighbours */
    double *grid[2];    /* one behind the other in the window */
    MPI_Win window;
    MPI_Group neighbours;
} Plate;

static size_t cells(long rows, long columns) { return (size_t)(rows + 2) * (size_t)columns; }

/* The upper edge is hot, everything else begins cold; the columns at the edges stay so. */
static void warm(double *grid, long rows, long columns, int is_top) {
    memset(grid, 0, cells(rows, columns) * sizeof *grid);
    for (long c = 0; is_top && c < columns; ++c) grid[c] = 100;
}

static void step_rows(double *to, const double *from, long rows, long columns) {
    for (long r = 1; r <= rows; ++r)
        for (long c = 1; c + 1 < columns; ++c) {
            const double *const at = from + r * columns + c;
            to[r * columns + c] = 0.25 * (at[-1] + at[1] + at[-columns] + at[columns]);
        }
}

static void open_window(Plate *plate) {
    const size_t each = cells(plate->rows, plate->columns);
    MPI_Group all;
    int others[2], count = 0;
    MPI_Win_allocate((MPI_Aint)(2 * each * sizeof(double)), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &plate->grid[0], &plate->window);
    plate->grid[1] = plate->grid[0] + each;
    if (me > 0) others[count++] = me - 1;
    if (me + 1 < ranks) others[count++] = me + 1;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, count, others, &plate->neighbours);
    MPI_Group_free(&all);
}

/* Displacements in the window are of doubles: those of grid `which`. */
static void exchange(const Plate *plate, int which) {
    const double *const grid = plate->grid[which];
    const int columns = (int)plate->columns;
    const MPI_Aint begin = which ? (MPI_Aint)cells(plate->rows, plate->columns) : 0, last = begin + plate->rows * plate->columns;
    MPI_Win_post(plate->neighbours, 0, plate->window);
    MPI_Win_start(plate->neighbours, 0, plate->window);
    if (me > 0) MPI_Put(grid + columns, columns, MPI_DOUBLE, me - 1, last + columns, columns, MPI_DOUBLE, plate->window);
    if (me + 1 < ranks)
        MPI_Put(grid + plate->rows * columns, columns, MPI_DOUBLE, me + 1, begin, columns, MPI_DOUBLE, plate->window);
    MPI_Win_complete(plate->window);
    MPI_Win_wait(plate->window);
}

static int equals_alone(const Plate *plate, long steps) {
    const long columns = plate->columns, rows = plate->rows * ranks;
    double *alone[2];
    for (int i = 0; i < 2; ++i) {
        alone[i] = app_memory(cells(rows, columns) * sizeof(double));
        warm(alone[i], rows, columns, 1);
    }
    for (long s = 0; s < steps; ++s) step_rows(alone[(s + 1) % 2], alone[s % 2], rows, columns);
    const double *const wanted = alone[steps % 2] + (me * plate->rows + 1) * columns;
    const int same = memcmp(wanted, plate->grid[steps % 2] + columns, (size_t)(plate->rows * columns) * sizeof(double)) == 0;
    free(alone[0]), free(alone[1]);
    return same;
}

int main(int argc, char **argv) {
    Option options[] = {{"rows", "of each rank", 128, 1, 100000},
                        {"columns", "of the plate", 256, 3, 100000},
                        {"steps", "time steps", 200, 0, 1000000}};
    app_start(argc, argv, "heat on a plate, with rows of the neighbours by MPI_Put.", options, 3);
    Plate plate = {.rows = options[0].value, .columns = options[1].value};
    const long steps = options[2].value;
    open_window(&plate);
    for (int i = 0; i < 2; ++i) warm(plate.grid[i], plate.rows, plate.columns, me == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (long s = 0; s < steps; ++s) {
        step_rows(plate.grid[(s + 1) % 2], plate.grid[s % 2], plate.rows, plate.columns);
        exchange(&plate, (int)((s + 1) % 2));
    }
    const double seconds = MPI_Wtime() - begin;
    const int right = equals_alone(&plate, steps);
    MPI_Group_free(&plate.neighbours);
    MPI_Win_free(&plate.window);
    return app_verdict(right, seconds, "%ld x %ld, %ld steps", plate.rows * ranks, plate.columns, steps);
}
