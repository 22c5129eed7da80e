// fabric_moves_test.cpp: how much of long data is asked for at once.
#include "engine/transport/fabric/moves.hpp"

#include <gtest/gtest.h>

namespace portunus {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

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

}  // namespace
}  // namespace portunus
