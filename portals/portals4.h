/* portals4.h: the Portals 4.3 network programming interface, as Portunus implements it.
 *
 * A process opens network interfaces (NI). Each NI owns a portal table (PT), whose entries carry lists of memory that
 * other processes may write, read or update: list entries (LE), or match list entries (ME) that select messages by
 * source and 64 match bits. The initiator of an operation names its own memory by a memory descriptor (MD). What
 * happened is told by full events in event queues (EQ) and by counting events (CT); a triggered operation is one that
 * waits for a counting event. Only the data movement functions and their triggered forms talk to other processes.
 *
 * Thread: every function may be called from any thread at any time, unless its comment says otherwise.
 * Source: The Portals 4.3 Network Programming Interface; the chapter headings below are the specification's. Names
 * that
 *   4.3 dropped but programs written for 4.2 mention (PTL_INTERRUPTED, PTL_*_ACK_DISABLE) are kept, so that one
 *   header serves both. Extensions of Portunus are in portals4_ext.h.
 * Valid C99 and C++.
 *
 * Contents
 *    1  Basic types                    8  List entries and match list entries
 *    2  Return codes                   9  Events and event queues
 *    3  Initialization and cleanup    10  Counting events
 *    4  Network interfaces            11  Data movement
 *    5  Portal table                  12  Triggered operations
 *    6  Identification                13  Bundles
 *    7  Memory descriptors            14  Handles
 *
 * How to read the comments
 *  - All sizes, lengths and offsets are bytes, unless the comment names another unit.
 *  - "Returns" lists what the function itself can add; every function that returns int may also return PTL_NO_INIT
 *    before the first PtlInit and after the last PtlFini, and PTL_ARG_INVALID for a handle that is stale (its object
 *    was freed), of another kind, or PTL_INVALID_HANDLE, and for a null pointer where a result has to be stored.
 *  - Arguments passed by pointer are read or written during the call and not kept, unless the comment says so.
 *  - Cost: a function without a "Cost" line takes constant time and does not wait for the network.
 */
#ifndef PORTALS4_H
#define PORTALS4_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ==== 1. Basic types ============================================================================================== */

typedef uint64_t ptl_size_t;        /* a length, an offset or a count */
typedef uint32_t ptl_pt_index_t;    /* index into the portal table, from 0 to max_pt_index */
typedef uint64_t ptl_match_bits_t;  /* compared by match list entries; free for the program to use */
typedef uint64_t ptl_hdr_data_t;    /* travels with a message and arrives in the target's event */
typedef unsigned int ptl_time_t;    /* milliseconds */
typedef unsigned int ptl_interface_t; /* number of a physical interface */

typedef uint32_t ptl_nid_t;         /* node */
typedef uint32_t ptl_pid_t;         /* process on the node */
typedef uint32_t ptl_rank_t;        /* place in the map of a logical interface */
typedef uint32_t ptl_uid_t;         /* user, for access checks at the target */

/* Handles. All kinds are the same type, and any of them fits ptl_handle_any_t. A handle stays bad for long after its
 * object was freed: values are not soon reused. */
typedef uint32_t ptl_handle_any_t;
typedef ptl_handle_any_t ptl_handle_ni_t;
typedef ptl_handle_any_t ptl_handle_eq_t;
typedef ptl_handle_any_t ptl_handle_ct_t;
typedef ptl_handle_any_t ptl_handle_md_t;
typedef ptl_handle_any_t ptl_handle_le_t;
typedef ptl_handle_any_t ptl_handle_me_t;

/* Small enumerations. They are bytes, so that an event stays small; their values are listed in their chapters. */
typedef unsigned char ptl_list_t;       /* PTL_PRIORITY_LIST .. */
typedef unsigned char ptl_search_op_t;  /* PTL_SEARCH_ONLY .. */
typedef unsigned char ptl_ack_req_t;    /* PTL_NO_ACK_REQ .. */
typedef unsigned char ptl_op_t;         /* PTL_MIN .. */
typedef unsigned char ptl_datatype_t;   /* PTL_INT8_T .. */
typedef unsigned char ptl_event_kind_t; /* PTL_EVENT_GET .. */
typedef unsigned char ptl_ni_fail_t;    /* PTL_NI_OK .. */

/* A process: by rank on a logical interface, by node and process number on a physical one. Passed by value. */
typedef union {
    ptl_rank_t rank;
    struct {
        ptl_nid_t nid;
        ptl_pid_t pid;
    } phys;
} ptl_process_t;

/* One piece of a scattered region. Laid out as struct iovec of POSIX. */
typedef struct {
    void *iov_base;
    ptl_size_t iov_len;
} ptl_iovec_t;

/* "None" and "any". No real object, node, process or rank ever has one of these values. */
#define PTL_INVALID_HANDLE 0xffffffffu /* refers to nothing; legal only for PtlHandleIsEqual */
#define PTL_EQ_NONE        0x3fffffffu /* wherever an event queue is optional */
#define PTL_CT_NONE        0x5fffffffu /* wherever a counting event is optional */
#define PTL_IFACE_DEFAULT  0xffffffffu
#define PTL_PID_ANY        0xffffu
#define PTL_NID_ANY        0xffffu
#define PTL_RANK_ANY       0xffffffffu
#define PTL_UID_ANY        0xffffffffu
#define PTL_PT_ANY         0xffffffffu
#define PTL_PID_MAX        1024        /* advisory: pids that the library chooses itself may be larger */
#define PTL_TIME_FOREVER   0xffffffffu
#define PTL_SIZE_MAX       UINT64_MAX  /* as the length of an MD, LE or ME: all memory from `start` on */

/* ==== 2. Return codes ============================================================================================= */

/* PTL_OK is 0; the other values carry no order. They are all distinct, those of 4.2 included. */
enum ptl_retvals {
    PTL_OK = 0,
    PTL_ARG_INVALID = 1,      /* an argument is wrong by itself or together with another one; nothing was done */
    PTL_CT_NONE_REACHED = 2,  /* PtlCTPoll: time ran out */
    PTL_EQ_DROPPED = 3,       /* an event was returned, but at least one before it was lost */
    PTL_EQ_EMPTY = 4,         /* no event (PtlEQGet), or none before time ran out (PtlEQPoll) */
    PTL_FAIL = 5,             /* the surroundings failed: no network device, no memory for the library itself */
    PTL_IGNORED = 6,          /* PtlSetMap: there is a map already, and it stays */
    PTL_IN_USE = 7,           /* an operation is working with the object; try again */
    PTL_LIST_TOO_LONG = 8,    /* named by the specification; this library says PTL_NO_SPACE instead */
    PTL_NO_INIT = 9,          /* PtlInit has not been called */
    PTL_NO_SPACE = 10,        /* a limit of ptl_ni_limits_t is reached */
    PTL_PID_IN_USE = 11,
    PTL_PT_FULL = 12,         /* no free portal table entry */
    PTL_PT_EQ_NEEDED = 13,    /* PTL_PT_FLOWCTRL without an event queue */
    PTL_PT_IN_USE = 14,
    PTL_ABORTED = 15,         /* PtlAbort was called while waiting */
    PTL_INTERRUPTED = 16,     /* 4.2's name for a wait that was cut short; never returned */
    PTL_STATUS_LAST = 17      /* one more than the largest code */
};

