/* portals4_ext.h: the little that Portunus adds to Portals 4.3.
 *
 * Everything here is optional for a program written to the specification. It exists for three users: the layers on
 * top (MPI, OpenSHMEM), which need a job and node memory; compiled GOAL schedules, which need engine extensions
 * E1-E13; and tools, which look at a running engine. Each extension names its plain Portals fallback.
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
    char family_id[256]; /* the job_id of the job that the launcher was asked for: others are spawned by ranks (PtlxJobSpawn) */
    unsigned int first; /* how many processes the launcher had started before this job's: no other job has these numbers */
    int spawned;        /* 1 when a rank of another job has asked for this one */
    int room;           /* for so many processes at a time the launcher has room; 0: it does not say */
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
/* Publishes `size` bytes (1 or more) of this rank under `key`, waits for all ranks, and writes theirs to `all`, one behind the other: `size`
 * times the job's ranks. Collective, with one size. PTL_FAIL, with a sentence on stderr, where a rank has ended or gives another size.
 * Costs as PtlxJobFence; among many ranks less than PtlxJobGet of each. */
int PtlxJobShare(const char *key, const void *mine, size_t size, void *all);
/* Ends all ranks of the job with `status` and does not return; `message` (may be NULL) goes to stderr. */
void PtlxJobAbort(int status, const char *message);
/* Exchanges the physical ids of all ranks, sets them as the map of the logical interface `ni` (an interface that
 * already has a map is left alone) and maps the node memory of the ranks on this node. Collective over the job.
 * Afterwards no shared-memory name of this process is left in the file system. */
int PtlxJobMap(ptl_handle_ni_t ni);

/* A program to be started. NULL: as for the program of this rank, or none. */
typedef struct {
    const char *program;    /* with a slash from `folder`, else from `path`, or PATH */
    char *const *arguments; /* ended by NULL, without the program's name */
    int processes;
    const char *folder;     /* where it starts */
    const char *path;       /* folders, divided by ':' */
    const char *hosts;      /* divided by ','; the launcher's own host only */
} ptlx_program_t;
#define PTLX_SPAWN_TEXT 256
/* Asks the launcher (ptlrun, on one host) to start `count` programs as one job, whose ranks are numbered in this order; they are told
 * `note`. `text` has room for PTLX_SPAWN_TEXT characters. PTL_OK when all run: `text` is the job_id. PTL_FAIL, nothing runs: it is a
 * sentence that says why. The new job ends with its ranks; one of them that fails ends all jobs of the launcher, as any rank does. Costs
 * tens of milliseconds. */
int PtlxJobSpawn(const ptlx_program_t *programs, size_t count, const char *note, char *text);
/* Not a PTL_* code: 1 when all ranks of a job that this process has spawned have ended, else 0. */
int PtlxJobEnded(const char *job_id);
/* The note that PtlxJobSpawn gave to this job, until the last PtlxJobFini; NULL: it was not spawned. */
const char *PtlxJobNote(void);

/* How to reach one process from any other: plain bytes, which may travel however one likes (a file, a socket, a message) and mean the same
 * to processes of other jobs of the same user, on this host or, over a network, on others. Of a process that has ended they reach nobody,
 * whoever has its address by then. */
typedef struct {
    uint64_t words[4];
} ptlx_contact_t;
/* That of this process; it lives as long as an interface is open. */
int PtlxContact(ptl_handle_ni_t ni, ptlx_contact_t *contact);
/* Makes `count` processes members of the map of the logical interface `ni`, which has one already: ranks[i] is from now on the rank of
 * contacts[i] here, the one it had if it was a member, else one behind all others. Ranks of other processes stay; maps of others know
 * nothing of it. A process that is in no map sends in vain to a logical interface: whoever is to be answered is made a member first.
 * Costs microseconds for each, with system calls; up to 10 s where the address is that of a process whose end has not been noticed yet.
 * PTL_FAIL: a process cannot be reached, with its rank PTL_RANK_ANY; the others are members. PTL_NO_SPACE. Fallback: physical
 * interfaces. */
int PtlxMapExtend(ptl_handle_ni_t ni, const ptlx_contact_t *contacts, ptl_size_t count, ptl_rank_t *ranks);

/* ---- 2. Node memory: blocks that the other processes of this node can map ----------------------------------- */

