/* goal.h: GOAL schedules by calls: build a graph of sends, receives and local work, compile it, run it again and again.
 *
 * The rule: all ranks compile the schedules that belong together in the same order, and run them equally often. The k-th compiled of
 * one meets the k-th of the others: compile an empty one where there is nothing to do, or name schedules by GOAL_Context. A rank that
 * finds another order than its own fails its schedules (GOAL_ERR_FAILED), and GOAL_Explain says which rank compiled what.
 *
 * Each process describes its own part: vertices are operations, edges say what waits for what. GOAL_Compile turns the
 * graph into Portals triggered operations; GOAL_Run hands an execution (an epoch) to the engine and returns. From then
 * on messages are sent, matched and received and vectors are added without the calling thread, until GOAL_Wait.
 *
 *     GOAL_Schedule s;  GOAL_Op in, out;  GOAL_Request r;
 *     GOAL_Init(&rank, &size);
 *     GOAL_Create(&s);
 *     GOAL_Recv(s, GOAL_User(box), 8, left, 0, &in);
 *     GOAL_Send(s, GOAL_User(box), 8, right, 0, &out);
 *     GOAL_Requires(s, out, in);             // out may start only after in has finished
 *     GOAL_Compile(s);
 *     GOAL_Run(s, &r);   ...compute...   GOAL_Wait(&r);
 *
 * Matching: the n-th send of a process to a peer with a tag meets that peer's n-th receive from it with that tag, in
 * the order of the calls within the schedule.
 *
 * Running ahead: a process may run a schedule again before those that it sends to have run it. What its messages occupy there has a bound:
 * 256 MiB for all ranks of the job together, of 4 or fewer 64 MiB each, and 128 messages, or two runs of more, in any case; and no
 * process gets 256 runs ahead. A run that would be farther ahead begins when the receiver has ended others: GOAL_Run returns as ever, and
 * GOAL_Wait waits. So let no process wait for something else of a receiver before that has run what was sent to it.
 *
 * Operations whose memory overlaps need an edge between them, as in any program; those without one may run at once.
 * All functions return GOAL_SUCCESS or an error below; GOAL_Explain has the sentence. One thread at a time per
 * schedule; GOAL_Init and GOAL_Finalize one at a time per process. Valid C99 and C++.
 *
 * Source: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language", ICPP 2009; Schneider, Eckelmann, Hoefler,
 * Rehm, "Kernel-based offload of collective operations", Euro-Par 2011, whose calls these are.
 */
#ifndef GOAL_H
#define GOAL_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

