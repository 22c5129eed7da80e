// Portals 4.3, network interfaces, between ranks: handles, closing with messages under way, opening again.
#include "tests/portals/job.hpp"

namespace portals_test {
namespace {

struct Lifetime : Portals {};

TEST_F(Lifetime, InterfaceHandlesHaveTheSameValueOnAllRanks) {
  const std::string key = "test.handle";
  ptl_handle_ni_t mine[2] = {ni, PTL_INVALID_HANDLE};
  // The odd ones have opened and closed another one before.
  if (rank() % 2) {
    ptl_handle_ni_t other;
    ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, nullptr, &other), PTL_OK);
    EXPECT_EQ(PtlNIFini(other), PTL_OK);
  }
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &mine[1]), PTL_OK);
  ASSERT_EQ(PtlxJobPut(key.c_str(), mine, sizeof mine), PTL_OK);
  fence();
  for (int other = 0; other < ranks(); ++other) {
    ptl_handle_ni_t theirs[2];
    size_t size = sizeof theirs;
    ASSERT_EQ(PtlxJobGet(other, key.c_str(), theirs, &size), PTL_OK);
    EXPECT_EQ(theirs[0], mine[0]);
    EXPECT_EQ(theirs[1], mine[1]);
  }
  fence();
  EXPECT_EQ(PtlNIFini(mine[1]), PTL_OK);
}

// Everyone puts to the right by an interface that is closed at once.
TEST_F(Lifetime, WhatWasIssuedBeforeTheInterfaceIsClosedStillArrives) {
  constexpr size_t kSize = 1 << 20;
  std::vector<unsigned char> into(kSize);
  uint64_t last = 0;
  const ptl_handle_ct_t arrived = counter();
  ptl_handle_ni_t brief;
  for (int round = 1; round <= 3; ++round) {
    ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &brief), PTL_OK);
    ptl_process_t self, peer;
    ASSERT_EQ(PtlGetPhysId(brief, &self), PTL_OK);
    const std::string key = "test.brief" + std::to_string(round);
    ASSERT_EQ(PtlxJobPut(key.c_str(), &self, sizeof self), PTL_OK);
    ptl_pt_index_t index;
    ASSERT_EQ(PtlPTAlloc(brief, 0, PTL_EQ_NONE, PTL_PT_ANY, &index), PTL_OK);
    ptl_handle_ct_t both;
    ASSERT_EQ(PtlCTAlloc(brief, &both), PTL_OK);
    ptl_me_t me{};
    me.start = into.data();
    me.length = into.size();
    me.ct_handle = both;
    me.uid = PTL_UID_ANY;
    me.options = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM;
    me.match_id.phys = {PTL_NID_ANY, PTL_PID_ANY};
    ptl_handle_me_t entry;
    ASSERT_EQ(PtlMEAppend(brief, index, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
    me.start = &last;
    me.length = sizeof last;
    me.match_bits = 1;
    ASSERT_EQ(PtlMEAppend(brief, index, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
    fence();
    size_t size = sizeof peer;
    ASSERT_EQ(PtlxJobGet(static_cast<int>(right().rank), key.c_str(), &peer, &size), PTL_OK);
    const auto data = data_of(rank() + round, kSize);
    const uint64_t word = static_cast<uint64_t>(rank() * 10 + round);
    const ptl_md_t all{nullptr, PTL_SIZE_MAX, 0, PTL_EQ_NONE, PTL_CT_NONE};
    ptl_handle_md_t md;
    ASSERT_EQ(PtlMDBind(brief, &all, &md), PTL_OK);
    // Even ranks leave first; the odd ones wait for what they are sent, and leave then.
    const auto send = [&] {
      EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(data.data()), kSize, PTL_NO_ACK_REQ, peer, index, 0, 0, nullptr, 0), PTL_OK);
      EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(&word), 8, PTL_NO_ACK_REQ, peer, index, 1, 0, nullptr, 0), PTL_OK);
    };
    const auto receive = [&] {
      ptl_ct_event_t value;
      EXPECT_EQ(PtlCTWait(both, 2, &value), PTL_OK);
      EXPECT_EQ(last, static_cast<uint64_t>(left_rank() * 10 + round));
      EXPECT_TRUE(into == data_of(left_rank() + round, kSize));
    };
    const bool leaves_first = rank() % 2 == 0 && ranks() % 2 == 0;
    if (leaves_first) {
      send();
      EXPECT_EQ(PtlNIFini(brief), PTL_OK);
      fence();
    } else if (ranks() % 2 == 0) {
      receive();
      fence();
      EXPECT_EQ(PtlNIFini(brief), PTL_OK);
    } else {
      send();
      receive();
      fence();
      EXPECT_EQ(PtlNIFini(brief), PTL_OK);
    }
    fence();
  }
  EXPECT_EQ(PtlCTFree(arrived), PTL_OK);
}

// A put longer than the entry: the target takes what fits, and nothing else of the source is touched.
TEST_F(Lifetime, AMessageOfTwoToTheSixtyThreeBytesIsTruncated) {
  uint64_t word = 0;
  const uint64_t value = static_cast<uint64_t>(rank()) + 70;
  const ptl_handle_ct_t arrived = counter(), acknowledged = counter();
  entry(&word, 8, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK, acknowledged);
  fence();
  EXPECT_EQ(put(md, &value, size_t{1} << 63, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
  wait(arrived, 1);
  EXPECT_EQ(wait(acknowledged, 1).failure, 0u);
  EXPECT_EQ(word, static_cast<uint64_t>(left_rank()) + 70);
  fence();  // others may still use this memory
}

}  // namespace
}  // namespace portals_test