/* ==== 3. Initialization and cleanup =============================================================================== */

/* Makes the library ready. Counted: every successful call needs its PtlFini. Must come before everything else but
 * PtlHandleIsEqual. May be called again after the last PtlFini.
 * Returns: PTL_OK; PTL_FAIL when the process cannot use the library at all. */
int PtlInit(void);

/* Undoes one PtlInit. The last one closes all interfaces as PtlNIFini does, and with them every object they own; no
 * other thread may be inside the library then. Does nothing without a PtlInit.
 * Cost: the last call sends what was already issued, and stops the engine. */
void PtlFini(void);

/* Wakes all threads of this process that wait in PtlEQWait, PtlEQPoll, PtlCTWait or PtlCTPoll: they return
 * PTL_ABORTED. For threads that would otherwise wait for ever while the program shuts down. Objects and operations
 * are left as they are; once all those threads have left, waiting works as before. */
void PtlAbort(void);

/* ==== 4. Network interfaces ======================================================================================= */

/* Options of PtlNIInit: exactly one of the first two and exactly one of the last two. */
#define PTL_NI_MATCHING          0x1u /* portal table entries hold match list entries (ME) */
#define PTL_NI_NO_MATCHING       0x2u /* portal table entries hold list entries (LE), which accept every message */
#define PTL_NI_LOGICAL           0x4u /* processes are named by rank, after PtlSetMap */
#define PTL_NI_PHYSICAL          0x8u /* processes are named by nid and pid */
#define PTL_NI_INIT_OPTIONS_MASK 0xfu

/* Bits of ptl_ni_limits_t.features: requests in `desired`, the truth in `actual`. */
#define PTL_TARGET_BIND_INACCESSIBLE 0x1u /* granted if asked for: LE and ME may cover memory that cannot be
                                           * accessed; a message that would touch it ends with PTL_NI_SEGV. Entries that
                                           * are not PTL_LE_IS_ACCESSIBLE then cost a system call per message */
#define PTL_TOTAL_DATA_ORDERING      0x2u /* data of any length is ordered, not only up to max_wa?_ordered_size; never
                                           * granted: long messages are fetched after they matched, several at a time */
#define PTL_COHERENT_ATOMICS         0x4u /* atomics are coherent with the processor's own loads, stores and atomics */

/* The limits of an interface. Each max_ counts objects that exist at one time on that interface. */
typedef struct {
    int max_entries;                 /* LEs or MEs */
    int max_unexpected_headers;      /* headers kept for messages that landed in overflow lists */
    int max_mds;
    int max_cts;
    int max_eqs;
    int max_pt_index;                /* largest usable index: the table has one entry more */
    int max_iovecs;                  /* elements of one iovec */
    int max_list_size;               /* entries attached to one portal table entry */
    int max_triggered_ops;           /* triggered operations that wait */
    ptl_size_t max_msg_size;         /* put, get */
    ptl_size_t max_atomic_size;      /* PtlAtomic */
    ptl_size_t max_fetch_atomic_size; /* PtlFetchAtomic, PtlSwap */
    ptl_size_t max_waw_ordered_size; /* up to here, writes after writes and reads after writes are ordered, at whatever
                                      * addresses and portal table entries: data are in place before the next message is
                                      * looked at */
    ptl_size_t max_war_ordered_size; /* up to here, writes after reads are ordered */
    ptl_size_t max_volatile_size;    /* up to here, operations on a PTL_MD_VOLATILE descriptor copy */
    unsigned int features;           /* PTL_TARGET_BIND_INACCESSIBLE .. */
} ptl_ni_limits_t;

/* Status registers: how often this interface, as a target, refused a message, and why. */
typedef enum {
    PTL_SR_DROP_COUNT = 0,           /* no such portal table entry, no entry matched, or no room */
    PTL_SR_PERMISSION_VIOLATIONS = 1, /* the entry belongs to another user */
    PTL_SR_OPERATION_VIOLATIONS = 2, /* the entry does not allow the operation */
    PTL_SR_LAST = 3
} ptl_sr_index_t;
typedef int ptl_sr_value_t;

/* The result of one operation: ptl_event_t.ni_fail_type. */
enum {
    PTL_NI_OK = 0,
    PTL_NI_UNDELIVERABLE = 1,  /* the target process cannot be reached */
    PTL_NI_DROPPED = 2,        /* no such portal table entry, no entry matched, or no room */
    PTL_NI_PT_DISABLED = 3,    /* the target's portal table entry is disabled; sending again later may work */
    PTL_NI_PERM_VIOLATION = 4, /* the matching entry belongs to another user */
    PTL_NI_OP_VIOLATION = 5,   /* the matching entry does not allow the operation */
    PTL_NI_NO_MATCH = 6,       /* a search found nothing */
    PTL_NI_SEGV = 7            /* the entry covers memory that cannot be accessed: told only on an interface with
                                * PTL_TARGET_BIND_INACCESSIBLE, without it the process dies as by any bad access */
};

/* Opens interface number `iface` (PTL_IFACE_DEFAULT or 0: there is only one) with `options`: matching or not,
 * logical or physical, so up to four interfaces. They share one nid and pid, and nothing else: each has its own
 * portal table, objects, limits and status registers. Opening the same kind again returns the same handle, counts it,
 * and ignores `pid` and `desired`.
 *   pid      PTL_PID_ANY, or the number wanted; when another interface is open, only the number it has
 *   desired  limits wanted, NULL for the defaults. Any value is legal; each is brought into the range that is
 *            possible, so ask for less to get exactly that, and for much to get the most; 0 or a negative number asks
 *            for the default. What is granted costs no memory until it is used.
 *   actual   out, may be NULL: the limits that hold
 * Returns: PTL_OK; PTL_ARG_INVALID: a wrong combination of options, no such interface; PTL_PID_IN_USE; PTL_NO_SPACE;
 * PTL_FAIL: no usable network.
 * Cost: the first call opens the network and starts the engine: milliseconds. */