/* A block is a range of this process's memory that every rank on the node can load and store. Blocks are numbered
 * 0, 1, 2 .. in the order of the calls; a layer calls in the same order on every rank (symmetric). At most 8 blocks
 * per process; make them before PtlxJobMap, or call PtlxJobMap again afterwards. Blocks live until the last PtlFini, which
 * unmaps them; memory that PtlxNodeShare made a block keeps address and content. */

/* A fresh, zeroed block of `size` bytes (rounded up to pages; huge-page aligned from 2 MiB on). PTL_NO_SPACE, with a sentence on stderr,
 * when the node has no room. Below 128 MiB all is reserved at once; pages of more come when they are touched (SIGBUS if others took them). */
int PtlxNodeAlloc(ptl_handle_ni_t ni, ptl_size_t size, void **base, unsigned int *block);
/* Makes existing private memory a block: the pages of [start, start+size) (page aligned) are replaced by shared ones
 * with the same content. No other thread may write there during the call. Made for the data segment. */
int PtlxNodeShare(ptl_handle_ni_t ni, void *start, ptl_size_t size, unsigned int *block);
/* The address of block number `block` of process `peer` in *this* process. PTL_FAIL when the peer is not on this node (or
 * PTL_NODE=0): use Portals operations. For the own process: the block itself. */
int PtlxNodeMap(ptl_handle_ni_t ni, ptl_process_t peer, unsigned int block, void **base, ptl_size_t *size);

/* How to wake those who sleep until their memory changes (PtlxWait). `watched` is a word that any thread may load atomically until
 * the last PtlFini: the set of all bits that sleeping threads of the process wait for. A layer agrees with itself which bits stand
 * for which memory; several may share one. */
typedef struct {
    uint32_t *watched;
    void *bell; /* for PtlxNodeRing */
} ptlx_watch_t;
/* That of process `peer`. PTL_FAIL when the peer is not on this node (or PTL_NODE=0); the own process always has one. */
int PtlxNodeWatch(ptl_handle_ni_t ni, ptl_process_t peer, ptlx_watch_t *watch);
/* The caller uses what PtlxNodeWatch gave it no more: `watch` is to be taken for nothing afterwards. What a process that has ended leaves
 * mapped here goes when all have done so, else with the last PtlFini. */
void PtlxNodeUnwatch(const ptlx_watch_t *watch);
/* After a store to memory of that process, when a load of *watched finds one of its bits: wakes all who sleep there. The load must come
 * after the store in the program (atomic_signal_fence); no other fence is needed. Microseconds. */
void PtlxNodeRing(const ptlx_watch_t *watch);

/* As PtlAtomic, PtlFetchAtomic and PtlSwap, at once on memory that this process maps (PtlxNodeMap, or its own): target = target op data
 * for each datum in `size` bytes, the former values to `old` unless it is NULL; `operand` as for PtlSwap. By the processor's atomics, in one
 * order with what engines do there. Any thread; tens of nanoseconds. PTL_ARG_INVALID: not this operation on this type, or the type is
 * longer than 8 bytes. Fallback: the operation itself. */
int PtlxNodeAtomic(ptl_op_t op, ptl_datatype_t type, void *target, const void *data, ptl_size_t size, void *old, const void *operand);

/* ---- 3. Progress and waiting --------------------------------------------------------------------------------- */

/* Lets the calling thread step the engine once if nobody else does. Returns the work done (0 = nothing). Not a
 * PTL_* code. */
int PtlxProgress(void);
/* Waits until done(arg) is non-zero, stepping the engine meanwhile: looks at memory alone for some microseconds (`watched` not
 * 0), then spins (when this rank has a core), yields, then
 * sleeps until a message arrives or somebody rings for one of the bits of `watched` (PtlxNodeWatch; 0 = only a message wakes it).
 * `done` is called any number of times, on this thread alone, also while this thread has the engine: it may read and ask (PtlCTGet,
 * PtlEQGet, which then step nothing) and initiate (PtlPut; executed when `done` has returned), but must not wait, nor allocate or free
 * anything of Portals. Stores by those who do not ring are found as well when `watched` is not 0, but
 * late: the sleep is broken after 100 us, then after twice as long each time, up to 10 ms; every 50 us where the kernel
 * has no membarrier(2). PTL_OK; PTL_CT_NONE_REACHED: `timeout` milliseconds (PTL_TIME_FOREVER: no limit) passed first;
 * PTL_INTERRUPTED: PtlAbort. */
