/* goal_call.h: the collectives of a group of ranks, each by one call: blocking, started, or made once and started again and again.
 *
 * A team decides for every call how it is done, alike on all ranks:
 *   through memory    ranks that share a node write what they contribute where the others can read it, and take what they need: no
 *                     schedule and no message. Blocking calls of any length; started ones of up to 256 KiB, or in which each two ranks have
 *                     lengths of their own. The memory is made by GOAL_Team_share, or by some of the first blocking calls
 *   kept              a compiled schedule of the call's shape (kind, sizes, root, type, operation) that stays, and is run again by each
 *                     call that is alike: one increment of a counter, and where data are short their copy. Where sizes differ from rank
 *                     to rank, each rank by itself goes on with its schedule, or takes another, as its own sizes stay or change
 * An algorithm that PTL_COLLECTIVES names for a collective excludes memory for it.
 *
 *     GOAL_Team team;  GOAL_Group all;  GOAL_Call sum = {.kind = GOAL_CALL_ALLREDUCE};
 *     GOAL_World(&all);
 *     GOAL_Team_open(&all, 7, 0, NULL, NULL, NULL, &team);
 *     sum.in = mine;  sum.out = total;  sum.count = n;  sum.type = GOAL_DOUBLE;  sum.op = GOAL_ADD;
 *     GOAL_Call_run(team, &sum);
 *
 * All ranks of the group make the same calls in the same order, by one thread at a time per team. Results of reductions do not depend
 * on time. Valid C99 and C++.
 */
#ifndef GOAL_CALL_H
#define GOAL_CALL_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

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
    GOAL_MISMATCH = -1, /* it has ended, but another rank's collective, root or size is not this one's: take no result */
    GOAL_ABANDONED = -2 /* should_abort() said so; the call will never end */
};

typedef struct goal_team *GOAL_Team;

typedef GOAL_ENUM {
    GOAL_CALL_BARRIER, GOAL_CALL_BCAST, GOAL_CALL_GATHER, GOAL_CALL_SCATTER, GOAL_CALL_ALLGATHER, GOAL_CALL_ALLTOALL,
    GOAL_CALL_REDUCE, GOAL_CALL_ALLREDUCE, GOAL_CALL_REDUCE_SCATTER, GOAL_CALL_SCAN, GOAL_CALL_EXSCAN,
    GOAL_CALL_GATHERV, GOAL_CALL_SCATTERV, GOAL_CALL_ALLGATHERV, GOAL_CALL_ALLTOALLV
} GOAL_Call_kind;

/* The part of one rank. `in` is its contribution and `out` its result, packed, where the collective has either on this
 * rank; they are the same memory, or do not overlap, as follows.
 *   BCAST                  `out` is both
 *   GATHER .. ALLTOALL     `bytes` is a rank's part; a rank's own part may be in its place in `out` already. ALLTOALL: they differ
 *   REDUCE .. EXSCAN       `count` elements of `type`, combined with `op`; `in` may be `out`. EXSCAN: rank 0 gets nothing
 *   REDUCE_SCATTER         `counts[i]` elements are rank i's (NULL: `count` each); they differ
 *   the ..V                sizes and places in bytes, for each rank, of what leaves (`in_`) and comes (`out_`), where that is
 *                          more than one part; else `bytes`. A rank's own part is copied unless both places are the same; SCATTERV:
 *                          the root's stays where it is if `out` is NULL */
typedef struct {
    GOAL_Call_kind kind;
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
} GOAL_Call;

/* Not 0: no rank ends the collective before all have begun it. */
int GOAL_Call_meets(const GOAL_Call *call);

/* Adds a collective to a schedule (goal_collectives.h), on the memory of the call, whose arrays are read now only. */
int GOAL_Call_add(GOAL_Schedule schedule, const GOAL_Group *group, const GOAL_Call *call, GOAL_Span *span);

/* Writes what a schedule of the group that is not compiled yet has so far as GOAL text, the part of this rank from "rank" on, with the
 * group's numbers for ranks and a scratchpad in place of the memory of this process; goalc and goalrun take such parts behind a line
 * "num_ranks N". *bytes is the room at `text` and becomes the size; with text NULL only the size is told. GOAL_ERR_ARG: the text has no
 * word for an operation, or a message leaves the group. GOAL_ERR_NO_SPACE: there is less room. GOAL_ERR_STATE: it is compiled. */
int GOAL_Text(GOAL_Schedule schedule, const GOAL_Group *group, char *text, size_t *bytes);

/* For GOAL_Team_open: no call goes through memory; the caller has checked the arguments of all calls, which are not looked at again. */
#define GOAL_TEAM_NO_MEMORY 1u
#define GOAL_TEAM_CHECKED 2u

/* Opens a team; local, and nothing is agreed on yet. The arrays of the group are copied. `context`: as for GOAL_Context, the team's alone.
 * should_abort(arg, again) (or NULL) is asked each second by a rank that sleeps, `again` 0 the first time in a wait: not 0 ends the wait.
 * `domain` (or NULL) is that of the context: its failure fails all calls. GOAL_ERR_ARG, GOAL_ERR_NO_SPACE. */
int GOAL_Team_open(const GOAL_Group *group, unsigned context, unsigned options, GOAL_Domain domain,
                   int (*should_abort)(void *arg, int again), void *arg, GOAL_Team *team);
/* Sets *team to NULL. Local: others may still be in the last call. Behind all GOAL_Release of what was started. */
void GOAL_Team_close(GOAL_Team *team);

