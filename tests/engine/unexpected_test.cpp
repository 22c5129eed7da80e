// Messages that come before their entry: overflow list, *_OVERFLOW events, HOLD and completion by the engine (E1).
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/target/payload_buffers.hpp"
#include "tests/support/rig.hpp"

namespace portunus::test {
namespace {

using Kinds = std::vector<int>;
constexpr uint32_t kPut = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE;

struct Unexpected : ::testing::Test {
  Rig rig{2};
  Node& initiator = rig[0];
  Node& target = rig[1];
  uint32_t eq = target.queue();
  char overflow[64] = {};
  char memory[64] = {};

  void SetUp() override { target.portal(eq); }
  void put(const char* text, uint64_t bits = 0) {
    initiator.run(initiator.put(text, std::strlen(text), 1, bits));
    rig.settle();
  }
};

TEST_F(Unexpected, TheOverflowListTakesWhatNoPriorityEntryMatchesAndRemembersItsHeader) {
  target.append({.start = overflow, .length = 64, .options = kPut | PTL_ME_MANAGE_LOCAL, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
  put("early", 3);
  auto events = target.events(eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PTL_EVENT_PUT);
  EXPECT_EQ(events[0].ptl_list, PTL_OVERFLOW_LIST);
  int tag;
  target.append({.start = memory, .length = 64, .options = kPut | PTL_ME_USE_ONCE, .match_bits = 3, .user_ptr = &tag});
  events = target.events(eq);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, PTL_EVENT_PUT_OVERFLOW);
  EXPECT_EQ(events[0].start, overflow);
  EXPECT_EQ(events[0].user_ptr, &tag);
  EXPECT_EQ(events[0].mlength, 5u);
  EXPECT_EQ(events[1].type, PTL_EVENT_AUTO_UNLINK);
}

TEST_F(Unexpected, PutOverflowThenAutoFreeThenAutoUnlink) {
  target.append({.start = overflow, .length = 8, .options = kPut | PTL_ME_MANAGE_LOCAL, .min_free = 8, .list = PTL_OVERFLOW_LIST});
  put("x");
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK}));
  target.append({.start = memory, .length = 64, .options = kPut | PTL_ME_USE_ONCE});
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_FREE, PTL_EVENT_AUTO_UNLINK}));
}

// More than the blocks of headers that are kept for good, so all go; then some again.
TEST_F(Unexpected, ThousandsOfHeadersAreTakenInOrderAndSoAreThoseThatComeAfterThem) {
  constexpr uint64_t kMany = 3000;
  target.append({.options = kPut | PTLX_ME_HOLD, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < kMany; ++i) {
      initiator.run(initiator.put(&i, sizeof i, 1, i % 7));
      if (i % 50 == 0) rig.settle();
    }
    rig.settle();
    uint64_t value = 0;
    for (uint64_t i = 0; i < kMany; ++i) {
      target.append(
          {.start = &value, .length = sizeof value, .options = kPut | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED, .match_bits = i % 7});
      target.events(eq);
      ASSERT_EQ(value, i);
    }
  }
}

