// Portals 4.3, limits of a network interface: brought into range, honoured exactly, generous, and free until they are used.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <vector>

#include "tests/portals/alone.hpp"

namespace portals_test {
namespace {

struct Limits : Library {
  ptl_ni_limits_t granted(const ptl_ni_limits_t& desired) {
    ptl_ni_limits_t actual{};
    const ptl_handle_ni_t ni = open(kMatching, &desired, &actual);
    EXPECT_EQ(PtlNIFini(ni), PTL_OK);
    return actual;
  }
  ptl_ni_limits_t defaults() {
    ptl_ni_limits_t actual{};
    const ptl_handle_ni_t ni = open(kMatching, nullptr, &actual);
    EXPECT_EQ(PtlNIFini(ni), PTL_OK);
    return actual;
  }
};

constexpr int ptl_ni_limits_t::*kCounts[] = {&ptl_ni_limits_t::max_entries,      &ptl_ni_limits_t::max_unexpected_headers,
                                             &ptl_ni_limits_t::max_mds,          &ptl_ni_limits_t::max_cts,
                                             &ptl_ni_limits_t::max_eqs,          &ptl_ni_limits_t::max_pt_index,
                                             &ptl_ni_limits_t::max_iovecs,       &ptl_ni_limits_t::max_list_size,
                                             &ptl_ni_limits_t::max_triggered_ops};
constexpr ptl_size_t ptl_ni_limits_t::*kSizes[] = {&ptl_ni_limits_t::max_msg_size,          &ptl_ni_limits_t::max_atomic_size,
                                                   &ptl_ni_limits_t::max_fetch_atomic_size, &ptl_ni_limits_t::max_waw_ordered_size,
                                                   &ptl_ni_limits_t::max_war_ordered_size,  &ptl_ni_limits_t::max_volatile_size};

TEST_F(Limits, AreGenerousByDefault) {
  const ptl_ni_limits_t limits = defaults();
  EXPECT_GE(limits.max_entries, 1'000'000);
  EXPECT_GE(limits.max_unexpected_headers, 1'000'000);
  EXPECT_GE(limits.max_mds, 1'000'000);
  EXPECT_GE(limits.max_cts, 1'000'000);
  EXPECT_GE(limits.max_list_size, 1'000'000);
  EXPECT_GE(limits.max_triggered_ops, 1'000'000);
  EXPECT_GE(limits.max_eqs, 1024);
  EXPECT_GE(limits.max_pt_index, 64);
  EXPECT_GE(limits.max_iovecs, 1024);
  EXPECT_GE(limits.max_msg_size, ptl_size_t{1} << 63);
  EXPECT_GE(limits.max_atomic_size, 64u * 1024);
  EXPECT_EQ(limits.max_atomic_size, limits.max_fetch_atomic_size);
  EXPECT_GE(limits.max_waw_ordered_size, 64u);
  EXPECT_GE(limits.max_war_ordered_size, 8u);
  EXPECT_GE(limits.max_volatile_size, 64u);
}

TEST_F(Limits, AreExactlyWhatWasAskedForWithinTheRange) {
  ptl_ni_limits_t desired{};
  int next = 100;
  for (auto count : kCounts) desired.*count = next++;
  for (auto size : kSizes) desired.*size = static_cast<ptl_size_t>(next++);
  const ptl_ni_limits_t actual = granted(desired);
  for (auto count : kCounts) EXPECT_EQ(actual.*count, desired.*count);
  for (auto size : kSizes) EXPECT_EQ(actual.*size, desired.*size);
}

TEST_F(Limits, TakeWhateverIsDesired) {
  const ptl_ni_limits_t otherwise = defaults();
  for (unsigned char fill : {0x00, 0x7f, 0x80, 0xa5, 0xff}) {
    ptl_ni_limits_t desired;
    std::memset(&desired, fill, sizeof desired);
    const ptl_ni_limits_t actual = granted(desired);
    for (auto count : kCounts) {
      EXPECT_GT(actual.*count, 0);
      if (desired.*count <= 0) {
        EXPECT_EQ(actual.*count, otherwise.*count);
      }
    }
    for (auto size : kSizes) {
      EXPECT_GT(actual.*size, 0u);
      EXPECT_LE(actual.*size, ptl_size_t{1} << 63);
    }
    EXPECT_GE(actual.max_pt_index, 63);
    EXPECT_EQ(actual.features & ~static_cast<unsigned>(PTL_TARGET_BIND_INACCESSIBLE),
              otherwise.features);  // the truth, whatever was wished
  }
}

TEST_F(Limits, AreNeverBelowWhatTheSpecificationAsksFor) {
  ptl_ni_limits_t desired{};
  for (auto count : kCounts) desired.*count = 1;
  for (auto size : kSizes) desired.*size = 1;
  const ptl_ni_limits_t actual = granted(desired);
  EXPECT_EQ(actual.max_pt_index, 63);
  EXPECT_EQ(actual.max_entries, 1);
  EXPECT_EQ(actual.max_msg_size, 1u);
  EXPECT_EQ(actual.max_atomic_size, 64u);
  EXPECT_EQ(actual.max_fetch_atomic_size, 64u);
  EXPECT_EQ(actual.max_waw_ordered_size, 64u);
  EXPECT_EQ(actual.max_war_ordered_size, 8u);
}

// Pages of this process that are in memory.
long resident_pages() {
  long total = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident;
}

TEST_F(Limits, CostNothingUntilTheyAreUsed) {
  const ptl_handle_ni_t running = open(kNonMatching);
  ptl_ni_limits_t desired;
  std::memset(&desired, 0x7f, sizeof desired);
  const long before = resident_pages();
  const ptl_handle_ni_t ni = open(kMatching, &desired);
  ptl_handle_eq_t eq = PTL_INVALID_HANDLE;
  EXPECT_EQ(PtlEQAlloc(ni, 1'000'000, &eq), PTL_OK);
  EXPECT_LT(resident_pages() - before, 1000);
  EXPECT_NE(running, ni);
}

// An interface with room for exactly n of everything that is counted.
struct Exactly : Alone {
  static constexpr int kRoom = 3;
  void SetUp() override {
    Library::SetUp();
    ptl_ni_limits_t desired{};
    for (auto count : kCounts) desired.*count = kRoom;
    desired.max_entries = kRoom + 1;
    desired.max_msg_size = 100;
    desired.max_atomic_size = 128;
    desired.max_fetch_atomic_size = 72;
    desired.max_volatile_size = 16;
    ni = open(kMatching, &desired, &limits);
    ASSERT_EQ(PtlGetPhysId(ni, &self), PTL_OK);
  }
};

TEST_F(Exactly, SoManyObjectsAndThenNoSpace) {
  ptl_handle_any_t handle = PTL_INVALID_HANDLE, first = PTL_INVALID_HANDLE;
  for (int i = 0; i < kRoom; ++i) EXPECT_EQ(PtlEQAlloc(ni, 4, &handle), PTL_OK);
  EXPECT_EQ(PtlEQAlloc(ni, 4, &first), PTL_NO_SPACE);
  EXPECT_EQ(PtlEQFree(handle), PTL_OK);
  EXPECT_EQ(PtlEQAlloc(ni, 4, &handle), PTL_OK);  // one freed, one more
  const ptl_md_t md{nullptr, 0, 0, PTL_EQ_NONE, PTL_CT_NONE};
  for (int i = 0; i < kRoom; ++i) EXPECT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
  EXPECT_EQ(PtlMDBind(ni, &md, &first), PTL_NO_SPACE);
  EXPECT_EQ(PtlMDRelease(handle), PTL_OK);
  EXPECT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
  for (int i = 0; i < kRoom; ++i) EXPECT_EQ(PtlCTAlloc(ni, &handle), PTL_OK);
  EXPECT_EQ(PtlCTAlloc(ni, &first), PTL_NO_SPACE);
  EXPECT_EQ(PtlCTFree(handle), PTL_OK);
  EXPECT_EQ(PtlCTAlloc(ni, &handle), PTL_OK);
  EXPECT_EQ(first, PTL_INVALID_HANDLE);
  // A queue larger than any memory, too.
  EXPECT_EQ(PtlEQFree(handle), PTL_ARG_INVALID);
}

TEST_F(Exactly, SoManyEntriesOfOneListAndOfAllAndThenNoSpace) {
  const ptl_pt_index_t pt = portal(), other = portal();
  const ptl_me_t me = any_me();
  ptl_handle_me_t entry = PTL_INVALID_HANDLE, none;
  for (int i = 0; i < kRoom; ++i) EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &none), PTL_NO_SPACE);  // max_list_size
  EXPECT_EQ(PtlMEAppend(ni, other, &me, PTL_PRIORITY_LIST, nullptr, &none), PTL_OK);
  EXPECT_EQ(PtlMEAppend(ni, other, &me, PTL_PRIORITY_LIST, nullptr, &none), PTL_NO_SPACE);  // max_entries
  EXPECT_EQ(PtlMEUnlink(entry), PTL_OK);
  EXPECT_EQ(PtlMEAppend(ni, other, &me, PTL_PRIORITY_LIST, nullptr, &none), PTL_OK);
}

