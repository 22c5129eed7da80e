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