int PtlxWait(int (*done)(void *arg), void *arg, uint32_t watched, ptl_time_t timeout);

/* The bits that a live entry matches, as it was appended last. PTL_ARG_INVALID: there is none; PTL_NO_INIT. Fallback: to remember it. */
int PtlxMEGet(ptl_handle_me_t me, ptl_match_bits_t *match_bits, ptl_match_bits_t *ignore_bits);

/* A limit of time for any call that takes one: so many milliseconds, up to PTLX_MOST_ASLEEP, from when the thread goes to sleep for the
 * first time in the call. A call that does not sleep looks at no clock, as with PTL_TIME_FOREVER. */
#define PTLX_MOST_ASLEEP 0x100000u
#define PTLX_TIME_ASLEEP(milliseconds) (PTL_TIME_FOREVER - 1 - (ptl_time_t)(milliseconds))

/* The wait of this process, told by a library of which all threads wait for long; it is on the page that ptlstat maps, where a launcher
 * finds processes that wait for one another for ever. `call` and `what` are for people, and are cut to 31 and 223 bytes. Only ranks of the
 * job that are in `ranks` can end the wait (`count` of them; above PTLX_MOST_WAITED, or NULL: any rank of the job). All of these threads have
 * waited since `since_ns` (CLOCK_MONOTONIC), and each has looked for an end of its wait at `looked_ns` or later. Tell it again after
 * each look, about once a second; the end of a wait need not be told. PTL_OK; PTL_NO_INIT; PTL_ARG_INVALID. */
#define PTLX_MOST_WAITED 64u
typedef struct {
    const char *call, *what;
    const ptl_rank_t *ranks;
    unsigned int count;
    uint64_t since_ns, looked_ns;
} ptlx_long_wait_t;
int PtlxTellWait(const ptlx_long_wait_t *wait);

/* Work of a layer above that goes on when a thread of the process looks. While *pending (any thread may change it, atomically) is not
 * 0, each thread that waits in a call of Portals, with whatever limit of time, or calls PtlxProgress, calls look(arg) now and then, and
 * sleeps with the bits `watched` as in PtlxWait. look returns not 0 when it did something: whoever waits for that is woken. It may call
 * whatever the application may, on any of its threads, on several at a time; when it waits, no poller is looked at inside.
 * The structure stays as it is until the last PtlFini. PTL_OK, also for one that was added before; PTL_NO_SPACE: there are
 * PTLX_MOST_POLLERS; PTL_ARG_INVALID; PTL_NO_INIT. Costs a wait that finds nothing at once two loads. */
#define PTLX_MOST_POLLERS 4
typedef struct {
    int (*look)(void *arg);
    void *arg;
    const uint32_t *pending;
    uint32_t watched;
} ptlx_poller_t;
int PtlxPollerAdd(const ptlx_poller_t *poller);

/* PtlEQPoll of one queue for several events at once: waits until there is one, `timeout` milliseconds at most
 * (PTL_TIME_FOREVER; 0 = looks once), and takes what there is, up to `most` (1 or more). PTL_OK or PTL_EQ_DROPPED: *taken
 * events are in `events`, in order; what lies behind them may have been written over. PTL_EQ_EMPTY: none came in time. Else
 * as PtlEQPoll. `recorded`: NULL, or how many records (PTLX_ME_RECORD) of the queue's interface the caller has heard of, 0 at
 * first: it puts their number there each time that it looks, and also waits for more of them: then it answers PTL_OK with *taken 0 when
 * there were no events. `ended`: NULL, or asked as PtlxWait's `done` is, behind that; when it returns not 0 the answer is PTL_OK with *taken
 * 0, too, and more records alone end nothing.
 * Costs one locked instruction for all events and none for records. Fallback: PtlEQPoll once for each event. */
int PtlxEQTake(ptl_handle_eq_t eq_handle, ptl_time_t timeout, ptl_event_t *events, unsigned int most, unsigned int *taken,
               uint64_t *recorded, int (*ended)(void *arg), void *arg);
/* *holds is not 0 while an event waits in the queue to be taken. Takes none, makes no progress and never gives the processor away: for the
 * conditions of PtlxWait, of a thread that tells another one to take events. A few nanoseconds. Fallback: a thread that takes them. */
