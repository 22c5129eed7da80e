// Arguments, limits, lifetime: what the calls answer. Runs on any number of ranks; most of it is local.
#include "tests/portals/job.hpp"

namespace portals_test {
namespace {

struct Surface : Portals {};

TEST_F(Surface, TheSameInterfaceOpenedAgainIsTheSameHandleAndCounted) {
  ptl_handle_ni_t again;
  ptl_ni_limits_t desired{}, actual{};
  desired.max_mds = 3;
  EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, options, 4711, &desired, &actual, &again), PTL_OK);
  EXPECT_EQ(again, ni);
  EXPECT_EQ(actual.max_mds, limits.max_mds);
  EXPECT_EQ(PtlNIFini(again), PTL_OK);
  ptl_process_t id;
  EXPECT_EQ(PtlGetId(ni, &id), PTL_OK);
  EXPECT_EQ(id.rank, static_cast<ptl_rank_t>(rank()));
}

TEST_F(Surface, InterfaceOptionsMustNameOneOfEachPair) {
  ptl_handle_ni_t other;
  for (unsigned bad : {0u, static_cast<unsigned>(PTL_NI_MATCHING), PTL_NI_MATCHING | PTL_NI_NO_MATCHING | PTL_NI_LOGICAL,
                       PTL_NI_MATCHING | PTL_NI_LOGICAL | PTL_NI_PHYSICAL, PTL_NI_MATCHING | PTL_NI_LOGICAL | 0x100u})
    EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, bad, PTL_PID_ANY, nullptr, nullptr, &other), PTL_ARG_INVALID) << bad;
}

TEST_F(Surface, LimitsAreHonouredExactly) {
  ptl_handle_ni_t small;
  ptl_ni_limits_t desired{}, actual{};
  std::memset(&desired, 0x80, sizeof desired);  // garbage is tolerated
  desired.max_mds = desired.max_cts = desired.max_eqs = desired.max_triggered_ops = desired.max_entries = 2;
  desired.max_list_size = 5;
  desired.max_msg_size = 100;
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &desired, &actual, &small), PTL_OK);
  EXPECT_EQ(actual.max_mds, 2);
  EXPECT_EQ(actual.max_msg_size, 100u);
  EXPECT_GE(actual.max_pt_index, 63);
  EXPECT_GE(actual.max_waw_ordered_size, 64u);
  ptl_handle_ct_t ct[3];
  EXPECT_EQ(PtlCTAlloc(small, &ct[0]), PTL_OK);
  EXPECT_EQ(PtlCTAlloc(small, &ct[1]), PTL_OK);
  EXPECT_EQ(PtlCTAlloc(small, &ct[2]), PTL_NO_SPACE);
  ptl_md_t md{nullptr, PTL_SIZE_MAX, 0, PTL_EQ_NONE, PTL_CT_NONE};
  ptl_handle_md_t mds[3];
  EXPECT_EQ(PtlMDBind(small, &md, &mds[0]), PTL_OK);
  EXPECT_EQ(PtlMDBind(small, &md, &mds[1]), PTL_OK);
  EXPECT_EQ(PtlMDBind(small, &md, &mds[2]), PTL_NO_SPACE);
  EXPECT_EQ(PtlTriggeredCTInc(ct[0], {1, 0}, ct[1], 5), PTL_OK);
  EXPECT_EQ(PtlTriggeredCTInc(ct[0], {1, 0}, ct[1], 5), PTL_OK);
  EXPECT_EQ(PtlTriggeredCTInc(ct[0], {1, 0}, ct[1], 5), PTL_NO_SPACE);
  EXPECT_EQ(PtlCTInc(ct[1], {5, 0}), PTL_OK);
  ptl_ct_event_t value;
  EXPECT_EQ(PtlCTWait(ct[0], 2, &value), PTL_OK);  // those already queued run
  ptl_process_t self;
  EXPECT_EQ(PtlGetPhysId(small, &self), PTL_OK);
  EXPECT_EQ(PtlPut(mds[0], 0, 101, PTL_NO_ACK_REQ, self, 0, 0, 0, nullptr, 0), PTL_ARG_INVALID);
  EXPECT_EQ(PtlNIFini(small), PTL_OK);
  EXPECT_EQ(PtlCTGet(ct[0], &value), PTL_ARG_INVALID);  // the interface took everything with it
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, &actual, &small), PTL_OK);
  EXPECT_GT(actual.max_mds, 2);  // other limits the next time
  EXPECT_EQ(PtlNIFini(small), PTL_OK);
}

