// A request at its target: matching, placing, permissions, reports, answers. Two engines, stepped by hand.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "tests/support/rig.hpp"

namespace portunus::test {
namespace {

using Kinds = std::vector<int>;

struct Target : ::testing::Test {
  Rig rig{2};
  Node& initiator = rig[0];
  Node& target = rig[1];
  uint32_t target_eq = target.queue();
  uint32_t initiator_eq = initiator.queue();
  char memory[64] = {};
  char data[64] = "the quick brown fox jumps over the lazy dog";

  void SetUp() override { target.portal(target_eq); }
  Command put_with_ack(uint64_t length, uint64_t bits = 0, ptl_ack_req_t ack = PTL_ACK_REQ) {
    Command command = initiator.put(data, length, 1, bits);
    command.ack = ack;
    command.source.eq = initiator_eq;
    return command;
  }
  // The failure type in the ACK of one put.
  int fate(const Command& command) {
    initiator.run(command);
    rig.settle();
    auto events = initiator.events(initiator_eq);
    EXPECT_FALSE(events.empty());
    return events.empty() ? -1 : events.back().ni_fail_type;
  }
};

TEST_F(Target, PutMovesDataAndReportsSendThenAckAtTheInitiatorAndPutAtTheTarget) {
  int tag;
  target.append({.start = memory, .length = 64, .match_bits = 7, .user_ptr = &tag});
  Command command = put_with_ack(10, 7);
  command.hdr_data = 99;
  command.remote_offset = 4;
  initiator.run(command);
  EXPECT_EQ(initiator.kinds(initiator_eq), Kinds{PTL_EVENT_SEND});
  rig.settle();
  auto acks = initiator.events(initiator_eq);
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_EQ(acks[0].type, PTL_EVENT_ACK);
  EXPECT_EQ(acks[0].mlength, 10u);
  EXPECT_EQ(acks[0].remote_offset, 4u);
  auto events = target.events(target_eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PTL_EVENT_PUT);
  EXPECT_EQ(events[0].start, memory + 4);
  EXPECT_EQ(events[0].user_ptr, &tag);
  EXPECT_EQ(events[0].hdr_data, 99u);
  EXPECT_EQ(events[0].initiator.rank, 0u);
  EXPECT_EQ(events[0].ptl_list, PTL_PRIORITY_LIST);
  EXPECT_EQ(std::string(memory + 4, 10), std::string(data, 10));
}

TEST_F(Target, MatchingIgnoresTheIgnoreBitsAndTakesTheFirstAppended) {
  char other[64] = {};
  target.append({.start = memory, .length = 64, .match_bits = 0xf0, .ignore_bits = 0x0f});
  target.append({.start = other, .length = 64, .match_bits = 0xf3});
  initiator.run(initiator.put(data, 3, 1, 0xf3));
  rig.settle();
  EXPECT_EQ(memory[0], data[0]);
  EXPECT_EQ(other[0], 0);
}

TEST_F(Target, AnEntryForAnotherInitiatorDoesNotMatch) {
  target.append({.start = memory, .length = 64, .rank = 1});
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_DROPPED);
}

TEST_F(Target, AMessageWithoutAMatchIsDroppedAndCounted) {
  EXPECT_EQ(fate(put_with_ack(3, 1)), PTL_NI_DROPPED);
  EXPECT_EQ(target.engine.interface(0).status[PTL_SR_DROP_COUNT].load(), 1);
}

TEST_F(Target, PermissionIsNotPartOfMatching) {
  char second[64] = {};
  target.append({.start = memory, .length = 64, .uid = 4711});
  target.append({.start = second, .length = 64});
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_PERM_VIOLATION);
  EXPECT_EQ(second[0], 0);
  EXPECT_EQ(target.engine.interface(0).status[PTL_SR_PERMISSION_VIOLATIONS].load(), 1);
  EXPECT_EQ(target.engine.interface(0).status[PTL_SR_DROP_COUNT].load(), 0);
}

TEST_F(Target, AnOperationThatTheEntryDoesNotAllowIsAViolationAndLeavesTheEntry) {
  target.append({.start = memory, .length = 64, .options = PTL_ME_OP_GET | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE});
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_OP_VIOLATION);
  EXPECT_EQ(target.engine.interface(0).status[PTL_SR_OPERATION_VIOLATIONS].load(), 1);
  Command get = initiator.put(data, 3, 1);
  get.verb = Verb::get;
  get.source.eq = initiator_eq;
  EXPECT_EQ(fate(get), PTL_NI_OK);
}