TEST_F(Exactly, SoManyTriggeredOperationsAndThoseThatWaitStillRun) {
  const ptl_handle_ct_t trigger = counter(), target = counter();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kRoom; ++i) EXPECT_EQ(PtlTriggeredCTInc(target, {1, 0}, trigger, 1), PTL_OK);
    EXPECT_EQ(PtlTriggeredCTInc(target, {1, 0}, trigger, 1), PTL_NO_SPACE);
    EXPECT_EQ(PtlCTInc(trigger, {1, 0}), PTL_OK);
    ptl_ct_event_t value;
    EXPECT_EQ(PtlCTWait(target, kRoom, &value), PTL_OK);
    EXPECT_EQ(value.success, static_cast<uint64_t>(kRoom));
    EXPECT_EQ(PtlCTSet(trigger, {0, 0}), PTL_OK);
    EXPECT_EQ(PtlCTSet(target, {0, 0}), PTL_OK);
  }
  for (int i = 0; i < kRoom; ++i) EXPECT_EQ(PtlTriggeredCTInc(target, {1, 0}, trigger, 1), PTL_OK);
  EXPECT_EQ(PtlCTCancelTriggered(trigger), PTL_OK);  // makes room at once
  EXPECT_EQ(PtlTriggeredCTInc(target, {1, 0}, trigger, 1), PTL_OK);
}

