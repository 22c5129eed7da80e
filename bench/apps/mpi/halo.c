/* A stencil on a grid whose rows are spread over the ranks; neighbours exchange their outer rows by persistent requests while
 * the inner rows are computed. Cells are integers that wrap around, so the result must equal that of one rank alone. */
#include "app.h"

static void step_row(const uint32_t *above, const uint32_t *row, const uint32_t *below, uint32_t *out, long columns) {
    for (long c = 0; c < columns; ++c) {
        const uint32_t west = row[c == 0 ? columns - 1 : c - 1], east = row[c == columns - 1 ? 0 : c + 1];
        out[c] = 3 * row[c] + above[c] + 5 * below[c] + 7 * west + 11 * east;
    }
}

static void fill(uint32_t *grid, long first, long rows, long columns) {
    for (long i = 0; i < rows * columns; ++i) grid[i] = (uint32_t)app_random((uint64_t)(first * columns + i));
}

/* The whole grid, computed here: what this rank should have. */
static int matches_serial(const uint32_t *mine, long first, long count, long rows, long columns, long steps) {
    uint32_t *grid = app_memory((size_t)(rows * columns) * 4), *next = app_memory((size_t)(rows * columns) * 4);
    fill(grid, 0, rows, columns);
    for (long s = 0; s < steps; ++s) {
        for (long r = 0; r < rows; ++r)
            step_row(grid + (r + rows - 1) % rows * columns, grid + r * columns, grid + (r + 1) % rows * columns,
                     next + r * columns, columns);
        uint32_t *swap = grid;
        grid = next, next = swap;
    }
    const int same = memcmp(mine, grid + first * columns, (size_t)(count * columns) * 4) == 0;
    free(grid), free(next);
    return same;
}

int main(int argc, char **argv) {
    Option options[] = {{"rows", "of the grid", 512, 1, 100000},
                        {"columns", "of the grid", 512, 1, 100000},
                        {"steps", "how often all cells are computed", 100, 0, 1000000000}};
    app_start(argc, argv, "a stencil with halo exchange.", options, 3);
    const long rows = options[0].value, columns = options[1].value, steps = options[2].value;
    if (rows < ranks) {
        if (me == 0) fprintf(stderr, "halo: there must be a row for each of the %d ranks\n", ranks);
        app_leave(2);
    }
    long first;
    const long count = app_share(rows, &first);
    const int up = (me + ranks - 1) % ranks, down = (me + 1) % ranks, bytes = (int)(columns * 4);
    uint32_t *grids[2];
    MPI_Request exchange[2][4];
    for (int g = 0; g < 2; ++g) { /* rows 0 and count + 1 are the neighbours' */
        uint32_t *grid = grids[g] = app_memory((size_t)((count + 2) * columns) * 4);
        MPI_Recv_init(grid, bytes, MPI_BYTE, up, 1, MPI_COMM_WORLD, &exchange[g][0]);
        MPI_Recv_init(grid + (count + 1) * columns, bytes, MPI_BYTE, down, 2, MPI_COMM_WORLD, &exchange[g][1]);
        MPI_Send_init(grid + columns, bytes, MPI_BYTE, up, 2, MPI_COMM_WORLD, &exchange[g][2]);
        MPI_Send_init(grid + count * columns, bytes, MPI_BYTE, down, 1, MPI_COMM_WORLD, &exchange[g][3]);
    }
    fill(grids[0] + columns, first, count, columns);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (long s = 0; s < steps; ++s) {
        const uint32_t *now = grids[s % 2];
        uint32_t *next = grids[(s + 1) % 2];
        MPI_Startall(4, exchange[s % 2]);
        for (long r = 2; r < count; ++r) step_row(now + (r - 1) * columns, now + r * columns, now + (r + 1) * columns, next + r * columns, columns);
        MPI_Waitall(4, exchange[s % 2], MPI_STATUSES_IGNORE);
        step_row(now, now + columns, now + 2 * columns, next + columns, columns);
        if (count > 1) step_row(now + (count - 1) * columns, now + count * columns, now + (count + 1) * columns, next + count * columns, columns);
    }
    const double seconds = MPI_Wtime() - begin;
    const int right = matches_serial(grids[steps % 2] + columns, first, count, rows, columns, steps);
    for (int g = 0; g < 2; ++g) {
        for (int i = 0; i < 4; ++i) MPI_Request_free(&exchange[g][i]);
        free(grids[g]);
    }
    return app_verdict(right, seconds, "%ld x %ld cells, %ld steps", rows, columns, steps);
}
