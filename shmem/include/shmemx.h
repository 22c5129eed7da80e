/* shmemx.h: calls beyond the specification, named shmemx_: collectives on teams that are started, and waited for later; graphs.
 *
 * A collective of shmem.h with _nb behind its name and a request as its last argument is started by the call, and goes on while the program
 * computes. The engines of the PEs carry it out, whether or not any PE calls again:
 *
 *     shmemx_req_t sum;
 *     shmemx_double_sum_reduce_nb(SHMEM_TEAM_WORLD, total, mine, n, &sum);
 *     compute();
 *     shmemx_req_wait(&sum);   // total is there, mine may be written again
 *
 * Typed, generic (C11, C++) and mem forms, as shmem.h has them: broadcast, collect, fcollect, alltoall, alltoalls, and_reduce .. prod_reduce,
 * sum_inscan, sum_exscan; shmemx_sum_reduce_nb(team, dest, source, nreduce, &request) is the generic form of the example. Arguments are those
 * of the blocking call, with its rules: all PEs of the team call the same collectives in the same order, nonblocking and blocking ones alike,
 * by one thread at a time per team; dest is ready on all PEs when any calls. From the call until the request is complete, source and dest
 * belong to the collective: dest is not touched, source not written. Any number may be under way, of one team and of several, and may be
 * waited for in any order.
 *
 * A collective that names memory that is not symmetric, a root that does not exist, or another size than on other PEs ends the job with a
 * sentence, as the blocking one does; the differences between PEs are found by shmemx_req_test and shmemx_req_wait. So does the death of a PE
 * of the team: the call that waits for it ends the job. All calls return 0 or one of the codes below; with SHMEM_DEBUG a sentence on
 * stderr says why. C99 and C++.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define SHMEMX_ERR_ARG (-1)    /* the team is SHMEM_TEAM_INVALID, there is no such request, or a place for an answer is NULL */
#define SHMEMX_ERR_MEMORY (-2) /* there is no memory; nothing was started, and the call may be made again */
#define SHMEMX_ERR_STATE (-3)  /* not now: the graph runs, or does not; the thread captures, or does not */
#define SHMEMX_ERR_UNSUPPORTED (-4) /* the capture has a call that cannot be recorded */
#define SHMEMX_ERR_FAILED (-5)      /* a run has failed, since a PE has died; the graph can only be freed */

/* A collective, or a run of a graph, that was started: an opaque handle, which shmemx_req_wait, shmemx_req_test or shmemx_req_free ends. */
typedef struct shmemxi_req *shmemx_req_t;
#define SHMEMX_REQ_INVALID ((shmemx_req_t)0) /* what the request is when it was not started, or has ended */

/* Waits until the collective is complete on this PE, stepping the engine meanwhile, and sets *request to SHMEMX_REQ_INVALID. Of that it
 * returns 0 at once. By one thread at a time per request; SHMEMX_ERR_ARG. */
int shmemx_req_wait(shmemx_req_t *request);
int pshmemx_req_wait(shmemx_req_t *request);
/* *complete is 1 when the collective is complete on this PE; then *request is set to SHMEMX_REQ_INVALID, of which it is 1, too. Else 0, and
 * the engine has made a step. By one thread at a time per request; SHMEMX_ERR_ARG. */
int shmemx_req_test(shmemx_req_t *request, int *complete);
int pshmemx_req_test(shmemx_req_t *request, int *complete);
/* Gives the handle up, and sets it to SHMEMX_REQ_INVALID; the collective goes on. shmem_team_destroy and the last shmem_finalize wait for
 * all that are under way, whether their requests were freed or not: only behind these is it known to be complete. SHMEMX_ERR_ARG. */
int shmemx_req_free(shmemx_req_t *request);
int pshmemx_req_free(shmemx_req_t *request);

/* Graphs: communication that is captured once and then runs by itself, as often as it is started.
 *
 *     shmemx_graph_begin(SHMEM_TEAM_WORLD);
 *     shmem_putmem_signal_nbi(halo, edge, n, &flag, 1, SHMEM_SIGNAL_ADD, right);
 *     shmem_signal_wait_until(&flag, SHMEM_CMP_GE, 1);          // a node of the graph: it waits in each run
 *     shmem_signal_add(&flag, -1, me);                          // so that the next run waits, too
 *     shmemx_graph_end(SHMEM_TEAM_WORLD, &graph);
 *     shmemx_graph_start(graph, &run);   ...compute...   shmemx_req_wait(&run);
 *
 * Between begin and end this thread's calls are recorded, not executed: put, get, p, iput, iget, ibput and ibget, blocking and not, with any
 * context; put with signal, signal_set and signal_add; atomics, those that fetch with _nbi; fence, quiet and pe_quiet; wait_until,
 * wait_until_all and signal_wait_until, which answers what it was to wait for; sync, barrier_all and the blocking collectives of the team.
 * Memory is that of the calls, and is read and written by each run; the values of p, of atomics, signals and comparisons are those of the
 * capture. A call that blocks, a wait, a collective and quiet are the edges: what is called later begins when that has ended, for a put
 * when it is complete at its PE; a fence puts what comes later at each PE behind what came before there; nothing else makes a call wait.
 * A run ends on a PE when all that the PE has recorded is complete.
 * Calls that give a value (g, blocking atomics that fetch, test, wait_until_any and _some), locks, allocation, teams, collectives that are
 * started and those of active sets are refused: they do nothing, and the end of the capture is SHMEMX_ERR_UNSUPPORTED. PEs are those of the
 * team, in operations as in collectives. What is wrong in an argument ends the job, as outside of a capture.
 *
 * All return 0 or a code; shmemx_graph_explain has the sentence, which SHMEM_DEBUG prints, too. The requests of runs are for shmemx_req_wait,
 * _test and _free, which answer SHMEMX_ERR_FAILED for a run in which a PE of the team has died. */
