/* peace.h: rendezvous between processes by a communication processor, after PEACE.
 *
 * A process receives at *ports*; an address names one and is plain data that may be sent, stored and compared. A send is a rendezvous:
 * it returns when the receiver has the data in its own memory, so success has end-to-end significance. What was withdrawn (a time limit,
 * a cancel, another alternative) was never seen. Death and closing are results; nothing aborts, and the port serves on.
 *
 * Memory given to a call is borrowed until the call, or the request that it begins, is over. Lengths are in bytes, limits in
 * nanoseconds. All functions may be called from any thread; a request, a task and a port's buffers by one thread at a time. Valid
 * C99 and C++. Needs neither MPI nor a launcher.
 *
 * Source: Giloi and Schroeder-Preikschat, Very High-Speed Communication in Large MIMD Supercomputers (GMD FIRST). */
#ifndef PEACE_H
#define PEACE_H

#if defined(__GNUC__)
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct {
    uint64_t process;     /* peace_process(); 0: none */
    uint32_t port;        /* 1 .. 65535; 0: the sender has no port */
    uint32_t generation;  /* which of those that had this number, one after the other */
} peace_address_t;

/* Handles. One that is stale, or was never given out, is refused with PEACE_STATE. */
typedef struct peace_port *peace_port_t;       /* where this process receives */
typedef struct peace_request *peace_request_t; /* a send or receive under way */
typedef struct peace_task *peace_task_t;       /* an accepted call */

/* The message that came. Pointers to it may be NULL. `from` has the sender's process, and the first port that it opened. */
typedef struct {
    peace_address_t from;
    uint32_t type;
    uint64_t sent;  /* bytes that were offered */
    uint64_t moved; /* the smaller of that and the room */
} peace_message_t;

/* Whose messages: from.process 0 means anybody, else only `process` counts; bits of the type that are set in `ignore` do not matter. */
typedef struct {
    peace_address_t from;
    uint32_t type, ignore;
} peace_pattern_t;

enum {
    PEACE_OK = 0,
    PEACE_CUT,       /* done, but the receiver had less room: the rest was not moved */
    PEACE_TIMEOUT,   /* the limit passed, nothing was done */
    PEACE_BUSY,      /* limit 0: nobody waits for it now, or nothing is there now */
    PEACE_FULL,      /* no room for one more that does not wait */
    PEACE_DIED,      /* the peer's process has ended or cannot be reached */
    PEACE_GONE,      /* the port is closed, or the client waits no more */
    PEACE_CANCELLED, /* by peace_cancel */
    PEACE_ARG,       /* an argument is wrong: peace_explain says which */
    PEACE_STATE,     /* the call makes no sense now: peace_explain says why */
    PEACE_NO_SPACE,  /* out of memory or of table space */
    PEACE_NETWORK    /* what carries messages failed: peace_explain says what */
};

/* Flags. */
enum {
    PEACE_CONSUMED = 1, /* of a send: done when the receiver has received it, where its port would take it beforehand */
    PEACE_ROTATE = 2    /* of a select: begin the search behind what was chosen last, not at the front */
};

#define PEACE_FOREVER ((int64_t)-1)

/* ---- 1. Process and ports ----------------------------------------------------------------------------------------------------- */

/* Counted. Joins the job, if a launcher made one: then all of its processes call this (collective, costs milliseconds). A program
 * that a launcher did not start opens its own interface and needs nobody. PEACE_NETWORK. Not after fork() in the child. */
int peace_init(void);
/* The last one closes all ports, withdraws what is under way and frees everything. */
int peace_fini(void);
/* This thread's last error as a sentence, "" if there was none. Valid until the thread's next failing call. */
const char *peace_explain(void);

/* A port of this process. number: 1 .. 65535, 0: any free one. buffers: how many messages of up to `bytes` are taken before a receive
 * asks for them. 0: none, senders wait for the receiver (synchronous). 1: a sender passes while the buffer is empty; the next waits
 * until it was consumed (SBAC, single buffer asynchronous communication). n: a queue. The sender's call is the same for all three.
 * PEACE_STATE: the number is in use. At most 65535 ports and 32768 buffers in all. */
int peace_open(uint32_t number, uint32_t buffers, size_t bytes, peace_port_t *port);
/* Sends to it and receives from it end with PEACE_GONE; messages in its buffers are lost. *port becomes NULL. */
int peace_close(peace_port_t *port);
int peace_address(peace_port_t port, peace_address_t *address);
/* This process's rank in its job, and how many processes that has; a process that no launcher started is rank 0 of 1. -1: not initialized. */
int peace_rank(void);
int peace_size(void);
/* The number of a process: of this job's `rank`; rank -1: this process. 0: no such rank, or not initialized. */
uint64_t peace_process(int rank);
/* The address of a port by its number; waits until it is open. PEACE_BUSY (limit 0), PEACE_TIMEOUT, PEACE_DIED. One round trip. */
int peace_find(uint64_t process, uint32_t number, int64_t limit, peace_address_t *address);

/* ---- 2. Rendezvous -------------------------------------------------------------------------------------------------------------- */