int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid, const ptl_ni_limits_t *desired,
              ptl_ni_limits_t *actual, ptl_handle_ni_t *ni_handle);

/* Undoes one PtlNIInit of this handle. The last one frees everything that belongs to the interface, freed by the
 * program or not; it does not touch the program's memory. Operations already issued still reach their target; their
 * acknowledgements are no longer reported. Does not wait for a peer that has gone. No other thread may use the
 * interface.
 * Returns: PTL_OK; PTL_ARG_INVALID.
 * Cost: the last call waits until what was issued has left. */
int PtlNIFini(ptl_handle_ni_t ni_handle);

/* Reads a status register. They start at 0 and only grow; searches do not change them.
 * Returns: PTL_OK; PTL_ARG_INVALID: `status_register` is not below PTL_SR_LAST. */
int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t status_register, ptl_sr_value_t *status);

/* Tells to which interface an object belongs; for an interface, itself.
 * Returns: PTL_OK; PTL_ARG_INVALID. */
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle);

/* Gives a logical interface its ranks: process `mapping[r]` (its nid and pid, from its PtlGetPhysId) becomes rank r.
 * All processes that communicate set the same map, before any communication. The array is copied.
 *   map_size  number of processes, at least 1
 * Returns: PTL_OK; PTL_IGNORED: there is a map already, it stays (as good as PTL_OK when it is the same one);
 * PTL_ARG_INVALID: a physical interface, or this process is not in the map; PTL_NO_SPACE.
 * Cost: linear in map_size. */
int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t *mapping);

/* Copies the first map_size processes of the map to `mapping` (all, if there are fewer); *actual_map_size is always
 * the full size and may be NULL. With map_size 0, `mapping` may be NULL: asks for the size only.
 * Returns: PTL_OK; PTL_ARG_INVALID: a physical interface; PTL_NO_SPACE: there is no map yet.
 * Cost: linear in the processes copied. */
int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t *mapping, ptl_size_t *actual_map_size);

/* ==== 5. Portal table ============================================================================================= */

/* Options of PtlPTAlloc. The two ONLY options are promises that may speed up matching; they never change a result. */
#define PTL_PT_ONLY_USE_ONCE      0x1u  /* every entry of the priority list will be a USE_ONCE one */
#define PTL_PT_FLOWCTRL           0x2u  /* lack of resources disables the entry instead of losing messages */
#define PTL_PT_ONLY_TRUNCATE      0x4u  /* no entry of the priority list will be a NO_TRUNCATE one */
#define PTL_PT_MATCH_UNORDERED    0x8u  /* not in the specification: entries may be matched out of list order */
#define PTL_PT_ALLOC_DISABLED     0x10u /* starts disabled, until PtlPTEnable */
#define PTL_PT_ALLOC_OPTIONS_MASK 0x1fu

/* Allocates a portal table entry: the place, named by a small number, to which messages are addressed.
 *   eq_handle     where events of its list entries go; PTL_EQ_NONE: no full events. Needed with PTL_PT_FLOWCTRL, for
 *                 which the queue keeps one slot in reserve
 *   pt_index_req  the index wanted, 0 to max_pt_index, or PTL_PT_ANY: the lowest free one, 0 on a fresh interface
 *   pt_index      out: the index
 * Returns: PTL_OK; PTL_PT_IN_USE: that index is taken; PTL_PT_FULL: no free one; PTL_PT_EQ_NEEDED; PTL_ARG_INVALID:
 * index out of range, unknown option, queue of another interface. */
int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle,
               ptl_pt_index_t pt_index_req, ptl_pt_index_t *pt_index);

/* Frees an entry. Unexpected headers that it still keeps are thrown away. Messages for it are dropped from now on.
 * Returns: PTL_OK; PTL_PT_IN_USE: its lists are not empty; PTL_ARG_INVALID: not allocated. */
int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);

/* Refuses further messages to this entry: their initiators see PTL_NI_PT_DISABLED. Appends, unlinks and searches work
 * as before. When it returns, messages that were in progress are finished and their events posted. No
 * PTL_EVENT_PT_DISABLED: that one is for entries which flow control disables.
 * Returns: PTL_OK, also when it is disabled already; PTL_ARG_INVALID: not allocated.
 * Cost: waits for the messages in progress. */
int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);

/* Accepts messages again, after PtlPTDisable, PTL_PT_ALLOC_DISABLED or flow control. In force when it returns. If the
 * resources are still exhausted, the next message disables the entry again, with a new event.
 * Returns: PTL_OK, also when it is enabled already; PTL_ARG_INVALID: not allocated.
 * Cost: waits for a disable that is under way. */
int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);

/* ==== 6. Identification =========================================================================================== */

/* The user id that travels with this process's messages and is compared with the uid of a target's entries: the
 * effective user id of the process.
 * Returns: PTL_OK; PTL_ARG_INVALID. */
int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t *uid);

/* This process as others name it on this interface: .phys on a physical one, .rank on a logical one; PTL_RANK_ANY as
 * long as there is no map.
 * Returns: PTL_OK; PTL_ARG_INVALID. */
int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t *id);

/* nid and pid of this process, on every interface; made to be exchanged before PtlSetMap.
 * Returns: PTL_OK; PTL_ARG_INVALID. */
int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t *id);

/* ==== 7. Memory descriptors ======================================================================================= */

/* The region is scattered: `start` points to ptl_iovec_t, `length` is their number. For MD, LE and ME alike. */
#define PTL_IOVEC 0x1u

/* Options of an MD. */
#define PTL_MD_EVENT_CT_SEND         0x2u    /* count when the data has left */
#define PTL_MD_EVENT_CT_REPLY        0x4u    /* count when fetched data has arrived */
#define PTL_MD_EVENT_CT_ACK          0x8u    /* count when an acknowledgement has arrived */
#define PTL_MD_UNORDERED             0x10u   /* messages may overtake each other */
#define PTL_MD_EVENT_SUCCESS_DISABLE 0x20u   /* full events only for failures */
#define PTL_MD_VOLATILE              0x40u   /* the memory may be reused as soon as the call returns */
#define PTL_MD_EVENT_SEND_DISABLE    0x80u   /* no full PTL_EVENT_SEND, not even for a failure */
#define PTL_MD_UNRELIABLE            0x100u  /* puts may get lost; PTL_ACK_REQ is not allowed */
#define PTL_MD_EVENT_CT_BYTES        0x4000u /* count bytes, not operations */
#define PTL_MD_OPTIONS_MASK          0x41ffu