int PtlxEQHolds(ptl_handle_eq_t eq_handle, int *holds);

/* E11: work of a layer above that the engine does, so that it goes on as messages do. While *pending is not 0, each step of the engine, by
 * whatever thread, calls step(arg, NULL). It answers 0: nothing was done; 1: something; 2: something that a thread of this process may
 * wait for. ready(arg) is asked before a thread that steps goes to sleep; not 0: a step would do something. Both run under the lock of the
 * engine: they must return soon, and call nothing of this library but PtlxCTPeek and PtlxNodeCall. The structure stays as it is until the
 * last PtlFini. Fallback: a poller, which a thread that waits looks at, but not the engine's own. */
typedef struct {
    int (*step)(void *arg, void *item);
    int (*ready)(void *arg);
    void *arg;
    const uint32_t *pending;
} ptlx_stepper_t;
/* Calls step(arg, item) at once, under the lock, whatever *pending is. PTL_OK; PTL_NO_SPACE: the process has another stepper, which is the
 * first one that ran; PTL_ARG_INVALID; PTL_NO_INIT. */
int PtlxStepperRun(const ptlx_stepper_t *stepper, void *item);
/* From within `step`, or a function of E13, after a store to memory that steps of that process look at: wakes who sleeps there, as a message would; `urgent`: as one
 * on which others wait, also where the application has merely left the library. Costs two loads while nobody sleeps. */
void PtlxNodeCall(const ptlx_watch_t *watch, int urgent);

/* ---- 4. Engine extensions                               ------------------------------------------------------- */

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

/* PtlMESearch with PTL_SEARCH_ONLY for the first unexpected header that *me would take, which answers at once: *found becomes the event,
 * with user_ptr NULL and, where there is no such header, PTL_NI_NO_MATCH. None is posted, and no progress is made: MPI_Iprobe, which looks
 * again and again, has its own. `label`: NULL, or what is found is set aside: from now on *label is its match bits, so that no other
 * search or entry finds it but one that asks for the label. Events go on reporting the match bits that it was sent with. Made for
 * MPI_Mprobe, which finds a message that nobody else may receive. O(1). Fallback: PtlMESearch; receive it into memory of one's own. */
int PtlxMEFind(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me, const ptl_match_bits_t *label,
               ptl_event_t *found);

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
/* Types of local work alone: a value and right behind it, without a gap, an int32_t that says where it was found. They
 * have PTLX_MAX and PTLX_MIN, which give the pair with the larger (smaller) value, of equal ones with the smaller place,
 * and PTLX_COPY. */
enum {
    PTLX_INT16_LOC = 32,      /* 6 bytes */
    PTLX_INT32_LOC = 33,      /* 8 */
    PTLX_INT64_LOC = 34,      /* 12 */
    PTLX_FLOAT_LOC = 35,      /* 8 */
    PTLX_DOUBLE_LOC = 36,     /* 12 */
    PTLX_LONG_DOUBLE_LOC = 37 /* 20 */
};
/* dst[i] = a[i] op b[i] for i < count, when trig_ct reaches the threshold; then `completion` (or PTL_CT_NONE) counts one
 * success, or one failure (integer division by zero). Long vectors are worked off in segments, between which messages
 * and other operations are served. Ranges may be equal but must not overlap otherwise. All types of Portals but
 * PTL_LONG_DOUBLE_COMPLEX, and those above; bitwise ops take integers only, max, min and division no complex numbers: else
 * PTL_ARG_INVALID. Element i of the result depends on elements i alone and is what the host computes for the type: integers wrap around (the least one divided
 * by -1 is itself), floating-point numbers are rounded once, max and min with a NaN give a. Fallback:
 * PtlTriggeredAtomic to self. */
int PtlxTriggeredLocal(ptl_handle_ni_t ni, ptlx_local_op_t op, ptl_datatype_t type, void *dst, const void *a,
                       const void *b, ptl_size_t count, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct,
                       ptl_size_t threshold);

/* The same on memory in pieces: `pieces` 0 says that `start` is memory, else it is an array of so many ptl_iovec_t, which
 * stays valid as the memory does. Elements may lie in two pieces; a timestamp may not. PTL_ARG_INVALID: pieces that hold
 * less than `count` elements. Fallback: one PtlxTriggeredLocal for each range that is contiguous in all operands. */