/* cs_send of the paper. Returns when the data are in the receiver's memory, or in a buffer of its port. TIMEOUT, BUSY: no receiver will
 * ever see it. *moved (may be NULL): bytes that the receiver took, fewer than sent with PEACE_CUT. A limit ends the wait for a receiver,
 * not a transfer: it needs the word of the target's engine. flags: 0 or PEACE_CONSUMED, with which a message that lies in a buffer when the
 * limit passes, or when it is cancelled, stays there and may yet be consumed. */
int peace_send(peace_address_t to, uint32_t type, const void *data, size_t bytes, unsigned flags, int64_t limit, size_t *moved);
/* cs_receive. Messages of one sender come as they were sent. At a port with buffers, the oldest: `which` must be any (type ignored,
 * process 0). PEACE_DIED: the process named in `which` has ended. PEACE_CUT: as sent, but for its end. */
int peace_receive(peace_port_t port, peace_pattern_t which, void *memory, size_t bytes, int64_t limit, peace_message_t *message);
/* The oldest message of a port with buffers, in place: the buffer stays full until it is given back. Borrowed ones may be given
 * back in any order. message->moved bytes lie at *data. */
int peace_borrow(peace_port_t port, int64_t limit, const void **data, peace_message_t *message);
int peace_give_back(peace_port_t port, const void *data);

/* ---- 3. No-wait sends and receives: they progress without calls ------------------------------------------------------------------ */

/* Copies at most 8192 bytes and returns at once. PEACE_FULL: 1024 are under way already. Without a request nobody is told what became
 * of it. */
int peace_post(peace_address_t to, uint32_t type, const void *data, size_t bytes, peace_request_t *request_or_null);
/* These use the memory until peace_wait says that they are over. */
int peace_isend(peace_address_t to, uint32_t type, const void *data, size_t bytes, unsigned flags, peace_request_t *request);
/* Not at ports with buffers. */
int peace_ireceive(peace_port_t port, peace_pattern_t which, void *memory, size_t bytes, peace_request_t *request);
/* Waits for the end, frees the request, sets it to NULL and answers what send or receive would have. PEACE_TIMEOUT, PEACE_BUSY (limit 0):
 * it goes on. */
int peace_wait(peace_request_t *request, int64_t limit, peace_message_t *message);
/* peace_wait then says PEACE_CANCELLED, or how it ended: it was too late. */
int peace_cancel(peace_request_t request);

/* ---- 4. Services ------------------------------------------------------------------------------------------------------------------ */

/* Sends `out` and waits for the answer in `in`: two messages. Limit 0: PEACE_BUSY unless a server accepts now; the answer then has no limit. reply->sent is the answer's full size, reply->type its type. PEACE_TIMEOUT:
 * nobody will touch `in` or `out` any more, though the server may have seen the call. PEACE_DIED, PEACE_GONE as for a send; GONE also if
 * the server's process let the task go. */
int peace_call(peace_address_t to, uint32_t type, const void *out, size_t out_bytes, void *in, size_t in_room, int64_t limit,
               peace_message_t *reply);
/* The next call at a port, with buffers or without: these are for sends; message->sent is out_bytes, moved what came along with it. */
int peace_accept(peace_port_t port, peace_pattern_t which, int64_t limit, peace_task_t *task, peace_message_t *message);
/* Bytes offset .. offset + bytes of the client's `out`; PEACE_ARG beyond its end. GONE: it waits no more. DIED. */
int peace_movefrom(peace_task_t task, size_t offset, void *memory, size_t bytes);
/* The same into its `in`, before the answer, which is laid over it from 0 on. */
int peace_moveto(peace_task_t task, size_t offset, const void *memory, size_t bytes);
/* The client's `out` itself: it waits, so its memory stands still until the reply. NULL: out of reach (use peace_movefrom), which
 * cannot be if it came along with the call or if both are on one node and it lies in memory from peace_alloc. Costs no copy. */
const void *peace_look(peace_task_t task);
/* 1: nobody waits for the answer any more. One round trip. */
int peace_cancelled(peace_task_t task);
/* The answer. Ends the task in any case. GONE or DIED only if that is known when the call returns. */
int peace_reply(peace_task_t *task, uint32_t type, const void *data, size_t bytes);

/* ---- 5. Alternatives -------------------------------------------------------------------------------------------------------------- */

typedef struct {
    peace_port_t port;
    peace_pattern_t which;
    void *memory;
    size_t bytes;
    int enabled; /* 0: not this time */
} peace_alternative_t;
typedef struct {
    peace_address_t to;
    uint32_t type;
    const void *data;
    size_t bytes;
    int enabled;
} peace_offer_t;
/* Exactly one happens: *chosen is its index, -1 the offer. As listed where several could (PEACE_ROTATE: in turn). PEACE_STATE: none is
 * enabled. The result is that of the chosen one; DIED and GONE of the offer end the select with *chosen -1, of an alternative that
 * names a dead process or a closed port with its index. A select that offers gives way to one that does not. */
int peace_select(const peace_alternative_t *from, int count, const peace_offer_t *offer_or_null, unsigned flags, int64_t limit,
                 int *chosen, peace_message_t *message);
