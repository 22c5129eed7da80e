/* header_c99.c: the public header, seen by a C99 program.
 *
 * Every name stands in a switch next to its siblings: two equal values among them do not compile. Every option mask is
 * used in an expression with |. The aggregates are built as programs build them: positional and designated literals.
 * Thread: none; header_layout_test calls portals4_header_c99().
 * Source: Portals 4.3, types and constants; what programs written for 4.2 and 4.3 use of them.
 */
#include "portals/portals4.h"

int portals4_header_c99(void);

/* The union of the codes of 4.2 and 4.3. */
static int is_return_code(int value)
{
    switch (value) {
    case PTL_OK:
    case PTL_ARG_INVALID:
    case PTL_CT_NONE_REACHED:
    case PTL_EQ_DROPPED:
    case PTL_EQ_EMPTY:
    case PTL_FAIL:
    case PTL_IGNORED:
    case PTL_IN_USE:
    case PTL_LIST_TOO_LONG:
    case PTL_NO_INIT:
    case PTL_NO_SPACE:
    case PTL_PID_IN_USE:
    case PTL_PT_FULL:
    case PTL_PT_EQ_NEEDED:
    case PTL_PT_IN_USE:
    case PTL_ABORTED:
    case PTL_INTERRUPTED:
    case PTL_STATUS_LAST:
        return 1;
    default:
        return 0;
    }
}

/* The result of an operation. */
static int is_ni_fail(ptl_ni_fail_t value)
{
    switch (value) {
    case PTL_NI_OK:
    case PTL_NI_UNDELIVERABLE:
    case PTL_NI_DROPPED:
    case PTL_NI_PT_DISABLED:
    case PTL_NI_PERM_VIOLATION:
    case PTL_NI_OP_VIOLATION:
    case PTL_NI_NO_MATCH:
    case PTL_NI_SEGV:
        return 1;
    default:
        return 0;
    }
}

/* Full events. */
static int is_event_kind(ptl_event_kind_t value)
{
    switch (value) {
    case PTL_EVENT_GET:
    case PTL_EVENT_GET_OVERFLOW:
    case PTL_EVENT_PUT:
    case PTL_EVENT_PUT_OVERFLOW:
    case PTL_EVENT_ATOMIC:
    case PTL_EVENT_ATOMIC_OVERFLOW:
    case PTL_EVENT_FETCH_ATOMIC:
    case PTL_EVENT_FETCH_ATOMIC_OVERFLOW:
    case PTL_EVENT_REPLY:
    case PTL_EVENT_SEND:
    case PTL_EVENT_ACK:
    case PTL_EVENT_PT_DISABLED:
    case PTL_EVENT_LINK:
    case PTL_EVENT_AUTO_UNLINK:
    case PTL_EVENT_AUTO_FREE:
    case PTL_EVENT_SEARCH:
        return 1;
    default:
        return 0;
    }
}

/* Acknowledgements. */
static int is_ack_req(ptl_ack_req_t value)
{
    switch (value) {
    case PTL_NO_ACK_REQ:
    case PTL_ACK_REQ:
    case PTL_CT_ACK_REQ:
    case PTL_OC_ACK_REQ:
        return 1;
    default:
        return 0;
    }
}

/* Atomic operations. */
static int is_operation(ptl_op_t value)
{
    switch (value) {
    case PTL_MIN:
    case PTL_MAX:
    case PTL_SUM:
    case PTL_PROD:
    case PTL_LOR:
    case PTL_LAND:
    case PTL_BOR:
    case PTL_BAND:
    case PTL_LXOR:
    case PTL_BXOR:
    case PTL_SWAP:
    case PTL_CSWAP:
    case PTL_CSWAP_NE:
    case PTL_CSWAP_LE:
    case PTL_CSWAP_LT:
    case PTL_CSWAP_GE:
    case PTL_CSWAP_GT:
    case PTL_MSWAP:
    case PTL_OP_LAST:
        return 1;
    default:
        return 0;
    }
}

