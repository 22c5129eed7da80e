// allocator_test.cpp: the symmetric heap's allocator, by itself.
#include "shmem/memory/allocator.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <random>

namespace {

using portunus::shmem::Allocator;
constexpr size_t kGranule = Allocator::kGranule;

TEST(Allocator, AHeapWithoutRoomGivesNothing) {
  Allocator heap(0);
  EXPECT_FALSE(heap.allocate(1));
  EXPECT_TRUE(heap.consistent());
}

TEST(Allocator, TheFirstBlockLiesAtTheStart) {
  Allocator heap(1 << 20);
  EXPECT_EQ(heap.allocate(1), 0u);
  EXPECT_EQ(heap.room(0), kGranule);
  EXPECT_EQ(heap.allocate(1), kGranule);
}

TEST(Allocator, TheWholeHeapIsOneBlockAndComesBack) {
  Allocator heap(1 << 20);
  EXPECT_EQ(heap.allocate(1 << 20), 0u);
  EXPECT_EQ(heap.free_bytes(), 0u);
  EXPECT_FALSE(heap.allocate(1));
  EXPECT_TRUE(heap.release(0));
  EXPECT_EQ(heap.allocate(1 << 20), 0u);
}

TEST(Allocator, SizesThatCannotFitAreRefusedWithoutWrappingAround) {
  Allocator heap(1 << 20);
  EXPECT_FALSE(heap.allocate(0));
  EXPECT_FALSE(heap.allocate((1 << 20) + 1));
  EXPECT_FALSE(heap.allocate(SIZE_MAX));
  EXPECT_FALSE(heap.allocate(1, size_t{1} << 40));
  EXPECT_TRUE(heap.consistent());
}

TEST(Allocator, TheSmallestFreeBlockThatFitsIsTaken) {
  Allocator heap(100 * kGranule);
  const size_t large = *heap.allocate(8 * kGranule);
  heap.allocate(kGranule);
  const size_t small = *heap.allocate(2 * kGranule);
  heap.allocate(kGranule);
  heap.release(large);
  heap.release(small);
  EXPECT_EQ(heap.allocate(2 * kGranule), small);
  EXPECT_EQ(heap.allocate(2 * kGranule), large);
}

TEST(Allocator, NeighboursMergeOnBothSides) {
  Allocator heap(3 * kGranule);
  const size_t a = *heap.allocate(kGranule), b = *heap.allocate(kGranule), c = *heap.allocate(kGranule);
  heap.release(a);
  heap.release(c);
  EXPECT_FALSE(heap.allocate(2 * kGranule));
  heap.release(b);
  EXPECT_EQ(heap.allocate(3 * kGranule), 0u);
}

TEST(Allocator, OnlyStartsOfBlocksCanBeReleasedAndOnlyOnce) {
  Allocator heap(1 << 20);
  const size_t block = *heap.allocate(4 * kGranule);
  EXPECT_FALSE(heap.release(block + kGranule));
  EXPECT_FALSE(heap.release(SIZE_MAX));
  EXPECT_TRUE(heap.release(block));
  EXPECT_FALSE(heap.release(block));
}

TEST(Allocator, AlignedBlocksAreMultiplesAndTheGapInFrontStaysUsable) {
  Allocator heap(1 << 20);
  heap.allocate(1);
  const size_t aligned = *heap.allocate(100, 1 << 16);
  EXPECT_EQ(aligned, size_t{1} << 16);
  EXPECT_EQ(heap.allocate(1), kGranule);
  EXPECT_TRUE(heap.consistent());
}

TEST(Allocator, ABlockGrowsIntoFreeRoomBehindItAndShrinks) {
  Allocator heap(8 * kGranule);
  const size_t a = *heap.allocate(kGranule);
  EXPECT_TRUE(heap.resize(a, 4 * kGranule));
  EXPECT_EQ(heap.room(a), 4 * kGranule);
  EXPECT_EQ(heap.allocate(1), 4 * kGranule);
  EXPECT_FALSE(heap.resize(a, 5 * kGranule));
  EXPECT_EQ(heap.room(a), 4 * kGranule);
  EXPECT_TRUE(heap.resize(a, 1));
  EXPECT_EQ(heap.allocate(3 * kGranule), kGranule);
  EXPECT_FALSE(heap.resize(a, 0));
  EXPECT_FALSE(heap.resize(a + 1, 1));
  EXPECT_TRUE(heap.consistent());
}

// Two allocators that see the same calls answer alike, blocks never overlap, and everything merges in the end.
TEST(Allocator, RandomCallsKeepTheInvariantsAndAreReproducible) {
  std::mt19937 random(20240607);
  Allocator heap(1 << 20), twin(1 << 20);
  std::map<size_t, size_t> live;  // offset -> size asked for
  for (int i = 0; i < 20000; ++i) {
    const unsigned what = random() % 8;
    if (what < 4 || live.empty()) {
      const size_t size = 1 + random() % (what == 0 ? 60000 : 900);
      const size_t alignment = size_t{1} << (random() % 13);
      const auto offset = heap.allocate(size, alignment);
      ASSERT_EQ(offset, twin.allocate(size, alignment));
      if (!offset) continue;
      ASSERT_EQ(*offset % alignment, 0u);
      ASSERT_LE(*offset + size, heap.capacity());
      const auto next = live.lower_bound(*offset);
      ASSERT_TRUE(next == live.end() || *offset + size <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= *offset);
      live[*offset] = size;
    } else {
      const auto block = std::next(live.begin(), static_cast<long>(random() % live.size()));
      if (what == 4) {
        const size_t size = 1 + random() % 3000;
        const bool done = heap.resize(block->first, size);
        ASSERT_EQ(done, twin.resize(block->first, size));
        if (done) block->second = size;
      } else {
        ASSERT_TRUE(heap.release(block->first));
        ASSERT_TRUE(twin.release(block->first));
        live.erase(block);
      }
    }
    ASSERT_TRUE(i % 100 != 0 || heap.consistent());
    ASSERT_EQ(heap.blocks(), live.size());
  }
  for (const auto& [offset, size] : live) ASSERT_TRUE(heap.release(offset));
  EXPECT_EQ(heap.allocate(1 << 20), 0u);
}

}  // namespace
