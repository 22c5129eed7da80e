// Peers: how each is reached, what waits for room, and which are gone. Two engines, stepped by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/engine/two_engines.hpp"

namespace portunus::test {
namespace {

struct PeersTest : TwoEngines {};

TEST_F(PeersTest, AFullTransportHoldsMessagesBackInOrderAndLosesNone) {
  rig.hub.capacity = 4;
  target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_LINK_DISABLE});
  for (char c = 'a'; c < 'a' + 20; ++c) {
    Command command = initiator.put(&c, 1, 1);
    command.source.options = PTL_MD_VOLATILE;  // the variable changes before the message can leave
    initiator.run(command);
  }
  EXPECT_FALSE(initiator.engine.flushed());
  rig.settle();
  EXPECT_TRUE(initiator.engine.flushed());
  EXPECT_EQ(std::string(memory, 20), "abcdefghijklmnopqrst");
}

TEST_F(PeersTest, AMessageToAProcessThatDoesNotExistIsUndeliverable) {
  Rig alone(1);
  Node& node = alone[0];
  const uint32_t eq = node.queue();
  node.engine.interface(0).open.store(true);
  Node stranger(rig.hub, {0x7f000001, 77});
  stranger.engine.interface(0).options = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
  stranger.engine.interface(0).open.store(true);
  const uint32_t strange_eq = stranger.queue();
  Command command = stranger.put(data, 3, 0);
  command.target.phys = {0x7f000001, 4242};
  command.ack = PTL_ACK_REQ;
  command.source.eq = strange_eq;
  stranger.run(command);
  auto events = stranger.events(strange_eq);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, PTL_EVENT_SEND);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_UNDELIVERABLE);
  EXPECT_EQ(events[1].type, PTL_EVENT_ACK);
  EXPECT_EQ(events[1].ni_fail_type, PTL_NI_UNDELIVERABLE);
  EXPECT_TRUE(node.events(eq).empty());
}

TEST_F(PeersTest, AMessageHeldBackThatThenCannotLeaveIsUndeliverable) {
  auto victim = std::make_unique<Node>(rig.hub, ProcessId{0x7f000001, 1002});
  Node sender(rig.hub, {0x7f000001, 1003});
  sender.engine.interface(0).options = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
  sender.engine.interface(0).open.store(true);
  const uint32_t eq = sender.queue();
  rig.hub.capacity = 1;
  for (int i = 0; i < 3; ++i) {
    Command command = sender.put(data, 3, 0);
    command.target.phys = {0x7f000001, 1002};
    command.source.options = PTL_MD_VOLATILE;
    command.source.eq = eq;
    sender.run(command);
  }
  EXPECT_EQ(sender.kinds(eq), Kinds{PTL_EVENT_SEND});
  victim.reset();
  for (int i = 0; i < 4; ++i) sender.engine.step(0);
  auto events = sender.events(eq);
  ASSERT_EQ(events.size(), 2u);
  for (const ptl_event_t& event : events) EXPECT_EQ(event.ni_fail_type, PTL_NI_UNDELIVERABLE);
  EXPECT_TRUE(sender.engine.flushed());
}

// The class alone: two ends on one hub.
struct Alone : ::testing::Test {
  struct Deaf : Sink {
    void arrived(Link&, const wire::Header&, const std::byte*) override { ++arrivals; }
    void moved(void*, bool) override {}
    void lost(Link&) override {}
    void introduced(Link& link, Transport&) override { link.peer = &somebody; }
    Peer somebody;
    int arrivals = 0;
  } sink;
  SelfHub hub;
  Objects objects;
  Stats stats;
  Core core{objects, stats, 1000};
  Peers peers{core};
  SelfTransport other{sink, hub, {1, 2}, 1000};

  void SetUp() override { peers.add_transport(std::make_unique<SelfTransport>(sink, hub, ProcessId{1, 1}, 1000), false); }
};

TEST_F(Alone, APeerThatFailsIsLostOnceAndTakesNoMoreMessages) {
  Peer& peer = *peers.find({1, 2});
  ASSERT_FALSE(peer.failed);
  peers.send(peer, {}, nullptr, 0);
  peers.fail(peer);
  peers.fail(peer);
  EXPECT_TRUE(core.posted && core.maybe_busy);
  EXPECT_EQ(stats.lost_peers.read(), 1u);
  peers.send(peer, {}, nullptr, 0);
  EXPECT_EQ(other.poll(16), 1);
  EXPECT_FALSE(peers.revive(peer)) << "who waits for it has yet to be told";
  EXPECT_EQ(peers.take_lost(), &peer);
  EXPECT_EQ(peers.take_lost(), nullptr);
}