/* Types of data. */
static int is_datatype(ptl_datatype_t value)
{
    switch (value) {
    case PTL_INT8_T:
    case PTL_UINT8_T:
    case PTL_INT16_T:
    case PTL_UINT16_T:
    case PTL_INT32_T:
    case PTL_UINT32_T:
    case PTL_FLOAT:
    case PTL_INT64_T:
    case PTL_UINT64_T:
    case PTL_DOUBLE:
    case PTL_FLOAT_COMPLEX:
    case PTL_DOUBLE_COMPLEX:
    case PTL_LONG_DOUBLE:
    case PTL_LONG_DOUBLE_COMPLEX:
    case PTL_DATATYPE_LAST:
        return 1;
    default:
        return 0;
    }
}

/* Status registers. */
static int is_status_register(ptl_sr_index_t value)
{
    switch (value) {
    case PTL_SR_DROP_COUNT:
    case PTL_SR_PERMISSION_VIOLATIONS:
    case PTL_SR_OPERATION_VIOLATIONS:
    case PTL_SR_LAST:
        return 1;
    default:
        return 0;
    }
}

/* Lists. */
static int is_list(ptl_list_t value)
{
    switch (value) {
    case PTL_PRIORITY_LIST:
    case PTL_OVERFLOW_LIST:
        return 1;
    default:
        return 0;
    }
}

/* Searches. */
static int is_search(ptl_search_op_t value)
{
    switch (value) {
    case PTL_SEARCH_ONLY:
    case PTL_SEARCH_DELETE:
        return 1;
    default:
        return 0;
    }
}

/* Kinds of counting. */
static int is_ct_type(ptl_ct_type_t value)
{
    switch (value) {
    case PTL_CT_OPERATION:
    case PTL_CT_BYTE:
        return 1;
    default:
        return 0;
    }
}

/* Options of interfaces. */
static int is_ni_option(unsigned int value)
{
    switch (value) {
    case PTL_NI_MATCHING:
    case PTL_NI_NO_MATCHING:
    case PTL_NI_LOGICAL:
    case PTL_NI_PHYSICAL:
        return 1;
    default:
        return 0;
    }
}

/* Features of interfaces. */
static int is_feature(unsigned int value)
{
    switch (value) {
    case PTL_TARGET_BIND_INACCESSIBLE:
    case PTL_TOTAL_DATA_ORDERING:
    case PTL_COHERENT_ATOMICS:
        return 1;
    default:
        return 0;
    }
}

/* Options of portal table entries. */
static int is_pt_option(unsigned int value)
{
    switch (value) {
    case PTL_PT_ONLY_USE_ONCE:
    case PTL_PT_FLOWCTRL:
    case PTL_PT_ONLY_TRUNCATE:
    case PTL_PT_MATCH_UNORDERED:
    case PTL_PT_ALLOC_DISABLED:
        return 1;
    default:
        return 0;
    }
}

/* Options of memory descriptors. */
static int is_md_option(unsigned int value)
{
    switch (value) {
    case PTL_IOVEC:
    case PTL_MD_EVENT_CT_SEND:
    case PTL_MD_EVENT_CT_REPLY:
    case PTL_MD_EVENT_CT_ACK:
    case PTL_MD_UNORDERED:
    case PTL_MD_EVENT_SUCCESS_DISABLE:
    case PTL_MD_VOLATILE:
    case PTL_MD_EVENT_SEND_DISABLE:
    case PTL_MD_UNRELIABLE:
    case PTL_MD_EVENT_CT_BYTES:
        return 1;
    default:
        return 0;
    }
}

/* Options of list entries. */
static int is_le_option(unsigned int value)
{
    switch (value) {
    case PTL_IOVEC:
    case PTL_LE_OP_PUT:
    case PTL_LE_OP_GET:
    case PTL_LE_USE_ONCE:
    case PTL_LE_ACK_DISABLE:
    case PTL_LE_UNEXPECTED_HDR_DISABLE:
    case PTL_LE_IS_ACCESSIBLE:
    case PTL_LE_EVENT_LINK_DISABLE:
    case PTL_LE_EVENT_COMM_DISABLE:
    case PTL_LE_EVENT_FLOWCTRL_DISABLE:
    case PTL_LE_EVENT_SUCCESS_DISABLE:
    case PTL_LE_EVENT_OVER_DISABLE:
    case PTL_LE_EVENT_UNLINK_DISABLE:
    case PTL_LE_EVENT_CT_COMM:
    case PTL_LE_EVENT_CT_OVERFLOW:
    case PTL_LE_EVENT_CT_BYTES:
        return 1;
    default:
        return 0;
    }
}

