/* portals4_ext.h: the little that Portunus adds to Portals 4.3.
 *
 * Everything here is optional for a program written to the specification. It exists for three users: the layers on
 * top (MPI, OpenSHMEM), which need a job and node memory; compiled GOAL schedules, which need engine extensions
 * E1-E3; and tools, which look at a running engine. Each extension names its plain Portals fallback.
 *
 * All functions return PTL_* codes unless noted and may be called from any thread. Valid C99 and C++.
 */
#ifndef PORTALS4_EXT_H
#define PORTALS4_EXT_H

#include <stddef.h>
#include <stdint.h>

#include "portals4.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- 1. The job: who are my peers? -------------------------------------------------------------------------- */

/* One process's place in its job. A program that was started without a launcher is a job of one. */
typedef struct {
    int rank;           /* 0 .. size-1 */
    int size;
    int local_rank;     /* 0 .. local_size-1, among the ranks on this node */
    int local_size;
    int launched;       /* 1 when a launcher (PMIx server) started this process */
    char job_id[256];   /* equal on all ranks, unique on the machine */
} ptlx_job_t;

/* Joins the job (PMIx when a server is there). Counted; later calls return the same values. PTL_OK, or PTL_FAIL with
 * one sentence on stderr. Call before the first PtlNIInit, so that the engine knows whether all peers share the node. */
int PtlxJobInit(ptlx_job_t *job);
/* Leaves the job when called as often as PtlxJobInit. Does not wait for other ranks. */
void PtlxJobFini(void);
/* Publishes `size` bytes under `key`; visible to all ranks after the next PtlxJobFence. */
int PtlxJobPut(const char *key, const void *value, size_t size);
/* Waits for all ranks of the job and makes what they published visible. Costs milliseconds: set-up only. */
int PtlxJobFence(void);
/* Reads what `rank` published. On entry *size is the room in `value`, on return the size of the value.
 * PTL_FAIL when there is no such key, PTL_NO_SPACE when it does not fit. */
int PtlxJobGet(int rank, const char *key, void *value, size_t *size);
/* Ends all ranks of the job with `status` and does not return; `message` (may be NULL) goes to stderr. */
void PtlxJobAbort(int status, const char *message);
/* Exchanges the physical ids of all ranks, sets them as the map of the logical interface `ni` (an interface that
 * already has a map is left alone) and maps the node memory of the ranks on this node. Collective over the job.
 * Afterwards no shared-memory name of this process is left in the file system. */
int PtlxJobMap(ptl_handle_ni_t ni);

/* ---- 2. Node memory: blocks that the other processes of this node can map ----------------------------------- */

/* A block is a range of this process's memory that every rank on the node can load and store. Blocks are numbered
 * 0, 1, 2 .. in the order of the calls; a layer calls in the same order on every rank (symmetric). At most 8 blocks
 * per process; make them before PtlxJobMap, or call PtlxJobMap again afterwards. Blocks live until the last PtlFini. */

/* A fresh, zeroed block of `size` bytes (rounded up to pages; huge-page aligned from 2 MiB on). The memory is reserved
 * at once: PTL_NO_SPACE (with a sentence on stderr) when the node has none, never SIGBUS later. */
int PtlxNodeAlloc(ptl_handle_ni_t ni, ptl_size_t size, void **base, unsigned int *block);
/* Makes existing private memory a block: the pages of [start, start+size) (page aligned) are replaced by shared ones
 * with the same content. No other thread may write there during the call. Made for the data segment. */
int PtlxNodeShare(ptl_handle_ni_t ni, void *start, ptl_size_t size, unsigned int *block);
/* Where block number `block` of process `peer` lies in *this* process. PTL_FAIL when the peer is not on this node (or
 * PTL_NODE=0): use Portals operations. For the own process: the block itself. */
int PtlxNodeMap(ptl_handle_ni_t ni, ptl_process_t peer, unsigned int block, void **base, ptl_size_t *size);

/* ---- 3. Progress and waiting --------------------------------------------------------------------------------- */

/* Lets the calling thread step the engine once if nobody else does. Returns the work done (0 = nothing). Not a
 * PTL_* code. */
int PtlxProgress(void);
/* Waits until done(arg) is non-zero, stepping the engine meanwhile: spins (when this rank has a core), yields, then
 * sleeps until a message arrives or `nap_us` microseconds have passed (0 = only a message wakes it). `done` is called
 * without locks, any number of times. For waiting on memory that other processes store to directly, give a nap. */
