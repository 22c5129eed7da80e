// header_layout_test.cpp: the binary interface of portals4.h: sizes, offsets and values that compiled programs rely on.
// Most of it is checked while compiling; what a C program sees of the header is in header_c99.c.
// Thread: one.
// Source: Portals 4.3, types and constants, on x86-64.
#include "portals/portals4.h"

#include <gtest/gtest.h>

#include <sys/uio.h>

#include <cstddef>
#include <set>
#include <type_traits>

extern "C" int portals4_header_c99(void);

namespace {

static_assert(sizeof(ptl_process_t) == 8 && sizeof(ptl_ct_event_t) == 16 && sizeof(ptl_md_t) == 32);
static_assert(sizeof(ptl_le_t) == 32 && sizeof(ptl_me_t) == 64 && sizeof(ptl_event_t) == 80);
static_assert(sizeof(ptl_ni_limits_t) == 96 && sizeof(ptl_iovec_t) == 16);

static_assert(sizeof(ptl_size_t) == 8 && sizeof(ptl_match_bits_t) == 8 && sizeof(ptl_hdr_data_t) == 8);
static_assert(std::is_same_v<ptl_handle_md_t, ptl_handle_me_t> && std::is_same_v<ptl_handle_any_t, uint32_t>);
static_assert(sizeof(ptl_list_t) == 1 && sizeof(ptl_search_op_t) == 1 && sizeof(ptl_ack_req_t) == 1);
static_assert(sizeof(ptl_op_t) == 1 && sizeof(ptl_datatype_t) == 1 && sizeof(ptl_event_kind_t) == 1);
static_assert(sizeof(ptl_ni_fail_t) == 1 && sizeof(ptl_pt_index_t) == 4 && sizeof(ptl_time_t) == 4);
static_assert(std::is_same_v<ptl_sr_value_t, int> && sizeof(ptl_uid_t) == 4 && sizeof(ptl_interface_t) == 4);

static_assert(offsetof(ptl_process_t, rank) == 0 && offsetof(ptl_process_t, phys.nid) == 0);
static_assert(offsetof(ptl_process_t, phys.pid) == 4 && offsetof(ptl_ct_event_t, failure) == 8);

static_assert(sizeof(ptl_iovec_t) == sizeof(iovec) && offsetof(ptl_iovec_t, iov_base) == offsetof(iovec, iov_base));
static_assert(offsetof(ptl_iovec_t, iov_len) == offsetof(iovec, iov_len));

static_assert(offsetof(ptl_md_t, start) == 0 && offsetof(ptl_md_t, length) == 8 && offsetof(ptl_md_t, options) == 16);
static_assert(offsetof(ptl_md_t, eq_handle) == 20 && offsetof(ptl_md_t, ct_handle) == 24);

// An LE is the beginning of an ME.
static_assert(offsetof(ptl_le_t, start) == 0 && offsetof(ptl_me_t, start) == 0);
static_assert(offsetof(ptl_le_t, length) == 8 && offsetof(ptl_me_t, length) == 8);
static_assert(offsetof(ptl_le_t, ct_handle) == 16 && offsetof(ptl_me_t, ct_handle) == 16);
static_assert(offsetof(ptl_le_t, uid) == 20 && offsetof(ptl_me_t, uid) == 20);
static_assert(offsetof(ptl_le_t, options) == 24 && offsetof(ptl_me_t, options) == 24);
static_assert(offsetof(ptl_me_t, match_id) == 28 && offsetof(ptl_me_t, match_bits) == 40);
static_assert(offsetof(ptl_me_t, ignore_bits) == 48 && offsetof(ptl_me_t, min_free) == 56);

static_assert(offsetof(ptl_event_t, start) == 0 && offsetof(ptl_event_t, user_ptr) == 8);
static_assert(offsetof(ptl_event_t, hdr_data) == 16 && offsetof(ptl_event_t, match_bits) == 24);
static_assert(offsetof(ptl_event_t, rlength) == 32 && offsetof(ptl_event_t, mlength) == 40);
static_assert(offsetof(ptl_event_t, remote_offset) == 48 && offsetof(ptl_event_t, initiator) == 56);
static_assert(offsetof(ptl_event_t, uid) == 64 && offsetof(ptl_event_t, pt_index) == 68);
static_assert(offsetof(ptl_event_t, type) == 72 && offsetof(ptl_event_t, ptl_list) == 73);
static_assert(offsetof(ptl_event_t, ni_fail_type) == 74 && offsetof(ptl_event_t, atomic_operation) == 75);
static_assert(offsetof(ptl_event_t, atomic_type) == 76);

static_assert(offsetof(ptl_ni_limits_t, max_entries) == 0 && offsetof(ptl_ni_limits_t, max_unexpected_headers) == 4);
static_assert(offsetof(ptl_ni_limits_t, max_mds) == 8 && offsetof(ptl_ni_limits_t, max_cts) == 12);
static_assert(offsetof(ptl_ni_limits_t, max_eqs) == 16 && offsetof(ptl_ni_limits_t, max_pt_index) == 20);
static_assert(offsetof(ptl_ni_limits_t, max_iovecs) == 24 && offsetof(ptl_ni_limits_t, max_list_size) == 28);
static_assert(offsetof(ptl_ni_limits_t, max_triggered_ops) == 32 && offsetof(ptl_ni_limits_t, max_msg_size) == 40);
static_assert(offsetof(ptl_ni_limits_t, max_atomic_size) == 48);
static_assert(offsetof(ptl_ni_limits_t, max_fetch_atomic_size) == 56);
static_assert(offsetof(ptl_ni_limits_t, max_waw_ordered_size) == 64);
static_assert(offsetof(ptl_ni_limits_t, max_war_ordered_size) == 72);
static_assert(offsetof(ptl_ni_limits_t, max_volatile_size) == 80 && offsetof(ptl_ni_limits_t, features) == 88);

// Values that travel or that programs were seen to write as plain numbers.
static_assert(PTL_OK == 0 && PTL_NI_OK == 0 && PTL_NO_ACK_REQ == 0 && PTL_PRIORITY_LIST == 0 && PTL_SEARCH_ONLY == 0);
static_assert(PTL_PT_ONLY_USE_ONCE == 1 && PTL_IOVEC == 1);
static_assert(PTL_EVENT_SEARCH == 15 && PTL_OP_LAST == 18 && PTL_DATATYPE_LAST == 14 && PTL_SR_LAST == 3);
static_assert(PTL_MSWAP == 17 && PTL_FLOAT == 6 && PTL_INT64_T == 7 && PTL_LONG_DOUBLE_COMPLEX == 13);
static_assert(PTL_NI_INIT_OPTIONS_MASK == 0xf && PTL_PT_ALLOC_OPTIONS_MASK == 0x1f && PTL_MD_OPTIONS_MASK == 0x41ff);
static_assert(PTL_LE_APPEND_OPTIONS_MASK == 0x7fff && PTL_ME_APPEND_OPTIONS_MASK == 0x7ffff);
static_assert(PTL_EQ_NONE == 0x3fffffff && PTL_CT_NONE == 0x5fffffff && PTL_INVALID_HANDLE == 0xffffffff);
static_assert(PTL_PID_ANY == 0xffff && PTL_NID_ANY == 0xffff && PTL_RANK_ANY == 0xffffffff);
static_assert(PTL_PT_ANY == 0xffffffff && PTL_UID_ANY == 0xffffffff && PTL_IFACE_DEFAULT == 0xffffffff);
static_assert(PTL_TIME_FOREVER == 0xffffffff && PTL_SIZE_MAX == ~ptl_size_t{0});

// Options of the same name are interchangeable between LE and ME; the one that 4.3 dropped asks for nothing.
static_assert(PTL_ME_EVENT_LINK_DISABLE == PTL_LE_EVENT_LINK_DISABLE && PTL_ME_EVENT_CT_BYTES == PTL_MD_EVENT_CT_BYTES);
static_assert(PTL_LE_ACK_DISABLE == 0 && PTL_ME_ACK_DISABLE == 0);

TEST(PortalsHeader, ReturnCodesOfBothRevisionsAreDistinct) {
  const std::set<int> codes = {PTL_OK,      PTL_ARG_INVALID,  PTL_CT_NONE_REACHED, PTL_EQ_DROPPED, PTL_EQ_EMPTY,   PTL_FAIL,
                               PTL_IGNORED, PTL_IN_USE,       PTL_LIST_TOO_LONG,   PTL_NO_INIT,    PTL_NO_SPACE,   PTL_PID_IN_USE,
                               PTL_PT_FULL, PTL_PT_EQ_NEEDED, PTL_PT_IN_USE,       PTL_ABORTED,    PTL_INTERRUPTED};
  EXPECT_EQ(codes.size(), 17U);
  EXPECT_EQ(*codes.rbegin() + 1, PTL_STATUS_LAST);
}

TEST(PortalsHeader, EachOptionIsABitOfItsOwn) {
  unsigned int seen = 0;
  for (unsigned int option :
       {PTL_IOVEC, PTL_ME_OP_PUT, PTL_ME_OP_GET, PTL_ME_USE_ONCE, PTL_ME_UNEXPECTED_HDR_DISABLE, PTL_ME_IS_ACCESSIBLE,
        PTL_ME_EVENT_LINK_DISABLE, PTL_ME_EVENT_COMM_DISABLE, PTL_ME_EVENT_FLOWCTRL_DISABLE, PTL_ME_EVENT_SUCCESS_DISABLE,
        PTL_ME_EVENT_OVER_DISABLE, PTL_ME_EVENT_UNLINK_DISABLE, PTL_ME_EVENT_CT_COMM, PTL_ME_EVENT_CT_OVERFLOW, PTL_ME_EVENT_CT_BYTES,
        PTL_ME_MANAGE_LOCAL, PTL_ME_NO_TRUNCATE, PTL_ME_MAY_ALIGN, PTL_ME_LOCAL_INC_UH_RLENGTH}) {
    EXPECT_EQ(seen & option, 0U);
    EXPECT_EQ(option & (option - 1), 0U);
    seen |= option;
  }
  EXPECT_EQ(seen, PTL_ME_APPEND_OPTIONS_MASK);
}

TEST(PortalsHeader, NamesThatThisLibraryHasNoUseForAreThere) {
  EXPECT_EQ(PTL_ME_ACK_DISABLE, 0U);  // its entries get puts without acknowledgement
  EXPECT_EQ(PTL_NI_SEGV, 7);          // memory that an entry names is touched without a look
  EXPECT_EQ(PTL_PID_MAX, 1024);       // advisory
}

TEST(PortalsHeader, IsAHeaderForC99Programs) { EXPECT_EQ(portals4_header_c99(), 1); }

}  // namespace
