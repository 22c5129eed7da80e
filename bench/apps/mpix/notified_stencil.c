/* A stencil on a grid whose rows are spread over the ranks: outer rows go by messages (plain), or are put into the neighbours' windows with
 * a notification each, for which the neighbours wait (new). Inner rows are computed meanwhile, either way. */
#include "stencil.h"

enum { kFromAbove, kFromBelow, kNotifications };

static MPI_Win windows[2]; /* one of each grid, since a flush waits for all accesses to its window */

static void plain(void) {
    fill_grid();
    for (long step = 0; step < steps; ++step) {
        const int now = (int)(step % 2), cells = (int)columns;
        uint32_t *const grid = grids[now];
        MPI_Request requests[4];
        MPI_Irecv(grid, cells, MPI_UINT32_T, up, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(grid + (count + 1) * columns, cells, MPI_UINT32_T, down, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(grid + columns, cells, MPI_UINT32_T, up, 2, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(grid + count * columns, cells, MPI_UINT32_T, down, 1, MPI_COMM_WORLD, &requests[3]);
        step_inner(now, 0, columns);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        step_outer(now, 0, columns);
    }
    compare_with_serial();
}

static void put_row(long row, int now, int rank, long place, int notification) {
    const int cells = (int)columns;
    const MPI_Aint there = place * columns;
    MPIX_Put_notify(grids[now] + row * columns, cells, MPI_UINT32_T, rank, there, cells, MPI_UINT32_T, windows[now], notification);
}

/* A neighbour whose rows of this step have come has used this rank's of the step before, so that two grids are enough. */
static void notifying(void) {
    const long last_of_up = rows * (up + 1) / ranks - rows * up / ranks;
    fill_grid();
    for (int i = 0; i < kNotifications; ++i)
        for (int g = 0; g < 2; ++g) MPIX_Win_set_notify(windows[g], i, 0);
    MPI_Barrier(MPI_COMM_WORLD); /* before it nobody's puts are counted */
    for (long step = 0; step < steps; ++step) {
        const int now = (int)(step % 2);
        put_row(1, now, up, last_of_up + 1, kFromBelow);
        put_row(count, now, down, 0, kFromAbove);
        step_inner(now, 0, columns);
        for (int i = 0; i < kNotifications; ++i) MPIX_Win_wait_notify(windows[now], i, step / 2 + 1);
        MPI_Win_flush_local_all(windows[!now]); /* the rows that were put in the last step are overwritten */
        step_outer(now, 0, columns);
    }
    for (int g = 0; g < 2; ++g) MPI_Win_flush_all(windows[g]);
    compare_with_serial();
}

int main(int argc, char **argv) {
    Option options[] = {{"rows", "of the grid", 32, 1, 100000},
                        {"columns", "of the grid", 256, 1, 1000000},
                        {"steps", "of a run", 1000, 1, 1000000000},
                        {"rounds", "runs of each form", 11, 1, 100000}};
    app_start(argc, argv, "a stencil whose outer rows go by messages, and by notified puts.", options, 4);
    rows = options[0].value, columns = options[1].value, steps = options[2].value;
    deal_rows();
    for (int g = 0; g < 2; ++g) {
        MPI_Win_allocate((MPI_Aint)((count + 2) * columns * 4), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &grids[g], &windows[g]);
        MPIX_Win_create_notify(windows[g], kNotifications);
        MPI_Win_lock_all(0, windows[g]);
    }
    compute_serial();
    Form forms[] = {{"plain", plain, 0}, {"new", notifying, 0}};
    in_turn(forms, 2, options[3].value);
    for (int g = 0; g < 2; ++g) {
        MPI_Win_unlock_all(windows[g]);
        MPI_Win_free(&windows[g]);
    }
    free(serial);
    return in_turn_verdict(!is_wrong, columns * 4, forms, 2, steps, "");
}
