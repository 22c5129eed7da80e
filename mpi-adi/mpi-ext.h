/* mpi-ext.h: what this library has beside the standard: user-level failure mitigation (ULFM), graphs, notified one-sided access,
 * and continuations.
 *
 * A rank that dies is an error of those who deal with it, where their error handler returns (MPI_ERRORS_RETURN) and the launcher lets the
 * others go on (ptlrun --keep-going). These calls let the survivors agree on what happened and go on in a communicator of their own:
 *
 *     MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
 *     error = MPI_Allreduce(..., comm);
 *     MPIX_Comm_agree(comm, &well);                 // did it succeed everywhere? The answer is the same on all survivors
 *     if (!well) { MPIX_Comm_revoke(comm); MPIX_Comm_shrink(comm, &smaller); ... }
 *
 * The class of errors that a death raises is the standard's, MPI_ERR_PROC_ABORTED, of which MPIX_ERR_PROC_FAILED is another name.
 * Source: Bland, Bouteiller, Herault, Bosilca, Dongarra, "Post-failure recovery of MPI communication capability", IJHPCA 2013; the
 * MPI Forum's chapter on process fault tolerance.
 */
#ifndef MPI_EXT_H
#define MPI_EXT_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define MPIX_HAVE_ULFM 1
#define OMPI_HAVE_MPI_EXT_FTMPI 1 /* what programs for Open MPI ask: whether the calls below are there */

#define MPIX_ERR_PROC_FAILED MPI_ERR_PROC_ABORTED
/* A request that receives from any source has this error: a rank has died whose message it may be. The request stays as it is (MPI_Test sets
 * no flag): it may be cancelled, or waited for again after MPIX_Comm_failure_ack. Blocking receives from any source end with MPIX_ERR_PROC_FAILED. */
#define MPIX_ERR_PROC_FAILED_PENDING 16001
#define MPIX_ERR_REVOKED 16002

/* Ends all communication in the communicator, on all its ranks: what is under way and what is begun later raises MPIX_ERR_REVOKED,
 * but for the calls below and MPI_Comm_free. Not collective; returns at once. */
int MPIX_Comm_revoke(MPI_Comm comm);
/* *flag: has it been revoked, as far as this rank knows? */
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
/* A new communicator of those ranks of an intracommunicator that are alive, in the same order and the same on all of them. Collective
 * over the living; also of one that is revoked. The second gives it with its request. */
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
/* *flag becomes the bitwise and of those of the living, the same on all of them, whoever dies meanwhile; also in a revoked one.
 * MPIX_ERR_PROC_FAILED, on all or none, and *flag is valid: a rank has died that not all have acknowledged. */
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
/* Acknowledges the deaths that this rank knows of: receives from any source no longer fail because of them. Local. */
int MPIX_Comm_failure_ack(MPI_Comm comm);
/* A group of the ranks whose deaths are acknowledged. Local. */
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed);
/* A group of the ranks whose deaths this rank knows of; acknowledging the first `number` of them, *acked are acknowledged then. Local. */
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed);
int MPIX_Comm_ack_failed(MPI_Comm comm, int number, int *acked);

int PMPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int number, int *acked);

/* Graphs: communication that is captured once and then runs by itself, as often as it is started.
 *
 *     MPIX_Graph_begin(comm, MPI_INFO_NULL);
 *     for (step = 0; step < 16; step++) { MPI_Recv(..., comm, ...); MPI_Send(..., comm); }
 *     MPIX_Graph_end(comm, &graph);
 *     MPIX_Graph_start(graph, &request);   ...compute...   MPI_Wait(&request, MPI_STATUS_IGNORE);
 *
 * Between begin and end this thread's calls on the communicator are recorded, not executed: sends and receives of all modes, blocking, not
 * blocking and persistent ones that are started, collectives with predefined operations, MPI_Reduce_local, MPI_Pack and MPI_Unpack,
 * accesses to windows of the communicator's ranks in a passive epoch, and their flushes. Buffers are those of the calls, and are used by
 * each run. A call that blocks, MPI_Wait, MPI_Waitall and MPI_Win_flush are the edges: what is called later begins when that has ended,
 * and nothing else makes it wait. Requests of a capture are for MPI_Wait, MPI_Waitall and MPI_Request_free; statuses are empty. Calls on
 * other communicators, windows of other ranks, and files are executed. What cannot be recorded raises MPI_ERR_UNSUPPORTED_OPERATION, and
 * so does the end of the capture: MPI_Test and its like, MPI_Waitany, MPI_Waitsome, probes, receives from MPI_ANY_SOURCE, operations of
 * the user, partitioned messages, communicators that are made from this one, data in more than 4096 pieces, calls that begin or end an
 * epoch, notified accesses, MPI_Compare_and_swap. A passive epoch of each window that this rank accesses has to be under way in each run
 * (MPI_ERR_RMA_SYNC), and a graph whose window was freed can only be freed itself (MPI_ERR_WIN).
 * The n-th message between two ranks meets the receive that it would have met in MPI; none meets a message outside of the graph. */