/* Options of match list entries. */
static int is_me_option(unsigned int value)
{
    switch (value) {
    case PTL_IOVEC:
    case PTL_ME_OP_PUT:
    case PTL_ME_OP_GET:
    case PTL_ME_USE_ONCE:
    case PTL_ME_ACK_DISABLE:
    case PTL_ME_UNEXPECTED_HDR_DISABLE:
    case PTL_ME_IS_ACCESSIBLE:
    case PTL_ME_EVENT_LINK_DISABLE:
    case PTL_ME_EVENT_COMM_DISABLE:
    case PTL_ME_EVENT_FLOWCTRL_DISABLE:
    case PTL_ME_EVENT_SUCCESS_DISABLE:
    case PTL_ME_EVENT_OVER_DISABLE:
    case PTL_ME_EVENT_UNLINK_DISABLE:
    case PTL_ME_EVENT_CT_COMM:
    case PTL_ME_EVENT_CT_OVERFLOW:
    case PTL_ME_EVENT_CT_BYTES:
    case PTL_ME_MANAGE_LOCAL:
    case PTL_ME_NO_TRUNCATE:
    case PTL_ME_MAY_ALIGN:
    case PTL_ME_LOCAL_INC_UH_RLENGTH:
        return 1;
    default:
        return 0;
    }
}

/* Handles that name nothing. */
static int is_no_handle(ptl_handle_any_t value)
{
    switch (value) {
    case PTL_EQ_NONE:
    case PTL_CT_NONE:
    case PTL_INVALID_HANDLE:
        return 1;
    default:
        return 0;
    }
}

/* 1 when every mask is the union of its options. */
static int masks_are_unions(void)
{
    unsigned int ni, features, pt, md, le, me;
    ni = PTL_NI_MATCHING | PTL_NI_NO_MATCHING | PTL_NI_LOGICAL | PTL_NI_PHYSICAL;
    features = PTL_TARGET_BIND_INACCESSIBLE | PTL_TOTAL_DATA_ORDERING | PTL_COHERENT_ATOMICS;
    pt = PTL_PT_ONLY_USE_ONCE | PTL_PT_FLOWCTRL | PTL_PT_ONLY_TRUNCATE | PTL_PT_MATCH_UNORDERED |
        PTL_PT_ALLOC_DISABLED;
    md = PTL_IOVEC | PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_ACK | PTL_MD_UNORDERED |
        PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_VOLATILE | PTL_MD_EVENT_SEND_DISABLE | PTL_MD_UNRELIABLE |
        PTL_MD_EVENT_CT_BYTES;
    le = PTL_IOVEC | PTL_LE_OP_PUT | PTL_LE_OP_GET | PTL_LE_USE_ONCE | PTL_LE_ACK_DISABLE |
        PTL_LE_UNEXPECTED_HDR_DISABLE | PTL_LE_IS_ACCESSIBLE | PTL_LE_EVENT_LINK_DISABLE |
        PTL_LE_EVENT_COMM_DISABLE | PTL_LE_EVENT_FLOWCTRL_DISABLE | PTL_LE_EVENT_SUCCESS_DISABLE |
        PTL_LE_EVENT_OVER_DISABLE | PTL_LE_EVENT_UNLINK_DISABLE | PTL_LE_EVENT_CT_COMM |
        PTL_LE_EVENT_CT_OVERFLOW | PTL_LE_EVENT_CT_BYTES;
    me = PTL_IOVEC | PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_USE_ONCE | PTL_ME_ACK_DISABLE |
        PTL_ME_UNEXPECTED_HDR_DISABLE | PTL_ME_IS_ACCESSIBLE | PTL_ME_EVENT_LINK_DISABLE |
        PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_FLOWCTRL_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE |
        PTL_ME_EVENT_OVER_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE | PTL_ME_EVENT_CT_COMM |
        PTL_ME_EVENT_CT_OVERFLOW | PTL_ME_EVENT_CT_BYTES | PTL_ME_MANAGE_LOCAL | PTL_ME_NO_TRUNCATE |
        PTL_ME_MAY_ALIGN | PTL_ME_LOCAL_INC_UH_RLENGTH;
    return ni == PTL_NI_INIT_OPTIONS_MASK && features == 0x7 && pt == PTL_PT_ALLOC_OPTIONS_MASK &&
           md == PTL_MD_OPTIONS_MASK && le == PTL_LE_APPEND_OPTIONS_MASK && me == PTL_ME_APPEND_OPTIONS_MASK;
}

