/* goal_node.h: blocking and short nonblocking collectives of a group whose ranks share a node, through memory that all of them map.
 *
 * There is no schedule and no message here: each rank writes what it contributes where the others can read it, waits until
 * theirs is there, and takes what it needs. Vectors of any length pass, long ones piece by piece. The layers that offer
 * blocking collectives ask here first, and run a schedule (goal_collectives.h) where the answer is GOAL_NODE_NOT_TAKEN:
 * ranks on several nodes, no memory to share, or an algorithm that PTL_COLLECTIVES names for this collective.
 *
 * All ranks of the group make the same calls in the same order. The memory is made after the first few calls, and memory
 * for long vectors after the first few long ones: until then calls are not taken, on any rank.
 *
 * Results of reductions do not depend on time: contributions are combined in the order of the ranks.
 *
 * One thread at a time per node, any thread. Valid C99 and C++.
 */
#ifndef GOAL_NODE_H
#define GOAL_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "goal_collectives.h"
#include "goal_domain.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Beside the codes of goal.h. */
enum {
    GOAL_NODE_MISMATCH = -1,  /* it has ended, but another rank's collective, root or size is not this one's: take no result */
    GOAL_NODE_HOPELESS = -2,  /* hopeless() said so; from now on every call of this group fails here */
    GOAL_NODE_NOT_TAKEN = -3  /* nothing was done; the answer is the same on all ranks */
};

typedef struct goal_node *GOAL_Node;

typedef enum {
    GOAL_NODE_BARRIER, GOAL_NODE_BCAST, GOAL_NODE_GATHER, GOAL_NODE_SCATTER, GOAL_NODE_ALLGATHER, GOAL_NODE_ALLTOALL,
    GOAL_NODE_REDUCE, GOAL_NODE_ALLREDUCE, GOAL_NODE_REDUCE_SCATTER, GOAL_NODE_SCAN, GOAL_NODE_EXSCAN,
    GOAL_NODE_GATHERV, GOAL_NODE_SCATTERV, GOAL_NODE_ALLGATHERV, GOAL_NODE_ALLTOALLV
} GOAL_Node_kind;

/* What one rank does. `in` is what it contributes and `out` what it gets, packed, where the collective has either on this
 * rank; they are the same memory, or do not overlap, as follows.
 *   BCAST                  `out` is both
 *   GATHER .. ALLTOALL     `bytes` is a rank's part; a rank's own part may be in its place in `out` already. ALLTOALL: they differ
 *   REDUCE .. EXSCAN       `count` elements of `type`, combined with `op`; `in` may be `out`. EXSCAN: rank 0 gets nothing
 *   REDUCE_SCATTER         `counts[i]` elements are rank i's (NULL: `count` each); they differ
 *   the ..V                sizes and places in bytes, for each rank, of what leaves (`in_`) and comes (`out_`), where that is
 *                          more than one part; else `bytes`. A rank's own part is copied unless both places are the same */
typedef struct {
    GOAL_Node_kind kind;
    int root;
    size_t bytes;
    const void *in;
    void *out;
    GOAL_Type type;
    GOAL_Local_op op;
    size_t count;
    const size_t *counts;
    const size_t *in_sizes, *out_sizes;
    const ptrdiff_t *in_places, *out_places;
} GOAL_Node_call;

/* What `context` is for GOAL_Context: that of the group's schedules, of which this takes the tags from GOAL_NODE_TAGS on.
 * hopeless(arg) (or NULL) is asked now and then by a rank that has waited for long: not 0 ends the wait. The arrays of the group
 * are copied. `domain` (or NULL) is that of the context: its failure fails all calls. Local: nothing is agreed on yet. GOAL_ERR_ARG,
 * GOAL_ERR_NO_SPACE. */
#define GOAL_NODE_TAGS 32768u
int GOAL_Node_open(const GOAL_Group *group, unsigned context, GOAL_Domain domain, int (*hopeless)(void *arg), void *arg, GOAL_Node *node);
/* Does a collective. GOAL_SUCCESS, what is above, GOAL_ERR_FAILED: a rank of the group has ended; from now on every call fails. */
int GOAL_Node_run(GOAL_Node node, const GOAL_Node_call *call);
/* Starts one: it ends by itself, as far as other ranks' calls go, and is taken by threads of this process that wait in any call of
 * Portals, or call PtlxProgress (PtlxPollerAdd). Memory and arrays of the call stay until it ends; the structure is copied. Then
 * ended(arg) is called once, in this call or by the thread that takes it; *request is written before.
 * Never waits. GOAL_SUCCESS, GOAL_NODE_NOT_TAKEN (until a blocking call has made the memory; contributions that are longer than some KiB;
 * kinds behind EXSCAN and REDUCE_SCATTER; the same on all ranks), GOAL_ERR_FAILED. Started and blocking calls of a group are made in one order
 * on all ranks, by one thread at a time. About 100 ns. */
typedef struct goal_node_run *GOAL_Node_request;
int GOAL_Node_start(GOAL_Node node, const GOAL_Node_call *call, void (*ended)(void *arg), void *arg, GOAL_Node_request *request);
/* After ended(): GOAL_SUCCESS, GOAL_NODE_MISMATCH, GOAL_ERR_FAILED or GOAL_NODE_HOPELESS. Before: gives it up, GOAL_ERR_FAILED, and ended() is not
 * called. Sets *request to NULL. */
int GOAL_Node_finish(GOAL_Node_request *request);
/* Sets *node to NULL. Local: others may still be in the last call. */
void GOAL_Node_close(GOAL_Node *node);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