/* The initiator's memory. */
typedef struct {
    void *start;
    ptl_size_t length;         /* bytes; with PTL_IOVEC: number of elements */
    unsigned int options;      /* PTL_IOVEC, PTL_MD_* */
    ptl_handle_eq_t eq_handle; /* or PTL_EQ_NONE */
    ptl_handle_ct_t ct_handle; /* or PTL_CT_NONE */
} ptl_md_t;

/* Makes memory usable for data movement, and says how its operations are reported. *md is copied; the memory stays
 * the program's, and an iovec array has to stay as it is until the release. Nothing is touched or pinned by the call:
 * start NULL with length PTL_SIZE_MAX describes all memory, with absolute addresses as offsets. Memory used only as
 * the source of puts may be read-only.
 * Returns: PTL_OK; PTL_NO_SPACE: max_mds; PTL_ARG_INVALID: unknown option, more than max_iovecs elements, queue or
 * counting event of another interface (or PTL_INVALID_HANDLE: "none" is PTL_EQ_NONE and PTL_CT_NONE).
 * Cost: linear in the number of iovec elements. */
int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t *md, ptl_handle_md_t *md_handle);

/* Ends the use of a descriptor; its handle is stale afterwards. An operation is no longer the descriptor's once its
 * data has left (put) or arrived (get): acknowledgements that are still on the way are then swallowed. Triggered
 * operations that wait keep what they need of it.
 * Returns: PTL_OK; PTL_IN_USE: an operation still moves data, try again; PTL_ARG_INVALID. */
int PtlMDRelease(ptl_handle_md_t md_handle);

/* ==== 8. List entries and match list entries ====================================================================== */

/* A message to a portal table entry looks for the first entry that accepts it, in the priority list and then in the
 * overflow list, each in the order of appending. An LE accepts every message. An ME accepts by initiator and match
 * bits, and with NO_TRUNCATE by length. What is found decides: if the initiator's uid or the operation is not
 * permitted, the message is refused, and no other entry is tried.
 *
 * The message is placed at its remote offset, or with MANAGE_LOCAL behind the previous one, and truncated to what
 * fits (mlength); an offset beyond the end is no error, and moves nothing. An entry leaves the list after one message
 * (USE_ONCE), or when less than min_free bytes are left (MANAGE_LOCAL); from that moment no other message finds it.
 *
 * A message taken by the overflow list is unexpected: its bytes lie in that entry, and its header is kept, for later
 * appends and searches, unless UNEXPECTED_HDR_DISABLE. Such a header is found under the same rules as a message, but
 * without the checks of uid and operation.
 */

/* Options of an LE. Options of the same name are equal for LE and ME. */
#define PTL_LE_OP_PUT                 0x2u    /* allow PtlPut, PtlAtomic */
#define PTL_LE_OP_GET                 0x4u    /* allow PtlGet; both: also PtlFetchAtomic, PtlSwap */
#define PTL_LE_USE_ONCE               0x8u    /* unlink after the first message */
#define PTL_LE_ACK_DISABLE            0x0u    /* 4.2's option to suppress acknowledgements; has no effect */
#define PTL_LE_UNEXPECTED_HDR_DISABLE 0x10u   /* overflow list: keep no headers of the messages that land here */
#define PTL_LE_IS_ACCESSIBLE          0x20u   /* promise: all of the memory can be accessed */
#define PTL_LE_EVENT_LINK_DISABLE     0x40u   /* no PTL_EVENT_LINK */
#define PTL_LE_EVENT_COMM_DISABLE     0x80u   /* no PTL_EVENT_{PUT,GET,ATOMIC,FETCH_ATOMIC,SEARCH} */
#define PTL_LE_EVENT_FLOWCTRL_DISABLE 0x100u  /* no PTL_EVENT_PT_DISABLED on account of this entry */
#define PTL_LE_EVENT_SUCCESS_DISABLE  0x200u  /* no communication events but for failures */
#define PTL_LE_EVENT_OVER_DISABLE     0x400u  /* no PTL_EVENT_*_OVERFLOW */
#define PTL_LE_EVENT_UNLINK_DISABLE   0x800u  /* no PTL_EVENT_AUTO_UNLINK, PTL_EVENT_AUTO_FREE */
#define PTL_LE_EVENT_CT_COMM          0x1000u /* count messages that arrive in this entry */
#define PTL_LE_EVENT_CT_OVERFLOW      0x2000u /* count unexpected headers that this entry consumes or finds */
#define PTL_LE_EVENT_CT_BYTES         0x4000u /* count bytes, not messages */
#define PTL_LE_APPEND_OPTIONS_MASK    0x7fffu

/* Options of an ME: those of an LE .. */
#define PTL_ME_OP_PUT                 PTL_LE_OP_PUT
#define PTL_ME_OP_GET                 PTL_LE_OP_GET
#define PTL_ME_USE_ONCE               PTL_LE_USE_ONCE
#define PTL_ME_ACK_DISABLE            PTL_LE_ACK_DISABLE
#define PTL_ME_UNEXPECTED_HDR_DISABLE PTL_LE_UNEXPECTED_HDR_DISABLE
#define PTL_ME_IS_ACCESSIBLE          PTL_LE_IS_ACCESSIBLE
#define PTL_ME_EVENT_LINK_DISABLE     PTL_LE_EVENT_LINK_DISABLE
#define PTL_ME_EVENT_COMM_DISABLE     PTL_LE_EVENT_COMM_DISABLE
#define PTL_ME_EVENT_FLOWCTRL_DISABLE PTL_LE_EVENT_FLOWCTRL_DISABLE
#define PTL_ME_EVENT_SUCCESS_DISABLE  PTL_LE_EVENT_SUCCESS_DISABLE
#define PTL_ME_EVENT_OVER_DISABLE     PTL_LE_EVENT_OVER_DISABLE
#define PTL_ME_EVENT_UNLINK_DISABLE   PTL_LE_EVENT_UNLINK_DISABLE
#define PTL_ME_EVENT_CT_COMM          PTL_LE_EVENT_CT_COMM
#define PTL_ME_EVENT_CT_OVERFLOW      PTL_LE_EVENT_CT_OVERFLOW
#define PTL_ME_EVENT_CT_BYTES         PTL_LE_EVENT_CT_BYTES
/* .. and four more. */
#define PTL_ME_MANAGE_LOCAL           0x8000u  /* messages are packed one behind the other; their offset is ignored */
#define PTL_ME_NO_TRUNCATE            0x10000u /* a message that does not fit does not match */
#define PTL_ME_MAY_ALIGN              0x20000u /* MANAGE_LOCAL may leave gaps (this library packs tightly anyway) */
#define PTL_ME_LOCAL_INC_UH_RLENGTH   0x40000u /* MANAGE_LOCAL: headers consumed at append advance the offset */
#define PTL_ME_APPEND_OPTIONS_MASK    0x7ffffu