TEST_F(Alone, WhatDoesNotFitIsHeldBackAndEverythingAfterIt) {
  hub.capacity = 1;
  Peer& peer = *peers.find({1, 2});
  for (int i = 0; i < 3; ++i) peers.send(peer, {}, nullptr, 0);
  EXPECT_EQ(peer.held->size(), 2u);
  EXPECT_EQ(peers.stalled(0), &peer);
  EXPECT_EQ(peers.stalled(1), nullptr);
  EXPECT_EQ(stats.back_pressure.read(), 2u);
  other.poll(16);
  peers.send(peer, {}, nullptr, 0);
  EXPECT_EQ(peer.held->size(), 3u) << "it must not overtake";
  peer.held->clear();
  peers.release_stalled(0);
  EXPECT_FALSE(peers.any_stalled());
}

TEST_F(Alone, AThrottleWaitsForNothingButThrottlesBeforeIt) {
  hub.capacity = 1;
  Peer& peer = *peers.find({1, 2});
  const auto throttle = [](uint8_t level) {
    wire::Header header{};
    header.kind = wire::Kind::throttle;
    header.op = level;
    return header;
  };
  const auto levels = [&] {
    std::string all;
    for (const HeldMessage& each : *peer.held)
      all += each.header.kind == wire::Kind::throttle ? static_cast<char>('0' + each.header.op) : '-';
    return all;
  };
  for (int i = 0; i < 3; ++i) peers.send(peer, {}, nullptr, 0);
  peers.send_throttle(peer, throttle(1));
  peers.send_throttle(peer, throttle(2));
  peers.send(peer, {}, nullptr, 0);
  EXPECT_EQ(levels(), "12---");
  other.poll(16);
  peers.send_throttle(peer, throttle(0));
  EXPECT_EQ(levels(), "120---") << "what there is room for must not overtake its like";
  peer.held->erase(peer.held->begin(), peer.held->begin() + 3);
  peers.send_throttle(peer, throttle(1));
  EXPECT_EQ(levels(), "---");
  EXPECT_EQ(other.poll(16), 1);
  peer.held->clear();
  peers.release_stalled(0);
}

TEST_F(Alone, ManyMessagesHeldBackRestrainSendersUntilHalfOfThemHaveGone) {
  hub.capacity = 1;
  Peer& peer = *peers.find({1, 2});
  for (uint64_t i = 0; i < Peers::kManyHeldBack; ++i) peers.send(peer, {}, nullptr, 0);
  EXPECT_EQ(core.restraints.load(), 0u);
  peers.send(peer, {}, nullptr, 0);
  EXPECT_EQ(core.restraints.load(), 1u);
  for (uint64_t i = 0; i < 3 * Peers::kManyHeldBack; ++i) peers.send(peer, {}, nullptr, 0);
  EXPECT_EQ(core.restraints.load(), 1u);
  peers.let_go(3 * Peers::kManyHeldBack);
  EXPECT_EQ(core.restraints.load(), 1u);
  peers.let_go(Peers::kManyHeldBack / 2);
  EXPECT_EQ(core.restraints.load(), 0u);
  peer.held->clear();
  peers.release_stalled(0);
}

TEST_F(Alone, AProcessThatNobodyReachesHasFailedAndIsNotLost) {
  Peer& peer = *peers.find({9, 9});
  EXPECT_TRUE(peer.failed);
  EXPECT_FALSE(peers.any_lost());
  EXPECT_EQ(peers.find({9, 9}), &peer);
}

TEST_F(Alone, ThoseWhoWatchAPeerAreToldOfOnce) {
  const uint32_t index = objects.counters.claim();
  objects.counters.at(index).reset();
  const uint32_t ct = objects.counters.publish(index);
  Peer& peer = *peers.find({1, 2});
  peers.watch(ct, peer);
  EXPECT_TRUE(peers.any_watched());
  EXPECT_EQ(peers.take_watchers(peer), std::vector<uint32_t>{ct});
  EXPECT_FALSE(peers.any_watched());
  peers.watch(ct, peer);
  peers.unwatch(ct);
  EXPECT_TRUE(peers.take_watchers(peer).empty());
}

TEST_F(Alone, WhoWatchesSeveralPeersLeavesThemAll) {
  SelfTransport third(sink, hub, {1, 3}, 1000);
  const uint32_t index = objects.counters.claim();
  objects.counters.at(index).reset();
  const uint32_t ct = objects.counters.publish(index);
  for (const ProcessId& id : {ProcessId{1, 2}, ProcessId{1, 3}}) peers.watch(ct, *peers.find(id));
  peers.unwatch(ct);
  EXPECT_FALSE(peers.any_watched());
  for (const ProcessId& id : {ProcessId{1, 2}, ProcessId{1, 3}}) EXPECT_TRUE(peers.take_watchers(*peers.find(id)).empty());
}

}  // namespace
}  // namespace portunus::test
