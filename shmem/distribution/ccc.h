/* ccc.h: arrays dealt out to virtual processors, and their redistribution: arithmetic, layouts and plans.
 *
 * An axis says for each index of one dimension, 0 .. n-1, which processor has it (the target) and where there (the
 * offset). It is block-cyclic: blocks of `block` indices go to the processors in turn,
 *
 *     target(s) = s div block mod processors        offset(s) = s div (block * processors) * block + s mod block
 *
 * or a cascade of such steps: data to virtual processors, these to nodes, these to PEs. A PE's memory then is an array
 * of its virtual processors, and each of them has its data in one piece. All processors get the same room; offsets to
 * which no index belongs are holes, which nothing reads or writes.
 *
 * A layout is up to six axes and a grid of PEs. A plan moves an array from one layout to another, as often as one likes:
 *
 *     ccc_layout rows = {2, {..}, 0}, columns = {2, {..}, 0};
 *     ccc_block(&rows.axis[0], n, pes);   ccc_compress(&rows.axis[1], n);
 *     ccc_compress(&columns.axis[0], n);  ccc_cyclic(&columns.axis[1], n, pes);
 *     ccc_plan_create(&rows, &columns, NULL, sizeof(double), &plan);
 *     ccc_plan_run(plan, mine, new_mine);                  // or start .. compute .. wait
 *
 * Each side lists alone which pieces it sends or takes: no index travels and no PE keeps a table of others.
 *
 * Indices and counts are int64_t and in elements. Functions with a result code return one of those below, and
 * ccc_explain has the sentence; outputs are set on success only. Axes, layouts and cost may be used by any thread and
 * without a job. Plans want OpenSHMEM initialised, and one thread at a time. Valid C99 and C++.
 *
 * Source: Lin, "Data Mapping in Agglomeration of Virtual Processors", whose language is CCC.
 */
#ifndef CCC_H
#define CCC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum {
    CCC_SUCCESS,
    CCC_ERR_ARG,      /* an argument is wrong; nothing was done */
    CCC_ERR_STATE,    /* not now: OpenSHMEM is not initialised, the plan runs already or is broken, the axis does not merge */
    CCC_ERR_NO_SPACE, /* memory, or a limit of the network interface */
    CCC_ERR_FAILED    /* a PE was lost; target memory is undefined, and the plan can only be freed */
};

#define CCC_MOST_STEPS 3 /* data -> virtual -> node -> PE */
#define CCC_MOST_AXES 6

typedef struct {
    int64_t block, processors;
} ccc_step;
/* To be read; made by the calls below alone. */
typedef struct {
    int64_t n;
    int steps;
    ccc_step step[CCC_MOST_STEPS];
    int64_t hidden[8];
} ccc_axis;

/* ---- Axes. O(1). ------------------------------------------------------------------------------------------------ */

/* Blocks of `block` indices, dealt out in turn. ARG: n < 0, block or processors < 1, or the room does not fit in 63 bits. */
int ccc_block_cyclic(ccc_axis *axis, int64_t n, int64_t block, int64_t processors);
/* One block of ceil(n / processors) for each; the last may have less, or nothing. */
int ccc_block(ccc_axis *axis, int64_t n, int64_t processors);
/* One block for each, the first n mod processors with one index more than the others. Not for cascades. */
int ccc_balanced(ccc_axis *axis, int64_t n, int64_t processors);
int ccc_cyclic(ccc_axis *axis, int64_t n, int64_t processors);
/* All on processor 0: the dimension is not dealt out. */
int ccc_compress(ccc_axis *axis, int64_t n);
/* Deals the axis's processors, virtual ones from now on, out to `processors` by blocks of `block`; 0: one block for each.
 * ARG: CCC_MOST_STEPS already, balanced, or too large a room. */
int ccc_cascade(ccc_axis *axis, int64_t block, int64_t processors);

/* O(steps). 0 <= s < n, 0 <= t < processors of the last step, 0 <= o < room; else, or if the axis was not made by the calls
 * above, -1. */
int64_t ccc_target(const ccc_axis *axis, int64_t s);
int64_t ccc_offset(const ccc_axis *axis, int64_t s);
int64_t ccc_global(const ccc_axis *axis, int64_t t, int64_t o); /* the s that has both; -1: a hole */
int64_t ccc_count(const ccc_axis *axis, int64_t t);             /* how many indices t has */
int64_t ccc_room(const ccc_axis *axis);                         /* size of the offset space, the same for all t */

/* 1 if block-cyclic(product of all blocks) has the same targets, and then *merged (may be NULL) is that; else 0. This is
 * the exact condition of which theorem 6.1 prints one that is neither sufficient nor necessary. */