/* Makes the memory that the calls of a team on one node share (3 to 24 MiB for all ranks together, most of which is never touched), which
 * otherwise some of the first blocking calls make, and none that is started. Waits until all ranks call it, before any other call of the
 * team. GOAL_SUCCESS, also where there is none to make: calls then go by messages; codes as GOAL_Call_run. Takes 0.2 to 10 ms. */
int GOAL_Team_share(GOAL_Team team);

/* A team of a part of the ranks of `whole`, which shares memory (GOAL_Team_share), may have a place in that for its short calls, from the
 * first on, and for its buffers. There is room for parts of 64 ranks together, or 16 as large as `whole`, in 32 MiB. All of these are local,
 * for any thread; 0 is no place: there is no room, `whole` shares no memory, or a rank of the part is not in it.
 * GOAL_Place_take: by rank 0 of the part, which is done before any other rank calls GOAL_Place_find with the same ranks and `key`, that no
 * other part of these ranks has that one of them has not left. GOAL_Place_leave: by each rank once, behind GOAL_Team_close of the part's
 * team; the place is free when the last one has left. */
int GOAL_Place_take(GOAL_Team whole, const GOAL_Group *part, uint64_t key);
int GOAL_Place_find(GOAL_Team whole, const GOAL_Group *part, uint64_t key);
void GOAL_Place_leave(GOAL_Team whole, const GOAL_Group *part, int place);
/* By rank 0, instead: no other rank has found it, nor will. */
void GOAL_Place_return(GOAL_Team whole, const GOAL_Group *part, int place);
/* Before the first call of the part's team. `whole` is closed behind it. GOAL_SUCCESS, also for no place; GOAL_ERR_ARG, GOAL_ERR_NO_SPACE. */
int GOAL_Team_lie_at(GOAL_Team part, GOAL_Team whole, int place);

/* Does a collective. GOAL_SUCCESS; what is above; codes of goal.h. GOAL_ERR_FAILED: a rank of the group has ended; calls that it
 * takes part in fail from now on. */
int GOAL_Call_run(GOAL_Team team, const GOAL_Call *call);

/* Starts one: it goes on by itself. Memory and arrays of the call stay until it ends; the structure is copied. When it has ended, ended(arg)
 * is called once, in this call or by a thread of this process that waits in any call of Portals, or calls PtlxProgress (PtlxPollerAdd);
 * *started is written before. Then GOAL_Result says how, and GOAL_Release frees it. Never waits, unless several hundred of one shape are
 * under way. GOAL_SUCCESS, or a code of goal.h: nothing was started. */
typedef struct goal_started *GOAL_Started;
int GOAL_Start(GOAL_Team team, const GOAL_Call *call, void (*ended)(void *arg), void *arg, GOAL_Started *started);
/* Makes one that is to be started again and again; memory, arrays and their sizes stay until GOAL_Release. GOAL_Restart starts it,
 * when it has ended if it was started before. No rank begins the next one before all have begun this one. */
int GOAL_Make(GOAL_Team team, const GOAL_Call *call, GOAL_Started *started);
/* The same, but waits until all ranks of the group make it: between ranks of one node short ones (what GOAL_Start takes through memory) then
 * have memory of their own, and each start costs as little as a blocking call. Several may be started in different orders on different
 * ranks. GOAL_Restart: GOAL_ERR_STATE while it is under way. */
int GOAL_Prepare(GOAL_Team team, const GOAL_Call *call, GOAL_Started *started);
int GOAL_Restart(GOAL_Started started, void (*ended)(void *arg), void *arg);
/* The same of a compiled schedule of the group, which is the caller's, does not run, and stays until GOAL_Release. */
int GOAL_Make_of(GOAL_Team team, GOAL_Schedule schedule, GOAL_Started *started);
/* In place of GOAL_Compile, by all ranks of the group together, whose sends and receives in it fit. Where the ranks are few, on one node,
 * and messages and local work short, *compiled is 1 on all of them: each message has a place in memory that they share, and a run neither
 * matches nor appends anything. A rank may be 8 to 64 runs ahead of another; then its sends wait. *compiled 0: nothing was compiled, and the
 * schedule can only be freed. `domain`: that of the group. Messages of tag 32768 in this context are the agreement's. Codes of goal.h;
 * GOAL_ABANDONED. */
int GOAL_Compile_on_node(GOAL_Schedule schedule, const GOAL_Group *group, unsigned context, GOAL_Domain domain, int *compiled);
/* A gate: a receive of the schedule, of no bytes from this rank itself, that no send meets. Lets it pass in the run that is under way. Any
 * thread. GOAL_ERR_STATE: the schedule is not compiled; GOAL_ERR_ARG: it has no such receive; GOAL_ERR_NETWORK. */
int GOAL_Open(GOAL_Schedule schedule, GOAL_Op receive);
/* Once after each ended(): how it ended; puts the result into `out` if it is not there yet. GOAL_SUCCESS, GOAL_MISMATCH,
 * GOAL_ABANDONED, GOAL_ERR_FAILED. */
int GOAL_Result(GOAL_Started started);
/* Gives up what has not ended: 1, and ended() will not be called. 0: it has been called, or is being. */
int GOAL_Abandon(GOAL_Started started);
/* Frees it, and sets *started to NULL. What is still under way is given up, and fails on the ranks that need this one. */
void GOAL_Release(GOAL_Started *started);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