/* The enumerations of this interface have the type int in C++ too, where a value outside of them could otherwise not be refused. */
#ifdef __cplusplus
#define GOAL_ENUM enum : int
extern "C" {
#else
#define GOAL_ENUM enum
#endif
#pragma GCC visibility push(default)

enum {
    GOAL_SUCCESS = 0,
    GOAL_ERR_ARG = 1,      /* an argument is wrong; nothing was done */
    GOAL_ERR_STATE = 2,    /* not now: not initialised, compiled already or not yet, running */
    GOAL_ERR_CYCLE = 3,    /* operations wait for each other in a circle */
    GOAL_ERR_NO_SPACE = 4, /* memory, or a limit of the network interface */
    GOAL_ERR_FAILED = 5,   /* a message or a computation failed; the schedule can only be freed */
    GOAL_ERR_NETWORK = 6   /* the library or the job cannot be used */
};

typedef struct goal_schedule *GOAL_Schedule;
typedef struct goal_run *GOAL_Request; /* one execution that runs; NULL: none */
typedef uint32_t GOAL_Op;              /* an operation of one schedule */
#define GOAL_REQUEST_NULL ((GOAL_Request)0)

/* Memory of an operation: an address of the program; an offset into the schedule's scratchpad; an offset into one of its
 * arguments, memory that GOAL_Bind names later, for each copy of the schedule anew; or pieces of such memory, which
 * together are the message or vector. Different arguments must be different memory. */
typedef GOAL_ENUM { GOAL_USERSPACE = 0, GOAL_SCRATCHPAD = 1, GOAL_ARGUMENT = 2, GOAL_VECTOR = 3 } GOAL_Memory;
typedef struct {
    GOAL_Memory memory; /* not GOAL_VECTOR */
    uint32_t number;
    uintptr_t place;
    size_t bytes;
} GOAL_Piece;
typedef struct {
    GOAL_Memory memory;
    uint32_t number; /* GOAL_ARGUMENT: which, from 0; GOAL_VECTOR: how many pieces */
    uintptr_t place; /* address, bytes from the start, or the address of the GOAL_Pieces, read during the call only */
} GOAL_Buffer;

static __inline__ GOAL_Buffer GOAL_User(const void *address) {
    GOAL_Buffer buffer = {GOAL_USERSPACE, 0, (uintptr_t)address};
    return buffer;
}
static __inline__ GOAL_Buffer GOAL_Pad(size_t offset) {
    GOAL_Buffer buffer = {GOAL_SCRATCHPAD, 0, (uintptr_t)offset};
    return buffer;
}
static __inline__ GOAL_Buffer GOAL_Arg(uint32_t argument, size_t offset) {
    GOAL_Buffer buffer = {GOAL_ARGUMENT, argument, (uintptr_t)offset};
    return buffer;
}
static __inline__ GOAL_Buffer GOAL_Pieces(const GOAL_Piece *pieces, uint32_t count) {
    GOAL_Buffer buffer = {GOAL_VECTOR, count, (uintptr_t)pieces};
    return buffer;
}
static __inline__ GOAL_Piece GOAL_Part(GOAL_Buffer buffer, size_t bytes) {
    GOAL_Piece piece = {buffer.memory, buffer.number, buffer.place, bytes};
    return piece;
}

/* Local work: dst[i] = a[i] op b[i]. AND, OR and XOR are for integers; DIV, MAX and MIN not for complex numbers. The types
 * _LOC, a value and right behind it an int32_t that says where it was found, have MAX, MIN and COPY: the pair with the
 * larger (smaller) value, of equal ones with the smaller place. */
typedef GOAL_ENUM {
    GOAL_ADD, GOAL_SUB, GOAL_MULT, GOAL_DIV, GOAL_MAX, GOAL_MIN, GOAL_AND, GOAL_OR, GOAL_XOR,
    GOAL_COPY,      /* dst[i] = a[i]; b is not used */
    GOAL_TIMESTAMP, /* writes the monotonic clock's nanoseconds as uint64_t to dst; a, b, type and count are not used */
    GOAL_DELAY      /* finishes `count` nanoseconds after its start; uses no memory */
} GOAL_Local_op;
typedef GOAL_ENUM {
    GOAL_INT8, GOAL_UINT8, GOAL_INT16, GOAL_UINT16, GOAL_INT32, GOAL_UINT32, GOAL_INT64, GOAL_UINT64, GOAL_FLOAT, GOAL_DOUBLE,
    GOAL_LONG_DOUBLE, GOAL_FLOAT_COMPLEX, GOAL_DOUBLE_COMPLEX, GOAL_INT16_LOC, GOAL_INT32_LOC, GOAL_INT64_LOC, GOAL_FLOAT_LOC,
    GOAL_DOUBLE_LOC, GOAL_LONG_DOUBLE_LOC
} GOAL_Type;

/* Joins the job (a job of one without a launcher) and opens the network. Counted; collective over the job at the first
 * call. rank and size may be NULL. GOAL_ERR_NETWORK; GOAL_ERR_ARG: PTL_COLLECTIVES, or a file
 * that it names, is not understood. */
int GOAL_Init(int *rank, int *size);
/* Undoes one GOAL_Init; the last one is collective. GOAL_ERR_STATE while schedules exist. */
int GOAL_Finalize(void);
/* A new, empty schedule. GOAL_ERR_STATE before GOAL_Init. */
int GOAL_Create(GOAL_Schedule *schedule);
/* Gives the schedule a scratchpad of so many bytes, allocated and zeroed by GOAL_Compile. Before collectives are added,
 * which put theirs behind it (GOAL_ERR_STATE). */
int GOAL_Scratch(GOAL_Schedule schedule, size_t bytes);
/* Says where argument number `argument` lies and how long it is; before GOAL_Compile. GOAL_ERR_STATE, GOAL_ERR_ARG. */
int GOAL_Bind(GOAL_Schedule schedule, unsigned argument, void *address, size_t bytes);

/* Adds an operation; *op (may be NULL) names it. A send has finished when its memory may be written again, a receive
 * when its memory holds the message. Memory must stay valid until GOAL_Free; its content matters from GOAL_Run to
 * GOAL_Wait only. A receive expects at most `bytes`; what a message has more is cut off.
 *   peer   0 .. size-1, this process included
 *   tag    any; the larger tags are, the fewer messages a pair of processes may exchange per tag: 2^30 with tags below
 *          4, 65536 below 65536, 1 from 2^30 on
 * GOAL_ERR_ARG: no such peer, no memory. GOAL_ERR_STATE: compiled already. */
int GOAL_Send(GOAL_Schedule schedule, GOAL_Buffer from, size_t bytes, int peer, uint32_t tag, GOAL_Op *op);
int GOAL_Recv(GOAL_Schedule schedule, GOAL_Buffer to, size_t bytes, int peer, uint32_t tag, GOAL_Op *op);
/* dst may be the same range as a or b, but must not overlap them otherwise. Integer division by zero fails the run.
 * GOAL_ERR_ARG: the operation is not for this type. */
int GOAL_Local(GOAL_Schedule schedule, GOAL_Local_op operation, GOAL_Type type, GOAL_Buffer dst, GOAL_Buffer a, GOAL_Buffer b,
               size_t count, GOAL_Op *op);
/* Writes the monotonic clock's nanoseconds as uint64_t when it is executed. */
int GOAL_Timestamp(GOAL_Schedule schedule, GOAL_Buffer to, GOAL_Op *op);

/* Parks triggered operations of Portals' that the program makes itself, puts, gets or atomics, for one place of a schedule: on the counting
 * event `trigger` at `threshold`, to count on the counting event `counter`, by the descriptors that they have. They stay for all
 * executions (PtlxCTRepeat), with the same match bits in each. Called by GOAL_Compile, for the schedule and for each copy of it. A PTL_*
 * code: GOAL_Compile fails if it is not PTL_OK. */
typedef int (*GOAL_Parker)(void *argument, uint32_t trigger, uint64_t threshold, uint32_t counter);
/* Adds such operations as one of the schedule: it has finished when `counter` has grown by `count` successes (1 or more), which is to be
 * in each execution; a failure there fails the execution. Puts count acknowledgements, or they are not at their target then. They
 * read and write `memory` of this process, as far as other operations of the schedule do, too (pieces, for more than one place). `peer` is
 * the rank that they go to: its end fails the execution, and it is told of failures. `argument`, and the descriptors, stay until
 * GOAL_Free. Schedules with such operations can be neither saved nor written as text.
 * GOAL_ERR_ARG: no function, no such peer, no memory, no count. GOAL_ERR_STATE: compiled already. */
int GOAL_Park(GOAL_Schedule schedule, GOAL_Parker park, void *argument, uint32_t count, GOAL_Buffer memory, size_t bytes, int peer,
              GOAL_Op *op);

/* Says that others change these bytes while the schedule runs, by puts or stores: a message for them is received when what its receive
 * requires has finished, while other messages may be before, so as not to wait. For memory of the program, as often as needed.
 * GOAL_ERR_ARG: no memory. GOAL_ERR_STATE: compiled already. */
int GOAL_Exposed(GOAL_Schedule schedule, const void *memory, size_t bytes);

/* `op` may start only after `prerequisite` has finished. */
int GOAL_Requires(GOAL_Schedule schedule, GOAL_Op op, GOAL_Op prerequisite);
/* `op` may start only after `prerequisite` has started. */
int GOAL_IRequires(GOAL_Schedule schedule, GOAL_Op op, GOAL_Op prerequisite);

/* `op` starts as soon as `count` of what it requires has happened, not all: 1 is "or". An execution ends when everything
 * has. GOAL_Compile refuses an operation that needs more than it requires. */
int GOAL_Needs(GOAL_Schedule schedule, GOAL_Op op, unsigned count);

/* Sets what keeps the messages of this schedule apart from those of others, 0 .. 8191, instead of counting compiled
 * schedules: for schedules that not all ranks of the job have. Equal for those that belong together, and different for all
 * others that exist at the same time. MPI's and OpenSHMEM's collectives have contexts that no program can name; for schedules of
 * the ranks of a communicator or a team MPIX_Comm_goal_group (mpi-goal.h) and shmemx_team_goal_group (shmem-goal.h) give a
 * context. Before GOAL_Compile (GOAL_ERR_STATE). GOAL_ERR_ARG: there is no such context. */
int GOAL_Context(GOAL_Schedule schedule, unsigned context);
/* Promises that no circle of messages that wait for their receives goes through the schedule. Otherwise each send of more than
 * 4096 bytes, after whose end another message is sent or may be taken, is copied to the scratchpad and has finished
 * then, so that ranks may send large messages to each other and, into the same memory, receive after that. Sends of
 * collectives are never copied. Before GOAL_Compile (GOAL_ERR_STATE). */
int GOAL_Unbuffered(GOAL_Schedule schedule);
/* Lets its first execution count as the one with number `epoch` (modulo 256; else 0): for a copy that goes on where another
 * of its context left off, perhaps on this rank alone, where that one still runs. Before GOAL_Compile (GOAL_ERR_STATE). */
int GOAL_Epoch(GOAL_Schedule schedule, unsigned epoch);
/* Closes the graph and reserves everything that running it takes. GOAL_ERR_CYCLE; GOAL_ERR_NO_SPACE; GOAL_ERR_ARG: an
 * operation leaves the scratchpad or its argument, too many messages for a tag; GOAL_ERR_STATE. After an error only
 * GOAL_Free is left. Of 16384 schedules compiled in a row without GOAL_Context, the first must be freed before the next one
 * is compiled (GOAL_ERR_NO_SPACE). */
int GOAL_Compile(GOAL_Schedule schedule);
/* Writes a compiled schedule into `block` as one position-independent block of bytes that can be kept, or sent to another
 * process. *bytes is the room there and becomes the size; with block NULL only the size is told. Addresses (GOAL_User) mean
 * something in this process alone: name memory of schedules that travel by GOAL_Arg and GOAL_Pad.
 * GOAL_ERR_NO_SPACE: there is less room. GOAL_ERR_STATE: not compiled. GOAL_ERR_ARG: it has operations of the program's own (GOAL_Park). */
int GOAL_Save(GOAL_Schedule schedule, void *block, size_t *bytes);
/* A schedule from such a block, to be bound and compiled like a copy of GOAL_Clone. GOAL_ERR_ARG: the block is damaged, cut or
 * none; it has messages for ranks that the job does not have, or addresses of another process. */
int GOAL_Load(const void *block, size_t bytes, GOAL_Schedule *schedule);
/* Another instance of a compiled schedule, with a scratchpad of its own, that can run at the same time. It has the
 * arguments of the original unless GOAL_Bind names others, and is to be compiled (which costs little) like any other:
 * in the same order on all ranks. GOAL_ERR_STATE. */
int GOAL_Clone(GOAL_Schedule compiled, GOAL_Schedule *copy);

/* Starts an execution and returns. One at a time per schedule (GOAL_ERR_STATE). Costs one increment of a counter, whatever
 * the size of the schedule. GOAL_ERR_FAILED: a rank that it depends on has failed; nothing was started. GOAL_ERR_NO_SPACE: nothing was
 * started, for want of a counter or memory for the bound of what runs ahead. */
int GOAL_Run(GOAL_Schedule schedule, GOAL_Request *request);
/* *done is 1 when the execution has finished; then *request is set to GOAL_REQUEST_NULL. GOAL_ERR_FAILED: a message or a
 * computation failed, here or on a rank whose messages this one depends on, or such a rank has ended; then the schedule
 * can only be freed, and touches no memory any more. What has succeeded on this rank is not told: take no result. */
int GOAL_Test(GOAL_Request *request, int *done);
/* Waits for it. With GOAL_REQUEST_NULL both return at once, done. */
int GOAL_Wait(GOAL_Request *request);

/* Gives an execution up, at any time; *request is set to GOAL_REQUEST_NULL. The schedule can only be freed then, and fails on
 * all ranks that still wait for messages of this one, as they may for theirs. */
int GOAL_Cancel(GOAL_Request *request);

/* The Portals counting events of a compiled schedule, on which a program may park triggered operations of its own, before the
 * first GOAL_Run: `finish` grows by *each with every execution that ends, and what is parked there for *each stays for
 * the next ones; `failures` is 0 until one fails. *each is 0 if there is nothing to do: then executions end at once, without
 * counting. Both live until GOAL_Free. GOAL_ERR_STATE: not compiled. */
int GOAL_Counters(GOAL_Schedule schedule, uint32_t *finish, uint64_t *each, uint32_t *failures);

/* *count points to the number of messages so far whose length was not that of their receives: what was longer was cut off, what
 * was shorter left the rest of the memory as it was. It grows before the execution that takes the message ends, may be
 * loaded atomically at any time, and lives until GOAL_Free. GOAL_ERR_STATE: not compiled. */
int GOAL_Mismatches(GOAL_Schedule schedule, const uint64_t **count);

/* Frees a schedule and sets *schedule to NULL; if it runs, as after GOAL_Cancel (its request is void then). */
int GOAL_Free(GOAL_Schedule *schedule);

/* The number of schedules that this process has compiled so far. Copies (GOAL_Clone) do not count. */
uint64_t GOAL_Compilations(void);

/* The last error of this thread, as a sentence. */
const char *GOAL_Explain(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