TEST_F(Target, ALongerMessageIsTruncatedUnlessTheEntryForbidsIt) {
  target.append({.start = memory, .length = 4, .options = PTL_ME_OP_PUT | PTL_ME_NO_TRUNCATE | PTL_ME_EVENT_LINK_DISABLE});
  char second[8] = {};
  target.append({.start = second, .length = 5});
  initiator.run(put_with_ack(10));
  rig.settle();
  EXPECT_EQ(memory[0], 0);
  EXPECT_EQ(std::string(second, 8), std::string("the q\0\0\0", 8));
  auto events = target.events(target_eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].rlength, 10u);
  EXPECT_EQ(events[0].mlength, 5u);
}

TEST_F(Target, AnOffsetBeyondTheEndMovesNothingAndIsNoError) {
  target.append({.start = memory, .length = 8});
  Command command = put_with_ack(4);
  command.remote_offset = 1000;
  initiator.run(command);
  rig.settle();
  auto events = target.events(target_eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].mlength, 0u);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_OK);
}

TEST_F(Target, UseOnceLeavesTheListAndAutoUnlinkFollowsTheCommunicationEvent) {
  const uint32_t handle =
      target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE});
  initiator.run(initiator.put(data, 3, 1));
  rig.settle();
  EXPECT_EQ(target.kinds(target_eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(target.engine.unlink(handle), PTL_ARG_INVALID);
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_DROPPED);
}

