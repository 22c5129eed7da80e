// fabric_flow_test.cpp: how long data take, and how much of them is asked for at once.
#include "engine/transport/fabric/flow.hpp"

#include <gtest/gtest.h>

#include "engine/transport/fabric/moves.hpp"

namespace portunus {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

// So many bytes are asked for now, and have come after so many ns.
void passes(fabric::Flow& flow, uint64_t bytes, uint64_t& now, uint64_t ns) {
  flow.begin(bytes);
  flow.asked(now);
  flow.ended(bytes, now += ns);
}

TEST(FabricFlow, AWireIsFastOnceManyInARowCameTooSoonForARestAndSlowAgainByOneThatTookItsTime) {
  constexpr uint64_t kBytes = 64 << 10;
  fabric::Flow flow;
  uint64_t now = 1000;
  const auto pass = [&](uint64_t ns) { passes(flow, kBytes, now, ns); };
  EXPECT_FALSE(flow.is_fast()) << "nothing is known";
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(flow.is_fast());
    pass(20'000);
  }
  EXPECT_TRUE(flow.is_fast());
  pass(500'000);
  EXPECT_FALSE(flow.is_fast());
  for (int i = 0; i < 1000; ++i) pass(20'000);
  EXPECT_TRUE(flow.is_fast());
}

TEST(FabricWindow, AsksForEverythingAtOnceUnlessItIsLimited) {
  fabric::Window window;
  const size_t all = window.size();
  window.took(1000 * kMillisecond);
  window.took(kMillisecond);
  EXPECT_EQ(window.size(), all);
}

TEST(FabricWindow, ShrinksWhilePiecesWaitForOneAnotherButNotToNothing) {
  fabric::Window window;
  window.limit();
  size_t before = window.size();
  window.took(5 * kMillisecond);
  window.took(10 * kMillisecond);
  EXPECT_LT(window.size(), before);
  for (int i = 0; i < 100; ++i) window.took(10 * kMillisecond);
  EXPECT_GE(window.piece(), size_t{64} << 10);
}

TEST(FabricWindow, ShrinksFurtherWhereEachPieceTakesLong) {
  fabric::Window fast, slow;
  for (fabric::Window* const window : {&fast, &slow}) {
    window->limit();
    window->took(kMillisecond);
  }
  for (int i = 0; i < 10; ++i) {
    fast.took(5 * kMillisecond);
    slow.took(50 * kMillisecond);
  }
  EXPECT_EQ(fast.size(), size_t{256} << 10);
  EXPECT_EQ(slow.size(), size_t{128} << 10);
  fast.took(50 * kMillisecond);
  fast.took(5 * kMillisecond);
  EXPECT_EQ(fast.size(), size_t{128} << 10) << "what it has shrunk to stays";
}

TEST(FabricWindow, GrowsWherePiecesHardlyWaitHoweverFarTheyCome) {
  for (const uint64_t distance : {uint64_t{0}, 50 * kMillisecond}) {
    fabric::Window window;
    window.limit();
    for (int i = 0; i < 100; ++i) window.took(distance + kMillisecond / 10);
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