/* The target's memory, on a non-matching interface. */
typedef struct {
    void *start;
    ptl_size_t length;         /* bytes; with PTL_IOVEC: number of elements */
    ptl_handle_ct_t ct_handle; /* or PTL_CT_NONE */
    ptl_uid_t uid;             /* who may access it; PTL_UID_ANY: everyone */
    unsigned int options;      /* PTL_IOVEC, PTL_LE_* */
} ptl_le_t;

/* The target's memory, on a matching interface. The first five fields are those of ptl_le_t. */
typedef struct {
    void *start;
    ptl_size_t length;
    ptl_handle_ct_t ct_handle;
    ptl_uid_t uid;
    unsigned int options;         /* PTL_IOVEC, PTL_ME_* */
    ptl_process_t match_id;       /* initiator; PTL_RANK_ANY, or PTL_NID_ANY and PTL_PID_ANY, match every one */
    ptl_match_bits_t match_bits;  /* matches when ((message's bits ^ match_bits) & ~ignore_bits) == 0 */
    ptl_match_bits_t ignore_bits;
    ptl_size_t min_free;          /* PTL_ME_MANAGE_LOCAL: unlink when less is left; else never looked at */
} ptl_me_t;

/* Which list of the portal table entry. */
enum {
    PTL_PRIORITY_LIST = 0,
    PTL_OVERFLOW_LIST = 1
};

/* The ways in which a search treats the unexpected headers that it finds. */
enum {
    PTL_SEARCH_ONLY = 0,
    PTL_SEARCH_DELETE = 1
};

/* Appends an LE to a list of a portal table entry; interfaces with PTL_NI_NO_MATCHING. *le is copied; the memory
 * stays the program's, an iovec array has to stay as it is until the entry is unlinked. Memory is not touched by the
 * call; start NULL with length PTL_SIZE_MAX offers all of it.
 *
 * The priority list first looks through the unexpected headers, oldest first, as one step with the append: no message
 * can slip between. Each header found is consumed and reported as PTL_EVENT_*_OVERFLOW, counted with
 * EVENT_CT_OVERFLOW; the program copies the data from there. A USE_ONCE entry takes one, and is then never linked: no
 * PTL_EVENT_LINK, but PTL_EVENT_AUTO_UNLINK. Else all are consumed, then the entry is linked and PTL_EVENT_LINK
 * posted. The overflow list links at once.
 *   user_ptr   returned in all events of this entry
 *   le_handle  out: for PtlLEUnlink
 * Returns: PTL_OK; PTL_NO_SPACE: max_entries or max_list_size; PTL_ARG_INVALID: a matching interface, portal table
 * entry not allocated, no such list, unknown option, more than max_iovecs elements, counting event of another
 * interface.
 * Cost: at most linear in the unexpected headers of the portal table entry. */
int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le, ptl_list_t ptl_list,
                void *user_ptr, ptl_handle_le_t *le_handle);

/* Takes an LE out of its list; no event. Once the program has seen the event, the count or the acknowledgement of the
 * last message, the entry is not in use. Never waits: on PTL_IN_USE try again, or wait for the event of the message.
 * Returns: PTL_OK; PTL_IN_USE: a message works with the memory, or unexpected headers refer to it; PTL_ARG_INVALID:
 * unlinked before, by the program or by itself. */
int PtlLEUnlink(ptl_handle_le_t le_handle);

/* Looks for unexpected headers as an append of *le to the priority list would, but links nothing. Done when the call
 * returns: events and counts are there. USE_ONCE looks for the oldest one, else for all.
 *   PTL_SEARCH_ONLY    leaves the headers in place: one PTL_EVENT_SEARCH each, with ni_fail_type PTL_NI_OK
 *   PTL_SEARCH_DELETE  consumes them: one PTL_EVENT_*_OVERFLOW each
 * Nothing found: one PTL_EVENT_SEARCH with PTL_NI_NO_MATCH. The event goes to the portal table entry's queue; without
 * one there is none. With EVENT_CT_OVERFLOW each header found counts a success (its mlength with EVENT_CT_BYTES);
 * then one failure marks the end, with USE_ONCE only if nothing was found.
 * Returns: PTL_OK, found or not; PTL_ARG_INVALID: as PtlLEAppend, or no such operation.
 * Cost: at most linear in the unexpected headers; waits for the engine to look. */
int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le,
                ptl_search_op_t ptl_search_op, void *user_ptr);

/* As PtlLEAppend, for an ME on an interface with PTL_NI_MATCHING. With MANAGE_LOCAL and LOCAL_INC_UH_RLENGTH every
 * header consumed advances the local offset by its rlength, and the entry unlinks itself when less than min_free is
 * left; without the latter option consumed headers change neither. min_free may be uninitialised without
 * MANAGE_LOCAL.
 * Returns: as PtlLEAppend; PTL_ARG_INVALID on a non-matching interface.
 * Cost: at most linear in the unexpected headers of the portal table entry. */
int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me, ptl_list_t ptl_list,
                void *user_ptr, ptl_handle_me_t *me_handle);

/* As PtlLEUnlink, for an ME. An entry that its own append unlinked through LOCAL_INC_UH_RLENGTH may be unlinked once
 * more: PTL_OK. */
int PtlMEUnlink(ptl_handle_me_t me_handle);

/* As PtlLESearch, by the match_id, match_bits and ignore_bits of *me (and its length, with NO_TRUNCATE).
 * Cost: at most linear in the unexpected headers; waits for the engine to look. */
int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me,
                ptl_search_op_t ptl_search_op, void *user_ptr);

/* ==== 9. Events and event queues ================================================================================== */

/* Which fields mean something, besides type and ni_fail_type:
 *   PUT GET ATOMIC FETCH_ATOMIC,     all. remote_offset is the one asked for; hdr_data not for gets; atomic_* for
 *   and their _OVERFLOW              atomics. _OVERFLOW: user_ptr is of the entry that consumed the header, start
 *                                    lies in the overflow entry
 *   SEARCH                           as _OVERFLOW; with PTL_NI_NO_MATCH only user_ptr and pt_index
 *   LINK AUTO_UNLINK AUTO_FREE       user_ptr, pt_index
 *   PT_DISABLED                      pt_index
 *   SEND                             user_ptr
 *   ACK REPLY                        user_ptr, mlength, remote_offset (where the data really went), ptl_list
 *
 * Order: of one operation, SEND comes before ACK or REPLY. Of one message at the target, the communication event
 * comes before the AUTO_UNLINK that it caused; AUTO_FREE comes after the last event that refers to the entry. A
 * message's data can be read, its events and counts are there, before the acknowledgement leaves. SEND says that the
 * data left, even if the target refuses it afterwards. Failures are reported even where EVENT_SUCCESS_DISABLE
 * silences success.
 */