/* Tells port `tell` when the process of `whom` ends: an empty message of this type, from `whom`. At once, if it has. */
int peace_watch(peace_address_t whom, peace_port_t tell, uint32_t type);
/* A descriptor for poll and epoll: readable while a receive at `port` would not wait. It belongs to the port. It may be readable in
 * vain (a sender gave up): receive with limit 0, which then answers PEACE_BUSY and makes it true again. */
int peace_descriptor(peace_port_t port, int *fd);

/* ---- 6. Pieces and strides --------------------------------------------------------------------------------------------------------- */

/* Memory of a message that does not lie in one run: `bytes` at `memory`, and `again` more blocks of as many bytes, each `stride` bytes
 * behind the beginning of the one before it (below 0: in front of it). {memory, bytes} is one run, as a struct iovec says it. A message
 * is a list of pieces: their bytes in this order. It is the same message as from one run, so both sides may have other pieces, or none.
 * A list may be empty, and pieces may; `memory` of an empty one does not matter. List and memory are borrowed until the call, or its
 * request, is over. Where pieces of a receive overlap the later byte of the message stays. */
typedef struct {
    void *memory; /* that of a send is only read */
    size_t bytes;
    size_t again;
    ptrdiff_t stride;
} peace_piece_t;

/* `count` blocks of `block` bytes, `stride` bytes from the beginning of each to that of the next: a column, rows of a part of a matrix,
 * one member of an array of structs. */
static __inline__ peace_piece_t peace_stride(const void *memory, size_t count, size_t block, ptrdiff_t stride)
{
    peace_piece_t piece;
    piece.memory = (void *)(uintptr_t)memory;
    piece.bytes = count == 0 ? 0 : block;
    piece.again = count == 0 ? 0 : count - 1;
    piece.stride = stride;
    return piece;
}

/* As the calls of sections 2 to 4 whose names they begin with, at ports with buffers and without: limits, flags, PEACE_CUT, order and what
 * a withdrawn message means are theirs. PEACE_ARG beyond that: the list cannot be read, its pieces are more than half of all bytes that
 * there can be, or the memory of one may not be read (written): peace_explain says which. Nothing was sent or received then. Cost: that
 * of a copy; blocks of up to 16 bytes take half a nanosecond each. To look at the memory of more than eight pieces takes a system call
 * for each, unless all of the range that they lie in is memory. */
int peace_send_pieces(peace_address_t to, uint32_t type, const peace_piece_t *pieces, size_t count, unsigned flags, int64_t limit,
                      size_t *moved);
int peace_receive_pieces(peace_port_t port, peace_pattern_t which, const peace_piece_t *pieces, size_t count, int64_t limit,
                         peace_message_t *message);
int peace_isend_pieces(peace_address_t to, uint32_t type, const peace_piece_t *pieces, size_t count, unsigned flags,
                       peace_request_t *request);
int peace_ireceive_pieces(peace_port_t port, peace_pattern_t which, const peace_piece_t *pieces, size_t count, peace_request_t *request);
/* The server moves bytes of the client's pieces as if they lay in one run; peace_look needs them to. Of more than 1 KiB in runs of less
 * than 16 KiB on the average `out` is copied first. */
int peace_call_pieces(peace_address_t to, uint32_t type, const peace_piece_t *out, size_t out_count, const peace_piece_t *in,
                      size_t in_count, int64_t limit, peace_message_t *reply);
int peace_movefrom_pieces(peace_task_t task, size_t offset, const peace_piece_t *pieces, size_t count);
int peace_moveto_pieces(peace_task_t task, size_t offset, const peace_piece_t *pieces, size_t count);
int peace_reply_pieces(peace_task_t *task, uint32_t type, const peace_piece_t *pieces, size_t count);
/* Bytes offset .. offset + bytes of a list to one run, and back: for what takes runs alone (posts, which copy anyway, selects, borrowed
 * buffers). PEACE_ARG beyond the end of the list. */
int peace_gather(const peace_piece_t *pieces, size_t count, size_t offset, void *memory, size_t bytes);
int peace_scatter(const peace_piece_t *pieces, size_t count, size_t offset, const void *memory, size_t bytes);

/* ---- 7. Memory -------------------------------------------------------------------------------------------------------------------- */

/* From the PEACE_SHARED bytes (environment, with k, m, g; 0) that this process shares with its node, 64-byte aligned; when they are used
 * up, or there are none, as malloc. NULL: none at all. */
void *peace_alloc(size_t bytes);
void peace_free(void *memory);

/* ---- 8. The paper's words ----------------------------------------------------------------------------------------------------------- */

static __inline__ int cs_send(peace_address_t to, uint32_t type, const void *data, size_t bytes)
{
    return peace_send(to, type, data, bytes, 0, PEACE_FOREVER, NULL);
}
static __inline__ int cs_receive(peace_port_t port, peace_pattern_t which, void *memory, size_t bytes, peace_message_t *message)
{
    return peace_receive(port, which, memory, bytes, PEACE_FOREVER, message);
}

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