typedef struct {
    void *start;
    ptl_size_t pieces;
} ptlx_memory_t;
int PtlxTriggeredLocalVector(ptl_handle_ni_t ni, ptlx_local_op_t op, ptl_datatype_t type, const ptlx_memory_t *dst,
                             const ptlx_memory_t *a, const ptlx_memory_t *b, ptl_size_t count, ptl_handle_ct_t completion,
                             ptl_handle_ct_t trig_ct, ptl_size_t threshold);

/* E4: when trig_ct reaches the threshold, one more is in *word: a thread sees it with one load (acquire) and without
 * any call, together with all data that was counted before. Then whoever waits in a Portals call or PtlxWait looks
 * again; with PTLX_NOTIFY_FUTEX the sleepers of a futex on the low half of *word are woken; `descriptor`, if not -1, is
 * an eventfd that is given 1. Word and descriptor stay valid until it fired or trig_ct is freed. Fallback: PtlCTGet and
 * PtlCTWait, or a triggered put to oneself, whose event is taken from a queue. */
#define PTLX_NOTIFY_FUTEX 1u
int PtlxTriggeredNotify(ptl_handle_ni_t ni, uint64_t *word, int descriptor, unsigned int flags, ptl_handle_ct_t trig_ct,
                        ptl_size_t threshold);

/* E5: triggered operations that are parked on `ct` from now on are not used up when they fire: they wait again, for a
 * threshold that is `stride` larger, so that a chain runs once per `stride` increments for ever, without a call and
 * without memory being claimed. match_field names adjacent bits of the operation's match bits that count up by one,
 * modulo their number, each time: messages of one round cannot be taken for those of another. An entry (E2) takes part
 * with PTL_ME_USE_ONCE: after its message it is appended again when the operation fires again, under the same handle;
 * one that still waits for its message then stays as it is. PtlMEUnlink, PtlCTCancelTriggered and PtlCTFree end it.
 * stride 0: back to operations that fire once. Fallback: issue everything again for every round. */
int PtlxCTRepeat(ptl_handle_ct_t ct, ptl_size_t stride, ptl_match_bits_t match_field);
/* As PtlCTInc, but where the engine's thread has a processor of its own, it is left to that thread (or to whoever next waits in a
 * call): it takes tens of nanoseconds then, whatever the increment triggers, and is counted a moment later. Fallback: PtlCTInc. */
int PtlxCTIncSoon(ptl_handle_ct_t ct, ptl_ct_event_t increment);

/* E6: failures are no progress. After PtlxCTGuard the operations parked on `ct` fire when its *successes* reach their
 * thresholds, and every failure it counts is counted on `errors` (PTL_CT_NONE, or an unguarded counter of the same
 * interface) as a success, where other operations may wait: messages to those who now wait in vain, a failure on the
 * counter that the application waits for. Fallback: look at the failures of all counters from the host, and
 * PtlCTCancelTriggered, while operations that hang on a failure are fired by it. */
int PtlxCTGuard(ptl_handle_ct_t ct, ptl_handle_ct_t errors);
/* Counts one failure on `ct` when process `peer` is found to be unreachable, at once if it is known already; until `ct` is
 * freed. Fallback: none for entries that wait for a message; gets and acknowledged puts to the peer fail. */
int PtlxCTWatch(ptl_handle_ct_t ct, ptl_process_t peer);
/* *busy is not 0 while something that will count on `ct` is under way (parked operations are not): the sum of 1 for
 * messages that a peer has yet to take, and 2 for what ends by itself. After PtlCTCancelTriggered, memory that those use
 * is free again when it is 0. Fallback: count what was issued. */
int PtlxCTBusy(ptl_handle_ct_t ct, int *busy);
/* The count of `ct` so far, as PtlCTGet, but without progress and without ever giving the processor away: for checks that every call
 * of a library makes, and for the conditions of PtlxWait. A few nanoseconds. Fallback: PtlCTGet. */
int PtlxCTPeek(ptl_handle_ct_t ct, ptl_ct_event_t *event);

/* E7: operations parked on one counter for equal thresholds fire in the order in which they were parked, and puts among
 * them to one process match there in this order; a promise, where the specification only recommends it. Fallback: a
 * distinct threshold for each, by PtlTriggeredCTInc. */