typedef struct shmemxi_graph *shmemx_graph_t;
#define SHMEMX_GRAPH_INVALID ((shmemx_graph_t)0)

/* Begins a capture by this thread, one at a time. Collective over the team; does not wait. SHMEMX_ERR_ARG, SHMEMX_ERR_STATE. */
int shmemx_graph_begin(shmem_team_t team);
int pshmemx_graph_begin(shmem_team_t team);
/* Ends it. Collective; all PEs must have captured the same collectives, else SHMEMX_ERR_ARG on all. SHMEMX_ERR_STATE: this thread does not
 * capture the team, and nothing was done. SHMEMX_ERR_UNSUPPORTED, SHMEMX_ERR_MEMORY: of 512 graphs of a PE, too. Costs milliseconds. */
int shmemx_graph_end(shmem_team_t team, shmemx_graph_t *graph);
int pshmemx_graph_end(shmem_team_t team, shmemx_graph_t *graph);
/* In a capture: what comes later waits until the gate is opened in a run. 0 <= number < 1024, each once. SHMEMX_ERR_ARG, SHMEMX_ERR_STATE. */
int shmemx_graph_gate(int number);
int pshmemx_graph_gate(int number);
/* In a capture: passed when what was waited for so far has ended; nothing waits for it. As shmemx_graph_gate. */
int shmemx_graph_signal(int number);
int pshmemx_graph_signal(int number);
/* Starts a run, one at a time; all PEs start a graph equally often. The engines carry it out. Costs one increment of a counter, whatever
 * the size of the graph. SHMEMX_ERR_ARG; SHMEMX_ERR_STATE: it runs; SHMEMX_ERR_MEMORY; SHMEMX_ERR_FAILED. */
int shmemx_graph_start(shmemx_graph_t graph, shmemx_req_t *request);
int pshmemx_graph_start(shmemx_graph_t graph, shmemx_req_t *request);
/* Opens a gate of this PE in the run that goes on, once. Any thread. SHMEMX_ERR_ARG, SHMEMX_ERR_STATE. */
int shmemx_graph_open(shmemx_graph_t graph, int number);
int pshmemx_graph_open(shmemx_graph_t graph, int number);
/* *flag: has this PE passed the signal in the run that was started last? SHMEMX_ERR_ARG. */
int shmemx_graph_passed(shmemx_graph_t graph, int number, int *flag);
int pshmemx_graph_passed(shmemx_graph_t graph, int number, int *flag);
/* Writes the graph of all PEs as GOAL text, which goalc and goalrun take: operations on memory of others are messages there, which are
 * answered; a wait is behind those that let it end if the word is 0 at first; gates are open. Collective over the team, whose first PE
 * writes. SHMEMX_ERR_ARG: the file cannot be written, too; SHMEMX_ERR_STATE: the team was destroyed; SHMEMX_ERR_UNSUPPORTED: a reduction of
 * numbers that the text has no words for. */
int shmemx_graph_export(shmemx_graph_t graph, const char *path);
int pshmemx_graph_export(shmemx_graph_t graph, const char *path);
/* Frees a graph that does not run, and sets it to SHMEMX_GRAPH_INVALID. Local; the team may have been destroyed before. shmem_finalize
 * frees what is left, and waits for runs. SHMEMX_ERR_ARG, SHMEMX_ERR_STATE. */
int shmemx_graph_free(shmemx_graph_t *graph);
int pshmemx_graph_free(shmemx_graph_t *graph);
/* Why the last call of this thread that answered a code in a capture, or with a graph, did so. */
const char *shmemx_graph_explain(void);
const char *pshmemx_graph_explain(void);

/* Complete when all PEs of the team have called it, and the puts and atomics of the default context are complete that they had issued
 * before: the call itself waits for those to PEs of other nodes, as shmem_quiet does, and for nothing else. SHMEMX_ERR_ARG,
 * SHMEMX_ERR_MEMORY. */
int shmemx_barrier_nb(shmem_team_t team, shmemx_req_t *request);
int pshmemx_barrier_nb(shmem_team_t team, shmemx_req_t *request);
/* The same without the quiet: stores alone are complete, as with shmem_team_sync. */
int shmemx_sync_nb(shmem_team_t team, shmemx_req_t *request);
int pshmemx_sync_nb(shmem_team_t team, shmemx_req_t *request);