#define MPIX_HAVE_GRAPHS 1
typedef struct MPIX_ABI_Graph *MPIX_Graph;
#define MPIX_GRAPH_NULL ((MPIX_Graph)0)

/* Begins a capture of an intracommunicator by this thread, one at a time. Collective; does not wait. No key of the info has a meaning yet. */
int MPIX_Graph_begin(MPI_Comm comm, MPI_Info info);
/* Ends it. Collective; all ranks must have captured what fits together, else MPI_ERR_ARG says what does not, and there is no graph. */
int MPIX_Graph_end(MPI_Comm comm, MPIX_Graph *graph);
/* In a capture: what comes later waits until the gate is opened in a run; the memory that it receives into is the program's until then.
 * 0 <= number < 1024, each once. */
int MPIX_Graph_gate(int number);
/* In a capture: passed when what was waited for so far has ended; nothing waits for it. 0 <= number < 1024, each once. */
int MPIX_Graph_signal(int number);
/* Starts a run, one at a time; all ranks start a graph equally often. Failures are results of the request: MPI_ERR_TRUNCATE,
 * MPI_ERR_PROC_ABORTED, MPIX_ERR_REVOKED; after the last two the graph can only be freed. */
int MPIX_Graph_start(MPIX_Graph graph, MPI_Request *request);
/* Opens a gate of this rank in the run that goes on, once. Any thread. */
int MPIX_Graph_open(MPIX_Graph graph, int number);
/* *flag: has this rank passed the signal in the run that was started last? */
int MPIX_Graph_passed(MPIX_Graph graph, int number, int *flag);
/* Writes the graph of all ranks as GOAL text, which goalc and goalrun take; gates are open there. Collective; rank 0 writes. */
int MPIX_Graph_export(MPIX_Graph graph, const char *path);
/* *flag: does this thread capture? */
int MPIX_Graph_capturing(int *flag);
/* A graph as an integer, for languages without pointers, and back. */
int MPIX_Graph_toint(MPIX_Graph graph);
MPIX_Graph MPIX_Graph_fromint(int graph);
/* Frees a graph that does not run. Local; the communicator may have been freed before. */
int MPIX_Graph_free(MPIX_Graph *graph);

int PMPIX_Graph_begin(MPI_Comm comm, MPI_Info info);
int PMPIX_Graph_end(MPI_Comm comm, MPIX_Graph *graph);
int PMPIX_Graph_gate(int number);
int PMPIX_Graph_signal(int number);
int PMPIX_Graph_start(MPIX_Graph graph, MPI_Request *request);
int PMPIX_Graph_open(MPIX_Graph graph, int number);
int PMPIX_Graph_passed(MPIX_Graph graph, int number, int *flag);
int PMPIX_Graph_export(MPIX_Graph graph, const char *path);
int PMPIX_Graph_capturing(int *flag);
int PMPIX_Graph_toint(MPIX_Graph graph);
MPIX_Graph PMPIX_Graph_fromint(int graph);
int PMPIX_Graph_free(MPIX_Graph *graph);

/* ---- Notified one-sided access --------------------------------------------------------------------------------
 *
 * A window may have notifications: numbers of each rank, 0 at first, that accesses of other ranks count up by 1 when their data are in
 * place. The target waits for a number instead of a message or a barrier:
 *
 *     MPIX_Win_create_notify(win, 2);
 *     MPI_Win_lock_all(0, win);
 *     MPIX_Put_notify(halo, n, MPI_DOUBLE, right, 0, n, MPI_DOUBLE, win, 0);   // my halo, and +1 on notification 0 of `right`
 *     MPIX_Win_wait_notify(win, 0, 1);                                        // the halo of `left` is here
 *
 * A rank that has seen a notification sees the data of its access; of a get it says that they have been read. It says nothing of other
 * accesses, and replaces no flush at the origin, whose buffer is its own again as after MPI_Put and MPI_Get. */
#define MPIX_HAVE_NOTIFY 1

/* Gives the window `n` notifications of this rank, 0 .. n-1; ranks may have different numbers of them. Collective over the window's
 * ranks. A window that has some already: MPI_ERR_WIN. MPI_Win_free frees them, too. */
int MPIX_Win_create_notify(MPI_Win win, int n);
/* Frees them, when all accesses with notifications are complete on all ranks. Collective. */
int MPIX_Win_free_notify(MPI_Win win);
/* As MPI_Put and MPI_Get, in an epoch as those, and counts up notification `idx` of the target. */
int MPIX_Put_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                    int target_count, MPI_Datatype target_datatype, MPI_Win win, int idx);
int MPIX_Get_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                    int target_count, MPI_Datatype target_datatype, MPI_Win win, int idx);
int MPIX_Put_notify_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                      MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win, int idx);
int MPIX_Get_notify_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                      MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win, int idx);
/* The number of this rank's notification `idx`, by now, and setting it: what comes in during the call counts on top. Local. */
int MPIX_Win_get_notify(MPI_Win win, int idx, MPI_Count *value);
int MPIX_Win_set_notify(MPI_Win win, int idx, MPI_Count value);
/* Waits until it is `value` or more. A rank of the window has died whose access may be the one: MPI_ERR_PROC_ABORTED, unless that death
 * has been acknowledged. The second only looks: *flag. */
