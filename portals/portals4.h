/* portals4.h: the Portals 4.3 network programming interface, as Portunus implements it.
 *
 * A process opens network interfaces (NI). Each NI owns a portal table (PT), whose entries carry lists of memory that
 * other processes may write, read or update: list entries (LE), or match list entries (ME) that select messages by
 * source and 64 match bits. The initiator of an operation names its own memory by a memory descriptor (MD). What
 * happened is told by full events in event queues (EQ) and by counting events (CT); a triggered operation is one that
 * waits for a counting event. Only the data movement functions and their triggered forms talk to other processes.
 *
 * Thread: every function may be called from any thread at any time, unless its comment says otherwise.
 * Source: The Portals 4.3 Network Programming Interface; the chapter headings below are the specification's. Names that
 *   4.3 dropped but programs written for 4.2 mention (PTL_INTERRUPTED, PTL_*_ACK_DISABLE) are kept, so that one header
 *   serves both. Extensions of Portunus are in portals4_ext.h.
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
 *    before the first PtlInit and after the last PtlFini, and PTL_ARG_INVALID for a handle that is stale (its object was
 *    freed), of another kind, or PTL_INVALID_HANDLE, and for a null pointer where a result has to be stored.
 *  - Arguments passed by pointer are read or written during the call and not kept, unless the comment says so.
 *  - Cost: a function without a "Cost" line takes constant time and does not wait for the network.
 */
#ifndef PORTALS4_H
#define PORTALS4_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ==== 1. Basic types ============================================================================================ */

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

/* ==== 2. Return codes =========================================================================================== */

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

/* ---- Network interface constants and types --------------------------------------------------------------------- */
/* Options of PtlNIInit: exactly one of the first two and exactly one of the last two. */
#define PTL_NI_MATCHING          0x1u /* portal table entries hold match list entries (ME) */
#define PTL_NI_NO_MATCHING       0x2u /* portal table entries hold list entries (LE), which accept every message */
#define PTL_NI_LOGICAL           0x4u /* processes are named by rank, after PtlSetMap */
#define PTL_NI_PHYSICAL          0x8u /* processes are named by nid and pid */
#define PTL_NI_INIT_OPTIONS_MASK 0xfu

/* Bits of ptl_ni_limits_t.features: requests in `desired`, the truth in `actual`. */
#define PTL_TARGET_BIND_INACCESSIBLE 0x1u /* an LE or ME may cover memory that cannot be accessed; touching it: SEGV */
#define PTL_TOTAL_DATA_ORDERING      0x2u /* data of any length is ordered, not only up to max_wa?_ordered_size */
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
    ptl_size_t max_waw_ordered_size; /* up to here, writes after writes and reads after writes are ordered */
    ptl_size_t max_war_ordered_size; /* up to here, writes after reads are ordered */
    ptl_size_t max_volatile_size;    /* operations on a PTL_MD_VOLATILE descriptor */
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

/* What became of one operation: ptl_event_t.ni_fail_type. */
enum {
    PTL_NI_OK = 0,
    PTL_NI_UNDELIVERABLE = 1,  /* the target process cannot be reached */
    PTL_NI_DROPPED = 2,        /* the target has no such portal table entry, or had no room */
    PTL_NI_PT_DISABLED = 3,    /* the target's portal table entry is disabled; sending again later may work */
    PTL_NI_PERM_VIOLATION = 4, /* the matching entry belongs to another user */
    PTL_NI_OP_VIOLATION = 5,   /* the matching entry does not allow the operation */
    PTL_NI_NO_MATCH = 6,       /* a search found nothing */
    PTL_NI_SEGV = 7            /* the entry covers memory that does not exist */
};

/* ---- Portal table constants ------------------------------------------------------------------------------------- */
/* Options of PtlPTAlloc. The two ONLY options and MATCH_UNORDERED are promises or permissions that may speed up matching;
 * they never change a result that the specification defines. */
#define PTL_PT_ONLY_USE_ONCE      0x1u  /* every entry of the priority list will be a USE_ONCE one */
#define PTL_PT_FLOWCTRL           0x2u  /* lack of resources disables the entry instead of losing messages */
#define PTL_PT_ONLY_TRUNCATE      0x4u  /* no entry of the priority list will be a NO_TRUNCATE one */
#define PTL_PT_MATCH_UNORDERED    0x8u  /* not in the specification: entries may be matched out of list order */
#define PTL_PT_ALLOC_DISABLED     0x10u /* starts disabled, until PtlPTEnable */
#define PTL_PT_ALLOC_OPTIONS_MASK 0x1fu