TEST_F(Target, ALocallyManagedEntryPacksMessagesAndUnlinksBelowMinFree) {
  target.append({.start = memory, .length = 16, .options = PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_LINK_DISABLE, .min_free = 8});
  initiator.run(initiator.put("abcdef", 6, 1));
  rig.settle();
  EXPECT_EQ(target.kinds(target_eq), Kinds{PTL_EVENT_PUT});
  initiator.run(initiator.put("ghij", 4, 1));
  rig.settle();
  EXPECT_EQ(target.kinds(target_eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(std::string(memory, 10), "abcdefghij");
}

TEST_F(Target, EventOptionsSuppressEventsButNeverCounts) {
  const uint32_t ct = target.counter();
  target.append({.start = memory,
                 .length = 64,
                 .options = PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_BYTES,
                 .ct = ct});
  initiator.run(initiator.put(data, 11, 1));
  rig.settle();
  EXPECT_TRUE(target.events(target_eq).empty());
  EXPECT_EQ(target.value(ct).success, 11u);
}

TEST_F(Target, CtAndOcAcknowledgementsCountAndMakeNoFullEvent) {
  const uint32_t ct = initiator.counter();
  for (ptl_ack_req_t ack : {PTL_CT_ACK_REQ, PTL_OC_ACK_REQ}) {
    Command command = put_with_ack(3, 0, ack);
    command.source.ct = ct;
    command.source.options = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SEND_DISABLE;
    initiator.run(command);  // dropped: nothing is appended
    rig.settle();
  }
  EXPECT_TRUE(initiator.events(initiator_eq).empty());
  EXPECT_EQ(initiator.value(ct).failure, 2u);
}

TEST_F(Target, GetReadsTheEntryAndReportsReply) {
  std::snprintf(memory, sizeof memory, "forty-two");
  target.append({.start = memory, .length = 64});
  char into[16] = {};
  Command get = initiator.put(into, 9, 1);
  get.verb = Verb::get;
  get.source.eq = initiator_eq;
  initiator.run(get);
  rig.settle();
  EXPECT_EQ(std::string(into), "forty-two");
  EXPECT_EQ(initiator.kinds(initiator_eq), Kinds{PTL_EVENT_REPLY});
  EXPECT_EQ(target.kinds(target_eq), Kinds{PTL_EVENT_GET});
}

TEST_F(Target, FetchAtomicReturnsTheOldValueAndReportsSendAndReply) {
  uint64_t word = 40, operand = 2, old = 0;
  target.append({.start = &word, .length = 8});
  Command command = initiator.put(&operand, 8, 1);
  command.verb = Verb::fetch_atomic;
  command.op = PTL_SUM;
  command.datatype = PTL_UINT64_T;
  command.source.eq = initiator_eq;
  command.result.base = &old;
  command.result.eq = initiator_eq;
  initiator.run(command);
  rig.settle();
  EXPECT_EQ(word, 42u);
  EXPECT_EQ(old, 40u);
  EXPECT_EQ(initiator.kinds(initiator_eq), (Kinds{PTL_EVENT_SEND, PTL_EVENT_REPLY}));
  EXPECT_EQ(target.kinds(target_eq), Kinds{PTL_EVENT_FETCH_ATOMIC});
}

TEST_F(Target, ADatumAcrossTwoIovecElementsIsChangedWhole) {
  alignas(8) std::byte low[4], high[12];
  uint64_t words[2] = {0x1122334455667788, 5};
  std::memcpy(low, words, 4);
  std::memcpy(high, reinterpret_cast<std::byte*>(words) + 4, 12);
  ptl_iovec_t iov[2] = {{low, 4}, {high, 12}};
  target.append({.start = iov, .length = 2, .options = PTL_ME_OP_PUT | PTL_IOVEC | PTL_ME_EVENT_LINK_DISABLE});
  const uint64_t add[2] = {0x100000001, 7};
  Command command = initiator.put(add, 16, 1);
  command.verb = Verb::atomic;
  command.op = PTL_SUM;
  command.datatype = PTL_UINT64_T;
  initiator.run(command);
  rig.settle();
  std::memcpy(words, low, 4);
  std::memcpy(reinterpret_cast<std::byte*>(words) + 4, high, 12);
  EXPECT_EQ(words[0], 0x1122334455667788u + 0x100000001u);
  EXPECT_EQ(words[1], 12u);
}

TEST_F(Target, BulkPutIsMatchedFirstAndThenPulledAndSendComesWithTheAnswer) {
  std::vector<int> source(100'000), sink(100'000);
  std::iota(source.begin(), source.end(), 1);
  target.append({.start = sink.data(), .length = 400'000});
  Command command = put_with_ack(400'000);
  command.source.base = source.data();
  initiator.run(command);
  EXPECT_TRUE(initiator.events(initiator_eq).empty());
  rig.settle();
  EXPECT_EQ(initiator.kinds(initiator_eq), (Kinds{PTL_EVENT_SEND, PTL_EVENT_ACK}));
  EXPECT_EQ(sink, source);
}

TEST_F(Target, ABulkPutWithoutAMatchFreesItsSourceAndSaysSo) {
  std::vector<char> source(400'000);
  Command command = put_with_ack(400'000, 0, PTL_NO_ACK_REQ);
  command.source.base = source.data();
  initiator.run(command);
  rig.settle();
  auto events = initiator.events(initiator_eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PTL_EVENT_SEND);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_OK);
}

TEST_F(Target, BulkDataOfManyIovecElementsIsStreamedBothWays) {
  std::vector<char> a(150'000), b(150'000), sink(300'000);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<char>(i * 7), b[i] = static_cast<char>(i * 13);
  ptl_iovec_t iov[2] = {{a.data(), a.size()}, {b.data(), b.size()}};
  target.append({.start = sink.data(), .length = sink.size()});
  Command put = put_with_ack(300'000);
  put.source.base = iov;
  put.source.iov_count = 2;
  initiator.run(put);
  rig.settle();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), sink.begin()));
  EXPECT_TRUE(std::equal(b.begin(), b.end(), sink.begin() + 150'000));
  std::vector<char> c(150'000), d(150'000);
  ptl_iovec_t into[2] = {{c.data(), c.size()}, {d.data(), d.size()}};
  Command get = put;
  get.verb = Verb::get;
  get.source.base = into;
  initiator.run(get);
  rig.settle();
  EXPECT_EQ(c, a);
  EXPECT_EQ(d, b);
}

TEST_F(Target, ADisabledPortalRefusesUntilItIsEnabledAgain) {
  target.append({.start = memory, .length = 64});
  EXPECT_EQ(target.engine.portal_disable(0, 0), PTL_OK);
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_PT_DISABLED);
  EXPECT_TRUE(target.events(target_eq).empty());
  target.engine.portal_enable(0, 0);
  EXPECT_EQ(fate(put_with_ack(3)), PTL_NI_OK);
}

TEST_F(Target, FlowControlDisablesThePortalOnceWhenNothingMatches) {
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
struct FlowControl : Target {
  uint32_t eq = 0, pt = 0;
  void open(uint64_t count, uint32_t options = 0) {
    eq = target.queue(count);
    pt = target.portal(eq, PTL_PT_FLOWCTRL);
    target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | options, .ignore_bits = ~0ull}, pt);
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
  target.engine.portal_enable(0, pt);
  EXPECT_EQ(fates(9), first_ok(8, 9));
  EXPECT_EQ(target.kinds(eq), expected);
}

TEST_F(FlowControl, EnabledWithAFullQueueItClosesAgainAndNothingIsOverwritten) {
  open(8);
  fates(9);
  for (int i = 0; i < 50; ++i) {
    target.engine.portal_enable(0, pt);
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
  target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE, .ignore_bits = ~0ull}, pt);
  target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE, .ignore_bits = ~0ull}, pt);
  EXPECT_EQ(fates(3), first_ok(2, 3));
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_PT_DISABLED}));
}

