// PTL_TARGET_BIND_INACCESSIBLE: entries may cover memory that is not there; PTL_NI_SEGV says that a message would have touched it.
#include <sys/mman.h>

#include "tests/portals/job.hpp"

namespace portals_test {
namespace {

struct Inaccessible : Portals {
  static constexpr size_t kHalf = 1 << 20;
  unsigned char* memory = nullptr;  // the first half can be accessed, the second cannot
  ptl_handle_ct_t arrived = PTL_CT_NONE, answered = PTL_CT_NONE;
  ptl_handle_eq_t own = PTL_EQ_NONE;
  ptl_handle_md_t md = PTL_INVALID_HANDLE;

  void SetUp() override {
    ptl_ni_limits_t desired{};
    desired.features = PTL_TARGET_BIND_INACCESSIBLE;
    wish = &desired;
    Portals::SetUp();
    ASSERT_TRUE(limits.features & PTL_TARGET_BIND_INACCESSIBLE);
    void* mapped = mmap(nullptr, 2 * kHalf, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    memory = static_cast<unsigned char*>(mapped);
    ASSERT_EQ(mprotect(memory + kHalf, kHalf, PROT_NONE), 0);
    ASSERT_EQ(PtlEQAlloc(ni, 64, &own), PTL_OK);
    arrived = counter();
    answered = counter();
    entry(memory, 2 * kHalf, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_SUCCESS_DISABLE, arrived);
    md = descriptor(PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_SEND_DISABLE, answered, own);
    fence();
  }
  void TearDown() override {
    fence();
    munmap(memory, 2 * kHalf);
    Portals::TearDown();
  }
  // The answer to the operation just issued, and the event at this end that the left neighbour's caused.
  void expect_segv(ptl_event_kind_t answer, ptl_event_kind_t kind) {
    ptl_event_t event;
    EXPECT_EQ(PtlEQWait(own, &event), PTL_OK);
    EXPECT_EQ(event.type, answer);
    EXPECT_EQ(event.ni_fail_type, PTL_NI_SEGV);
    EXPECT_EQ(event.mlength, 0u);
    EXPECT_EQ(PtlEQWait(eq, &event), PTL_OK);  // a failure is reported although success is silent
    EXPECT_EQ(event.type, kind);
    EXPECT_EQ(event.ni_fail_type, PTL_NI_SEGV);
    EXPECT_EQ(event.mlength, 0u);
  }
};

TEST_F(Inaccessible, OperationsOnMemoryThatIsNotThereEndWithSegvAndTouchNothing) {
  const std::vector<unsigned char> data = data_of(rank(), kHalf);
  std::vector<unsigned char> into(kHalf);
  const ptl_size_t from = reinterpret_cast<ptl_size_t>(data.data()), to = reinterpret_cast<ptl_size_t>(into.data());
  for (size_t size : {size_t{8}, size_t{4000}, kHalf}) {
    EXPECT_EQ(PtlPut(md, from, size, PTL_ACK_REQ, right(), pt, 0, kHalf, nullptr, 0), PTL_OK);
    expect_segv(PTL_EVENT_ACK, PTL_EVENT_PUT);
    EXPECT_EQ(PtlGet(md, to, size, right(), pt, 0, kHalf, nullptr), PTL_OK);
    expect_segv(PTL_EVENT_REPLY, PTL_EVENT_GET);
    EXPECT_EQ(PtlAtomic(md, from, size, PTL_ACK_REQ, right(), pt, 0, kHalf, nullptr, 0, PTL_SUM, PTL_UINT64_T), PTL_OK);
    expect_segv(PTL_EVENT_ACK, PTL_EVENT_ATOMIC);
    EXPECT_EQ(PtlFetchAtomic(md, to, md, from, size, right(), pt, 0, kHalf, nullptr, 0, PTL_SUM, PTL_UINT64_T), PTL_OK);
    expect_segv(PTL_EVENT_REPLY, PTL_EVENT_FETCH_ATOMIC);
  }
  // One byte beyond is enough.
  EXPECT_EQ(PtlPut(md, from, 9, PTL_ACK_REQ, right(), pt, 0, kHalf - 8, nullptr, 0), PTL_OK);
  expect_segv(PTL_EVENT_ACK, PTL_EVENT_PUT);
  fence();
  EXPECT_EQ(wait(answered, 0).failure, 13u);
  EXPECT_EQ(wait(arrived, 0).failure, 13u);
  for (size_t i = 0; i < kHalf; ++i) ASSERT_EQ(memory[i], 0u) << i;
}

TEST_F(Inaccessible, WhatIsThereIsReadAndWrittenAsEver) {
  const std::vector<unsigned char> data = data_of(rank(), kHalf);
  EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(data.data()), kHalf, PTL_CT_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_OK);
  EXPECT_EQ(wait(answered, 1).failure, 0u);
  EXPECT_EQ(wait(arrived, 1).failure, 0u);
  EXPECT_TRUE(data_of(left_rank(), kHalf) == std::vector<unsigned char>(memory, memory + kHalf));
  fence();
  ASSERT_EQ(mprotect(memory + kHalf, kHalf, PROT_READ), 0);  // now it may be read, and not written
  fence();
  uint64_t word = 1;
  EXPECT_EQ(PtlGet(md, reinterpret_cast<ptl_size_t>(&word), 8, right(), pt, 0, kHalf, nullptr), PTL_OK);
  EXPECT_EQ(wait(answered, 2).failure, 0u);
  EXPECT_EQ(word, 0u);
  EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(&word), 8, PTL_CT_ACK_REQ, right(), pt, 0, kHalf, nullptr, 0), PTL_OK);
  EXPECT_EQ(wait(answered, 3).failure, 1u);
}

}  // namespace
}  // namespace portals_test