TEST_F(Surface, BadArgumentsAreRefused) {
  ptl_handle_ct_t ct = counter();
  ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  EXPECT_EQ(put(md, "x", 1, right(), 0, 0, PTL_ACK_REQ), PTL_ARG_INVALID);     // no EQ
  EXPECT_EQ(put(md, "x", 1, right(), 0, 0, PTL_CT_ACK_REQ), PTL_ARG_INVALID);  // no CT
  EXPECT_EQ(put(md, "x", 1, right(), 0, 0, 9), PTL_ARG_INVALID);
  EXPECT_EQ(put(md, "x", 1, process(ranks())), PTL_ARG_INVALID);
  EXPECT_EQ(put(PTL_INVALID_HANDLE, "x", 1, right()), PTL_ARG_INVALID);
  EXPECT_EQ(put(ct, "x", 1, right()), PTL_ARG_INVALID);
  EXPECT_EQ(PtlCTInc(ct, {1, 1}), PTL_ARG_INVALID);
  EXPECT_EQ(PtlTriggeredCTInc(ct, {1, 0}, PTL_CT_NONE, 1), PTL_ARG_INVALID);
  EXPECT_EQ(PtlPTAlloc(ni, 0, eq, 0, &pt), PTL_PT_IN_USE);
  ptl_pt_index_t other;
  EXPECT_EQ(PtlPTAlloc(ni, PTL_PT_FLOWCTRL, PTL_EQ_NONE, PTL_PT_ANY, &other), PTL_PT_EQ_NEEDED);
  EXPECT_EQ(PtlPTAlloc(ni, 0, PTL_INVALID_HANDLE, PTL_PT_ANY, &other), PTL_ARG_INVALID);
  ptl_le_t le{};
  le.ct_handle = PTL_CT_NONE;
  ptl_handle_le_t le_handle;
  EXPECT_EQ(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, nullptr, &le_handle), PTL_ARG_INVALID);  // a matching interface
  const uint64_t word = 0;
  auto atomic = [&](ptl_op_t op, ptl_datatype_t type) {
    return PtlAtomic(md, reinterpret_cast<ptl_size_t>(&word), 8, PTL_NO_ACK_REQ, right(), pt, 0xdead, 0, nullptr, 0, op, type);
  };
  EXPECT_EQ(atomic(PTL_SWAP, PTL_INT64_T), PTL_ARG_INVALID);
  EXPECT_EQ(atomic(PTL_BOR, PTL_DOUBLE), PTL_ARG_INVALID);
  EXPECT_EQ(atomic(PTL_SUM, PTL_DATATYPE_LAST), PTL_ARG_INVALID);
  ptl_md_t bounded{const_cast<uint64_t*>(&word), 8, 0, PTL_EQ_NONE, PTL_CT_NONE};
  ptl_handle_md_t small;
  ASSERT_EQ(PtlMDBind(ni, &bounded, &small), PTL_OK);
  EXPECT_EQ(PtlPut(small, 4, 5, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_ARG_INVALID);
  EXPECT_EQ(PtlPut(small, PTL_SIZE_MAX, 2, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_ARG_INVALID);
  EXPECT_EQ(PtlMDRelease(small), PTL_OK);
  EXPECT_EQ(PtlMDRelease(small), PTL_ARG_INVALID);
  unsigned which;
  ptl_ct_event_t value;
  ptl_event_t event;
  EXPECT_EQ(PtlCTPoll(&ct, nullptr, 0, 0, &value, &which), PTL_ARG_INVALID);
  EXPECT_EQ(PtlEQPoll(&eq, 0, 0, &event, &which), PTL_ARG_INVALID);
}

TEST_F(Surface, WaitsEndOnSuccessOrOnAnyFailure) {
  const ptl_handle_ct_t ct = counter();
  ptl_ct_event_t value;
  unsigned which;
  const ptl_size_t one = 1;
  EXPECT_EQ(PtlCTPoll(&ct, &one, 1, 0, &value, &which), PTL_CT_NONE_REACHED);
  EXPECT_EQ(PtlCTPoll(&ct, &one, 1, 5, &value, &which), PTL_CT_NONE_REACHED);
  EXPECT_EQ(PtlCTInc(ct, {0, 1}), PTL_OK);
  EXPECT_EQ(PtlCTWait(ct, 1000, &value), PTL_OK);
  EXPECT_EQ(value.failure, 1u);
  ptl_event_t event;
  EXPECT_EQ(PtlEQPoll(&eq, 1, 3, &event, &which), PTL_EQ_EMPTY);
}

TEST_F(Surface, CounterChangesAreSeenByTheNextRead) {
  const ptl_handle_ct_t ct = counter();
  ptl_ct_event_t value;
  for (uint64_t i = 1; i < 1000; ++i) {
    EXPECT_EQ(PtlCTInc(ct, {1, 0}), PTL_OK);
    EXPECT_EQ(PtlCTGet(ct, &value), PTL_OK);
    EXPECT_EQ(value.success, i);
  }
  EXPECT_EQ(PtlCTSet(ct, {7, 8}), PTL_OK);
  EXPECT_EQ(PtlCTGet(ct, &value), PTL_OK);
  EXPECT_EQ(value.success + value.failure, 15u);
  EXPECT_EQ(PtlCTFree(ct), PTL_OK);
  EXPECT_EQ(PtlCTGet(ct, &value), PTL_ARG_INVALID);
}

TEST_F(Surface, HandlesLeadToTheirInterface) {
  ptl_handle_ni_t owner;
  for (ptl_handle_any_t handle : {ni, eq, counter(), descriptor(0, PTL_CT_NONE)}) {
    EXPECT_EQ(PtlNIHandle(handle, &owner), PTL_OK);
    EXPECT_EQ(owner, ni);
  }
  EXPECT_EQ(PtlNIHandle(PTL_INVALID_HANDLE, &owner), PTL_ARG_INVALID);
}

TEST_F(Surface, TheMapIsWhatWasSet) {
  std::vector<ptl_process_t> map(static_cast<size_t>(ranks()));
  ptl_size_t size = 0;
  EXPECT_EQ(PtlGetMap(ni, map.size(), map.data(), &size), PTL_OK);
  EXPECT_EQ(size, map.size());
  ptl_process_t self;
  EXPECT_EQ(PtlGetPhysId(ni, &self), PTL_OK);
  EXPECT_EQ(map[static_cast<size_t>(rank())].phys.pid, self.phys.pid);
  EXPECT_EQ(PtlSetMap(ni, map.size(), map.data()), PTL_IGNORED);
}

struct NonMatching : Portals {
  NonMatching() { options = PTL_NI_NO_MATCHING | PTL_NI_LOGICAL; }
};

TEST_F(NonMatching, TheFirstListEntryTakesEveryPut) {
  uint64_t memory[2] = {};
  const ptl_handle_ct_t arrived = counter();
  ptl_le_t le{};
  le.start = memory;
  le.length = sizeof memory;
  le.ct_handle = arrived;
  le.uid = PTL_UID_ANY;
  le.options = PTL_LE_OP_PUT | PTL_LE_EVENT_COMM_DISABLE | PTL_LE_EVENT_CT_COMM | PTL_LE_EVENT_LINK_DISABLE;
  ptl_handle_le_t handle;
  ASSERT_EQ(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  fence();
  const uint64_t value = static_cast<uint64_t>(rank()) + 100;
  put(md, &value, 8, right(), 0x1234, 8);
  wait(arrived, 1);
  EXPECT_EQ(memory[1], static_cast<uint64_t>(left_rank()) + 100);
  fence();
  EXPECT_EQ(PtlLEUnlink(handle), PTL_OK);
  EXPECT_EQ(PtlLEUnlink(handle), PTL_ARG_INVALID);
  fence();  // others may still use this memory
}

struct Physical : Portals {
  Physical() { options = PTL_NI_MATCHING | PTL_NI_PHYSICAL; }
};

TEST_F(Physical, ProcessesAreNamedByNidAndPid) {
  ptl_process_t self, peer;
  ASSERT_EQ(PtlGetId(ni, &self), PTL_OK);
  ASSERT_EQ(PtlxJobPut("test.phys", &self, sizeof self), PTL_OK);
  fence();
  size_t size = sizeof peer;
  ASSERT_EQ(PtlxJobGet((rank() + 1) % ranks(), "test.phys", &peer, &size), PTL_OK);
  uint64_t memory = 0;
  ptl_me_t me{};
  me.start = &memory;
  me.length = 8;
  me.ct_handle = PTL_CT_NONE;
  me.uid = PTL_UID_ANY;
  me.options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE;
  me.match_id.phys = {PTL_NID_ANY, PTL_PID_ANY};
  ptl_handle_me_t handle;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  fence();
  const uint64_t value = 42;
  EXPECT_EQ(put(md, &value, 8, peer), PTL_OK);
  ptl_event_t event;
  EXPECT_EQ(PtlEQWait(eq, &event), PTL_OK);
  EXPECT_EQ(event.type, PTL_EVENT_PUT);
  EXPECT_NE(event.initiator.phys.pid, 0u);
  EXPECT_EQ(memory, 42u);
  ptl_size_t map_size;
  EXPECT_EQ(PtlGetMap(ni, 0, nullptr, &map_size), PTL_ARG_INVALID);
  fence();  // others may still use this memory
}

TEST(Library, CallsBeforeInitAnswerNoInit) {
  // The job keeps one reference of its own; what is tested here is that the count works both ways.
  EXPECT_EQ(PtlInit(), PTL_OK);
  PtlFini();
  ptl_handle_ni_t ni;
  EXPECT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &ni), PTL_OK);
  EXPECT_EQ(PtlNIFini(ni), PTL_OK);
  EXPECT_NE(PtlHandleIsEqual(ni, ni), 0);
  EXPECT_EQ(PtlHandleIsEqual(ni, PTL_INVALID_HANDLE), 0);
}

}  // namespace
}  // namespace portals_test