TEST_F(Exactly, SoManyOnEachOfTheFourInterfacesAtOnce) {
  ptl_ni_limits_t desired{};
  for (auto count : kCounts) desired.*count = kRoom;
  for (unsigned kind : {kMatching, kNonMatching, kMatchingLogical, kNonMatchingLogical}) {
    const ptl_handle_ni_t one = open(kind, &desired);
    const ptl_handle_ct_t trigger = counter(one), target = counter(one);
    for (int i = 0; i < kRoom; ++i) EXPECT_EQ(PtlTriggeredCTInc(target, {1, 0}, trigger, 1), PTL_OK);
    EXPECT_EQ(PtlTriggeredCTInc(target, {1, 0}, trigger, 1), PTL_NO_SPACE);
  }
}

TEST_F(Exactly, SoManyUnexpectedHeadersAndThenTheMessageIsDropped) {
  const ptl_pt_index_t pt = portal();
  uint64_t words[8] = {};
  const ptl_me_t over = any_me(words, sizeof words, PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL);
  ptl_handle_me_t entry;
  ASSERT_EQ(PtlMEAppend(ni, pt, &over, PTL_OVERFLOW_LIST, nullptr, &entry), PTL_OK);
  const ptl_handle_ct_t acknowledged = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK, acknowledged);
  const uint64_t value = 1;
  for (int i = 0; i <= kRoom; ++i) EXPECT_EQ(PtlPut(md, at(&value), 8, PTL_CT_ACK_REQ, self, pt, 0, 0, nullptr, 0), PTL_OK);
  ptl_ct_event_t count;
  EXPECT_EQ(PtlCTWait(acknowledged, kRoom + 1, &count), PTL_OK);
  EXPECT_EQ(count.success, static_cast<uint64_t>(kRoom));
  EXPECT_EQ(count.failure, 1u);
}

