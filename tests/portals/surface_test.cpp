// The answers of calls on a rank of a job; what a process alone can see is in the tests beside this one.
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

TEST_F(Surface, FeaturesAreGrantedWhereTheyAreTrueAndNowhereElse) {
  ptl_ni_limits_t desired = limits, actual{};
  desired.features = PTL_TARGET_BIND_INACCESSIBLE | PTL_TOTAL_DATA_ORDERING | PTL_COHERENT_ATOMICS;
  ptl_handle_ni_t plain;
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, &desired, &actual, &plain), PTL_OK);
  EXPECT_EQ(actual.features, static_cast<unsigned>(PTL_COHERENT_ATOMICS | PTL_TARGET_BIND_INACCESSIBLE));
  EXPECT_EQ(PtlNIFini(plain), PTL_OK);
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
  ptl_handle_le_t list_entry(void* start, size_t length, unsigned le_options, ptl_handle_ct_t ct = PTL_CT_NONE) {
    ptl_le_t le{};
    le.start = start;
    le.length = length;
    le.ct_handle = ct;
    le.uid = PTL_UID_ANY;
    le.options = le_options | PTL_LE_EVENT_COMM_DISABLE | PTL_LE_EVENT_LINK_DISABLE;
    ptl_handle_le_t handle;
    EXPECT_EQ(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
    return handle;
  }
};

TEST_F(NonMatching, TheFirstListEntryTakesEveryPut) {
  uint64_t memory[2] = {};
  const ptl_handle_ct_t arrived = counter();
  const ptl_handle_le_t handle = list_entry(memory, sizeof memory, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM, arrived);
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

TEST_F(Portals, WhatRanksShareComesInTheirOrder) {
  const auto value_of = [](size_t of) { return of * 1000003 + 7; };
  const uint64_t mine = value_of(static_cast<size_t>(rank()));
  std::vector<uint64_t> all(static_cast<size_t>(ranks()));
  ASSERT_EQ(PtlxJobShare("test.share", &mine, sizeof mine, all.data()), PTL_OK);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], value_of(i));
  EXPECT_EQ(PtlxJobShare(nullptr, &mine, sizeof mine, all.data()), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxJobShare("test.share", nullptr, sizeof mine, all.data()), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxJobShare("test.share", &mine, 0, all.data()), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxJobShare("test.share", &mine, sizeof mine, nullptr), PTL_ARG_INVALID);
}

// Nobody else steps the engine of a rank that shares, if only callers do.
TEST_F(NonMatching, WhoSharesAnswersThoseThatHaveNotComeYet) {
  uint64_t mine = static_cast<uint64_t>(rank()) + 5, theirs = 0;
  const int last = ranks() - 1;
  const ptl_handle_le_t handle = list_entry(&mine, sizeof mine, PTL_LE_OP_GET);
  const ptl_handle_ct_t arrived = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_REPLY, arrived);
  fence();
  if (rank() != last) {
    ASSERT_EQ(PtlGet(md, reinterpret_cast<ptl_size_t>(&theirs), sizeof theirs, process(last), pt, 0, 0, nullptr), PTL_OK);
    wait(arrived, 1);
    EXPECT_EQ(theirs, static_cast<uint64_t>(last) + 5);
  }
  std::vector<uint64_t> all(static_cast<size_t>(ranks()));
  EXPECT_EQ(PtlxJobShare("test.late", &mine, sizeof mine, all.data()), PTL_OK);
  EXPECT_EQ(all[0], 5u);
  EXPECT_EQ(PtlLEUnlink(handle), PTL_OK);
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