/* E8, an option of a priority ME/LE with OP_PUT and PTL_*_EVENT_CT_COMM: its user_ptr is the address of a uint64_t, to which the engine adds 1 for
 * each message whose length is not that of the entry: longer, and cut off, or shorter. Before the message is
 * counted. Any thread may load it atomically. Not together with events that report user_ptr. Fallback: an event queue,
 * and rlength of every event. */
#define PTLX_ME_COUNT_MISMATCHES 0x400000u

/* E9: data that lie wherever a function puts them. It is called for one piece after the other, in order, by whatever thread steps the
 * engine: it must return soon and must not call this library. Fallback: a packed copy of all of the data, or PTL_IOVEC with an element
 * for each piece.
 * PTLX_ME_LAYOUT, an option of a priority ME/LE with PTL_*_OP_PUT alone: `start` is the address of a ptlx_layout_t, `length` the bytes it
 * has room for. An event's `start` is NULL; an atomic is PTL_NI_OP_VIOLATION.
 * PTLX_MD_LAYOUT, an option of an MD: what lies in its memory are ptlx_layout_t's. The local offset of an operation is that of the one
 * whose first `length` bytes are meant.
 * Neither together with PTL_IOVEC. Layout and data stay valid as long as the memory of an ordinary entry or operation. Between
 * processes of a node bulk data are copied straight through memory that both map, in pieces that stay in the caches, by both
 * at a time: SEND is posted when all is there. Elsewhere bulk data are copied as a whole first. */
typedef struct {
    /* Copies bytes offset .. offset + bytes of the packed data to `piece`, or from there where they belong. */
    void (*copy)(const void *context, ptl_size_t offset, ptl_size_t bytes, void *piece, int to_piece);
    const void *context;
} ptlx_layout_t;
#define PTLX_MD_LAYOUT 0x400000u
#define PTLX_ME_LAYOUT 0x800000u

/* RECORD, an option of a priority ME/LE with OP_PUT, USE_ONCE, EVENT_LINK_DISABLE, EVENT_UNLINK_DISABLE and
 * PTLX_ME_COMPLETE_UNEXPECTED: its user_ptr is the address of a record, and what its one message's event would tell is written
 * there, in place of an event: no slot of a queue is needed, and flow control asks for none. The record belongs to the engine from
 * the append until `state` is PTLX_RECORDED, which is stored last (release; load it with acquire), or until the entry was unlinked.
 * Wait with PtlxEQTake. An atomic that came too early is recorded as PTL_NI_OP_VIOLATION and is lost. Fallback: full events. */
#define PTLX_ME_RECORD 0x1000000u
#define PTLX_RECORDED 0x80000000u
typedef struct {
    uint32_t state; /* whatever the user likes until it is PTLX_RECORDED */
    ptl_ni_fail_t ni_fail_type;
    ptl_match_bits_t match_bits;
    ptl_size_t mlength;
    ptl_size_t rlength;
} ptlx_record_t;
/* RECORD_SENDER, an option of an ME/LE together with PTLX_ME_RECORD: its record goes on with who sent the message, what came with it, and
 * whether it came before the entry (PTL_OVERFLOW_LIST). Fallback: as of PTLX_ME_RECORD. */
#define PTLX_ME_RECORD_SENDER 0x4000000u
typedef struct {
    ptlx_record_t message;
    ptl_process_t initiator;
    ptl_hdr_data_t hdr_data;
    ptl_list_t ptl_list;
} ptlx_sender_record_t;
/* RECORD_HEADER, an option of an ME together with PTLX_ME_RECORD: the header data of its message are written, before its record's `state`,
 * to the uint64_t whose address is min_free. Fallback: PTLX_ME_RECORD_SENDER. */
#define PTLX_ME_RECORD_HEADER 0x8000000u

/* KEEP, an option of an ME together with PTLX_ME_RECORD: once its record is written, or would be, the entry is off the list as any other
 * that has served, but its handle stays: PtlxMEAppendAgain appends it once more, with what differs from message to message, and
 * everything else as it was. That costs half of an append. It counts against max_entries until PtlMEUnlink frees it, which answers
 * PTL_IGNORED where it is on no list: its message has come. Not together with PTL_IOVEC, PTLX_ME_LAYOUT or a counter, and not for
 * triggered appends. Fallback: PtlMEAppend.
 * PTL_OK, PTL_NO_INIT, PTL_ARG_INVALID: the handle means no such entry, or its portal table entry is gone, PTL_IN_USE: it is on its list,
 * or its message is being moved. Not from within a condition of PtlxWait. */
