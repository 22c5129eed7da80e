/* sum_all.h: the sum of an array over all processes, by streams: each process owns a slice of the result; the others stream it what they
 * have for that slice, and it streams them the sum. No barrier: a version says itself which round it is of. What MPI_Allreduce does with
 * long arrays.
 *
 * One array at a time; views 0 .. n*n+n-1 are used. Between begin and end the array that begin returns is to be filled; after end its sum
 * is read in what end returns, until the next begin.
 */
#ifndef SUM_ALL_H
#define SUM_ALL_H
#include "program.h"

#if FORM == DECLARED
enum { SUM_DEPTH = 2 };
static struct {
    char *parts, *sums;
    long slice; /* elements */
    size_t bytes;
    void (*add)(void *to, const void *from, const void *more, long count); /* to = from + more */
    int reading;
} sum;

static int part_view(int from, int to) { return from * n + to; }
static int sum_view(int of) { return n * n + of; }
static char *part_at(int from, int to) { return sum.parts + (size_t)part_view(from, to) * sum.bytes; }

/* Collective. `count` elements of `size` bytes; the arrays have sum.slice * n elements. */
static void sum_open(long count, size_t size, void (*add)(void *, const void *, const void *, long)) {
    sum.slice = (count + n - 1) / n;
    sum.bytes = (size_t)sum.slice * size;
    sum.add = add;
    sum.parts = shared(sum.bytes * (size_t)n * (size_t)n);
    sum.sums = shared(sum.bytes * (size_t)n);
    int *const readers = malloc((size_t)n * sizeof(int));
    for (int from = 0; from < n; ++from)
        for (int to = 0; to < n; ++to)
            if (me == from || me == to) {
                declare(part_view(from, to), part_at(from, to), sum.bytes);
                if (from != to) TRY(Vdcx_stream(part_view(from, to), from, &to, 1, SUM_DEPTH));
            }
    for (int of = 0; of < n; ++of) {
        int count_of = 0;
        for (int p = 0; p < n; ++p)
            if (p != of) readers[count_of++] = p;
        declare(sum_view(of), sum.sums + (size_t)of * sum.bytes, sum.bytes);
        if (n > 1) TRY(Vdcx_stream(sum_view(of), of, readers, (unsigned)count_of, SUM_DEPTH));
    }
    free(readers);
}

static void *sum_begin(void) {
    for (int of = 0; of < n && sum.reading; ++of)
        if (of != me) TRY(Vdcx_release(sum_view(of)));
    sum.reading = 0;
    for (int to = 0; to < n; ++to) TRY(Vdcx_acquire(part_view(me, to), to == me ? VDCX_WRITE : VDCX_OVERWRITE, -1));
    return part_at(me, 0);
}

static const void *sum_end(void) {
    for (int i = 1; i < n; ++i) TRY(Vdcx_release(part_view(me, (me + i) % n)));
    char *const mine = sum.sums + (size_t)me * sum.bytes;
    TRY(Vdcx_acquire(sum_view(me), n > 1 ? VDCX_OVERWRITE : VDCX_WRITE, -1));
    if (n == 1) memcpy(mine, part_at(me, me), sum.bytes);
    for (int i = 1; i < n; ++i) {
        const int from = (me + n - i) % n;
        TRY(Vdcx_acquire(part_view(from, me), VDCX_READ, -1));
        sum.add(mine, i == 1 ? part_at(me, me) : mine, part_at(from, me), sum.slice);
        TRY(Vdcx_release(part_view(from, me)));
    }
    TRY(Vdcx_release(sum_view(me)));
    TRY(Vdcx_release(part_view(me, me)));
    for (int i = 1; i < n; ++i) TRY(Vdcx_acquire(sum_view((me + i) % n), VDCX_READ, -1));
    sum.reading = 1;
    return sum.sums;
}

static void sum_close(void) {
    for (int of = 0; of < n && sum.reading; ++of)
        if (of != me) TRY(Vdcx_release(sum_view(of)));
    sum.reading = 0;
}
#endif

#endif
