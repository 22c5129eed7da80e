// Senders that are asked for less: levels at the target, order at the sender. Its class alone, without an engine.
#include "engine/core/target/flow_control.hpp"

#include <gtest/gtest.h>

namespace portunus::test {
namespace {

TEST(HeldMemory, LevelsRiseAndFallAtDifferentFills) {
  HeldMemory held(100, 1000);
  held.add(99);
  EXPECT_EQ(held.level(), Throttle::none);
  held.add(1);
  EXPECT_EQ(held.level(), Throttle::headers_only);
  held.add(900);
  EXPECT_EQ(held.level(), Throttle::nothing);
  EXPECT_FALSE(held.subtract(250));
  EXPECT_TRUE(held.subtract(1));
  EXPECT_EQ(held.level(), Throttle::headers_only);
  EXPECT_FALSE(held.subtract(699));
  EXPECT_TRUE(held.subtract(1));
  EXPECT_EQ(held.level(), Throttle::none);
}

struct Sender : ::testing::Test {
  Objects objects;
  Stats stats;
  Core core{objects, stats, 1000};
  Peers peers{core};
  FlowControl flow{core, peers};
  Peer& peer = *peers.find({1, 2});  // nobody reaches it, so it has failed; `told` asks that, and nothing else here
  void SetUp() override { peer.failed = false; }

  Command put(uint64_t number, uint64_t length = 8) {
    Command command;
    command.verb = Verb::put;
    command.pt_index = 3;
    command.hdr_data = number;
    command.length = length;
    return command;
  }
  PausedPuts told(Throttle level, uint16_t pt_index = 3) {
    wire::Header header{};
    header.kind = wire::Kind::throttle;
    header.op = static_cast<uint8_t>(level);
    header.pt_index = pt_index;
    return flow.told(peer, header);
  }
  std::vector<uint64_t> numbers(const PausedPuts& puts) {
    std::vector<uint64_t> all;
    for (const auto& command : puts) all.push_back(command->hdr_data);
    return all;
  }
};

TEST_F(Sender, PutsToAThrottledEntryArePausedAndComeBackInOrder) {
  EXPECT_TRUE(told(Throttle::nothing).empty());
  EXPECT_EQ(core.restraints.load(), 1u);
  for (uint64_t i = 0; i < 3; ++i) {
    Command command = put(i);
    EXPECT_TRUE(flow.pause(peer, command));
  }
  EXPECT_TRUE(flow.any_paused());
  EXPECT_EQ(numbers(told(Throttle::headers_only)), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_FALSE(flow.any_paused());
  Command small = put(3), large = put(4, 1000);
  EXPECT_FALSE(flow.pause(peer, small));
  EXPECT_FALSE(small.source.options & PTLX_MD_HEADER_FIRST);
  EXPECT_FALSE(flow.pause(peer, large));
  EXPECT_TRUE(large.source.options & PTLX_MD_HEADER_FIRST);
  EXPECT_TRUE(told(Throttle::none).empty());
  EXPECT_FALSE(peer.throttled);
  EXPECT_EQ(core.restraints.load(), 0u);
}

TEST_F(Sender, WhatIsHeldBackForAThrottledEntryIsPausedInFrontOfWhatComesAfterIt) {
  const auto hold = [&](Command command) {
    HeldMessage message;
    message.command = std::make_unique<Command>(command);
    peers.hold(peer, std::move(message));
  };
  Command other = put(2);
  other.pt_index = 4;
  for (const Command& command : {put(0), other, put(1)}) hold(command);
  EXPECT_TRUE(told(Throttle::nothing).empty());
  ASSERT_EQ(peer.held->size(), 1u);
  EXPECT_EQ(peer.held->front().command->hdr_data, 2u);
  Command late = put(3);
  EXPECT_TRUE(flow.pause(peer, late));
  EXPECT_EQ(numbers(told(Throttle::none)), (std::vector<uint64_t>{0, 1, 3}));
  EXPECT_FALSE(flow.any_paused());
}

TEST_F(Sender, OtherEntriesAndOtherVerbsGoOn) {
  told(Throttle::nothing);
  Command other = put(0), get = put(1);
  other.pt_index = 4;
  get.verb = Verb::get;
  EXPECT_FALSE(flow.pause(peer, other));
  EXPECT_FALSE(flow.pause(peer, get));
}

TEST_F(Sender, WhatIsPausedForALostPeerOrAClosedInterfaceIsGivenBack) {
  told(Throttle::nothing);
  told(Throttle::nothing, 5);
  Command command = put(7);
  EXPECT_TRUE(flow.pause(peer, command));
  EXPECT_TRUE(numbers(flow.drop(peer, 1)).empty());
  EXPECT_EQ(numbers(flow.drop(peer, 0)), std::vector<uint64_t>{7});
  EXPECT_EQ(core.restraints.load(), 0u);
  EXPECT_FALSE(flow.any_paused());
}

TEST_F(Sender, ALevelThatThereIsNotIsCountedAndIgnored) {
  EXPECT_TRUE(told(static_cast<Throttle>(3)).empty());
  EXPECT_TRUE(told(Throttle::nothing, kMaxPortals).empty());
  EXPECT_EQ(stats.malformed.read(), 2u);
  EXPECT_FALSE(peer.throttled);
}

}  // namespace
}  // namespace portunus::test
