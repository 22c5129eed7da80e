/* goal_collectives.h: collectives as GOAL schedules, for any group of ranks.
 *
 * Each call adds to a schedule what this rank does in the collective; all ranks of the group make the same calls, in
 * the same order, with the same sizes, root, type, operation, tag and algorithm. With *schedule NULL the call makes a
 * schedule of the collective alone and compiles it, so that it is ready for GOAL_Run, again and again:
 *
 *     GOAL_Schedule sum = NULL;  GOAL_Request r;  GOAL_Group all;
 *     GOAL_World(&all);
 *     GOAL_Allreduce(&sum, &all, GOAL_User(in), GOAL_User(out), n, GOAL_DOUBLE, GOAL_ADD, NULL);
 *     GOAL_Run(sum, &r);   ...compute...   GOAL_Wait(&r);
 *
 * Buffers may be memory of the program or scratchpad. GOAL_InPlace() as input means what MPI_IN_PLACE means: the data is
 * in the output, as in MPI; other than that, input and output do not overlap. Counts may be 0, and groups of one rank.
 * Counts, displacements and buffers are read during the call only; the memory of the buffers is used by GOAL_Run.
 *
 * ADD, MULT, MAX, MIN, AND, OR and XOR combine. The order in which elements are combined depends on sizes and ranks
 * alone: a result is the same in every run and on every rank that gets it, floating-point numbers included.
 *
 * Inside a larger schedule: what is before and after the collective is tied to it with GOAL_Span.
 *
 * Which algorithm is used is written in one table (engine/goal/collectives/choice.cpp). The field `algorithm` of the
 * group overrides it, and the environment for the whole job: PTL_COLLECTIVES=allreduce=ring,bcast=pipeline,nodes=off, or
 * PTL_COLLECTIVES=file=PATH, a file of rules by size and ranks, as goaltune measures them (engine/goal/collectives/README.md).
 * The algorithms of each collective are named at its call.
 *
 * All functions return GOAL_SUCCESS or an error of goal.h, with GOAL_Explain. Arguments are checked before anything is
 * added. Valid C99 and C++.
 */
#ifndef GOAL_COLLECTIVES_H
#define GOAL_COLLECTIVES_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include "goal.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef GOAL_ENUM {
    GOAL_AUTO, GOAL_LINEAR, GOAL_BINOMIAL, GOAL_PIPELINE, GOAL_SCATTER_ALLGATHER, GOAL_DISSEMINATION, GOAL_DOUBLING,
    GOAL_HALVING, GOAL_RING, GOAL_BRUCK, GOAL_PAIRWISE
} GOAL_Algorithm;

/* Those who take part. */
typedef struct {
    int rank, size;           /* this process's number in the group, and how many there are */
    const int *ranks;         /* ranks[i]: the job's rank of number i; NULL: the same */
    const int *nodes;         /* nodes[i]: equal for ranks of one node, where the work is done first; NULL: all on one */
    uint32_t tag;             /* of all messages; collectives of one schedule may have the same */
    GOAL_Algorithm algorithm; /* GOAL_AUTO: as the table says */
} GOAL_Group;

/* All ranks of the job, and on which nodes they are. `nodes` is valid until GOAL_Finalize. */
int GOAL_World(GOAL_Group *group);

static __inline__ GOAL_Buffer GOAL_InPlace(void) {
    GOAL_Buffer buffer = {GOAL_USERSPACE, 0, UINTPTR_MAX};
    return buffer;
}

/* Two operations around a collective within a schedule: nothing of it starts before `begin`, and `end` finishes after
 * all of it. Every call takes one, or NULL. Not for schedules that the call makes. */
typedef struct {
    GOAL_Op begin, end;
} GOAL_Span;

/* dissemination, binomial */
int GOAL_Barrier(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Span *span);
/* linear, binomial, pipeline, scatter_allgather */
int GOAL_Bcast(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer buffer, size_t bytes, int root, GOAL_Span *span);
/* binomial, halving. In place: at the root. `to` matters at the root only. */
int GOAL_Reduce(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to, size_t count,
                GOAL_Type type, GOAL_Local_op op, int root, GOAL_Span *span);
/* doubling, halving, ring, pipeline (halving or a ring, a part at a time), dissemination (where results do not depend on the order; others
 * by doubling, so that all ranks have the same). In place: everywhere. */
int GOAL_Allreduce(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to, size_t count,
                   GOAL_Type type, GOAL_Local_op op, GOAL_Span *span);
/* halving, ring. Rank i keeps counts[i] elements, or `count`. In place: everywhere; the result is at the start of `to`. */
int GOAL_Reduce_scatter(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to,
                        const size_t *counts, GOAL_Type type, GOAL_Local_op op, GOAL_Span *span);
int GOAL_Reduce_scatter_block(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to,
                              size_t count, GOAL_Type type, GOAL_Local_op op, GOAL_Span *span);
/* Combines the ranks up to this one; exscan: those before it, and `to` of rank 0 is left alone. In place: everywhere. */
int GOAL_Scan(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to, size_t count,
              GOAL_Type type, GOAL_Local_op op, GOAL_Span *span);
int GOAL_Exscan(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to, size_t count,
                GOAL_Type type, GOAL_Local_op op, GOAL_Span *span);

/* Sizes and displacements from here on are in bytes. */

/* linear, binomial. In place: as `from` (gather) or `to` (scatter) at the root. Arguments of the other side matter at the
 * root only. */
int GOAL_Gather(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to, size_t bytes, int root,
                GOAL_Span *span);
int GOAL_Scatter(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to, size_t bytes, int root,
                 GOAL_Span *span);
/* `bytes` are this rank's; sizes[i] and displacements[i] matter at the root only. */
int GOAL_Gatherv(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, size_t bytes, GOAL_Buffer to,
                 const size_t *sizes, const ptrdiff_t *displacements, int root, GOAL_Span *span);
int GOAL_Scatterv(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, const size_t *sizes,
                  const ptrdiff_t *displacements, GOAL_Buffer to, size_t bytes, int root, GOAL_Span *span);
/* doubling (bruck where ranks are no power of two), bruck, ring, pipeline (a ring, in segments). In place: everywhere. */
int GOAL_Allgather(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to, size_t bytes,
                   GOAL_Span *span);
/* bruck, ring. In place: everywhere. This rank's size is sizes[rank]. */
int GOAL_Allgatherv(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to, const size_t *sizes,
                    const ptrdiff_t *displacements, GOAL_Span *span);
/* bruck, pairwise. In place: everywhere. */
int GOAL_Alltoall(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, GOAL_Buffer to, size_t bytes,
                  GOAL_Span *span);
/* MPI's alltoallv and alltoallw. In place: the first two arrays are not read. */
int GOAL_Alltoallv(GOAL_Schedule *schedule, const GOAL_Group *group, GOAL_Buffer from, const size_t *out_sizes,
                   const ptrdiff_t *out_displacements, GOAL_Buffer to, const size_t *in_sizes,
                   const ptrdiff_t *in_displacements, GOAL_Span *span);

/* One message of an exchange along the edges of a graph. Of several edges between two ranks, the n-th that is sent with
 * a tag is the n-th that is received with it. */
typedef struct {
    int peer; /* in the group */
    uint32_t tag; /* added to the group's */
    GOAL_Buffer buffer;
    size_t bytes;
} GOAL_Edge;
int GOAL_Exchange(GOAL_Schedule *schedule, const GOAL_Group *group, const GOAL_Edge *out, int num_out, const GOAL_Edge *in,
                  int num_in, GOAL_Span *span);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