/* Kinds of full events. PtlSwap is reported as FETCH_ATOMIC. */
enum {
    PTL_EVENT_GET = 0,                    /* target: data was read from an entry */
    PTL_EVENT_GET_OVERFLOW = 1,           /* target: an append or search consumed the header of a get */
    PTL_EVENT_PUT = 2,                    /* target: data was written to an entry */
    PTL_EVENT_PUT_OVERFLOW = 3,
    PTL_EVENT_ATOMIC = 4,
    PTL_EVENT_ATOMIC_OVERFLOW = 5,
    PTL_EVENT_FETCH_ATOMIC = 6,
    PTL_EVENT_FETCH_ATOMIC_OVERFLOW = 7,
    PTL_EVENT_REPLY = 8,                  /* initiator: fetched data has arrived */
    PTL_EVENT_SEND = 9,                   /* initiator: the MD's memory may be reused */
    PTL_EVENT_ACK = 10,                   /* initiator: the target has processed the message */
    PTL_EVENT_PT_DISABLED = 11,           /* target: lack of resources disabled a portal table entry */
    PTL_EVENT_LINK = 12,                  /* target: an append has put its entry into the list */
    PTL_EVENT_AUTO_UNLINK = 13,           /* target: an entry left its list by itself; its handle is stale */
    PTL_EVENT_AUTO_FREE = 14,             /* target: no later event will refer to an overflow entry's memory */
    PTL_EVENT_SEARCH = 15                 /* target: result of a search */
};

/* A full event. Which fields mean something depends on `type`: see chapter 9. */
typedef struct {
    void *start;                     /* where in the entry the data lies */
    void *user_ptr;                  /* of the append (target) or of the operation (initiator) */
    ptl_hdr_data_t hdr_data;
    ptl_match_bits_t match_bits;
    ptl_size_t rlength;              /* length the initiator asked for */
    ptl_size_t mlength;              /* length that was moved */
    ptl_size_t remote_offset;        /* target: as asked for; initiator: where the data really went */
    ptl_process_t initiator;
    ptl_uid_t uid;                   /* of the initiator */
    ptl_pt_index_t pt_index;
    ptl_event_kind_t type;           /* PTL_EVENT_* */
    ptl_list_t ptl_list;             /* the list whose entry took the message */
    ptl_ni_fail_t ni_fail_type;      /* PTL_NI_* */
    ptl_op_t atomic_operation;
    ptl_datatype_t atomic_type;
} ptl_event_t;

/* Creates an event queue.
 *   count  events that it holds at least. When more are waiting to be read, the oldest are lost (PTL_EQ_DROPPED); but
 *          portal table entries with PTL_PT_FLOWCTRL are disabled before that, and lose nothing.
 * Returns: PTL_OK; PTL_NO_SPACE: max_eqs, or no memory for `count`; PTL_ARG_INVALID.
 * Cost: linear in count. */
int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle);

/* Frees an event queue and the events in it. Portal table entries and descriptors that still name it are legal: their
 * events vanish. Wakes nobody: see PtlAbort.
 * Returns: PTL_OK; PTL_ARG_INVALID. */
int PtlEQFree(ptl_handle_eq_t eq_handle);

/* Takes the oldest event, if there is one. Of several threads exactly one gets each event.
 * Returns: PTL_OK; PTL_EQ_DROPPED: an event is returned, and at least one before it was lost; PTL_EQ_EMPTY: nothing
 * returned; PTL_ARG_INVALID. */
int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event);

/* Waits for an event and takes it.
 * Returns: PTL_OK; PTL_EQ_DROPPED as PtlEQGet; PTL_ABORTED: nothing returned; PTL_ARG_INVALID.
 * Cost: waits. */
int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event);

/* Waits for an event in any of several queues of one interface, and takes it.
 *   size     number of queues, at least 1
 *   timeout  milliseconds; 0: look at each once; PTL_TIME_FOREVER
 *   which    out: index into eq_handles of the queue that had it
 * Returns: PTL_OK; PTL_EQ_DROPPED as PtlEQGet; PTL_EQ_EMPTY: time ran out; PTL_ABORTED; PTL_ARG_INVALID: size 0, a
 * bad handle among them, queues of different interfaces.
 * Cost: each look is linear in size; waits up to timeout. */
int PtlEQPoll(const ptl_handle_eq_t *eq_handles, unsigned int size, ptl_time_t timeout, ptl_event_t *event,
              unsigned int *which);

/* ==== 10. Counting events ========================================================================================= */

/* Options say what counts: those of the MD at the initiator, those of the entry at the target. A success
 * adds 1, or with EVENT_CT_BYTES the bytes moved (PTL_MD_EVENT_CT_SEND: the bytes asked for). A failure always adds
 * 1. Event options that silence full events do not change what is counted. Counts become visible after the data.
 */

/* A counting event. Both numbers wrap modulo 2^64. Passed by value. */
typedef struct {
    ptl_size_t success; /* operations or bytes */
    ptl_size_t failure; /* operations, always */
} ptl_ct_event_t;

/* The unit of a counting event, of older revisions; the *_EVENT_CT_BYTES options decide now. */
typedef enum {
    PTL_CT_OPERATION = 0,
    PTL_CT_BYTE = 1
} ptl_ct_type_t;

/* Creates a counting event with value {0, 0}.
 * Returns: PTL_OK; PTL_NO_SPACE: max_cts; PTL_ARG_INVALID. */
int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t *ct_handle);

/* Frees a counting event; triggered operations that wait for it vanish without effect. Descriptors and entries that
 * still name it are legal: what they would count vanishes. Wakes nobody: see PtlAbort.
 * Returns: PTL_OK; PTL_ARG_INVALID, also for PTL_CT_NONE.
 * Cost: linear in the triggered operations that wait for it. */
int PtlCTFree(ptl_handle_ct_t ct_handle);

/* Discards all triggered operations that wait for this counting event: no events, no counts. Its value stays, and it
 * can be used on.
 * Returns: PTL_OK; PTL_ARG_INVALID.
 * Cost: linear in the triggered operations that wait for it. */