TEST_F(Exactly, SizesUpToTheLimitAndNotOneByteMore) {
  const ptl_handle_md_t md = descriptor(), copied = descriptor(PTL_MD_VOLATILE);
  alignas(16) static uint64_t memory[32];  // what is under way when the test ends reads it
  const ptl_size_t from = at(memory);
  const auto put = [&](ptl_handle_md_t by, ptl_size_t length) {
    return PtlPut(by, from, length, PTL_NO_ACK_REQ, self, 0, 0, 0, nullptr, 0);
  };
  EXPECT_EQ(put(md, 100), PTL_OK);
  EXPECT_EQ(put(md, 101), PTL_ARG_INVALID);
  EXPECT_EQ(put(copied, 16), PTL_OK);
  EXPECT_EQ(put(copied, 17), PTL_OK);  // done, without a promise
  EXPECT_EQ(put(copied, 101), PTL_ARG_INVALID);
  EXPECT_EQ(PtlGet(md, from, 100, self, 0, 0, 0, nullptr), PTL_OK);
  EXPECT_EQ(PtlGet(md, from, 101, self, 0, 0, 0, nullptr), PTL_ARG_INVALID);
  const auto atomic = [&](ptl_size_t length) {
    return PtlAtomic(md, from, length, PTL_NO_ACK_REQ, self, 0, 0, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T);
  };
  EXPECT_EQ(atomic(128), PTL_OK);
  EXPECT_EQ(atomic(136), PTL_ARG_INVALID);
  const auto fetch = [&](ptl_size_t length) {
    return PtlFetchAtomic(md, from, md, from, length, self, 0, 0, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T);
  };
  EXPECT_EQ(fetch(72), PTL_OK);
  EXPECT_EQ(fetch(80), PTL_ARG_INVALID);
  const auto swap = [&](ptl_op_t op, ptl_size_t length) {
    return PtlSwap(md, from, md, from, length, self, 0, 0, 0, nullptr, 0, memory, op, PTL_UINT64_T);
  };
  EXPECT_EQ(swap(PTL_SWAP, 72), PTL_OK);
  EXPECT_EQ(swap(PTL_SWAP, 80), PTL_ARG_INVALID);
  EXPECT_EQ(swap(PTL_CSWAP, 8), PTL_OK);
  EXPECT_EQ(swap(PTL_CSWAP, 16), PTL_ARG_INVALID);
}

TEST_F(Exactly, SoManyIovecElements) {
  uint64_t word;
  const ptl_iovec_t pieces[4] = {{&word, 8}, {&word, 8}, {&word, 8}, {&word, 8}};
  ptl_handle_md_t handle;
  ptl_md_t md{const_cast<ptl_iovec_t*>(pieces), kRoom, PTL_IOVEC, PTL_EQ_NONE, PTL_CT_NONE};
  EXPECT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
  ++md.length;
  EXPECT_EQ(PtlMDBind(ni, &md, &handle), PTL_ARG_INVALID);
}

using Messages = Alone;

TEST_F(Messages, MayBeAsLongAsTwoToTheSixtyThree) {
  const ptl_handle_eq_t eq = queue();
  const ptl_pt_index_t pt = portal(eq);
  uint64_t word = 0;
  const uint64_t value = 7;
  const ptl_me_t me = any_me(&word, 8, PTL_ME_OP_PUT);
  ptl_handle_me_t entry;
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE, eq);
  const ptl_size_t whole = ptl_size_t{1} << 63;
  EXPECT_EQ(PtlPut(md, at(&value), whole, PTL_ACK_REQ, self, pt, 0, 0, nullptr, 0), PTL_OK);  // the target takes what fits
  ptl_event_t event;
  ASSERT_EQ(PtlEQWait(eq, &event), PTL_OK);
  EXPECT_EQ(event.type, PTL_EVENT_PUT);
  EXPECT_EQ(event.rlength, whole);
  EXPECT_EQ(event.mlength, 8u);
  ASSERT_EQ(PtlEQWait(eq, &event), PTL_OK);
  EXPECT_EQ(event.type, PTL_EVENT_ACK);
  EXPECT_EQ(event.mlength, 8u);
  EXPECT_EQ(word, 7u);
  EXPECT_EQ(PtlPut(md, 0, whole + 1, PTL_NO_ACK_REQ, self, pt, 0, 0, nullptr, 0), PTL_ARG_INVALID);
}

TEST_F(Messages, AMillionEntriesFitAndAreFoundAtOnce) {
  const ptl_handle_ct_t arrived = counter();
  const ptl_pt_index_t pt = portal();
  uint64_t word = 0;
  ptl_me_t me = any_me(&word, 8, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM, arrived);
  ptl_handle_me_t entry;
  constexpr uint64_t kMany = 1'000'000;
  for (uint64_t i = 0; i < kMany; ++i) {
    me.match_bits = i;
    ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK) << i;
  }
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &entry), PTL_NO_SPACE);
  const ptl_handle_md_t md = descriptor();
  const uint64_t value = 3;
  ASSERT_EQ(PtlPut(md, at(&value), 8, PTL_NO_ACK_REQ, self, pt, kMany - 1, 0, nullptr, 0), PTL_OK);
  ptl_ct_event_t count;
  EXPECT_EQ(PtlCTWait(arrived, 1, &count), PTL_OK);
  EXPECT_EQ(word, 3u);
}

}  // namespace
}  // namespace portals_test
