// Limits that an interface grants where they are asked for: copies by the call up to max_volatile_size, data in order up to
// max_waw_ordered_size.
#include "tests/portals/job.hpp"

namespace portals_test {
namespace {

struct AskedSizes : Portals {
  static constexpr ptl_size_t kAsked = 512 * 1024;
  ptl_ni_limits_t desired{};
  std::vector<unsigned char> memory, from;

  void SetUp() override {
    desired.max_volatile_size = desired.max_waw_ordered_size = kAsked;
    wish = &desired;
    Portals::SetUp();
    EXPECT_EQ(limits.max_volatile_size, kAsked);
    EXPECT_EQ(limits.max_waw_ordered_size, kAsked);
    memory.resize(3 * kAsked);
  }
  void fill(size_t length, int round) {
    from.resize(length);
    portunus::test::fill_ramp(rank() * 131 + round, from.data(), length);
  }
  // The left rank's first bytes of the round.
  static std::vector<unsigned char> sent(size_t length, int round) {
    std::vector<unsigned char> bytes(length);
    portunus::test::fill_ramp(left_rank() * 131 + round, bytes.data(), length);
    return bytes;
  }
  bool arrived(size_t length, int round) const { return std::memcmp(memory.data(), sent(length, round).data(), length) == 0; }
};

TEST_F(AskedSizes, WhatIsVolatileIsCopiedUpToTheLimitAndDoneAboveIt) {
  const ptl_handle_ct_t came = counter(), acknowledged = counter();
  entry(memory.data(), memory.size(), PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, came);
  const ptl_handle_md_t md = descriptor(PTL_MD_VOLATILE | PTL_MD_EVENT_CT_ACK, acknowledged);
  fence();
  int round = 0;
  for (const size_t length :
       {size_t{8}, size_t{8192}, size_t{8193}, size_t{100'000}, size_t{kAsked}, size_t{kAsked + 1}, size_t{2 * kAsked}}) {
    fill(length, ++round);
    EXPECT_EQ(put(md, from.data(), length, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
    if (length <= kAsked) std::fill(from.begin(), from.end(), static_cast<unsigned char>(~round));
    EXPECT_EQ(wait(came, static_cast<uint64_t>(round)).failure, 0u);
    EXPECT_TRUE(arrived(length, round)) << length;
    EXPECT_EQ(wait(acknowledged, static_cast<uint64_t>(round)).failure, 0u);
    fence();
  }
}

// The word behind it says that all of it is there, and so does a get.
TEST_F(AskedSizes, WhatComesBehindALongPutDoesNotOvertakeIt) {
  const ptl_handle_ct_t acknowledged = counter();
  entry(memory.data(), memory.size(), PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, acknowledged);
  const auto* const last = reinterpret_cast<const std::atomic<unsigned char>*>(memory.data() + memory.size() - 1);
  fence();
  uint64_t operations = 0;
  for (int round = 1; round <= 60; ++round) {
    const size_t length = kAsked - static_cast<size_t>(round % 3) * 200'001;
    fill(length, round);
    const auto mark = static_cast<unsigned char>(round);
    std::vector<unsigned char> read(length);
    EXPECT_EQ(put(md, from.data(), length, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
    EXPECT_EQ(put(md, &mark, 1, right(), 0, memory.size() - 1, PTL_CT_ACK_REQ), PTL_OK);
    EXPECT_EQ(PtlGet(md, reinterpret_cast<ptl_size_t>(read.data()), length, right(), pt, 0, 0, nullptr), PTL_OK);
    operations += 3;
    while (last->load(std::memory_order_acquire) != mark) PtlxProgress();
    EXPECT_TRUE(arrived(length, round)) << length;
    EXPECT_EQ(wait(acknowledged, operations).failure, 0u);
    EXPECT_EQ(read, from);
    fence();
  }
}

// Two long ones to one place, and words among them: at the end there is what was written last.
TEST_F(AskedSizes, TheLastWriteStays) {
  const ptl_handle_ct_t acknowledged = counter();
  entry(memory.data(), memory.size(), PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE);
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK | PTL_MD_VOLATILE, acknowledged);
  fence();
  uint64_t operations = 0;
  for (int round = 1; round <= 60; ++round) {
    fill(kAsked, round);
    EXPECT_EQ(put(md, from.data(), kAsked, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
    EXPECT_EQ(put(md, from.data() + 7, 64, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
    fill(300'000, round + 1);
    EXPECT_EQ(put(md, from.data(), 300'000, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
    EXPECT_EQ(put(md, from.data() + 9, 64, right(), 0, 100'000, PTL_CT_ACK_REQ), PTL_OK);
    EXPECT_EQ(wait(acknowledged, operations += 4).failure, 0u);
    fence();
    EXPECT_TRUE(arrived(100'000, round + 1));
    EXPECT_EQ(0, std::memcmp(memory.data() + 100'000, sent(73, round + 1).data() + 9, 64));
    fence();
  }
}

using Ordered = Portals;

TEST_F(Ordered, AShortPutIsInPlaceBeforeAnAtomicAtAnotherAddressBehindIt) {
  const ptl_size_t most = limits.max_waw_ordered_size;
  std::vector<unsigned char> memory(most + 64), from(most);
  auto& word = *reinterpret_cast<uint64_t*>(memory.data() + (most + 7) / 8 * 8);
  entry(memory.data(), memory.size(), PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE);
  const ptl_handle_ct_t acknowledged = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK, acknowledged);
  const uint64_t one = 1;
  const ptl_size_t offset = static_cast<ptl_size_t>(reinterpret_cast<unsigned char*>(&word) - memory.data());
  fence();
  for (uint64_t round = 1; round <= 200; ++round) {
    const size_t length = round % 5 == 0 ? most : 1 + round * 797 % most;
    portunus::test::fill_ramp(rank() * 131 + static_cast<int>(round), from.data(), length);
    EXPECT_EQ(put(md, from.data(), length, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
    EXPECT_EQ(PtlAtomic(md, reinterpret_cast<ptl_size_t>(&one), sizeof one, PTL_CT_ACK_REQ, right(), pt, 0, offset, nullptr, 0, PTL_SUM,
                        PTL_UINT64_T),
              PTL_OK);
    while (std::atomic_ref<uint64_t>(word).load(std::memory_order_acquire) != round) PtlxProgress();
    std::vector<unsigned char> expected(length);
    portunus::test::fill_ramp(left_rank() * 131 + static_cast<int>(round), expected.data(), length);
    EXPECT_EQ(std::memcmp(memory.data(), expected.data(), length), 0) << length;
    EXPECT_EQ(wait(acknowledged, 2 * round).failure, 0u);
    fence();
  }
}

}  // namespace
}  // namespace portals_test
