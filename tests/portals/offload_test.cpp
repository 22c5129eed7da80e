// Work that goes on while no application thread is in the library: triggered chains, matching, bulk data.
#include "tests/portals/job.hpp"

namespace portals_test {
namespace {

struct Offload : Portals {
  // An engine that only callers step cannot offload; the other forms must.
  static bool engine_runs() {
    ptlx_engine_info_t info;
    PtlxEngineInfo(&info);
    return std::strcmp(info.progress, "caller") != 0;
  }
  // Looks at memory, and at nothing of the library, until it holds `value`.
  static void watch(const uint64_t& word, uint64_t value) {
    while (std::atomic_ref<const uint64_t>(word).load(std::memory_order_acquire) != value) sched_yield();
  }
};

TEST_F(Offload, AnEngineThatSpinsLeavesSharedCoresToOrdinaryThreads) {
  ptlx_engine_info_t info;
  EXPECT_EQ(PtlxEngineInfo(&info), PTL_OK);
  EXPECT_TRUE(std::strcmp(info.progress, "spin") != 0 || info.realtime == 0);
}

TEST_F(Offload, ATokenGoesRoundAsOftenAsArmedWithNoCallInBetween) {
  if (!engine_runs()) GTEST_SKIP() << "PTL_PROGRESS=caller has no engine thread";
  constexpr uint64_t kLaps = 20;
  static uint64_t token[kLaps + 1];
  std::memset(token, 0, sizeof token);
  const ptl_handle_ct_t arrived = counter();
  entry(token, sizeof token, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  // The n-th arrival passes lap n on; rank 0 adds one to the lap by sending the next word.
  static uint64_t laps[kLaps + 1];
  std::iota(laps, laps + kLaps + 1, 0);
  for (uint64_t n = 1; n <= kLaps; ++n) {
    const uint64_t lap = rank() == 0 ? n + 1 : n;
    if (lap <= kLaps) {
      EXPECT_EQ(
          PtlTriggeredPut(md, reinterpret_cast<ptl_size_t>(&laps[lap]), 8, PTL_NO_ACK_REQ, right(), pt, 0, lap * 8, nullptr, 0, arrived, n),
          PTL_OK);
    }
  }
  fence();
  if (rank() == 0) put(md, &laps[1], 8, right(), 0, 8);
  watch(token[kLaps], kLaps);
  for (uint64_t n = 1; n <= kLaps; ++n) EXPECT_EQ(token[n], n);
  fence();  // others may still use this memory
}

TEST_F(Offload, BulkDataIsPulledWhileTheTargetComputes) {
  if (!engine_runs()) GTEST_SKIP() << "PTL_PROGRESS=caller has no engine thread";
  static std::vector<unsigned char> memory;
  memory.assign(2'000'000, 0);
  static uint64_t flag;
  flag = 0;
  const ptl_handle_ct_t arrived = counter(), sent = counter();
  entry(memory.data(), memory.size(), PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived);
  entry(&flag, 8, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE, PTL_CT_NONE, 1);
  // When the bulk data has arrived, tell the left neighbour so by a put that nobody has to issue.
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_SEND, sent);
  static uint64_t one = 1;
  EXPECT_EQ(
      PtlTriggeredPut(md, reinterpret_cast<ptl_size_t>(&one), 8, PTL_NO_ACK_REQ, process(left_rank()), pt, 1, 0, nullptr, 0, arrived, 1),
      PTL_OK);
  const auto data = data_of(rank(), memory.size());
  fence();
  put(md, data.data(), data.size(), right());
  watch(flag, 1);
  wait(arrived, 1);
  EXPECT_TRUE(memory == data_of(left_rank(), memory.size()));
  wait(sent, 2);
  fence();  // others may still use this memory
}

TEST_F(Offload, AnUnexpectedMessageIsCompletedByATriggeredAppend) {
  std::vector<unsigned char> memory(100'000);
  const ptl_handle_ct_t arrived = counter(), trigger = counter(), sent = counter();
  ptl_me_t hold{};
  hold.uid = PTL_UID_ANY;
  hold.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE;
  hold.ct_handle = PTL_CT_NONE;
  hold.match_id.phys = {0, 0};
  hold.match_id.rank = PTL_RANK_ANY;
  hold.ignore_bits = ~uint64_t{0};
  ptl_handle_me_t overflow, late;
  ASSERT_EQ(PtlMEAppend(ni, pt, &hold, PTL_OVERFLOW_LIST, nullptr, &overflow), PTL_OK);
  ptl_me_t me = hold;
  me.start = memory.data();
  me.length = memory.size();
  me.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM;
  me.ct_handle = arrived;
  me.ignore_bits = 0;
  ASSERT_EQ(PtlxTriggeredMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &late, trigger, 1), PTL_OK);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_SEND, sent);
  const auto data = data_of(rank(), memory.size());
  fence();
  put(md, data.data(), data.size(), right());
  fence();
  ptl_ct_event_t value;
  EXPECT_EQ(PtlCTGet(arrived, &value), PTL_OK);
  EXPECT_EQ(value.success, 0u);
  EXPECT_EQ(PtlCTInc(trigger, {1, 0}), PTL_OK);
  wait(arrived, 1);
  EXPECT_TRUE(memory == data_of(left_rank(), memory.size()));
  wait(sent, 1);
  fence();  // others may still use this memory
}

TEST_F(Offload, TriggeredAtomicsAddUpAcrossRanks) {
  static uint64_t total;
  total = 0;
  const ptl_handle_ct_t trigger = counter(), arrived = counter();
  entry(&total, 8, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, arrived);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  static uint64_t mine;
  mine = 0;
  EXPECT_EQ(PtlTriggeredAtomic(md, reinterpret_cast<ptl_size_t>(&mine), 8, PTL_NO_ACK_REQ, process(0), pt, 0, 0, nullptr, 0, PTL_SUM,
                               PTL_UINT64_T, trigger, 1),
            PTL_OK);
  fence();
  mine = static_cast<uint64_t>(rank()) + 1;  // read when it fires
  EXPECT_EQ(PtlCTInc(trigger, {1, 0}), PTL_OK);
  if (rank() == 0) {
    wait(arrived, static_cast<uint64_t>(ranks()));
    EXPECT_EQ(total, static_cast<uint64_t>(ranks() * (ranks() + 1) / 2));
  }
  fence();  // others may still use this memory
}

// Attended: application threads come again and again, and none of them waits.
struct Attended : Portals {
  static constexpr int kReplies = 20;
  uint64_t over = 0, words[2] = {7, 0};
  ptl_handle_md_t quiet = PTL_INVALID_HANDLE;

