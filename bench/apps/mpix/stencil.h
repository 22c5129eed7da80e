/* stencil.h: a grid whose rows are spread over the ranks, and each cell of which becomes a sum of itself and its neighbours. Cells are
 * integers that wrap around, so a grid must equal one that a rank computes alone. The grid's edges meet, as its first and last rank do.
 */
#ifndef STENCIL_H
#define STENCIL_H

#include "in_turn.h"

static long rows, columns, steps, first, count; /* of the grid; this rank has `count` rows from the `first` on */
static uint32_t *grids[2]; /* now and next in turn, with the neighbours' rows at 0 and count + 1 */
static uint32_t *serial;   /* the whole, computed here */
static int up, down, is_wrong;

/* The cells `from` .. `to` - 1 of a row. */
static void step_cells(const uint32_t *row, uint32_t *out, long from, long to) {
    const uint32_t *const above = row - columns, *const below = row + columns;
    for (long c = from; c < to; ++c) {
        const uint32_t west = row[c == 0 ? columns - 1 : c - 1], east = row[c == columns - 1 ? 0 : c + 1];
        out[c] = 3 * row[c] + above[c] + 5 * below[c] + 7 * west + 11 * east;
    }
}
static void step_row(int now, long row, long from, long to) {
    step_cells(grids[now] + row * columns, grids[!now] + row * columns, from, to);
}
static void step_inner(int now, long from, long to) {
    for (long row = 2; row < count; ++row) step_row(now, row, from, to);
}
static void step_outer(int now, long from, long to) {
    step_row(now, 1, from, to);
    if (count > 1) step_row(now, count, from, to);
}

static void fill_grid(void) {
    for (long i = 0; i < count * columns; ++i) grids[0][columns + i] = (uint32_t)app_random((uint64_t)(first * columns + i));
}

static void compute_serial(void) {
    const size_t row = (size_t)columns, whole = ((size_t)rows + 2) * row * sizeof(uint32_t);
    uint32_t *now = app_memory(whole), *next = app_memory(whole);
    for (long i = 0; i < rows * columns; ++i) now[columns + i] = (uint32_t)app_random((uint64_t)i);
    for (long step = 0; step < steps; ++step) {
        memcpy(now, now + rows * columns, row * sizeof *now);
        memcpy(now + (rows + 1) * columns, now + columns, row * sizeof *now);
        for (long r = 1; r <= rows; ++r) step_cells(now + r * columns, next + r * columns, 0, columns);
        uint32_t *const swap = now;
        now = next, next = swap;
    }
    free(next);
    serial = now;
}

/* Called behind the last step. */
static void compare_with_serial(void) {
    is_wrong |= memcmp(grids[steps % 2] + columns, serial + (first + 1) * columns, (size_t)(count * columns) * sizeof *serial) != 0;
}

/* Deals the rows out, once the options are known. */
static void deal_rows(void) {
    if (rows < ranks) {
        if (me == 0) fprintf(stderr, "%s: there must be a row for each of the %d ranks; give --rows\n", app_name, ranks);
        app_leave(2);
    }
    count = app_share(rows, &first);
    up = (me + ranks - 1) % ranks, down = (me + 1) % ranks;
}

#endif