/* The collectives on bytes. Of collect, whose sizes each PE alone knows, the sizes travel by themselves; the data follow when any thread of
 * this PE is in a call that waits, or tests, after that. alltoalls copies its elements together in the call, and apart in that which
 * finds it complete. SHMEMX_ERR_ARG, SHMEMX_ERR_MEMORY. */
int shmemx_broadcastmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root, shmemx_req_t *request);
int pshmemx_broadcastmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root, shmemx_req_t *request);
int shmemx_collectmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *request);
int pshmemx_collectmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *request);
int shmemx_fcollectmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *request);
int pshmemx_fcollectmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *request);
int shmemx_alltoallmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *request);
int pshmemx_alltoallmem_nb(shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *request);
int shmemx_alltoallsmem_nb(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                           shmemx_req_t *request);
int pshmemx_alltoallsmem_nb(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                            shmemx_req_t *request);

/* The typed collectives: shmemx_TYPENAME_NAME_nb for each shmem_TYPENAME_NAME of shmem_typed_team.h. */
#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_EACH(LIST) LIST
#define SHMEMI_TYPED(R, N, op, params, args)                                     \
    R shmemx_##N##_##op##_nb(SHMEMI_UNWRAP params, shmemx_req_t *request);       \
    R pshmemx_##N##_##op##_nb(SHMEMI_UNWRAP params, shmemx_req_t *request);
#include "shmem_typed_team.h"
#undef SHMEMI_EACH
#undef SHMEMI_UNWRAP

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* The generic ones. */
#if defined(__cplusplus)
#define SHMEMI_UNWRAP(...) __VA_ARGS__
#define SHMEMI_EACH(LIST) LIST##_DISTINCT
#define SHMEMI_TYPED(R, N, op, params, args)                                     \
    inline R shmemx_##op##_nb(SHMEMI_UNWRAP params, shmemx_req_t *request) {     \
        return shmemx_##N##_##op##_nb(SHMEMI_UNWRAP args, request);              \
    }
#include "shmem_typed_team.h"
#undef SHMEMI_EACH
#undef SHMEMI_UNWRAP
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHMEMXI_CASE(N, T, op) T *: shmemx_##N##op, const T *: shmemx_##N##op,
#define SHMEMXI_SELECT(TYPES, op, team, dest, ...)                                                       \
    _Generic((dest), TYPES(SHMEMXI_CASE, op) default: shmemi_no_such_type)(team, dest, __VA_ARGS__)
#define shmemx_broadcast_nb(...) SHMEMXI_SELECT(SHMEMI_RMA_DISTINCT, _broadcast_nb, __VA_ARGS__)
#define shmemx_collect_nb(...) SHMEMXI_SELECT(SHMEMI_RMA_DISTINCT, _collect_nb, __VA_ARGS__)
#define shmemx_fcollect_nb(...) SHMEMXI_SELECT(SHMEMI_RMA_DISTINCT, _fcollect_nb, __VA_ARGS__)
#define shmemx_alltoall_nb(...) SHMEMXI_SELECT(SHMEMI_RMA_DISTINCT, _alltoall_nb, __VA_ARGS__)
#define shmemx_alltoalls_nb(...) SHMEMXI_SELECT(SHMEMI_RMA_DISTINCT, _alltoalls_nb, __VA_ARGS__)
#define shmemx_and_reduce_nb(...) SHMEMXI_SELECT(SHMEMI_REDUCE_BITWISE_DISTINCT, _and_reduce_nb, __VA_ARGS__)
#define shmemx_or_reduce_nb(...) SHMEMXI_SELECT(SHMEMI_REDUCE_BITWISE_DISTINCT, _or_reduce_nb, __VA_ARGS__)
#define shmemx_xor_reduce_nb(...) SHMEMXI_SELECT(SHMEMI_REDUCE_BITWISE_DISTINCT, _xor_reduce_nb, __VA_ARGS__)
#define shmemx_max_reduce_nb(...) SHMEMXI_SELECT(SHMEMI_RMA_DISTINCT, _max_reduce_nb, __VA_ARGS__)
#define shmemx_min_reduce_nb(...) SHMEMXI_SELECT(SHMEMI_RMA_DISTINCT, _min_reduce_nb, __VA_ARGS__)
#define shmemx_sum_reduce_nb(...) SHMEMXI_SELECT(SHMEMI_REDUCE_SUM_DISTINCT, _sum_reduce_nb, __VA_ARGS__)
#define shmemx_prod_reduce_nb(...) SHMEMXI_SELECT(SHMEMI_REDUCE_SUM_DISTINCT, _prod_reduce_nb, __VA_ARGS__)
#define shmemx_sum_inscan_nb(...) SHMEMXI_SELECT(SHMEMI_REDUCE_SUM_DISTINCT, _sum_inscan_nb, __VA_ARGS__)
#define shmemx_sum_exscan_nb(...) SHMEMXI_SELECT(SHMEMI_REDUCE_SUM_DISTINCT, _sum_exscan_nb, __VA_ARGS__)
#endif

#endif
