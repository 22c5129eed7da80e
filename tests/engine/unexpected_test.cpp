// Messages that come before their entry: overflow list, *_OVERFLOW events, HOLD and completion by the engine (E1).
#include <gtest/gtest.h>

#include <string>

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

TEST_F(Unexpected, AnEntryConsumedAtAppendIsNeverLinked) {
  target.append({.start = overflow, .length = 64, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  put("a");
  const uint32_t handle = target.append({.start = memory, .length = 64, .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE});
  EXPECT_EQ(target.kinds(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(target.engine.unlink(handle), PTL_ARG_INVALID);
}

TEST_F(Unexpected, APersistentEntryConsumesEveryMatchInOrderAndIsThenLinked) {
  target.append({.start = overflow, .length = 64, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
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
  EXPECT_EQ(target.engine.unlink(handle), PTL_IN_USE);
  target.append({.start = memory, .length = 64, .options = kPut | PTL_ME_USE_ONCE});
  EXPECT_EQ(target.engine.unlink(handle), PTL_OK);
}

TEST_F(Unexpected, SearchReportsWithoutRemovingAndDeleteRemoves) {
  target.append({.start = overflow, .length = 64, .options = kPut | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  put("a");
  ListEntry like;
  like.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE;
  like.ignore_bits = ~0ull;
  like.source_mask = 0;
  target.engine.search(0, 0, like, like, PTL_SEARCH_ONLY);
  EXPECT_EQ(target.kinds(eq), Kinds{PTL_EVENT_SEARCH});
  target.engine.search(0, 0, like, like, PTL_SEARCH_DELETE);
  EXPECT_EQ(target.kinds(eq), Kinds{PTL_EVENT_PUT_OVERFLOW});
  target.engine.search(0, 0, like, like, PTL_SEARCH_DELETE);
  auto events = target.events(eq);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PTL_EVENT_SEARCH);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_NO_MATCH);
}

TEST_F(Unexpected, TheEngineCompletesAnEntryFromAnOverflowBufferAsIfTheMessageHadBeenExpected) {
  const uint32_t ct = target.counter();
  target.append({.start = overflow, .length = 64, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  put("hello");
  target.append({.start = memory, .length = 64, .options = kPut | PTL_ME_USE_ONCE | PTLX_ME_COMPLETE_UNEXPECTED | PTL_ME_EVENT_CT_COMM, .ct = ct});
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

TEST_F(Unexpected, NoTruncateWithALocalOffsetIsAskedAgainForEachHeader) {
  target.append({.start = overflow, .length = 64, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  put("12345");
  put("67890");
  put("x");
  target.append({.start = memory, .length = 8, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_NO_TRUNCATE | PTLX_ME_COMPLETE_UNEXPECTED});
  EXPECT_EQ(std::string(memory), "12345x");  // the second would not fit behind the first
}

}  // namespace
}  // namespace portunus::test