TEST_F(Unexpected, WhatIsHeldWhenItsPortalGoesIsRefused) {
  const uint32_t hold = target.append({.options = kPut | PTLX_ME_HOLD, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
  const uint32_t answers = initiator.queue();
  const std::vector<char> bulk(100'000);
  for (const uint64_t size : {uint64_t{0}, uint64_t{100'000}}) {
    Command command = initiator.put(bulk.data(), size, 1);
    command.source.eq = answers;
    command.ack = size == 0 ? PTL_ACK_REQ : PTL_NO_ACK_REQ;
    initiator.run(command);
  }
  rig.settle();
  EXPECT_EQ(initiator.kinds(answers), (Kinds{PTL_EVENT_SEND}));
  EXPECT_FALSE(initiator.engine.flushed());
  target.engine.table().unlink(hold);
  EXPECT_EQ(target.engine.target().free_portal(0, 0), PTL_OK);
  rig.settle();
  EXPECT_EQ(initiator.kinds(answers), (Kinds{PTL_EVENT_ACK, PTL_EVENT_SEND}));
  EXPECT_TRUE(initiator.engine.flushed());
}

TEST_F(Unexpected, AnEntryConsumedAtAppendIsNeverLinked) {
  target.append(
      {.start = overflow, .length = 64, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  put("a");
  const uint32_t handle = target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE});
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(target.engine.table().unlink(handle), PTL_ARG_INVALID);
}

TEST_F(Unexpected, APersistentEntryConsumesEveryMatchInOrderAndIsThenLinked) {
  target.append({.start = overflow,
                 .length = 64,
                 .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE,
                 .ignore_bits = ~0ull,
                 .list = PTL_OVERFLOW_LIST});
  put("a", 1);
  put("bb", 2);
  put("ccc", 1);
  const uint32_t ct = target.counter();
  target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_OVERFLOW, .match_bits = 1, .ct = ct});
  auto events = target.events(eq);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].mlength, 1u);
  EXPECT_EQ(events[1].mlength, 3u);
  EXPECT_EQ(events[2].type, PTL_EVENT_LINK);
  EXPECT_EQ(target.value(ct).success, 2u);
}

TEST_F(Unexpected, AnOverflowEntryWithRememberedHeadersIsInUse) {
  const uint32_t handle = target.append({.start = overflow, .length = 64, .options = kPut, .list = PTL_OVERFLOW_LIST});
  put("a");
  EXPECT_EQ(target.engine.table().unlink(handle), PTL_IN_USE);
  target.append({.start = memory, .length = 64, .options = kPut | PTL_ME_USE_ONCE});
  EXPECT_EQ(target.engine.table().unlink(handle), PTL_OK);
}

TEST_F(Unexpected, SearchReportsWithoutRemovingAndDeleteRemoves) {
  target.append({.start = overflow, .length = 64, .options = kPut | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  put("a");
  ListEntry like;
  like.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE;
  like.ignore_bits = ~0ull;
  like.source_mask = 0;
  target.engine.target().unexpected().search(0, 0, like, like, PTL_SEARCH_ONLY);
  EXPECT_EQ(target.kinds(eq), Kinds{PTL_EVENT_SEARCH});
  target.engine.target().unexpected().search(0, 0, like, like, PTL_SEARCH_DELETE);
  EXPECT_EQ(target.kinds(eq), Kinds{PTL_EVENT_PUT_OVERFLOW});
  target.engine.target().unexpected().search(0, 0, like, like, PTL_SEARCH_DELETE);
  auto events = target.events(eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PTL_EVENT_SEARCH);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_NO_MATCH);
}

// A message of 6 MiB into the overflow list: after one step its header is known and its data still arriving.
struct Arriving : Unexpected {
  std::vector<char> source = std::vector<char>(6 << 20, 'b'), sink = std::vector<char>(6 << 20);
  ListEntry like;
  void begin() {
    target.append({.start = sink.data(),
                   .length = sink.size(),
                   .options = kPut | PTL_ME_EVENT_COMM_DISABLE,
                   .ignore_bits = ~0ull,
                   .list = PTL_OVERFLOW_LIST});
    initiator.run(initiator.put(source.data(), source.size(), 1, 3));
    target.engine.step(0);
    ASSERT_TRUE(target.engine.busy());
    like.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE;
    like.ignore_bits = ~0ull;
    like.source_mask = 0;
    like.length = sink.size();
  }
};

TEST_F(Arriving, SearchOnlyFindsItsHeader) {
  begin();
  EXPECT_EQ(target.engine.target().unexpected().search(0, 0, like, like, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(target.kinds(eq), Kinds{PTL_EVENT_SEARCH});
}

TEST_F(Arriving, SearchDeleteIsToWaitForItsDataAndThenHandsItOver) {
  begin();
  for (uint32_t once : {uint32_t{PTL_ME_USE_ONCE}, 0u}) {
    like.options = PTL_ME_OP_PUT | once;
    EXPECT_EQ(target.engine.target().unexpected().search(0, 0, like, like, PTL_SEARCH_DELETE), PTL_IN_USE);
  }
  EXPECT_TRUE(target.events(eq).empty());
  rig.settle();
  EXPECT_EQ(target.engine.target().unexpected().search(0, 0, like, like, PTL_SEARCH_DELETE), PTL_OK);
  auto events = target.events(eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PTL_EVENT_PUT_OVERFLOW);
  EXPECT_EQ(events[0].mlength, source.size());
  EXPECT_EQ(sink, source);
}

TEST_F(Arriving, AnAppendedEntryIsToldWhenTheDataIsThere) {
  begin();
  target.append({.start = memory, .length = 64, .options = kPut | PTL_ME_USE_ONCE, .match_bits = 3});
  EXPECT_TRUE(target.events(eq).empty());
  rig.settle();
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(sink, source);
}

TEST_F(Arriving, AMessageWhoseSenderDiesIsHandedOverAsAFailure) {
  begin();
  const uint32_t ct = target.counter();
  target.append({.start = memory,
                 .length = 64,
                 .options = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_SUCCESS_DISABLE | PTL_ME_EVENT_CT_OVERFLOW,
                 .match_bits = 3,
                 .ct = ct});
  target.engine.lost(*target.engine.peer({0x7f000001, 1000})->link);
  rig.settle();
  auto events = target.events(eq);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, PTL_EVENT_PUT_OVERFLOW);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_UNDELIVERABLE);
  EXPECT_EQ(events[0].mlength, 0u);
  EXPECT_EQ(target.value(ct).failure, 1u);
}

TEST_F(Unexpected, NoTruncateIsAskedBySearchesAsByAppends) {
  target.append({.start = overflow, .length = 64, .options = kPut | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  Command command = initiator.put("12345", 5, 1);
  command.remote_offset = 6;
  initiator.run(command);
  rig.settle();
  ListEntry like;
  like.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_NO_TRUNCATE;
  like.ignore_bits = ~0ull;
  like.source_mask = 0;
  for (uint64_t length : {5, 10, 11}) {
    like.length = length;
    target.engine.target().unexpected().search(0, 0, like, like, PTL_SEARCH_ONLY);
    EXPECT_EQ(target.events(eq)[0].ni_fail_type, length < 11 ? PTL_NI_NO_MATCH : PTL_NI_OK) << length;
  }
}

TEST_F(Unexpected, AnEntryThatHeadersUsedUpAtItsAppendCanBeUnlinkedOnce) {
  target.append(
      {.start = overflow, .length = 64, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  for (int i = 0; i < 3; ++i) put("12345678");
  const uint32_t handle = target.append(
      {.start = memory, .length = 24, .options = PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_LOCAL_INC_UH_RLENGTH, .min_free = 10});
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(target.engine.table().unlink(handle), PTL_OK);
  EXPECT_EQ(target.engine.table().unlink(handle), PTL_ARG_INVALID);
}

TEST_F(Unexpected, TheEngineCompletesAnEntryFromAnOverflowBufferAsIfTheMessageHadBeenExpected) {
  const uint32_t ct = target.counter();
  target.append(
      {.start = overflow, .length = 64, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  put("hello");
  target.append(
      {.start = memory, .length = 64, .options = kPut | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED | PTL_ME_EVENT_CT_COMM, .ct = ct});
  EXPECT_EQ(std::string(memory), "hello");
  EXPECT_EQ(target.value(ct).success, 1u);
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK}));
}

TEST_F(Unexpected, HoldKeepsEagerDataAndAcknowledgesOnlyWhenItIsTaken) {
  const uint32_t initiator_eq = initiator.queue();
  target.append({.options = kPut | PTLX_ME_HOLD, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
  Command command = initiator.put("held back", 9, 1, 5);
  command.ack = PTL_ACK_REQ;
  command.source.eq = initiator_eq;
  initiator.run(command);
  rig.settle();
  EXPECT_EQ(initiator.kinds(initiator_eq), Kinds{PTL_EVENT_SEND});
  EXPECT_TRUE(target.events(eq).empty());
  target.append({.start = memory, .length = 64, .options = kPut | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED, .match_bits = 5});
  rig.settle();
  EXPECT_EQ(std::string(memory), "held back");
  EXPECT_EQ(initiator.kinds(initiator_eq), Kinds{PTL_EVENT_ACK});
  auto events = target.events(eq);
  ASSERT_GE(events.size(), 1u);
  EXPECT_EQ(events[0].type, PTL_EVENT_PUT);
  EXPECT_EQ(events[0].ptl_list, PTL_OVERFLOW_LIST);
}

TEST_F(Unexpected, HoldLeavesBulkDataAtTheInitiatorUntilItIsTaken) {
  const uint32_t initiator_eq = initiator.queue();
  std::vector<char> source(500'000, 'q'), sink(500'000);
  target.append({.options = kPut | PTLX_ME_HOLD, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
  Command command = initiator.put(source.data(), source.size(), 1);
  command.source.eq = initiator_eq;
  initiator.run(command);
  rig.settle();
  EXPECT_TRUE(initiator.events(initiator_eq).empty());
  target.append({.start = sink.data(), .length = sink.size(), .options = kPut | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED});
  rig.settle();
  EXPECT_EQ(sink, source);
  EXPECT_EQ(initiator.kinds(initiator_eq), Kinds{PTL_EVENT_SEND});
}

TEST_F(Unexpected, DataThatLiesInSeveralPiecesOfAnOverflowBufferIsCompletedWhole) {
  char first[4], second[64];
  ptl_iovec_t pieces[] = {{first, sizeof first}, {second, sizeof second}};
  target.append({.start = pieces, .length = 2, .options = kPut | PTL_IOVEC, .list = PTL_OVERFLOW_LIST});
  put("in pieces");
  target.append({.start = memory, .length = 64, .options = kPut | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED});
  EXPECT_EQ(std::string(memory, 9), "in pieces");
}

TEST_F(Unexpected, AHeldMessageWhoseInitiatorHasDiedSinceEndsAsUndeliverable) {
  std::vector<char> source(500'000, 'q'), sink(500'000);
  ptl_iovec_t pieces[] = {{source.data(), source.size()}};  // cannot be pulled: it would be streamed
  target.append({.options = kPut | PTLX_ME_HOLD, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
  Command command = initiator.put(nullptr, source.size(), 1);
  command.source.base = pieces;
  command.source.iov_count = 1;
  initiator.run(command);
  rig.settle();
  target.engine.lost(*target.engine.peer({0x7f000001, 1000})->link);
  target.append({.start = sink.data(), .length = sink.size(), .options = kPut | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED});
  rig.settle();
  auto events = target.events(eq);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, PTL_EVENT_PUT);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_UNDELIVERABLE);
  EXPECT_TRUE(target.engine.flushed());
}

TEST_F(Unexpected, NoTruncateWithALocalOffsetIsAskedAgainForEachHeader) {
  target.append(
      {.start = overflow, .length = 64, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  put("12345");
  put("67890");
  put("x");
  target.append({.start = memory, .length = 8, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_NO_TRUNCATE | PTLX_ME_COMPLETE_UNEXPECTED});
  EXPECT_EQ(std::string(memory), "12345x");  // the second would not fit behind the first
}

// ---- payloads that come again and again take no fresh memory, and what is kept has a bound ----

TEST(PayloadBuffers, GivesABufferThatCameBackToTheNextOfItsSize) {
  PayloadBuffers buffers;
  for (const size_t bytes : {4097, 8192, 8193, 16384, 30000, 40000, 65536}) {
    auto first = buffers.take(bytes);
    std::memset(first.get(), 1, bytes);
    const std::byte* const place = first.get();
    buffers.give_back(std::move(first), bytes);
    auto second = buffers.take(bytes);
    EXPECT_EQ(second.get(), place) << bytes;
    std::memset(second.get(), 2, bytes);
    auto third = buffers.take(bytes);
    EXPECT_NE(third.get(), place) << "taken twice: " << bytes;
  }
}

TEST(PayloadBuffers, ServesAnyLengthThatFitsTheBuffersSize) {
  PayloadBuffers buffers;
  auto all = buffers.take(5000);
  const std::byte* const place = all.get();
  buffers.give_back(std::move(all), 5000);
  auto longer = buffers.take(8192);
  EXPECT_EQ(longer.get(), place);
  std::memset(longer.get(), 3, 8192);
}

TEST(PayloadBuffers, KeepsOneMebibyteAtMost) {
  PayloadBuffers buffers;
  constexpr size_t kBytes = 65536, kMost = 16;
  std::vector<std::unique_ptr<std::byte[]>> all;
  std::vector<const std::byte*> places;
  for (size_t i = 0; i < 3 * kMost; ++i) places.push_back(all.emplace_back(buffers.take(kBytes)).get());
  for (auto& one : all) buffers.give_back(std::move(one), kBytes);
  all.clear();
  // The last that was kept comes first; the others were freed.
  for (size_t i = kMost; i-- > 0;) EXPECT_EQ(all.emplace_back(buffers.take(kBytes)).get(), places[i]);
}

TEST(PayloadBuffers, LeavesShortAndVeryLongOnesToTheAllocator) {
  PayloadBuffers buffers;
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{65537}, size_t{1} << 22}) {
    auto one = buffers.take(bytes);
    std::memset(one.get(), 4, bytes);
    buffers.give_back(std::move(one), bytes);
  }
  auto all = buffers.take(65536);  // nothing of them counts against what is kept
  buffers.give_back(std::move(all), 65536);
  EXPECT_NE(buffers.take(65536), nullptr);
}

}  // namespace
}  // namespace portunus::test
