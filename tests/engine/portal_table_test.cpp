// Portal table entries: closing, opening, flow control; and the end of the list entries on them. Two engines, stepped by
// hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/engine/two_engines.hpp"

namespace portunus::test {
namespace {

struct PortalTableTest : TwoEngines {};

TEST_F(PortalTableTest, UseOnceLeavesTheListAndAutoUnlinkFollowsTheCommunicationEvent) {
  const uint32_t handle =
      target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE});
  initiator.run(initiator.put(data, 3, 1));
  rig.settle();
  EXPECT_EQ(target.kinds(target_eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(target.engine.table().unlink(handle), PTL_ARG_INVALID);
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_DROPPED);
}

TEST_F(PortalTableTest, ADisabledPortalRefusesUntilItIsEnabledAgain) {
  target.append({.start = memory, .length = 64});
  EXPECT_EQ(target.engine.table().disable(0, 0), PTL_OK);
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_PT_DISABLED);
  EXPECT_TRUE(target.events(target_eq).empty());
  target.engine.table().enable(0, 0);
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_OK);
}

TEST_F(PortalTableTest, FlowControlDisablesThePortalOnceWhenNothingMatches) {
  const uint32_t eq = target.queue();
  const uint32_t pt = target.portal(eq, PTL_PT_FLOWCTRL);
  for (int i = 0; i < 3; ++i) {
    Command command = put_with_ack(3);
    command.pt_index = static_cast<uint16_t>(pt);
    EXPECT_EQ(fate(command), PTL_NI_PT_DISABLED);
  }
  EXPECT_EQ(target.kinds(eq), Kinds{PTL_EVENT_PT_DISABLED});
}

// A portal with flow control, a queue of `count` and an entry of these options in the priority list.
struct FlowControl : TwoEngines {
  uint32_t eq = 0, pt = 0;
  void open(uint64_t count, uint32_t options = 0) {
    eq = target.queue(count);
    pt = target.portal(eq, PTL_PT_FLOWCTRL);
    target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | options, .ignore_bits = ~0ull},
                  pt);
  }
  // The fates of that many puts.
  std::vector<int> fates(int puts, uint64_t length = 3) {
    for (int i = 0; i < puts; ++i) {
      Command command = put_with_ack(length, static_cast<uint64_t>(i));
      command.pt_index = static_cast<uint16_t>(pt);
      command.source.options = PTL_MD_EVENT_SEND_DISABLE;
      if (length > sizeof data) command.source.base = bulk.data();
      initiator.run(command);
    }
    rig.settle();
    std::vector<int> all;
    for (const ptl_event_t& event : initiator.events(initiator_eq)) all.push_back(event.ni_fail_type);
    return all;
  }
  static std::vector<int> first_ok(size_t good, size_t all) {
    std::vector<int> fates(all, PTL_NI_PT_DISABLED);
    std::fill_n(fates.begin(), good, PTL_NI_OK);
    return fates;
  }
  std::vector<char> bulk = std::vector<char>(300'000);
};

TEST_F(FlowControl, AFullQueueClosesThePortalLosesNoEventAndTheReservedSlotSaysSo) {
  open(8);
  EXPECT_EQ(fates(16), first_ok(8, 16));
  Kinds expected(8, PTL_EVENT_PUT);
  expected.push_back(PTL_EVENT_PT_DISABLED);
  EXPECT_EQ(target.kinds(eq), expected);
  EXPECT_EQ(fates(1), first_ok(0, 1));
  target.engine.table().enable(0, pt);
  EXPECT_EQ(fates(9), first_ok(8, 9));
  EXPECT_EQ(target.kinds(eq), expected);
}

TEST_F(FlowControl, EnabledWithAFullQueueItClosesAgainAndNothingIsOverwritten) {
  open(8);
  fates(9);
  for (int i = 0; i < 50; ++i) {
    target.engine.table().enable(0, pt);
    EXPECT_EQ(fates(1), first_ok(0, 1));
  }
  ptl_event_t event;
  EventQueue& queue = *target.objects.queues.find(eq);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(queue.take(event), PTL_OK);
    EXPECT_EQ(event.type, PTL_EVENT_PUT);
  }
  for (const ptl_event_t& rest : target.events(eq)) EXPECT_EQ(rest.type, PTL_EVENT_PT_DISABLED);
}

TEST_F(FlowControl, MessagesUnderWayHaveTheirEventsPromisedAndPtDisabledComesAfterThem) {
  open(4);
  EXPECT_EQ(fates(6, bulk.size()).size(), 6u);
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_PUT, PTL_EVENT_PUT, PTL_EVENT_PUT, PTL_EVENT_PT_DISABLED}));
}

TEST_F(FlowControl, ALongMessageThatWasHeldHasItsEventsPromisedOnceItIsTaken) {
  const uint64_t held_bits = 77;
  eq = target.queue(4);
  pt = target.portal(eq, PTL_PT_FLOWCTRL);
  target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, .ignore_bits = 63}, pt);
  target.append({.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE, .match_bits = held_bits, .list = PTL_OVERFLOW_LIST},
                pt);
  Command command = put_with_ack(bulk.size());
  command.pt_index = static_cast<uint16_t>(pt);
  command.match_bits = held_bits;
  command.source.base = bulk.data();
  initiator.run(command);
  rig.settle();
  std::vector<char> receive(bulk.size());
  target.append({.start = receive.data(),
                 .length = receive.size(),
                 .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED | PTL_ME_EVENT_LINK_DISABLE,
                 .match_bits = held_bits},
                pt);
  fates(6);
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_PUT, PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_PT_DISABLED}));
}

TEST_F(FlowControl, AnEntryMaySuppressThePtDisabledThatItCauses) {
  open(4, PTL_ME_EVENT_FLOWCTRL_DISABLE);
  EXPECT_EQ(fates(6), first_ok(4, 6));
  EXPECT_EQ(target.kinds(eq), Kinds(4, PTL_EVENT_PUT));
}

TEST_F(FlowControl, EntriesThatReportNothingNeedNoRoom) {
  open(4, PTL_ME_EVENT_COMM_DISABLE);
  EXPECT_EQ(fates(40), first_ok(40, 40));
}

TEST_F(FlowControl, RoomIsKeptForTheUnlinkEventsOfTheLastMessage) {
  open(5, PTL_ME_USE_ONCE);
  target.append(
      {.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE, .ignore_bits = ~0ull}, pt);
  target.append(
      {.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE, .ignore_bits = ~0ull}, pt);
  EXPECT_EQ(fates(3), first_ok(2, 3));
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_PT_DISABLED}));
}

}  // namespace
}  // namespace portunus::test
