/* Poisson's equation by red-black over-relaxation on a grid whose rows are spread over the ranks, by the standard's calls and captured as
 * one graph: two exchanges of outer rows and an allreduce for each step. A rank computes its inner rows while outer ones travel, tests
 * signals for what has come, and opens gates for what may go. The grid must have the bits of one that a rank computes alone. */
#include "in_turn.h"

#include <math.h>

enum { kRed, kBlack, kColours };

static long rows, columns, width, steps, first, count; /* of the grid; this rank has `count` rows from the `first` on */
static double *grid, change, largest;                  /* with a row and a column of others' or zeros on each side */
static MPI_Request halo[4];
static MPIX_Graph graph;

/* One body for all, so that the bits are the same wherever a cell is computed. Returns the largest change. */
__attribute__((noinline)) static double relax(double *row, long number, int colour) {
    const double *const above = row - width, *const below = row + width;
    double most = 0;
    for (long c = 1 + (number + colour) % 2; c <= columns; c += 2) {
        const double difference = 1.5 * (0.25 * (above[c] + below[c] + row[c - 1] + row[c + 1] + 0.001) - row[c]);
        if (fabs(difference) > most) most = fabs(difference);
        row[c] += difference;
    }
    return most;
}

static void relax_row(long row, int colour) { change = fmax(change, relax(grid + row * width, first + row, colour)); }

static void relax_inner(int colour) {
    for (long row = 2; row < count; ++row) relax_row(row, colour);
}
static void relax_outer(int colour) {
    relax_row(1, colour);
    if (count > 1) relax_row(count, colour);
}

static void start_again(void) { memset(grid, 0, (size_t)((count + 2) * width) * sizeof *grid); }

static void plain(void) {
    start_again();
    for (long step = 0; step < steps; ++step) {
        change = 0;
        for (int colour = kRed; colour < kColours; ++colour) {
            MPI_Startall(4, halo);
            relax_inner(colour);
            MPI_Waitall(4, halo, MPI_STATUSES_IGNORE);
            relax_outer(colour);
        }
        MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
}

static void capture(void) {
    MPIX_Graph_begin(MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int colour = kRed; colour < kColours; ++colour) {
        MPI_Startall(4, halo);
        MPI_Waitall(4, halo, MPI_STATUSES_IGNORE);
        MPIX_Graph_signal(colour);
        MPIX_Graph_gate(colour);
    }
    MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPIX_Graph_end(MPI_COMM_WORLD, &graph);
}

static void captured(void) {
    start_again();
    for (long step = 0; step < steps; ++step) {
        MPI_Request run;
        change = 0;
        MPIX_Graph_start(graph, &run);
        for (int colour = kRed; colour < kColours; ++colour) {
            relax_inner(colour);
            for (int passed = 0; !passed;) MPIX_Graph_passed(graph, colour, &passed);
            relax_outer(colour);
            MPIX_Graph_open(graph, colour);
        }
        MPI_Wait(&run, MPI_STATUS_IGNORE);
    }
}

/* Computes the whole grid here. */
static int matches_serial(const double *mine, double most) {
    double *const whole = app_memory((size_t)((rows + 2) * width) * sizeof *whole), here = 0;
    for (long step = 0; step < steps; ++step) {
        here = 0;
        for (int colour = kRed; colour < kColours; ++colour)
            for (long row = 1; row <= rows; ++row) here = fmax(here, relax(whole + row * width, row, colour));
    }
    const int same = memcmp(mine + width, whole + (first + 1) * width, (size_t)(count * width) * sizeof *mine) == 0;
    free(whole);
    return same && memcmp(&here, &most, sizeof here) == 0;
}

int main(int argc, char **argv) {
    Option options[] = {{"rows", "of the grid", 128, 1, 100000},
                        {"columns", "of the grid", 256, 1, 100000},
                        {"steps", "of a run", 200, 1, 1000000000},
                        {"rounds", "runs of each form", 11, 1, 100000}};
    app_start(argc, argv, "a solver with halo exchange, by calls and captured as one graph.", options, 4);
    rows = options[0].value, columns = options[1].value, steps = options[2].value;
    if (rows < ranks) {
        if (me == 0) fprintf(stderr, "captured_solver: there must be a row for each of the %d ranks; give --rows\n", ranks);
        app_leave(2);
    }
    width = columns + 2;
    count = app_share(rows, &first);
    grid = app_memory((size_t)((count + 2) * width) * sizeof *grid);
    const int up = me > 0 ? me - 1 : MPI_PROC_NULL, down = me + 1 < ranks ? me + 1 : MPI_PROC_NULL, doubles = (int)width;
    MPI_Recv_init(grid, doubles, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &halo[0]);
    MPI_Recv_init(grid + (count + 1) * width, doubles, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &halo[1]);
    MPI_Send_init(grid + width, doubles, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &halo[2]);
    MPI_Send_init(grid + count * width, doubles, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &halo[3]);
    capture();
    plain();
    int right = matches_serial(grid, largest);
    captured();
    right = right && matches_serial(grid, largest);
    Form forms[] = {{"plain", plain, 0}, {"new", captured, 0}};
    in_turn(forms, 2, options[3].value);
    right = right && matches_serial(grid, largest);
    for (int i = 0; i < 4; ++i) MPI_Request_free(&halo[i]);
    MPIX_Graph_free(&graph);
    free(grid);
    return in_turn_verdict(right, width * (long)sizeof *grid, forms, 2, steps, "");
}
