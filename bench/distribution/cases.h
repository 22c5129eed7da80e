/* cases.h: what bench/compare-distribution measures: which redistributions, of how many bytes, and how a figure is taken.
 *
 * Included by ours.c and peer.c alike, so that both move the same elements: n[0] x n[1] doubles, row by row, from one grid and
 * blocks to others. A sample is the time of the slowest process; a point prints the median, the least and whether the result is right.
 */
#ifndef CASES_H
#define CASES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int64_t block[2], grid[2];
} Side;
typedef struct {
    char name[32];
    int64_t n[2];
    Side from, to;
    int transposed; /* axis i of `from` is axis 1-i of `to` */
} Case;

enum { kKinds = 8, kLeastSamples = 3, kMostSamples = 2001 };

static int64_t per(int64_t n, int64_t p) { return n > 0 ? (n + p - 1) / p : 1; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Case `kind` of `bytes` on `p` processes (2 or 4). */
static inline Case make_case(int kind, int64_t bytes, int p) {
    static const char *const names[kKinds] = {"1d-block-cyclic", "1d-cyclic-block", "1d-bc64-bc8", "rows-columns",
                                              "bc64-bc8",        "block-cyclic",    "other-grid",  "transpose"};
    Case c;
    memset(&c, 0, sizeof c);
    strcpy(c.name, names[kind]);
    const int64_t all = bytes / 8, g0 = p == 4 ? 2 : 1, g1 = p / g0;
    if (kind < 3) {
        c.n[0] = 1, c.n[1] = all;
        const int64_t blocks[3][2] = {{per(all, p), 1}, {1, per(all, p)}, {64, 8}};
        const Side from = {{1, blocks[kind][0]}, {1, p}}, to = {{1, blocks[kind][1]}, {1, p}};
        c.from = from, c.to = to;
        return c;
    }
    int64_t n0 = 1;
    while (n0 * n0 * 4 <= all) n0 *= 2;
    c.n[0] = n0, c.n[1] = all / n0;
    const Side rows = {{per(n0, p), c.n[1]}, {p, 1}}, columns = {{n0, per(c.n[1], p)}, {1, p}};
    /* The case other-grid: less in small arrays, so that every process has something on both grids. */
    const int64_t b0 = smaller(64, per(n0, p)), b1 = smaller(64, per(c.n[1], p));
    const Side large = {{64, 64}, {g0, g1}}, small = {{8, 8}, {g0, g1}}, wide = {{b0, b1}, {g0, g1}}, tall = {{b0, b1}, {p, 1}};
    const Side blocked = {{per(n0, g0), per(c.n[1], g1)}, {g0, g1}}, dealt = {{1, 1}, {g0, g1}};
    c.from = kind == 3 || kind == 7 ? rows : kind == 4 ? large : kind == 5 ? blocked : wide;
    c.to = kind == 3 ? columns : kind == 4 ? small : kind == 5 ? dealt : tall;
    if (kind == 7) {
        const Side turned = {{per(c.n[1], p), n0}, {p, 1}};
        c.to = turned, c.transposed = 1;
    }
    return c;
}

/* Block-cyclic arithmetic of one dimension, as everybody writes it. */
static inline int64_t owner(int64_t s, int64_t b, int64_t p) { return s / b % p; }
static inline int64_t place(int64_t s, int64_t b, int64_t p) { return s / (b * p) * b + s % b; }
static int64_t held(int64_t n, int64_t b, int64_t p, int64_t t) {
    const int64_t rest = n % (b * p) - t * b;
    return n / (b * p) * b + (rest < 0 ? 0 : rest < b ? rest : b);
}
static int64_t index_at(int64_t o, int64_t b, int64_t p, int64_t t) { return o / b * b * p + t * b + o % b; }

/* A process's elements: rows and columns that it has, `width` doubles from row to row; filled with their number in `from`, or compared. */
static inline int64_t visit(const Case *c, int to, int rank, double *local, int64_t width, int fill) {
    const Side *const side = to ? &c->to : &c->from;
    const int turned = to && c->transposed;
    const int64_t t0 = rank / side->grid[1], t1 = rank % side->grid[1];
    const int64_t n0 = c->n[turned ? 1 : 0], n1 = c->n[turned ? 0 : 1];
    const int64_t rows = held(n0, side->block[0], side->grid[0], t0), columns = held(n1, side->block[1], side->grid[1], t1);
    int64_t differ = 0;
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t r = index_at(i, side->block[0], side->grid[0], t0);
        for (int64_t j = 0; j < columns; ++j) {
            const int64_t s = index_at(j, side->block[1], side->grid[1], t1);
            const double value = (double)(turned ? s * c->n[1] + r : r * c->n[1] + s);
            if (fill) local[i * width + j] = value;
            else differ += local[i * width + j] != value;
        }
    }
    return differ;
}

/* Whether a point that has `count` samples, of `spent` microseconds together, takes one more. The same for all libraries. */
static inline int goes_on(int count, double spent, double seconds) {
    return count < kLeastSamples || (count < kMostSamples && spent < seconds * 1e6);
}
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static inline void report(const char *who, const Case *c, double *samples, int count, int wrong) {
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    printf("compare who=%s case=%s bytes=%lld p50=%.3f min=%.3f samples=%d wrong=%d\n", who, c->name, (long long)(c->n[0] * c->n[1] * 8),
           samples[count / 2], samples[0], count, wrong);
    fflush(stdout);
}

#endif