#define PTLX_ME_KEEP 0x2000000u
int PtlxMEAppendAgain(ptl_handle_me_t me_handle, void *start, ptl_size_t length, ptl_process_t match_id, ptl_match_bits_t match_bits,
                      ptl_match_bits_t ignore_bits);

/* HEADER_FIRST, an option of an MD: puts from it send their header alone, however short they are; the target asks for the
 * data when it has matched. Fallback: a zero-length put, and a get from the target. */
#define PTLX_MD_HEADER_FIRST 0x200000u

/* E10: takes puts back that nobody has taken. Of the puts under way that were given `user_ptr`, from descriptors that report where
 * md_handle does (its interface, event queue and counting event), each that has not matched yet ends with PTLX_NI_WITHDRAWN in its
 * acknowledgement, or in SEND if it asked for none, and was never seen at its target. The others end as they would have. Each has
 * exactly its own events, no more: the target decides, to whom the request travels behind the put, so that a put which meets its entry
 * at the same moment is either taken or withdrawn. Unmatched are puts that have not left, and those held (PTLX_ME_HOLD) and not set
 * aside (PtlxMEFind); in a plain overflow entry a message has matched. Triggered operations count from when they fire.
 * PTL_OK also where there is no such put. Costs a step for each operation in flight here and, at the target, for each unexpected header
 * of the portal table entry. Fallback: put a short message that names an entry with the data, which the target gets; unlinking the
 * entry withdraws. */
#define PTLX_NI_WITHDRAWN 0x40
int PtlxPutWithdraw(ptl_handle_md_t md_handle, const void *user_ptr);
/* The target's side: all held messages that *me would match, and that are not set aside, end as PTL_NI_DROPPED for their initiators.
 * Only match_id, match_bits and ignore_bits of *me are read. Together with PtlMEUnlink of the entry that holds them it closes what they
 * were sent to, and leaves other messages of the portal table entry where they are. Fallback: PtlPTFree, which refuses them all. */
int PtlxMERefuse(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me);

/* Flow control of held messages: what those of this portal table entry occupy (headers, and data that came along) is kept
 * below `most` bytes and one message from each process of another node, whatever is sent. From `headers_only_from` on their
 * senders send headers alone, and nothing more, until enough has been taken by entries appended later, once what is held and what
 * can be under way reach `most`. Under way can be what the rings of this node hold (384 bytes a message, which takes 64 bytes of
 * them: 28 MB with rings of 4.5 MiB in all), and what a fabric lends to its peers (32 MiB, or a quarter of `most`). Below some
 * 60 MB of `most` the rings alone may exceed it by as much as they hold. Nothing is lost or reordered; only puts to this entry wait.
 * PTL_PT_IN_USE: messages are held already. Fallback: acknowledgements, and credits. */
int PtlxPTLimitHeld(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_size_t headers_only_from, ptl_size_t most);
/* The address of a number that any thread may load atomically until the last PtlFini: how many processes have asked this one
 * for less, and one more while over a thousand messages wait here for processes that do not read. While it is not 0, a put may
 * wait for long, and one from a PTL_MD_VOLATILE descriptor occupies memory then: use descriptors that report SEND and wait for
 * it. NULL before PtlInit. */
const uint32_t *PtlxThrottled(void);

/* LAZY, an option of an MD: messages of its operations may be kept back, so that many small ones to one process travel
 * together. Whatever steps the engine sends them: a wait, PtlxProgress, the engine's thread; so do PtlEndBundle and a later
 * message to that process which is not lazy. For operations that the program will wait for. PtlStartBundle makes all
 * operations of the calling thread so. Fallback: PtlStartBundle and PtlEndBundle around operations known beforehand. */
#define PTLX_MD_LAZY 0x100000u

/* E12: when trig_ct reaches the threshold, the engine begins to look at *word in each step, until `*word comparison *value` holds; then
 * `completion` counts one success. `type` is an integer of up to 8 bytes, as which the word is aligned; *value is read by the call. Loads
 * are atomic and acquire: what was stored before the word is seen by what is triggered. Application threads that sleep do so with the bits
 * `watched`, as in PtlxWait; whoever sleeps looks again after 50 us to 1 ms. PtlCTCancelTriggered and PtlCTFree of `completion` end it without a count; until then *word stays valid. Fallback: an entry that
 * counts the puts to the word, where nothing else changes it. */
