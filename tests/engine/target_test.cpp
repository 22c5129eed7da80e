// A request at its target: matching, placing, permissions, reports, answers. Two engines, stepped by hand.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "tests/engine/two_engines.hpp"

namespace portunus::test {
namespace {

struct Target : TwoEngines {};

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
  target.append(
      {.start = memory,
       .length = 64,
       .options = PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_BYTES,
       .ct = ct});
  initiator.run(initiator.put(data, 11, 1));
  rig.settle();
  EXPECT_TRUE(target.events(target_eq).empty());
  EXPECT_EQ(target.value(ct).success, 11u);
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

}  // namespace
}  // namespace portunus::test