int MPIX_Win_wait_notify(MPI_Win win, int idx, MPI_Count value);
int MPIX_Win_test_notify(MPI_Win win, int idx, MPI_Count value, int *flag);

int PMPIX_Win_create_notify(MPI_Win win, int n);
int PMPIX_Win_free_notify(MPI_Win win);
int PMPIX_Put_notify(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                     int target_count, MPI_Datatype target_datatype, MPI_Win win, int idx);
int PMPIX_Get_notify(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                     int target_count, MPI_Datatype target_datatype, MPI_Win win, int idx);
int PMPIX_Put_notify_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win, int idx);
int PMPIX_Get_notify_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win, int idx);
int PMPIX_Win_get_notify(MPI_Win win, int idx, MPI_Count *value);
int PMPIX_Win_set_notify(MPI_Win win, int idx, MPI_Count value);
int PMPIX_Win_wait_notify(MPI_Win win, int idx, MPI_Count value);
int PMPIX_Win_test_notify(MPI_Win win, int idx, MPI_Count value, int *flag);

/* ---- Continuations --------------------------------------------------------------------------------------------
 *
 * A function that runs when a request is complete, in a call of MPI of some thread of the program: never on a thread of the library, and
 * never within another such function on the same thread. Continuations are registered with a continuation request, which is complete when
 * all of them have run; MPI_Start makes it active again, and so does registering another one.
 *
 *     MPIX_Continue_init(-1, 0, &all, MPI_INFO_NULL);
 *     MPI_Irecv(room, n, MPI_BYTE, client, 0, comm, &request);
 *     MPIX_Continue(&request, answer, room, 0, MPI_STATUS_IGNORE, all);     // request is MPI_REQUEST_NULL now
 *     MPI_Wait(&all, MPI_STATUS_IGNORE);                                    // runs answer(MPI_SUCCESS, room)
 */
#define MPIX_HAVE_CONTINUE 1

/* `rc`: MPI_SUCCESS, or the error class of the operation; of several whose statuses are wanted, MPI_ERR_IN_STATUS. What is not MPI_SUCCESS
 * in return is an error of the continuation request, raised where it is completed. It may call MPI and register others, but not free its own
 * continuation request, nor wait for any that has functions to run: none runs inside of another. */
typedef int MPIX_Continue_cb_function(int rc, void *cb_data);

/* Flags of MPIX_Continue_init: functions run only in calls that test or wait for this continuation request. And one that says what is so in
 * any case: the continuation request is a persistent one. */
#define MPIX_CONT_POLL_ONLY 0x1
#define MPIX_CONT_PERSISTENT 0x2
/* Flags of MPIX_Continue: the function does not run in the call itself where the operation is complete already. And one that says what is so
 * in any case: the array of requests may be gone after the call. */
#define MPIX_CONT_DEFER_COMPLETE 0x4
#define MPIX_CONT_REQBUF_VOLATILE 0x8

/* A continuation request, inactive at first. One call that tests it runs `max_poll` functions at most; -1: all that are due. */
int MPIX_Continue_init(int max_poll, int flags, MPI_Request *cont_req, MPI_Info info);
/* Registers a function for one request, or for all of several; null and inactive ones are complete. The requests belong to MPI from then on
 * and become MPI_REQUEST_NULL, but for persistent ones, which may be started again when the function has run. `status`, unless it is
 * MPI_STATUS_IGNORE, is filled in before that. Where all are complete already the function may run in the call. */
int MPIX_Continue(MPI_Request *op_request, MPIX_Continue_cb_function *cb, void *cb_data, int flags, MPI_Status *status,
                  MPI_Request cont_req);
int MPIX_Continueall(int count, MPI_Request op_requests[], MPIX_Continue_cb_function *cb, void *cb_data, int flags, MPI_Status statuses[],
                     MPI_Request cont_req);
/* The `cb_data` of functions that have returned an error: *count of them at most, which becomes how many. They are told once. */
int MPIX_Continue_get_failed(MPI_Request cont_req, int *count, void *cb_data[]);
/* A descriptor for poll, epoll and their like, until the continuation request is freed: readable when a call that tests the continuation
 * request has something to do, seldom when not; such a call makes it unreadable again. It is not to be read or closed. Waiting for it takes
 * no processor time. */
int MPIX_Continue_get_fd(MPI_Request cont_req, int *fd);

int PMPIX_Continue_init(int max_poll, int flags, MPI_Request *cont_req, MPI_Info info);
int PMPIX_Continue(MPI_Request *op_request, MPIX_Continue_cb_function *cb, void *cb_data, int flags, MPI_Status *status,
                   MPI_Request cont_req);
int PMPIX_Continueall(int count, MPI_Request op_requests[], MPIX_Continue_cb_function *cb, void *cb_data, int flags, MPI_Status statuses[],
                      MPI_Request cont_req);
int PMPIX_Continue_get_failed(MPI_Request cont_req, int *count, void *cb_data[]);
int PMPIX_Continue_get_fd(MPI_Request cont_req, int *fd);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