/* 1 when literals in the order of the fields give what designated ones give. */
static int literals_agree(void)
{
    static int memory;
    const ptl_ct_event_t one = (ptl_ct_event_t){1, 0};
    const ptl_process_t rank = (ptl_process_t){.rank = 3};
    const ptl_process_t anyone = (ptl_process_t){.phys = {.nid = PTL_NID_ANY, .pid = PTL_PID_ANY}};
    const ptl_iovec_t piece = {&memory, sizeof memory};
    const ptl_md_t md = {&memory, sizeof memory, PTL_MD_VOLATILE, PTL_EQ_NONE, PTL_CT_NONE};
    const ptl_le_t le = {0, PTL_SIZE_MAX, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT};
    const ptl_me_t me = {&memory, sizeof memory, PTL_CT_NONE, PTL_UID_ANY, PTL_ME_OP_GET, {PTL_RANK_ANY}, 5, 6, 7};

    return one.success == 1 && one.failure == 0 && rank.rank == 3 && anyone.phys.pid == PTL_PID_ANY &&
           piece.iov_len == sizeof memory && md.options == PTL_MD_VOLATILE && md.eq_handle == PTL_EQ_NONE &&
           le.length == PTL_SIZE_MAX && le.options == PTL_LE_OP_PUT && me.match_id.rank == PTL_RANK_ANY &&
           me.match_bits == 5 && me.ignore_bits == 6 && me.min_free == 7;
}

/* Constants that are compared with fields of unsigned types, without a change of value. */
static int wildcards_fit_their_types(void)
{
    const ptl_interface_t iface = PTL_IFACE_DEFAULT;
    const ptl_pt_index_t pt_index = PTL_PT_ANY;
    const ptl_time_t timeout = PTL_TIME_FOREVER;
    const ptl_nid_t nid = PTL_NID_ANY;
    const ptl_pid_t pid = PTL_PID_MAX;

    return iface == PTL_IFACE_DEFAULT && pt_index == PTL_PT_ANY && timeout == PTL_TIME_FOREVER &&
           nid == PTL_NID_ANY && pid == PTL_PID_MAX;
}

/* 1 when everything above holds. */
int portals4_header_c99(void)
{
    return is_return_code(PTL_INTERRUPTED) && is_ni_fail(PTL_NI_SEGV) && is_event_kind(PTL_EVENT_SEARCH) &&
           is_ack_req(PTL_OC_ACK_REQ) && is_operation(PTL_MSWAP) && is_datatype(PTL_LONG_DOUBLE_COMPLEX) &&
           is_status_register(PTL_SR_DROP_COUNT) && is_list(PTL_OVERFLOW_LIST) && is_search(PTL_SEARCH_DELETE) &&
           is_ct_type(PTL_CT_BYTE) && is_ni_option(PTL_NI_PHYSICAL) && is_feature(PTL_COHERENT_ATOMICS) &&
           is_pt_option(PTL_PT_ALLOC_DISABLED) && is_md_option(PTL_MD_UNRELIABLE) &&
           is_le_option(PTL_LE_EVENT_CT_BYTES) && is_me_option(PTL_ME_LOCAL_INC_UH_RLENGTH) &&
           is_no_handle(PTL_CT_NONE) && masks_are_unions() && literals_agree() && wildcards_fit_their_types();
}
