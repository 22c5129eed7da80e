// Long writes that nothing behind them overtakes, where that was asked for. Two engines, stepped by hand.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/engine/two_engines.hpp"

namespace portunus::test {
namespace {

constexpr size_t kLong = 400'000;

struct WriteOrder : TwoEngines {
  std::vector<char> source = std::vector<char>(kLong, 'l'), sink = std::vector<char>(kLong, '-');

  void SetUp() override {
    TwoEngines::SetUp();
    ask(1 << 20);
    target.append({.start = sink.data(), .length = kLong});
  }
  void ask(ptl_size_t size) { target.engine.interface(0).limits.max_waw_ordered_size = size; }
  void put_long(size_t length = kLong) {
    Command command = put_with_ack(length);
    command.source.base = source.data();
    initiator.run(command);
  }
  void put_short(uint64_t offset = 0) {
    Command command = put_with_ack(3);
    command.remote_offset = offset;
    initiator.run(command);
  }
  // The reports of the target, once it has looked at all that came but moved nothing long.
  Kinds looked() {
    target.engine.peers().poll(0);
    return target.kinds(target_eq);
  }
};

TEST_F(WriteOrder, WhatComesBehindALongWriteStaysBehindIt) {
  put_long();
  put_short();
  EXPECT_EQ(looked(), Kinds{});
  rig.settle();
  EXPECT_EQ(std::string(sink.data(), 4), "thel");
  auto events = target.events(target_eq);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].mlength, kLong);
  EXPECT_EQ(events[1].mlength, 3u);
}

TEST_F(WriteOrder, WhoHasNotAskedWaitsForNothing) {
  ask(kOrderedAnyway);
  put_long();
  put_short();
  EXPECT_EQ(looked(), Kinds{PTL_EVENT_PUT});
  rig.settle();
}

TEST_F(WriteOrder, AboveTheLimitNothingWaits) {
  ask(kLong - 1);
  put_long();
  put_short();
  EXPECT_EQ(looked(), Kinds{PTL_EVENT_PUT});
  rig.settle();
}

TEST_F(WriteOrder, EachWaitsForThoseBeforeIt) {
  for (int i = 0; i < 20; ++i) {
    put_long(kLong - static_cast<size_t>(i) * 1000);
    put_short(static_cast<uint64_t>(i));
    put_short(static_cast<uint64_t>(i) + 3);
  }
  rig.settle();
  std::vector<uint64_t> lengths;
  for (const ptl_event_t& event : target.events(target_eq)) lengths.push_back(event.mlength);
  ASSERT_EQ(lengths.size(), 60u);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(lengths[3 * i], kLong - i * 1000);
    EXPECT_EQ(lengths[3 * i + 1], 3u);
    EXPECT_EQ(lengths[3 * i + 2], 3u);
  }
  EXPECT_TRUE(target.engine.flushed());
}

TEST_F(WriteOrder, OthersDoNotWait) {
  put_long();
  EXPECT_EQ(looked(), Kinds{});
  Command own = target.put(data, 3, 1);
  target.run(own);
  EXPECT_EQ(looked(), Kinds{PTL_EVENT_PUT});
  rig.settle();
}

TEST_F(WriteOrder, APortalThatIsClosedMeanwhileRefusesThem) {
  put_long();
  put_short();
  EXPECT_EQ(looked(), Kinds{});
  EXPECT_EQ(target.engine.table().disable(0, 0), PTL_IN_USE);
  rig.settle();
  auto acks = initiator.events(initiator_eq);
  ASSERT_FALSE(acks.empty());
  EXPECT_EQ(acks.back().ni_fail_type, PTL_NI_PT_DISABLED);
  EXPECT_EQ(target.engine.table().enable(0, 0), PTL_OK);
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_OK);
}

TEST_F(WriteOrder, APortalThatIsMadeOrOpenedMeanwhileKeepsTheOrder) {
  put_long();
  EXPECT_EQ(looked(), Kinds{});
  const uint32_t other = target.portal(target_eq);
  target.append({.start = memory, .length = 64}, other);
  target.engine.table().disable(0, other);
  EXPECT_EQ(target.engine.table().enable(0, other), PTL_OK);
  Command command = put_with_ack(3);
  command.pt_index = static_cast<uint16_t>(other);
  initiator.run(command);
  EXPECT_EQ(looked(), Kinds{});
  rig.settle();
  EXPECT_EQ(target.kinds(target_eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_PUT}));
}

TEST_F(WriteOrder, TheEndOfTheSenderEndsTheWaitAndWhatItSaidIsHeard) {
  put_long();
  put_short(7);
  EXPECT_EQ(looked(), Kinds{});
  target.engine.peers().fail(*target.engine.peers().find({0x7f000001, 1000}));
  rig.settle();
  EXPECT_EQ(target.kinds(target_eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_PUT}));
  EXPECT_EQ(std::string(sink.data() + 7, 3), "the");
  EXPECT_FALSE(target.engine.interface(0).keeps_order);
}

TEST_F(WriteOrder, WhatWaitsWhereAnInterfaceClosesIsRefused) {
  put_long();
  put_short();
  put_short();
  EXPECT_EQ(looked(), Kinds{});
  target.engine.close_interface(0);
  rig.settle();
  int dropped = 0;
  for (const ptl_event_t& event : initiator.events(initiator_eq))
    dropped += event.type == PTL_EVENT_ACK && event.ni_fail_type == PTL_NI_DROPPED;
  EXPECT_EQ(dropped, 2);
  EXPECT_FALSE(target.engine.interface(0).keeps_order);
}

TEST_F(WriteOrder, AWithdrawalStaysBehindThePutThatItIsFor) {
  put_long();
  Command unmatched = put_with_ack(3, 99);
  initiator.run(unmatched);
  EXPECT_EQ(looked(), Kinds{});
  wire::Header header{};
  header.kind = wire::Kind::withdraw;
  header.token = uint64_t{1} << 32 | 2;
  Peer& from = *target.engine.peers().find({0x7f000001, 1000});
  target.engine.arrived(*from.link, header, nullptr);
  EXPECT_EQ(initiator.events(initiator_eq).size(), 1u);  // SEND of the short one
  rig.settle();
  EXPECT_EQ(target.kinds(target_eq), Kinds{PTL_EVENT_PUT});
  EXPECT_TRUE(target.engine.flushed());
}

}  // namespace
}  // namespace portunus::test