/* ---- Memory descriptor constants and types ---------------------------------------------------------------------- */
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

/* ---- List entry constants and types ----------------------------------------------------------------------------- */
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
#define PTL_ME_LOCAL_INC_UH_RLENGTH   0x40000u /* MANAGE_LOCAL: unexpected headers consumed at append advance the offset */
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

/* What a search does with the unexpected headers that it finds. */
enum {
    PTL_SEARCH_ONLY = 0,
    PTL_SEARCH_DELETE = 1
};

/* ---- Event constants and types ----------------------------------------------------------------------------------- */
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

/* A counting event. Both numbers wrap modulo 2^64. Passed by value. */
typedef struct {
    ptl_size_t success; /* operations or bytes */
    ptl_size_t failure; /* operations, always */
} ptl_ct_event_t;

/* What a counting event counts: of older revisions; the *_EVENT_CT_BYTES options decide now. */
typedef enum {
    PTL_CT_OPERATION = 0,
    PTL_CT_BYTE = 1
} ptl_ct_type_t;

/* ---- Data movement constants -------------------------------------------------------------------------------------- */
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

#pragma GCC visibility push(default)
int PtlInit(void);
void PtlFini(void);
void PtlAbort(void);
int PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid, const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual, ptl_handle_ni_t *ni_handle);
int PtlNIFini(ptl_handle_ni_t ni_handle);
int PtlNIStatus(ptl_handle_ni_t ni_handle, ptl_sr_index_t status_register, ptl_sr_value_t *status);
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle);
int PtlSetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t *mapping);
int PtlGetMap(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t *mapping, ptl_size_t *actual_map_size);
int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle, ptl_pt_index_t pt_index_req, ptl_pt_index_t *pt_index);
int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);
int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);
int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);
int PtlGetUid(ptl_handle_ni_t ni_handle, ptl_uid_t *uid);
int PtlGetId(ptl_handle_ni_t ni_handle, ptl_process_t *id);
int PtlGetPhysId(ptl_handle_ni_t ni_handle, ptl_process_t *id);
int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t *md, ptl_handle_md_t *md_handle);
int PtlMDRelease(ptl_handle_md_t md_handle);
int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le, ptl_list_t ptl_list, void *user_ptr, ptl_handle_le_t *le_handle);
int PtlLEUnlink(ptl_handle_le_t le_handle);
int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le, ptl_search_op_t ptl_search_op, void *user_ptr);
int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me, ptl_list_t ptl_list, void *user_ptr, ptl_handle_me_t *me_handle);
int PtlMEUnlink(ptl_handle_me_t me_handle);
int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me, ptl_search_op_t ptl_search_op, void *user_ptr);
int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t *ct_handle);
int PtlCTFree(ptl_handle_ct_t ct_handle);
int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle);
int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t *event);
int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t *event);
int PtlCTPoll(const ptl_handle_ct_t *ct_handles, const ptl_size_t *tests, unsigned int size, ptl_time_t timeout, ptl_ct_event_t *event, unsigned int *which);
int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct);
int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment);
int PtlPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data);
int PtlGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr);
int PtlAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype);
int PtlFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype);
int PtlSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, const void *operand, ptl_op_t operation, ptl_datatype_t datatype);
int PtlAtomicSync(void);
int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle);
int PtlEQFree(ptl_handle_eq_t eq_handle);
int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event);
int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event);
int PtlEQPoll(const ptl_handle_eq_t *eq_handles, unsigned int size, ptl_time_t timeout, ptl_event_t *event, unsigned int *which);
int PtlTriggeredPut(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredGet(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredAtomic(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredFetchAtomic(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredSwap(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle, ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, const void *operand, ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_me_t *me_init, ptl_list_t ptl_list, void *user_ptr, ptl_handle_me_t *me_handle_p, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlTriggeredMEUnlink(ptl_handle_me_t me_handle, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
int PtlStartBundle(ptl_handle_ni_t ni_handle);
int PtlEndBundle(ptl_handle_ni_t ni_handle);
int PtlHandleIsEqual(ptl_handle_any_t handle1, ptl_handle_any_t handle2);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