void PtlxWait(int (*done)(void *arg), void *arg, unsigned int nap_us);

/* ---- 4. Engine extensions (numbers of the compile plan) ------------------------------------------------------- */

/* E1, an option of a priority ME/LE with OP_PUT: when an unexpected header satisfies this entry, the engine itself
 * completes it: it copies (or pulls) the kept payload to this entry's memory and then reports exactly as for an
 * expected message: PTL_EVENT_PUT (with ptl_list = PTL_OVERFLOW_LIST), PTL_*_EVENT_CT_COMM. Fallback: handle
 * PTL_EVENT_PUT_OVERFLOW and copy, or a rendezvous. */
#define PTLX_ME_COMPLETE_UNEXPECTED 0x100000u
/* HOLD, an option of an overflow ME/LE: the entry lends no memory (start and length are ignored); the engine keeps eager
 * payload in memory of its own and, of bulk messages, header and key only, so that the data is pulled straight into
 * the entry that is appended later, and the acknowledgement (if any) is sent only then. Headers kept so can only be
 * consumed by entries with PTLX_ME_COMPLETE_UNEXPECTED. Posts no events; with PTL_*_EVENT_CT_COMM each message kept so
 * counts one, after it can be found. Fallback: a managed overflow buffer. */
#define PTLX_ME_HOLD 0x200000u

/* E2: PtlMEAppend when trig_ct reaches the threshold. *me is copied at the call; *me_handle is valid at once for
 * PtlMEUnlink. Same checks and errors as PtlMEAppend, and PTL_NO_SPACE at max_triggered_ops. Fallback: append early
 * into scratch memory and copy. */
int PtlxTriggeredMEAppend(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, const ptl_me_t *me, ptl_list_t list,
                          void *user_ptr, ptl_handle_me_t *me_handle, ptl_handle_ct_t trig_ct, ptl_size_t threshold);

/* E3: local work of the engine. */
typedef enum {
    PTLX_ADD, PTLX_SUB, PTLX_MULT, PTLX_DIV, PTLX_MAX, PTLX_MIN, PTLX_AND, PTLX_OR, PTLX_XOR,
    PTLX_COPY,          /* dst = a; count in elements of `type` */
    PTLX_TIMESTAMP,     /* writes CLOCK_MONOTONIC nanoseconds as uint64_t to dst */
    PTLX_DELAY,         /* occupies no one: completes `count` nanoseconds after it fired */
    PTLX_LOCAL_OP_MAX = 0x7fffffff /* not an operation: makes every int a value of this type, so that it can be checked */
} ptlx_local_op_t;
/* dst[i] = a[i] op b[i] for i < count, when trig_ct reaches the threshold; then `completion` (or PTL_CT_NONE) counts one
 * success, or one failure (integer division by zero). Long vectors are worked off in segments. Ranges may be equal
 * but must not overlap otherwise. Integer and floating types of Portals (no complex, no long double); bitwise ops
 * take integers only: else PTL_ARG_INVALID. Fallback: PtlTriggeredAtomic to self. */
int PtlxTriggeredLocal(ptl_handle_ni_t ni, ptlx_local_op_t op, ptl_datatype_t type, void *dst, const void *a,
                       const void *b, ptl_size_t count, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct,
                       ptl_size_t threshold);

/* ---- 5. Looking at the engine ---------------------------------------------------------------------------------- */

typedef struct {
    char progress[16];        /* "spin", "park", "offload", "caller" */
    int engine_core;          /* logical processor the engine thread is bound to, -1 = none */
    int realtime;             /* 1 when SCHED_FIFO was granted */
    int oversubscribed;       /* 1 when the node has more ranks than usable cores */
    uint64_t engine_cpu_ns;   /* processor time of the engine thread so far */
    uint64_t steps;           /* engine steps with work, by anyone */
    uint64_t steps_by_engine; /* of these, by the engine thread */
    uint64_t sends, arrivals, matches, triggers, rings, back_pressure, dropped;
} ptlx_engine_info_t;
int PtlxEngineInfo(ptlx_engine_info_t *info);
/* "self", "node", "fabric(tcp)" ..: the transport that reaches `peer`. The text lives until PtlFini. NULL if unknown. */
const char *PtlxTransport(ptl_handle_ni_t ni, ptl_process_t peer);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