int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle);

/* Reads the value: a load from memory. Each of the two numbers is whole, but they may be of different moments.
 * Returns: PTL_OK; PTL_ARG_INVALID. */
int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t *event);

/* Waits until success >= test, or until there is a failure: look at event->failure. A failure counted earlier ends
 * the wait at once. (Triggered operations compare success + failure instead.)
 *   event  out: the value
 * Returns: PTL_OK; PTL_ABORTED; PTL_ARG_INVALID.
 * Cost: waits. */
int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t *event);

/* Waits as PtlCTWait for any of several counting events of one interface.
 *   tests    one threshold for each
 *   size     how many, at least 1
 *   timeout  milliseconds; 0: look at each once; PTL_TIME_FOREVER
 *   event    out: the value of the one that was reached
 *   which    out: its index
 * Returns: PTL_OK; PTL_CT_NONE_REACHED: time ran out; PTL_ABORTED; PTL_ARG_INVALID: size 0, a bad handle among them,
 * different interfaces.
 * Cost: each look is linear in size; waits up to timeout. */
int PtlCTPoll(const ptl_handle_ct_t *ct_handles, const ptl_size_t *tests, unsigned int size, ptl_time_t timeout,
              ptl_ct_event_t *event, unsigned int *which);

/* Sets both numbers, as one step among all changes of this counting event. In force when it returns; triggered
 * operations whose threshold is reached start. Setting it back does not undo them, nor arm them again.
 * Returns: PTL_OK; PTL_ARG_INVALID.
 * Cost: waits for the engine, not for the operations that start. */
int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct);

/* Adds to one of the two numbers, the other must be 0; modulo 2^64, so (ptl_size_t)-1 subtracts 1. In force when it
 * returns; triggered operations whose threshold is reached start.
 * Returns: PTL_OK; PTL_ARG_INVALID: both are non-zero.
 * Cost: waits for the engine, not for the operations that start. */
int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment);

/* ==== 11. Data movement =========================================================================================== */

/* Arguments that the functions share:
 *   md_handle, local_offset, length  the range within the initiator's MD; it must lie within it. length 0 is an
 *                                    operation like any other
 *   target_id, pt_index              whom, and which portal table entry there; the process itself is as good as any
 *                                    other. Whether the entry exists is found out at the target: PTL_NI_DROPPED
 *   match_bits                       for MEs; ignored by LEs
 *   remote_offset                    from the start of the entry that is found, unless it is MANAGE_LOCAL
 *   user_ptr                         returned in the initiator's events
 *   hdr_data                         returned in the target's event
 *
 * Order: messages from one interface to one other are matched in the order in which they were issued, of whatever
 * kind and to whatever portal table entry, unless the MD is PTL_MD_UNORDERED. Data is ordered as
 * max_waw_ordered_size, max_war_ordered_size and PTL_TOTAL_DATA_ORDERING say. Up to 8128 bytes that costs nothing. An
 * interface that asks for a max_waw_ordered_size of up to 2^20 as a target takes what comes behind a longer write only
 * when that is in place; so both ends ask.
 *
 * The functions check, queue the operation and return; they wait only while the engine's queue is full. The memory of
 * the MD must not change until the operation's SEND (or, without one, a later ACK, REPLY or count), except that a
 * PTL_MD_VOLATILE one is copied by the call, up to max_volatile_size; above it the option promises nothing. 8192 bytes
 * cost nothing, up to 2^20 are granted to who asks for that number.
 *
 * All return PTL_ARG_INVALID for a bad MD, a range outside of it, a length above the operation's limit (max_msg_size,
 * max_atomic_size, max_fetch_atomic_size), a rank outside of the map.
 *
 * Which operation may be used with which type; anything else is PTL_ARG_INVALID:
 *                                     PtlAtomic, PtlFetchAtomic   PtlSwap   integers   floating   complex
 *   MIN MAX                           yes                         no        yes        yes        no
 *   SUM PROD                          yes                         no        yes        yes        yes
 *   LOR LAND BOR BAND LXOR BXOR       yes                         no        yes        no         no
 *   SWAP                              no                          yes       yes        yes        yes
 *   CSWAP CSWAP_NE                    no                          one item  yes        yes        yes
 *   CSWAP_LE CSWAP_LT CSWAP_GE _GT    no                          one item  yes        yes        no
 *   MSWAP                             no                          one item  yes        no         no
 * Each item is updated as one step among the atomics of the same type on the same interface.
 */

/* Acknowledgements of PtlPut and PtlAtomic. */
enum {
    PTL_NO_ACK_REQ = 0,
    PTL_ACK_REQ = 1,    /* a full event, and counted with PTL_MD_EVENT_CT_ACK; the MD needs an event queue */
    PTL_CT_ACK_REQ = 2, /* only counted; the MD needs a counting event */
    PTL_OC_ACK_REQ = 3  /* only counted, as one operation: says that the target is done with the message */
};

/* Atomic operations: t is the target's datum, s the initiator's, o the operand of PtlSwap. */
enum {
    PTL_MIN = 0,
    PTL_MAX = 1,
    PTL_SUM = 2,
    PTL_PROD = 3,
    PTL_LOR = 4,       /* logical operations yield 0 or 1 */
    PTL_LAND = 5,
    PTL_BOR = 6,
    PTL_BAND = 7,
    PTL_LXOR = 8,
    PTL_BXOR = 9,
    PTL_SWAP = 10,     /* t = s; o is ignored */
    PTL_CSWAP = 11,    /* if (o == t) t = s */
    PTL_CSWAP_NE = 12, /* if (o != t) t = s */
    PTL_CSWAP_LE = 13, /* if (o <= t) t = s */
    PTL_CSWAP_LT = 14, /* if (o < t) t = s */
    PTL_CSWAP_GE = 15, /* if (o >= t) t = s */
    PTL_CSWAP_GT = 16, /* if (o > t) t = s */
    PTL_MSWAP = 17,    /* t = (o & s) | (~o & t) */
    PTL_OP_LAST = 18
};

/* Types of data. The numbering does not follow the sizes. */
enum {
    PTL_INT8_T = 0,
    PTL_UINT8_T = 1,
    PTL_INT16_T = 2,
    PTL_UINT16_T = 3,
    PTL_INT32_T = 4,
    PTL_UINT32_T = 5,
    PTL_FLOAT = 6,
    PTL_INT64_T = 7,
    PTL_UINT64_T = 8,
    PTL_DOUBLE = 9,
    PTL_FLOAT_COMPLEX = 10,
    PTL_DOUBLE_COMPLEX = 11,
    PTL_LONG_DOUBLE = 12,         /* 16 bytes in memory */
    PTL_LONG_DOUBLE_COMPLEX = 13, /* 32 bytes in memory */
    PTL_DATATYPE_LAST = 14
};

