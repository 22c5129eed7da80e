// fabric_moves_test.cpp: how much of long data is asked for at once.
#include "engine/transport/fabric/moves.hpp"

#include <gtest/gtest.h>

namespace portunus {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

constexpr size_t kPiece = 64 << 10;

TEST(FabricWindow, AWireIsAsFastAsTheLastPieceThatCame) {
  fabric::Window window;
  EXPECT_FALSE(window.is_fast()) << "nothing is known";
  window.took(20'000, kPiece);
  EXPECT_TRUE(window.is_fast());
  window.took(500'000, kPiece);
  EXPECT_FALSE(window.is_fast());
}

TEST(FabricWindow, AsksForEverythingAtOnceUnlessItIsLimited) {
  fabric::Window window;
  const size_t all = window.size();
  window.took(1000 * kMillisecond, kPiece);
  window.took(kMillisecond, kPiece);
  EXPECT_EQ(window.size(), all);
}

TEST(FabricWindow, ShrinksWhilePiecesWaitForOneAnotherButNotToNothing) {
  fabric::Window window;
  window.limit();
  size_t before = window.size();
  window.took(5 * kMillisecond, kPiece);
  window.took(10 * kMillisecond, kPiece);
  EXPECT_LT(window.size(), before);
  for (int i = 0; i < 100; ++i) window.took(10 * kMillisecond, kPiece);
  EXPECT_GE(window.piece(), size_t{64} << 10);
}

TEST(FabricWindow, ShrinksFurtherWhereEachPieceTakesLong) {
  fabric::Window fast, slow;
  for (fabric::Window* const window : {&fast, &slow}) {
    window->limit();
    window->took(kMillisecond, kPiece);
  }
  for (int i = 0; i < 10; ++i) {
    fast.took(5 * kMillisecond, kPiece);
    slow.took(50 * kMillisecond, kPiece);
  }
  EXPECT_EQ(fast.size(), size_t{256} << 10);
  EXPECT_EQ(slow.size(), size_t{128} << 10);
  fast.took(50 * kMillisecond, kPiece);
  fast.took(5 * kMillisecond, kPiece);
  EXPECT_EQ(fast.size(), size_t{128} << 10) << "what it has shrunk to stays";
}

TEST(FabricWindow, GrowsWherePiecesHardlyWaitHoweverFarTheyCome) {
  for (const uint64_t distance : {uint64_t{0}, 50 * kMillisecond}) {
    fabric::Window window;
    window.limit();
    for (int i = 0; i < 100; ++i) window.took(distance + kMillisecond / 10, kPiece);
    EXPECT_GE(window.piece(), size_t{4} << 20) << "what one transfer of the engine asks for";
  }
}

TEST(FabricBothWays, LongMovesAskForLittleFirstForAWhileAfterBothWaysWereSeen) {
  constexpr size_t kLong = 1 << 20, kShort = fabric::BothWays::kFirst;
  fabric::BothWays both_ways;
  EXPECT_FALSE(both_ways.minds(kLong)) << "nothing was seen";
  both_ways.seen();
  EXPECT_FALSE(both_ways.minds(kShort)) << "it is little itself";
  int minded = 0;
  while (both_ways.minds(kLong)) ++minded;
  EXPECT_GT(minded, 0);
  EXPECT_LT(minded, 100);
  both_ways.seen();
  EXPECT_TRUE(both_ways.minds(kLong));
}

}  // namespace
}  // namespace portunus