int ccc_merges(const ccc_axis *axis, ccc_axis *merged);
/* Theorem 6.2 in closed form: from the offset in the merged order to that in the cascade's, and back. b1 and b2 are the
 * blocks, c1 and c2 the cycles of two steps. -1: i is not in 0 .. b1*c1*b2*c2 - 1, or one of the others is below 1. */
int64_t ccc_map(int64_t i, int64_t b1, int64_t c1, int64_t b2, int64_t c2);
int64_t ccc_unmap(int64_t i, int64_t b1, int64_t c1, int64_t b2, int64_t c2);
/* Whole local arrays of processor t: merged order to virtual processors' order, and back; elements of `size` bytes, arrays of
 * ccc_room of the merged axis and of this one. Holes are left alone. ARG: no such t, size 0, overlap. STATE: does not merge. */
int ccc_to_virtual(const ccc_axis *axis, int64_t t, size_t size, void *to, const void *from);
int ccc_from_virtual(const ccc_axis *axis, int64_t t, size_t size, void *to, const void *from);

/* ---- Layouts ---------------------------------------------------------------------------------------------------- */

/* An array of `axes` dimensions. The targets of the axes form a grid, numbered row by row; number i is PE first_pe + i, or
 * pes[i] where pes is not NULL. A local array has ccc_room of each axis, row by row. O(axes) bytes. */
typedef struct {
    int axes;
    ccc_axis axis[CCC_MOST_AXES];
    int first_pe;
    const int *pes; /* NULL, or the PE of each target, all different; read by the calls that get the layout */
} ccc_layout;

/* The PE that has the element, and its offset there. -1: outside. */
int ccc_pe(const ccc_layout *layout, const int64_t *index, int64_t *offset);

typedef struct {
    int64_t messages;           /* between different PEs */
    int64_t bytes;              /* in these */
    int64_t pieces;             /* that lie in one piece at both ends, in these */
    int64_t most_bytes_of_a_pe; /* sent and received by the PE with the most */
} ccc_cost;
/* The cost of a redistribution, without a job. to's axis permutation[i] runs along from's axis i; NULL: the same
 * order. ARG as ccc_plan_create. O(PEs of from * PEs of to + pieces per period). */
int ccc_cost_of(const ccc_layout *from, const ccc_layout *to, const int *permutation, size_t size, ccc_cost *cost);
/* Which PE of to's should have each target so that the fewest elements move: at most 1024 targets. To use it, let to->pes
 * be the array. ARG, NO_SPACE. O(targets^3) at most. */
int ccc_relabel(const ccc_layout *from, const ccc_layout *to, const int *permutation, int *pe_of_target);

/* ---- Plans ------------------------------------------------------------------------------------------------------ */

typedef struct ccc_plan_ *ccc_plan;

/* Collective over the job, by all PEs with the same arguments. `size`: bytes of an element. ARG: sizes of axes that belong
 * together differ, no permutation, PEs that the job lacks, more bytes than 63 bits hold; a wrong argument must be wrong on
 * all PEs. STATE: OpenSHMEM is not initialised. O(own pieces per period) time and memory. */
int ccc_plan_create(const ccc_layout *from, const ccc_layout *to, const int *permutation, size_t size, ccc_plan *plan);
/* Moves the array and returns when `to` is complete and `from` may be written again. Local arrays of room elements; where
 * both ends are on a node and `from` is symmetric memory, readers copy straight from it. ARG: the two overlap, or NULL where
 * this PE has elements. STATE: runs already, or broken. FAILED. All PEs that have a part call it equally often, in the same
 * order as start. A PE that only sends may be runs ahead: what its messages occupy at the others is 64 MiB or so, then it
 * waits in a run for theirs. */
int ccc_plan_run(ccc_plan plan, const void *from, void *to);
/* Returns at once; both arrays are in use until the end. On all PEs alike: run meets run, start meets start. */
int ccc_plan_start(ccc_plan plan, const void *from, void *to);
/* *done is 1 when it has ended, or none was started. FAILED. */
int ccc_plan_test(ccc_plan plan, int *done);
int ccc_plan_wait(ccc_plan plan);
int ccc_plan_cost(ccc_plan plan, ccc_cost *cost);
/* Bytes that this PE's part of the plan occupies. */
size_t ccc_plan_memory(ccc_plan plan);
/* Collective unless the plan has failed; sets *plan to NULL. STATE: it runs. */
int ccc_plan_free(ccc_plan *plan);

/* The last error of this thread, as a sentence. */
const char *ccc_explain(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