/* Writes to the target. Initiator: SEND, and the acknowledgement that ack_req asks for; target: PTL_EVENT_PUT.
 * Returns: PTL_OK: the operation is on its way; PTL_ARG_INVALID, also for ack_req PTL_ACK_REQ with an MD that has no
 * event queue or is PTL_MD_UNRELIABLE, PTL_CT_ACK_REQ with one that has no counting event.
 * Cost: linear in length for a PTL_MD_VOLATILE MD. */
int PtlPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
           ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
           void *user_ptr, ptl_hdr_data_t hdr_data);

/* Reads from the target. Initiator: REPLY, with mlength 0 on failure; target: PTL_EVENT_GET.
 * Returns: PTL_OK; PTL_ARG_INVALID. */
int PtlGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id,
           ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr);

/* Updates each item at the target with the one sent: t = t operation s. Reported as PtlPut is; target:
 * PTL_EVENT_ATOMIC.
 *   length  bytes, a multiple of the size of datatype
 * Returns: as PtlPut; PTL_ARG_INVALID, also for an operation and type that do not go together.
 * Cost: linear in length for a PTL_MD_VOLATILE MD. */
int PtlAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
              ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
              ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation,
              ptl_datatype_t datatype);

/* As PtlAtomic, and returns the items as they were before. The operands come from put_md_handle, which is reported by
 * SEND; the old items go to get_md_handle, which is reported by REPLY. No acknowledgement. Both MDs belong to one
 * interface; they may be the same, but the ranges must not overlap in part. Target: PTL_EVENT_FETCH_ATOMIC; the entry
 * has to allow both OP_PUT and OP_GET.
 * Returns: PTL_OK; PTL_ARG_INVALID, also for MDs of different interfaces.
 * Cost: linear in length for a PTL_MD_VOLATILE put MD. */
int PtlFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,
                   ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
                   ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data,
                   ptl_op_t operation, ptl_datatype_t datatype);

/* As PtlFetchAtomic, with the operations from PTL_SWAP on.
 *   operand  one item of datatype, copied by the call; with PTL_SWAP ignored, and may be NULL
 *   length   with PTL_SWAP any multiple of the size of datatype, else at most one item
 * Returns: as PtlFetchAtomic. */
int PtlSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,
            ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
            ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data,
            const void *operand, ptl_op_t operation, ptl_datatype_t datatype);

/* When it returns, the processor's own loads see all atomics whose completion was reported, and its stores are seen
 * by those that come. With PTL_COHERENT_ATOMICS that holds anyway, and the call is a fence.
 * Returns: PTL_OK. */
int PtlAtomicSync(void);

/* ==== 12. Triggered operations ==================================================================================== */

/* Each is the operation of the same name, put aside until success + failure of trig_ct_handle is at least
 * `threshold`; if it is already, it starts now. It needs no thread of the program to start.
 *
 * Arguments are checked and copied by the call; *data* is read when the operation starts, for a PTL_MD_VOLATILE MD
 * too (but the operand of PtlTriggeredSwap is copied by the call). On one counting event operations start in the
 * order of their thresholds, those with equal thresholds in the order of the calls; a put is issued before the
 * increment behind it takes effect, so chains may be built on one counting event. Each starts once.
 *
 * Those whose threshold was not reached end without effect by PtlCTFree or PtlCTCancelTriggered of trig_ct_handle.
 * Returns: as the operation, PTL_NO_SPACE: max_triggered_ops are waiting; PTL_ARG_INVALID, also for a trig_ct_handle
 * that is PTL_CT_NONE or of another interface.
 * Cost: at most linear in the operations waiting for trig_ct_handle; constant when thresholds are armed in ascending
 * order.
 */

/* PtlPut, later. */
int PtlTriggeredPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
                    ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                    ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data,
                    ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);

/* PtlGet, later. */
int PtlTriggeredGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id,
                    ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
                    ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);

/* PtlAtomic, later. The items sent may be the result of atomics that arrived meanwhile: reductions along a tree. */
int PtlTriggeredAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
                       ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                       ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation,
                       ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);

/* PtlFetchAtomic, later. */
int PtlTriggeredFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset,
                            ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length,
                            ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits,
                            ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation,
                            ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);

/* PtlSwap, later. */
int PtlTriggeredSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,
                     ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id,
                     ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
                     ptl_hdr_data_t hdr_data, const void *operand, ptl_op_t operation, ptl_datatype_t datatype,
                     ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);

/* PtlCTInc, later; ct_handle may be trig_ct_handle itself. Long chains need no stack. */
int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment, ptl_handle_ct_t trig_ct_handle,
                      ptl_size_t threshold);

/* PtlCTSet, later; ct_handle may be trig_ct_handle itself. */
int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, ptl_handle_ct_t trig_ct_handle,
                      ptl_size_t threshold);

/* PtlMEAppend, later. Not in the specification. *me_init and *me_handle_p are kept, not copied: both must live until
 * the append has happened, which reads the one and writes the other. See portals4_ext.h for a form without that
 * burden. */
int PtlTriggeredMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_me_t *me_init, ptl_list_t ptl_list,
                         void *user_ptr, ptl_handle_me_t *me_handle_p, ptl_handle_ct_t trig_ct_handle,
                         ptl_size_t threshold);

/* PtlMEUnlink, later. Not in the specification. An entry that is in use, or gone, when it happens is left alone. */
int PtlTriggeredMEUnlink(ptl_handle_me_t me_handle, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);

/* ==== 13. Bundles ================================================================================================= */

/* Hint: many operations of the calling thread follow, and they may be held back until PtlEndBundle for the sake of
 * throughput. Bundles nest. Waiting inside a bundle for what it holds is legal: nothing is held back for ever.
 * Returns: PTL_OK; PTL_ARG_INVALID. */
int PtlStartBundle(ptl_handle_ni_t ni_handle);

/* Ends a bundle; the outermost end starts everything that was held back.
 * Returns: PTL_OK; PTL_ARG_INVALID. */
int PtlEndBundle(ptl_handle_ni_t ni_handle);

/* ==== 14. Handles ================================================================================================= */

/* Non-zero when the handles name the same object, else 0: not a return code. Works always, before PtlInit too, and
 * with every value, PTL_INVALID_HANDLE included. */
int PtlHandleIsEqual(ptl_handle_any_t handle1, ptl_handle_any_t handle2);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
