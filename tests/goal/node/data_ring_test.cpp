// The ring of long data (engine/goal/node/data_ring.hpp): what is needed is not overwritten, and what is not is used again.
#include "engine/goal/node/data_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <random>

namespace {

using portunus::goal::node::DataRing;

constexpr size_t kBytes = 4096;

struct Ring {
  uint64_t over = 0;  // the last exchange that is
  DataRing data{kBytes, {[](const void* self, uint64_t exchange) { return static_cast<const Ring*>(self)->over >= exchange; }, this}};
  std::atomic<uint64_t> word{0};
  Ring() { data.reserve(); }
};

TEST(DataRing, LongerDataThanItHasNeverFindRoom) {
  Ring ring;
  EXPECT_TRUE(ring.data.has_room(kBytes));
  EXPECT_FALSE(ring.data.has_room(kBytes + 1));
}

TEST(DataRing, AFullOneHasRoomWhenTheOtherRankHasTakenTheOldest) {
  Ring ring;
  for (uint64_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(ring.data.has_room(1000));
    EXPECT_EQ(ring.data.take(1000, &ring.word, i), (i - 1) * 1024);
  }
  ring.word = 0;
  EXPECT_FALSE(ring.data.has_room(1));
  ring.word = 1;
  ASSERT_TRUE(ring.data.has_room(1000));
  EXPECT_EQ(ring.data.take(1000, &ring.word, 5), 0U);
  EXPECT_FALSE(ring.data.has_room(1));
}

TEST(DataRing, DataOfAnExchangeAreNeededUntilItIsOver) {
  Ring ring;
  ASSERT_TRUE(ring.data.has_room(3000));
  ring.data.take(3000, nullptr, 7);
  EXPECT_FALSE(ring.data.has_room(3000));  // in one piece
  ring.over = 7;
  ASSERT_TRUE(ring.data.has_room(3000));
  EXPECT_EQ(ring.data.take(3000, nullptr, 8), 0U);
}

TEST(DataRing, ManySmallDataAreRememberedOnlyUpToANumber) {
  Ring ring;
  uint64_t taken = 0;
  DataRing large(size_t{1} << 20, {[](const void*, uint64_t) { return false; }, nullptr});
  large.reserve();
  while (large.has_room(1)) large.take(1, &ring.word, ++taken);
  EXPECT_EQ(taken, 256U);
  ring.word = 1;
  EXPECT_TRUE(large.has_room(1));
}

TEST(DataRing, WhatIsNeededIsNeverOverlapped) {
  std::mt19937 random(3);
  Ring ring;
  struct Piece {
    size_t from, to;
    uint64_t until;
  };
  std::deque<Piece> needed;
  uint64_t next = 0;
  for (int turn = 0; turn < 100000; ++turn) {
    const size_t bytes = 1 + random() % 1500;
    if (random() % 2 == 0 && ring.data.has_room(bytes)) {
      const size_t at = ring.data.take(bytes, &ring.word, ++next);
      ASSERT_TRUE(at % 64 == 0 && at + bytes <= kBytes);
      for (const Piece& piece : needed) ASSERT_TRUE(at + bytes <= piece.from || piece.to <= at);
      needed.push_back({at, at + bytes, next});
    } else if (!needed.empty()) {
      ring.word = needed.front().until;
      needed.pop_front();
    }
  }
  EXPECT_GT(next, 10000U);
}

}  // namespace