  // Ranks but 0 do `come` until rank 0, which needs their engines for each reply, tells them that it has them all.
  template <class Come>
  void come_again_and_again(Come&& come) {
    entry(words, sizeof words, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
    entry(&over, sizeof over, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE, PTL_CT_NONE, 1);
    quiet = descriptor(0, PTL_CT_NONE);
    fence();
    if (rank() != 0) {
      while (std::atomic_ref<uint64_t>(over).load(std::memory_order_acquire) == 0) come();
    } else {
      const ptl_handle_ct_t replied = counter();
      const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_REPLY, replied);
      static const uint64_t one = 1;  // sent after this scope where the engine thread does that
      uint64_t expected = 0, got = 0;
      for (int i = 0; i < kReplies; ++i)
        for (int other = 1; other < ranks(); ++other) {
          EXPECT_EQ(PtlGet(md, reinterpret_cast<ptl_size_t>(&got), 8, process(other), pt, 0, 0, nullptr), PTL_OK);
          wait(replied, ++expected);
          EXPECT_EQ(got, 7u);
        }
      for (int other = 1; other < ranks(); ++other) put(quiet, &one, 8, process(other), 1);
    }
    fence();  // others may still use this memory
  }
};

TEST_F(Attended, ProcessThatOnlySendsAnswersOthers) {
  // To itself: to others it could send far more than they take.
  come_again_and_again([&] { put(quiet, &words[0], 8, process(rank()), 0, 8); });
}

TEST_F(Attended, ProcessThatFindsEachTimeWhatItWaitsForAnswersOthers) {
  const ptl_handle_ct_t reached = counter();
  EXPECT_EQ(PtlCTInc(reached, {1, 0}), PTL_OK);
  come_again_and_again([&] { wait(reached, 1); });
}

TEST_F(Attended, ProcessThatWaitsOnlyForWhatItSendsItselfAnswersOthers) {
  const ptl_handle_ct_t sent = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_SEND, sent);
  uint64_t times = 0;
  come_again_and_again([&] {
    put(md, &words[0], 8, process(rank()), 0, 8);
    wait(sent, ++times);
  });
}

TEST_F(Attended, ProcessThatOnlyCountsAnswersOthers) {
  const ptl_handle_ct_t counts = counter();
  come_again_and_again([&] { EXPECT_EQ(PtlCTInc(counts, {1, 0}), PTL_OK); });
}

}  // namespace
}  // namespace portals_test
