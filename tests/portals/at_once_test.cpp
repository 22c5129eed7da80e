// Extensions that do at once what the engine would do: a look at a counter, atomics on memory that this process maps.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "tests/portals/job.hpp"

namespace {
thread_local unsigned yields = 0;
}  // namespace

// In the place of the C library's, for the libraries too.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace portals_test {
namespace {

struct AtOnce : Portals {};

TEST_F(AtOnce, ALookAtACounterNeverGivesTheProcessorAway) {
  const ptl_handle_ct_t watched = counter();
  EXPECT_EQ(PtlCTInc(watched, {2, 0}), PTL_OK);
  EXPECT_EQ(PtlCTInc(watched, {0, 1}), PTL_OK);
  ptl_ct_event_t now{};
  constexpr unsigned kLooks = 10'000;  // as many polls in vain do, in any mode
  const unsigned before = yields;
  for (unsigned look = 0; look < kLooks; ++look) EXPECT_EQ(PtlxCTPeek(watched, &now), PTL_OK);
  EXPECT_EQ(yields, before);
  EXPECT_EQ(now.success, 2u);
  EXPECT_EQ(now.failure, 1u);
  EXPECT_EQ(PtlxCTPeek(PTL_CT_NONE, &now), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxCTPeek(watched, nullptr), PTL_ARG_INVALID);
  // Plain: a look is a poll, and polls in vain give way.
  for (unsigned look = 0; look < kLooks; ++look) EXPECT_EQ(PtlCTGet(watched, &now), PTL_OK);
  EXPECT_GT(yields, before);
}

TEST_F(AtOnce, ALookAtAQueueTakesNothingAndGivesNothingAway) {
  ptl_handle_eq_t queue;
  EXPECT_EQ(PtlEQAlloc(ni, 8, &queue), PTL_OK);
  int holds = -1;
  EXPECT_EQ(PtlxEQHolds(queue, &holds), PTL_OK);
  EXPECT_EQ(holds, 0);
  ptl_pt_index_t pt;
  EXPECT_EQ(PtlPTAlloc(ni, 0, queue, PTL_PT_ANY, &pt), PTL_OK);
  ptl_me_t entry{};
  entry.ct_handle = PTL_CT_NONE;
  entry.uid = PTL_UID_ANY;
  entry.options = PTL_ME_OP_PUT;
  entry.match_id.rank = PTL_RANK_ANY;
  ptl_handle_me_t linked;  // an event says so
  EXPECT_EQ(PtlMEAppend(ni, pt, &entry, PTL_PRIORITY_LIST, nullptr, &linked), PTL_OK);
  while (holds == 0) {
    PtlxProgress();
    EXPECT_EQ(PtlxEQHolds(queue, &holds), PTL_OK);
  }
  const unsigned before = yields;
  for (unsigned look = 0; look < 10'000; ++look) EXPECT_EQ(PtlxEQHolds(queue, &holds), PTL_OK);
  EXPECT_EQ(yields, before);
  EXPECT_NE(holds, 0);
  ptl_event_t event;
  EXPECT_EQ(PtlEQGet(queue, &event), PTL_OK);
  EXPECT_EQ(PtlxEQHolds(queue, &holds), PTL_OK);
  EXPECT_EQ(holds, 0);
  EXPECT_EQ(PtlxEQHolds(PTL_EQ_NONE, &holds), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxEQHolds(queue, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlMEUnlink(linked), PTL_OK);
  EXPECT_EQ(PtlPTFree(ni, pt), PTL_OK);
  EXPECT_EQ(PtlEQFree(queue), PTL_OK);
}

TEST_F(AtOnce, AtomicsOnMappedMemoryDoWhatTheEngineDoes) {
  uint64_t words[] = {1, 2, 3}, old[3] = {};
  const uint64_t by[] = {10, 20, 30};
  EXPECT_EQ(PtlxNodeAtomic(PTL_SUM, PTL_UINT64_T, words, by, sizeof by, old, nullptr), PTL_OK);
  EXPECT_EQ(words[2], 33u);
  EXPECT_EQ(old[2], 3u);
  EXPECT_EQ(PtlxNodeAtomic(PTL_SUM, PTL_UINT64_T, words, by, sizeof *by, nullptr, nullptr), PTL_OK);
  EXPECT_EQ(words[0], 21u);
  double real = 2;
  const double less = 1;
  EXPECT_EQ(PtlxNodeAtomic(PTL_MIN, PTL_DOUBLE, &real, &less, sizeof less, nullptr, nullptr), PTL_OK);
  EXPECT_EQ(real, 1.0);
  const uint64_t fresh = 7, wrong = 5, right = 22;
  EXPECT_EQ(PtlxNodeAtomic(PTL_CSWAP, PTL_UINT64_T, &words[1], &fresh, sizeof fresh, old, &wrong), PTL_OK);
  EXPECT_EQ(words[1], 22u);
  EXPECT_EQ(PtlxNodeAtomic(PTL_CSWAP, PTL_UINT64_T, &words[1], &fresh, sizeof fresh, old, &right), PTL_OK);
  EXPECT_EQ(words[1], 7u);
  EXPECT_EQ(old[0], 22u);
  EXPECT_EQ(PtlxNodeAtomic(PTL_SWAP, PTL_UINT64_T, &words[1], &right, sizeof right, nullptr, nullptr), PTL_OK);
  EXPECT_EQ(words[1], 22u);
}

TEST_F(AtOnce, AtomicsThatCannotBeAreRefusedAndChangeNothing) {
  uint64_t word = 5;
  const uint64_t one = 1;
  const long double longer[2] = {};
  long double wide[2] = {3, 4};
  EXPECT_EQ(PtlxNodeAtomic(PTL_SUM, PTL_LONG_DOUBLE, wide, longer, sizeof longer, nullptr, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxNodeAtomic(PTL_BAND, PTL_DOUBLE, &word, &one, sizeof one, nullptr, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxNodeAtomic(PTL_SUM, PTL_UINT64_T, &word, &one, sizeof one - 1, nullptr, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxNodeAtomic(PTL_SUM, static_cast<ptl_datatype_t>(99), &word, &one, sizeof one, nullptr, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxNodeAtomic(PTL_SUM, PTL_UINT64_T, nullptr, &one, sizeof one, nullptr, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxNodeAtomic(PTL_SUM, PTL_UINT64_T, &word, nullptr, sizeof one, nullptr, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxNodeAtomic(PTL_CSWAP, PTL_UINT64_T, &word, &one, sizeof one, nullptr, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxNodeAtomic(PTL_SUM, PTL_UINT64_T, nullptr, nullptr, 0, nullptr, nullptr), PTL_OK) << "there is nothing to do";
  EXPECT_EQ(word, 5u);
  EXPECT_EQ(wide[0], 3);
}

}  // namespace
}  // namespace portals_test
