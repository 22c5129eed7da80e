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

TEST(FabricFlow, NobodyNeedLookUntilTheDataShouldBeThere) {
  constexpr uint64_t kBytes = 64 << 10, kTime = 500'000;  // a wire of 1 Gbit/s
  fabric::Flow flow;
  EXPECT_EQ(flow.rest_ns(1), -1) << "nothing is under way";
  flow.begin(kBytes);
  EXPECT_TRUE(flow.awaits_asking());
  EXPECT_EQ(flow.rest_ns(1), 0) << "the peer has yet to ask for it";
  flow.asked(1000);
  EXPECT_FALSE(flow.awaits_asking());
  EXPECT_EQ(flow.rest_ns(1000), 0) << "the speed of the wire is not known";
  flow.ended(kBytes, 1000 + kTime);
  EXPECT_EQ(flow.rest_ns(1000 + kTime), -1);
  uint64_t now = 10'000'000;
  flow.begin(kBytes);
  flow.asked(now);
  EXPECT_NEAR(static_cast<double>(flow.rest_ns(now)), kTime, 1000);
  EXPECT_NEAR(static_cast<double>(flow.rest_ns(now + 200'000)), kTime - 200'000, 1000);
  EXPECT_EQ(flow.rest_ns(now + 450'000), 0) << "not worth it";
  EXPECT_EQ(flow.rest_ns(now + 3 * kTime), 0) << "it is late: the descriptor tells";
  flow.looked(now + kTime - 1);
  flow.ended(kBytes, now += kTime);
  // A socket's buffer must not run full, or dry.
  flow.begin(100 * kBytes);
  flow.asked(now);
  EXPECT_NEAR(static_cast<double>(flow.rest_ns(now)), 1.5 * kTime, 1000);
  // Two are under way: each that ends leaves the other.
  flow.ended(50 * kBytes, now + 50 * kTime);
  EXPECT_GT(flow.rest_ns(now + 50 * kTime), 0);
  flow.ended(50 * kBytes, now + 100 * kTime);
  EXPECT_EQ(flow.rest_ns(now + 100 * kTime), -1);
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

TEST(FabricFlow, WhoeverCameLateSaysLittleOfTheWire) {
  constexpr uint64_t kBytes = 64 << 10;
  fabric::Flow flow;
  uint64_t now = 1000;
  const auto pass = [&](uint64_t ns) { passes(flow, kBytes, now, ns); };
  pass(500'000);
  pass(50'000'000);
  flow.begin(kBytes);
  flow.asked(now);
  EXPECT_LT(flow.rest_ns(now), 600'000);
  flow.ended(kBytes, now += 500'000);
  for (int i = 0; i < 100; ++i) pass(50'000'000);
  flow.begin(kBytes);
  flow.asked(now);
  EXPECT_EQ(flow.rest_ns(now), 2'000'000) << "a slow wire, but never more than 2 ms";
}

TEST(FabricFlow, WhatLayThereAlreadySaysLittleOfTheWire) {
  constexpr uint64_t kBytes = 64 << 10, kTime = 500'000;
  fabric::Flow flow;
  uint64_t now = kMillisecond;
  const auto pass = [&](uint64_t ns) { passes(flow, kBytes, now, ns); };
  const auto rest = [&] {
    flow.begin(kBytes);
    flow.asked(now);
    const auto found = static_cast<double>(flow.rest_ns(now));
    flow.looked(now + kTime - 1);
    flow.ended(kBytes, now += kTime);
    return found;
  };
  pass(5'000);
  EXPECT_EQ(rest(), 0) << "nothing is known yet";
  pass(5'000);
  EXPECT_NEAR(rest(), kTime, kTime / 10.0);
  for (int i = 0; i < 100; ++i) pass(5'000);
  EXPECT_EQ(rest(), 0) << "it is fast indeed";
}

// Who is asleep until the data should be there finds them there, whenever they came: that says nothing of when.
TEST(FabricFlow, WhoRestsUntilTheEndDoesNotRestEverLonger) {
  constexpr uint64_t kBytes = 64 << 10, kTime = 500'000;
  fabric::Flow flow;
  uint64_t now = kMillisecond;
  const auto begin = [&] {
    now += kMillisecond;
    flow.begin(kBytes);
    flow.asked(now);
    flow.looked(now);
  };
  begin();
  flow.looked(now + kTime - 1);
  flow.ended(kBytes, now + kTime);
  int early = 0;
  for (int i = 0; i < 1000; ++i) {
    begin();
    const uint64_t end = now + kTime;
    uint64_t at = now + static_cast<uint64_t>(flow.rest_ns(now));
    EXPECT_NEAR(static_cast<double>(at), static_cast<double>(end), kTime / 8.0);
    if (at < end) {  // then its descriptor is listened to
      ++early;
      flow.looked(at);
      at = end;
    }
    flow.ended(kBytes, at);
  }
  EXPECT_GT(early, 0) << "else nobody knows that it did not end long before";
  EXPECT_LT(early, 500) << "each costs a look for nothing";
}

TEST(FabricFlow, AFasterWireIsNoticedAlthoughItsEndIsNeverSeen) {
  constexpr uint64_t kBytes = 64 << 10;
  fabric::Flow flow;
  uint64_t now = kMillisecond;
  for (const uint64_t time : {1'000'000, 300'000}) {
    int64_t rest = 0;
    for (int i = 0; i < 400; ++i) {
      now += kMillisecond;
      flow.begin(kBytes);
      flow.asked(now);
      flow.looked(now);
      rest = flow.rest_ns(now);
      const uint64_t woken = std::max<uint64_t>(time, static_cast<uint64_t>(rest));
      if (rest > 0 && static_cast<uint64_t>(rest) < time) flow.looked(now + static_cast<uint64_t>(rest));
      flow.ended(kBytes, now += woken);
    }
    EXPECT_NEAR(static_cast<double>(rest), static_cast<double>(time), static_cast<double>(time) / 8);
  }
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