TEST_F(Target, AFullTransportHoldsMessagesBackInOrderAndLosesNone) {
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

TEST_F(Target, AMessageToAProcessThatDoesNotExistIsUndeliverable) {
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

TEST_F(Target, SendDisableSilencesASendThatFailsToo) {
  Node stranger(rig.hub, {0x7f000001, 77});
  stranger.engine.interface(0).options = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
  stranger.engine.interface(0).open.store(true);
  const uint32_t eq = stranger.queue(), ct = stranger.counter();
  Command command = stranger.put(data, 3, 0);
  command.target.phys = {0x7f000001, 4242};
  command.source.eq = eq;
  command.source.ct = ct;
  command.source.options = PTL_MD_EVENT_SEND_DISABLE | PTL_MD_EVENT_CT_SEND;
  stranger.run(command);
  EXPECT_TRUE(stranger.events(eq).empty());
  EXPECT_EQ(stranger.value(ct).failure, 1u);
}

TEST_F(Target, AHeaderThatMakesNoSenseIsCountedAndIgnored) {
  Link* link = nullptr;
  initiator.run(initiator.put(data, 1, 1));
  rig.settle();
  link = target.engine.peer({0x7f000001, 1000})->link;
  ASSERT_NE(link, nullptr);
  wire::Header header{};
  header.kind = wire::Kind::put;
  header.rlength = 500;  // but no payload comes with it
  target.engine.arrived(*link, header, nullptr);
  header.kind = wire::Kind::swap;
  header.op = PTL_MSWAP;
  header.datatype = PTL_DOUBLE;  // not permitted
  target.engine.arrived(*link, header, nullptr);
  header.kind = static_cast<wire::Kind>(200);
  target.engine.arrived(*link, header, nullptr);
  header.kind = wire::Kind::stream_request;
  header.token = 0xdeadbeef;
  target.engine.arrived(*link, header, nullptr);
  EXPECT_EQ(target.engine.stats().malformed.read(), 4u);
}

TEST_F(Target, WhatWouldNotFitOneAnswerOrMemoryIsRefusedBeforeItIsMatched) {
  initiator.run(initiator.put(data, 1, 1));
  rig.settle();
  Link* link = target.engine.peer({0x7f000001, 1000})->link;
  target.append({.start = nullptr, .length = PTL_SIZE_MAX});
  wire::Header header{};
  header.kind = wire::Kind::get;  // not bulk, so the answer would carry all of it
  header.token = 1;
  header.rlength = 60'000;
  target.engine.arrived(*link, header, nullptr);
  header.kind = wire::Kind::atomic;
  header.op = PTL_SUM;
  header.datatype = PTL_UINT8_T;
  header.flags = wire::kBulk | wire::kNoRegion;
  header.rlength = uint64_t{1} << 60;  // bulk operands are gathered first
  target.engine.arrived(*link, header, nullptr);
  header.kind = wire::Kind::fetch_atomic;
  target.engine.arrived(*link, header, nullptr);
  header.rlength = 60'000;
  header.token = 0;  // nobody to give the old data to
  target.engine.arrived(*link, header, nullptr);
  header.token = 1;
  header.flags = wire::kBulk;  // operands are asked for, never pulled
  header.payload_size = sizeof(wire::Region);
  target.engine.arrived(*link, header, nullptr);
  header.kind = wire::Kind::swap;
  header.op = PTL_CSWAP;  // has an operand, which a bulk request has no place for
  header.flags = wire::kBulk | wire::kNoRegion;
  header.payload_size = 0;
  header.rlength = 1;
  target.engine.arrived(*link, header, nullptr);
  EXPECT_EQ(target.engine.stats().malformed.read(), 6u);
  EXPECT_EQ(target.engine.stats().matches.read(), 0u);
}

TEST_F(Target, NoMoreIsStreamedOutAtATimeThanOneWindow) {
  std::vector<char> source(8 << 20);
  ptl_iovec_t parts[] = {{source.data(), source.size()}};  // cannot be exposed, so the target asks for it
  Command command = initiator.put(nullptr, source.size(), 1);
  command.source.base = parts;
  command.source.iov_count = 1;
  command.ack = PTL_ACK_REQ;
  initiator.run(command);
  Link* link = initiator.engine.peer({0x7f000001, 1001})->link;
  wire::Header header{};
  header.kind = wire::Kind::stream_request;
  header.token = uint64_t{1} << 32 | 1;  // the first operation
  header.rlength = source.size();
  initiator.engine.arrived(*link, header, nullptr);
  EXPECT_EQ(initiator.engine.stats().malformed.read(), 1u);
  header.kind = wire::Kind::ack;
  header.flags = wire::kSourceRead;  // but the acknowledgement that was asked for is still due
  header.rlength = 0;
  initiator.engine.arrived(*link, header, nullptr);
  EXPECT_EQ(initiator.engine.stats().malformed.read(), 2u);
  EXPECT_FALSE(initiator.engine.flushed());
}

TEST_F(Target, AMessageHeldBackThatThenCannotLeaveIsUndeliverable) {
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

}  // namespace
}  // namespace portunus::test