typedef enum {
    PTLX_EQUAL, PTLX_NOT_EQUAL, PTLX_GREATER, PTLX_GREATER_EQUAL, PTLX_LESS, PTLX_LESS_EQUAL,
    PTLX_COMPARISON_MAX = 0x7fffffff /* no comparison: makes every int a value of this type, so that it can be checked */
} ptlx_comparison_t;
int PtlxTriggeredAwait(ptl_handle_ni_t ni, const void *word, ptl_datatype_t type, ptlx_comparison_t comparison, const void *value,
                       uint32_t watched, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct, ptl_size_t threshold);

/* E13: when trig_ct reaches the threshold, a step calls work(argument), and `completion` (or PTL_CT_NONE) counts one success, or one failure
 * if it answers not 0. For stores to memory of the node. It runs under the lock of the engine: it must return soon, and call nothing of
 * this library but PtlxCTPeek, PtlxNodeAtomic, PtlxNodeRing and PtlxNodeCall. What `argument` points to stays until it was called, or trig_ct
 * is freed. Fallback: put, get and atomics. */
int PtlxTriggeredCall(ptl_handle_ni_t ni, int (*work)(void *argument), void *argument, ptl_handle_ct_t completion, ptl_handle_ct_t trig_ct,
                      ptl_size_t threshold);

/* ---- 5. Looking at the engine ---------------------------------------------------------------------------------- */

typedef struct {
    char progress[16];        /* "spin", "park", "offload", "caller" */
    int engine_core;          /* logical processor the engine thread is bound to, -1 = none */
    int realtime;             /* 1 when SCHED_FIFO was granted */
    int oversubscribed;       /* 1 when the node has more ranks than usable cores, or no launcher started this process and it has one */
    char transports[96];      /* all that are open: "self, node, fabric(net)" .. */
    uint64_t engine_cpu_ns;   /* processor time of the engine thread so far */
    uint64_t steps;           /* engine steps with work, by anyone */
    uint64_t steps_by_engine; /* of these, by the engine thread */
    uint64_t sends, arrivals, matches, triggers, rings, back_pressure, dropped;
} ptlx_engine_info_t;
int PtlxEngineInfo(ptlx_engine_info_t *info);

/* Whether this process could now touch `size` bytes from `start` on: 1 if all can be read (`write` not 0: written), else 0. For libraries above
 * that check what a caller hands them before an engine touches it. Up to 1 MiB is brought into memory for that (one system call); of a
 * longer range the list of mappings is read, which takes up no memory, costs tens of microseconds, and does not notice a file that has
 * become shorter than its mapping. What unmaps the range afterwards makes the answer untrue. Any thread, at any time. */
int PtlxAccessible(const void *start, ptl_size_t size, int write);

/* 0: PTL_DEBUG, a variable of the environment, does not have this key ("buffers"). Else 1, or the number of a key whose value is one
 * ("very-short=256"). A word that is no key counts as every key. At any time. */
int PtlxDebug(const char *key);

/* A counter of a library above the engine, which ptlstat shows with the engine's own: *count is the address of a number, 0 at first, that
 * the library stores to atomically, until the last PtlNIFini. The same name names the same counter. `name` has 1 to 23 bytes, `text`, which
 * says what is counted, up to 71: PTL_ARG_INVALID. PTL_NO_SPACE: there are 32 already. Fallback: numbers of one's own. */
int PtlxCountAdd(const char *name, const char *text, uint64_t **count);

/* The transports that carry messages to a process. */
typedef enum {
    PTLX_TRANSPORT_NONE,   /* nothing: it is unknown or cannot be reached */
    PTLX_TRANSPORT_SELF,   /* the process is this one */
    PTLX_TRANSPORT_NODE,   /* memory of the node: its blocks can be mapped, it can be watched */
    PTLX_TRANSPORT_NETWORK /* a wire, be it an emulated one */
} ptlx_transport_t;
/* The transport that reaches `peer`. `name` (may be NULL) becomes its name for people: "self", "node", "fabric(net)" ..,
 * a text that lives until PtlFini; "none" with PTLX_TRANSPORT_NONE. */
ptlx_transport_t PtlxTransport(ptl_handle_ni_t ni, ptl_process_t peer, const char **name);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
