// heap_test.cpp: OpenSHMEM 1.6, "Memory Management Routines".
#include <algorithm>
#include <random>

#include "pe.hpp"

namespace heap_test {
namespace {

// The begin of the heap on this PE: the first block that is handed out while none is in use.
const char* heap_start() {
  static const char* const start = [] {
    char* first = static_cast<char*>(shmem_malloc(1));
    shmem_free(first);
    return first;
  }();
  return start;
}

// All PEs report a number, PE 0 says whether they are equal.
void expect_equal_everywhere(long number) {
  static long numbers[64];
  shmem_long_p(&numbers[me()], number, 0);
  shmem_barrier_all();
  for (int pe = 0; me() == 0 && pe < count(); ++pe) EXPECT_EQ(numbers[pe], number) << "PE " << pe;
  shmem_barrier_all();
}

TEST(Heap, ABlockCanBeUsedAtAllPesOnReturn) {
  for (int i = 0; i < 50; ++i) {
    int* const block = static_cast<int*>(shmem_malloc(4000));
    shmem_int_p(&block[me()], 100 * i + me(), right());
    shmem_barrier_all();
    EXPECT_EQ(block[left()], 100 * i + left());
    shmem_free(block);
  }
}

TEST(Heap, RandomCallsGiveEqualOffsetsOnAllPesAndKeepContents) {
  std::mt19937 random(4711);  // the same on all PEs
  struct Block {
    unsigned char* at;
    size_t size;
    size_t number;
  };
  std::vector<Block> blocks;
  const char* const start = heap_start();
  unsigned long digest = 0;
  const int n = rounds(600);
  for (int i = 0; i < n; ++i) {
    const unsigned what = random() % 6;
    const size_t size = 1 + random() % 20000;
    void* at = nullptr;
    if (what < 3 || blocks.empty()) {
      const size_t alignment = size_t{8} << (random() % 10);
      if (what == 0) {
        at = shmem_malloc(size);
      } else if (what == 1) {
        at = shmem_calloc(size, 1);
        EXPECT_EQ(std::count(static_cast<char*>(at), static_cast<char*>(at) + size, 0), static_cast<long>(size));
      } else {
        at = shmem_align(alignment, size);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % alignment, 0u);
      }
      EXPECT_TRUE(at != nullptr);
      blocks.push_back({static_cast<unsigned char*>(at), size, static_cast<size_t>(i)});
    } else {
      Block& block = blocks[random() % blocks.size()];
      EXPECT_TRUE(holds_pattern(block.at, me(), block.number, block.size));
      if (what == 3) {
        at = shmem_realloc(block.at, size);
        EXPECT_TRUE(holds_pattern(static_cast<unsigned char*>(at), me(), block.number, std::min(size, block.size)));
        block = {static_cast<unsigned char*>(at), size, static_cast<size_t>(i)};
      } else {
        shmem_free(block.at);
        block = blocks.back();
        blocks.pop_back();
      }
    }
    if (at) {
      const std::vector<unsigned char> content = pattern_of(me(), static_cast<size_t>(i), size);
      memcpy(at, content.data(), size);
    }
    digest = digest * 31 + (at ? static_cast<unsigned long>(static_cast<char*>(at) - start) : 0);
  }
  for (const Block& block : blocks) {
    EXPECT_TRUE(holds_pattern(block.at, me(), block.number, block.size));
    shmem_free(block.at);
  }
  expect_equal_everywhere(static_cast<long>(digest));
}

TEST(Heap, NothingIsAllocatedForSizeZeroAndNothingFreedForNull) {
  EXPECT_EQ(shmem_malloc(0), nullptr);
  EXPECT_EQ(shmem_calloc(0, 8), nullptr);
  EXPECT_EQ(shmem_calloc(8, 0), nullptr);
  EXPECT_EQ(shmem_align(64, 0), nullptr);
  EXPECT_EQ(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE), nullptr);
  shmem_free(nullptr);
  EXPECT_EQ(shmem_realloc(nullptr, 0), nullptr);
}

// One PE alone may ask: the others would be missed at a barrier.
TEST(Heap, ForNothingNobodyMeets) {
  if (me() == 0) {
    EXPECT_EQ(shmem_malloc(0), nullptr);
    EXPECT_EQ(shmem_calloc(0, 0), nullptr);
    EXPECT_EQ(shmem_align(64, 0), nullptr);
    EXPECT_EQ(shmem_realloc(nullptr, 0), nullptr);
    shmem_free(nullptr);
  }
  shmem_barrier_all();
}

TEST(Heap, OddAlignmentsAreRoundedUp) {
  for (const auto& [asked, given] : {std::pair<size_t, size_t>{24, 32}, {4, 8}, {1, 8}, {100, 128}}) {
    void* const block = shmem_align(asked, 8);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % given, 0u) << asked;
    shmem_free(block);
  }
}

TEST(Heap, WhatDoesNotFitIsNullOnAllPesAndHarmsNothing) {
  EXPECT_EQ(shmem_malloc(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(shmem_calloc(SIZE_MAX / 2, 4), nullptr);
  EXPECT_EQ(shmem_align(size_t{1} << 40, 8), nullptr);
  EXPECT_EQ(shmem_align(0, 8), nullptr);
  int* const block = static_cast<int*>(shmem_malloc(sizeof(int)));
  block[0] = 5;
  EXPECT_EQ(shmem_realloc(block, SIZE_MAX / 2), nullptr);
  EXPECT_EQ(block[0], 5);
  shmem_free(block);
}

TEST(Heap, ReallocOfNullAllocatesAndToSizeZeroFrees) {
  void* const block = shmem_realloc(nullptr, 100);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(shmem_realloc(block, 0), nullptr);
  void* const again = shmem_malloc_with_hints(100, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
  EXPECT_EQ(again, block);
  shmem_free(again);
}

TEST(Heap, BlocksMayBeAlignedToPagesAndMore) {
  for (const size_t alignment : {size_t{8}, size_t{64}, size_t{4096}, size_t{65536}}) {
    void* const block = shmem_align(alignment, 100);
    EXPECT_NE(block, nullptr) << alignment;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
    expect_equal_everywhere(static_cast<char*>(block) - heap_start());
    shmem_free(block);
  }
}

// Offsets are the same on all PEs, so that an alignment is kept on all only if each heap begins at a multiple of it.
TEST(Heap, EveryAlignmentForWhichThereIsRoomIsKept) {
  size_t room = 1 << 20;
  while (void* const block = shmem_malloc(2 * room)) {
    shmem_free(block);
    room *= 2;
  }
  for (size_t alignment = sizeof(void*); alignment <= room / 2; alignment *= 2) {
    void* const block = shmem_align(alignment, 100);
    ASSERT_NE(block, nullptr) << alignment;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u) << alignment;
    expect_equal_everywhere(static_cast<char*>(block) - heap_start());
    shmem_free(block);
  }
}

TEST(Heap, AllOfItCanBeHadAndComesBack) {
  size_t size = size_t{1} << 40;
  void* all = nullptr;
  while (size > 4096 && !(all = shmem_malloc(size))) size /= 2;
  EXPECT_NE(all, nullptr);
  shmem_free(all);
  EXPECT_EQ(shmem_malloc(size), all);
  shmem_free(all);
}

}  // namespace
}  // namespace heap_test
