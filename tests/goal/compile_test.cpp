// Compiled schedules: their counters, thresholds and match bits, on graphs small enough to read.
#include "engine/goal/schedules/compile.hpp"

#include "engine/goal/schedules/buffered.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace portunus::goal {
namespace {

using Touches = std::vector<Touch>;

Program compiled(Schedule& s, const Touches& touches = {}) {
  s.finish();
  return compile(s, {.rank = 0, .context = 0, .wildcards = {}, .touches = touches});
}

const Operation& of_vertex(const Program& p, VertexId v) {
  for (const auto* list : {&p.early, &p.triggered}) {
    for (const Operation& o : *list) {
      if (o.vertex == v) return o;
    }
  }
  throw std::out_of_range("the program does not contain this vertex");
}

TEST(Compile, EmptyScheduleHasNothingToFinish) {
  Schedule s;
  const Program p = compiled(s);
  EXPECT_EQ(p.increments, (std::vector<uint32_t>{1, 0}));
  EXPECT_TRUE(p.early.empty());
  EXPECT_TRUE(p.triggered.empty());
}

TEST(Compile, IndependentOperationsHangOnStartAndCountIntoFinish) {
  Schedule s;
  s.send(8, 1);
  s.recv(8, 1);
  s.calc(5);
  const Program p = compiled(s);
  EXPECT_EQ(p.increments, (std::vector<uint32_t>{1, 3}));
  for (const VertexId v : {0u, 2u}) {
    EXPECT_EQ(of_vertex(p, v).when.counter, kStart);
    EXPECT_EQ(of_vertex(p, v).when.threshold, 1u);
  }
  ASSERT_EQ(p.early.size(), 1u);
  EXPECT_EQ(p.early[0].vertex, 1u);
  EXPECT_EQ(p.early[0].counter, kFinish);
}

TEST(Compile, OnlyPrerequisiteIsTheTrigger) {
  Schedule s;
  s.recv(8, 1);
  s.send(8, 1);
  s.add_dependency(1, 0);
  const Program p = compiled(s);
  const CounterId own = of_vertex(p, 0).counter;
  EXPECT_NE(own, kFinish);
  EXPECT_EQ(p.increments[own], 1u);
  EXPECT_EQ(of_vertex(p, 1).when.counter, own);
  EXPECT_EQ(of_vertex(p, 1).when.threshold, 1u);
  EXPECT_TRUE(p.relays.empty());
}

TEST(Compile, SeveralPrerequisitesMeetInAJoinWithoutExtraSteps) {
  Schedule s;
  for (int i = 0; i < 3; ++i) s.recv(8, 1);
  s.send(8, 1);
  for (VertexId v = 0; v < 3; ++v) s.add_dependency(3, v);
  const Program p = compiled(s);
  const Point when = of_vertex(p, 3).when;
  EXPECT_EQ(when.threshold, 3u);
  EXPECT_EQ(p.increments[when.counter], 3u);
  for (VertexId v = 0; v < 3; ++v) EXPECT_EQ(of_vertex(p, v).counter, when.counter);
  EXPECT_TRUE(p.relays.empty());
  EXPECT_EQ(p.increments.size(), 3u);
}

TEST(Compile, EndWithSeveralJoinsIncrementsEachOfThem) {
  Schedule s;
  for (int i = 0; i < 5; ++i) s.calc(1);
  s.add_dependency(3, 0);
  s.add_dependency(3, 1);
  s.add_dependency(4, 0);
  s.add_dependency(4, 2);
  const Program p = compiled(s);
  EXPECT_EQ(p.relays.size(), 2u);
  EXPECT_EQ(p.increments[of_vertex(p, 0).counter], 1u);
  for (const VertexId w : {3u, 4u}) EXPECT_EQ(p.increments[of_vertex(p, w).when.counter], 2u);
}

TEST(Compile, TimeThatIsNoneIsNoOperation) {
  Schedule s;
  for (const uint64_t ns : {1u, 1u, 0u, 0u, 1u}) s.calc(ns);
  s.add_dependency(2, 0);
  s.add_dependency(2, 1);
  s.add_dependency(3, 2);
  s.add_dependency(4, 3);
  const Program p = compiled(s);
  EXPECT_EQ(p.triggered.size() + p.relays.size(), 3u);
  EXPECT_EQ(of_vertex(p, 4).when.counter, of_vertex(p, 0).counter);
  EXPECT_EQ(of_vertex(p, 4).when.threshold, 2u);
}

TEST(Compile, AChoiceStartsAtItsNumberAndItsOthersBelongToTheEpoch) {
  Schedule s;
  for (int i = 0; i < 4; ++i) s.calc(1);
  for (const VertexId v : {0u, 1u, 2u}) s.add_dependency(3, v);
  s.set_needs(3, 2);
  const Program p = compiled(s);
  const Point when = of_vertex(p, 3).when;
  EXPECT_EQ(when.threshold, 2u);
  EXPECT_EQ(p.increments[when.counter], 3u);
  ASSERT_EQ(p.relays.size(), 1u);
  EXPECT_EQ(p.relays[0].when.threshold, 3u);
  EXPECT_EQ(p.relays[0].counter, kFinish);
  EXPECT_EQ(p.increments[kFinish], 2u);
}

TEST(Compile, DependenciesThatOthersImplyCostNothing) {
  Schedule s;
  for (int i = 0; i < 4; ++i) s.calc(1);
  for (VertexId w = 1; w < 4; ++w) {
    for (VertexId v = 0; v < w; ++v) s.add_dependency(w, v);
  }
  const Program p = compiled(s);
  EXPECT_EQ(p.triggered.size() + p.relays.size(), 4u);
  EXPECT_EQ(p.increments, (std::vector<uint32_t>{1, 1, 1, 1, 1}));
}

TEST(Compile, TheStartOfSomethingDoesNotImplyItsEnd) {
  Schedule s;
  for (int i = 0; i < 3; ++i) s.calc(1);
  s.add_dependency(1, 0, After::start);
  s.add_dependency(2, 1);
  s.add_dependency(2, 0);
  const Program p = compiled(s);
  EXPECT_EQ(p.increments[of_vertex(p, 2).when.counter], 2u);
}

// Each round of this barrier waits for the messages of all rounds before it: the sets grow by one message each.
TEST(Compile, JoinsThatGrowAreChained) {
  Schedule s;
  constexpr VertexId kRounds = 10;
  for (VertexId i = 0; i < kRounds; ++i) s.recv(0, i);
  for (VertexId i = 0; i < kRounds; ++i) {
    const VertexId send = s.send(0, i);
    for (VertexId earlier = 0; earlier < i; ++earlier) s.add_dependency(send, earlier);
  }
  const Program p = compiled(s);
  for (const uint32_t k : p.increments) EXPECT_TRUE(k <= 2 || k == p.increments[kFinish]);
  EXPECT_LE(p.relays.size(), size_t{kRounds});
}

TEST(Compile, EqualSetsOfPrerequisitesShareAJoin) {
  Schedule s;
  for (VertexId i = 0; i < 10; ++i) s.recv(0, i);
  for (VertexId i = 0; i < 10; ++i) {
    const VertexId send = s.send(0, i);
    for (VertexId earlier = 0; earlier < 10; ++earlier) s.add_dependency(send, earlier);
  }
  const Program p = compiled(s);
  EXPECT_EQ(p.increments.size(), 3u);
  EXPECT_TRUE(p.relays.empty());
}

TEST(Compile, MessageAndPrerequisitesOfAnEarlyReceiveMeetInOneCounter) {
  Schedule s;
  s.calc(1);
  s.calc(1);
  s.recv(8, 1);
  s.send(8, 1);
  s.add_dependency(2, 0);
  s.add_dependency(2, 1);
  s.add_dependency(3, 2);
  const Program p = compiled(s);
  ASSERT_EQ(p.early.size(), 1u);
  const CounterId both = p.early[0].counter;
  EXPECT_EQ(p.increments[both], 3u);
  EXPECT_EQ(of_vertex(p, 0).counter, both);
  EXPECT_EQ(of_vertex(p, 1).counter, both);
  EXPECT_EQ(of_vertex(p, 3).when.counter, both);
  EXPECT_EQ(of_vertex(p, 3).when.threshold, 3u);
}

TEST(Compile, StartDependencyHangsOnTheSameTrigger) {
  Schedule s;
  s.calc(1);
  s.send(8, 1);
  s.send(8, 2);
  s.add_dependency(1, 0);
  s.add_dependency(2, 1, After::start);
  const Program p = compiled(s);
  EXPECT_EQ(of_vertex(p, 2).when.counter, of_vertex(p, 1).when.counter);
  EXPECT_EQ(of_vertex(p, 2).when.threshold, of_vertex(p, 1).when.threshold);
  EXPECT_EQ(p.increments[kFinish], 2u);  // both sends: nothing waits for the end of either
}

TEST(Compile, StartOfAnEarlyReceiveIsNotItsMessage) {
  Schedule s;
  s.calc(1);
  s.recv(8, 1);
  s.send(8, 1);
  s.add_dependency(1, 0);
  s.add_dependency(2, 1, After::start);
  const Program p = compiled(s);
  EXPECT_NE(of_vertex(p, 2).when.counter, p.early[0].counter);
  EXPECT_EQ(of_vertex(p, 2).when.counter, of_vertex(p, 0).counter);
  EXPECT_EQ(p.increments[p.early[0].counter], 2u);
}

TEST(Compile, ReceiveIntoMemoryThatIsReadBeforeIsAppendedWhenTriggered) {
  Schedule s;
  s.send(8, 1);
  s.recv(8, 1);
  s.add_dependency(1, 0);
  const Touches f{{0, {100, 108}}, {1, {104, 112}}};
  const Program p = compiled(s, f);
  EXPECT_TRUE(p.early.empty());
  EXPECT_EQ(std::ranges::count(p.triggered, Action::append, &Operation::action), 1);
  EXPECT_EQ(of_vertex(p, 1).when.counter, of_vertex(p, 0).counter);
}

TEST(Compile, ReceiveIntoMemoryThatOnlyFollowersTouchIsEarly) {
  Schedule s;
  s.recv(8, 1);
  s.calc(1);
  s.send(8, 1);
  s.add_dependency(1, 0);
  s.add_dependency(2, 1, After::start);
  const Touches f{{0, {100, 108}}, {2, {100, 108}}};
  EXPECT_EQ(compiled(s, f).early.size(), 1u);
}

TEST(Compile, FollowingTheStartOfAReceiveIsNotFollowingIt) {
  Schedule s;
  s.recv(8, 1);
  s.send(8, 1);
  s.add_dependency(1, 0, After::start);
  const Touches f{{0, {100, 108}}, {1, {100, 108}}};
  EXPECT_TRUE(compiled(s, f).early.empty());
}

TEST(Compile, ReceiveIntoMemoryThatOthersChangeIsAppendedWhenTriggered) {
  Schedule s;
  s.recv(8, 1);
  s.recv(8, 2);
  s.recv(8, 2);
  s.add_dependency(1, 0);
  s.add_dependency(2, 0);
  const Touches f{{0, {50, 58}}, {1, {100, 108}}, {2, {108, 116}}, {kNoVertex, {90, 101}}};
  const Program p = compiled(s, f);
  EXPECT_EQ(std::ranges::count(p.early, 1u, &Operation::vertex), 0);
  EXPECT_EQ(of_vertex(p, 1).when.counter, of_vertex(p, 0).counter);
  EXPECT_EQ(std::ranges::count(p.early, 2u, &Operation::vertex), 1);
}

TEST(Compile, RangesThatOnlyTouchDoNotConflict) {
  Schedule s;
  s.send(8, 1);
  s.recv(8, 1);
  const Touches f{{0, {100, 108}}, {1, {108, 116}}};
  EXPECT_EQ(compiled(s, f).early.size(), 1u);
}

// ---- Match bits ----------------------------------------------------------------------------------------------------

using Sends = std::vector<VertexId>;

TEST(Buffered, SendsAreThoseAfterWhoseEndAnotherMessageMayGo) {
  Schedule s;
  const VertexId small = s.send(8, 1), first = s.send(5000, 1), work = s.calc(5), second = s.send(5000, 1), last = s.send(5000, 1);
  s.add_dependency(second, small);
  s.add_dependency(work, first);
  s.add_dependency(second, work);
  s.add_dependency(last, second, After::start);
  s.finish();
  EXPECT_EQ(sends_to_buffer(s, {}), Sends{first});
  EXPECT_EQ(sends_to_buffer(s, {}, 4), (Sends{small, first}));
}

TEST(Buffered, AReceiveThatIsAppendedAtTheStartKeepsNobodyWaiting) {
  Schedule s;
  const VertexId send = s.send(5000, 1), recv = s.recv(5000, 1);
  s.add_dependency(recv, send);
  s.finish();
  EXPECT_EQ(sends_to_buffer(s, {}), Sends{});
  const Touches same{{send, {0, 5000}}, {recv, {0, 5000}}};
  EXPECT_EQ(sends_to_buffer(s, same), Sends{send});
}

TEST(Buffered, ACopyTakesThePlaceOfItsSend) {
  Schedule s;
  const VertexId before = s.calc(5), send = s.send(5000, 1), other = s.send(5000, 1), after = s.recv(8, 1), started = s.recv(8, 1);
  s.add_dependency(send, before);
  s.add_dependency(after, send);
  s.add_dependency(started, send, After::start);
  s.finish();
  const Schedule copied = with_copies(s, Sends{send});
  const VertexId copy = s.size();
  ASSERT_EQ(copied.size(), s.size() + 1);
  EXPECT_EQ(copied[copy].kind, Kind::local);
  EXPECT_EQ(copied.prerequisites(copy).front().vertex, before);
  ASSERT_EQ(copied.prerequisites(send).size(), 1u);
  EXPECT_EQ(copied.prerequisites(send).front().vertex, copy);
  EXPECT_EQ(copied.prerequisites(after).front().vertex, copy);
  EXPECT_EQ(copied.prerequisites(started).front().vertex, copy);
  EXPECT_EQ(running_indices(copied)[other], running_indices(s)[other]);
}

TEST(CompileMatchBits, SenderAndReceiverAgreeMessageByMessage) {
  Schedule sender, receiver;
  for (const uint32_t tag : {0u, 7u, 0u, 7u, 7u, 0xfffffffeu, 0u}) {
    sender.send(8, 0, tag);
    receiver.recv(8, 0, tag);
  }
  const Program s = compiled(sender), r = compiled(receiver);
  std::set<uint64_t> seen;
  for (VertexId v = 0; v < sender.size(); ++v) {
    EXPECT_EQ(of_vertex(s, v).match_bits, of_vertex(r, v).match_bits);
    EXPECT_EQ(of_vertex(r, v).ignore_bits(), 0u);
    EXPECT_TRUE(seen.insert(of_vertex(s, v).match_bits).second) << "vertex " << v;
  }
}

TEST(CompileMatchBits, LeaveTheEpochFreeAndKeepContextsApart) {
  Schedule s;
  s.send(8, 1, 5);
  s.finish();
  const uint64_t a = compile(s, {.rank = 0, .context = 0, .wildcards = {}, .touches = {}}).triggered[0].match_bits;
  const uint64_t b = compile(s, {.rank = 0, .context = 0xffff, .wildcards = {}, .touches = {}}).triggered[0].match_bits;
  EXPECT_EQ(a >> kEpochShift & 0xff, 0u);
  EXPECT_EQ(b >> kEpochShift & 0xff, 0u);
  EXPECT_EQ(a ^ b, uint64_t{0xffff} << 44);
}

TEST(CompileMatchBits, TagAndIndexNeverCollide) {
  Schedule s;
  for (uint32_t tag = 0; tag < 40; ++tag) {
    for (int i = 0; i < 70; ++i) s.send(1, 1, tag);
  }
  const Program p = compiled(s);
  std::set<uint64_t> seen;
  for (const Operation& o : p.triggered) EXPECT_TRUE(seen.insert(o.match_bits).second);
}

TEST(CompileMatchBits, TooManyMessagesOfALargeTagAreRefused) {
  Schedule s;
  s.send(8, 1, 0x80000000);
  s.send(8, 1, 0x80000000);
  s.finish();
  try {
    (void)compile(s, {});
    FAIL() << "accepted";
  } catch (const ScheduleError& e) {
    EXPECT_EQ(e.message,
              "the send number 1 is number 2 of its peer and tag, and a tag as large as 2147483648 has no room "
              "for so many messages; use smaller or more tags");
  }
}

TEST(CompileMatchBits, ReceivesOfAnySourceOrTagShareAClassWithWhatTheyMayTake) {
  Schedule sender, receiver;
  sender.send(8, 1, 3);
  sender.send(8, 1, 4);
  receiver.recv(8, kAnySource, 3);
  receiver.recv(8, 0, 4);
  sender.finish();
  receiver.finish();
  const std::vector<Wildcards> wildcards{Wildcards(sender), Wildcards(receiver)};
  const Program s = compile(sender, {.rank = 0, .context = 0, .wildcards = wildcards, .touches = {}});
  const Program r = compile(receiver, {.rank = 1, .context = 0, .wildcards = wildcards, .touches = {}});
  EXPECT_EQ(of_vertex(s, 0).match_bits, of_vertex(r, 0).match_bits);
  EXPECT_EQ(of_vertex(s, 1).match_bits, of_vertex(r, 1).match_bits);
  EXPECT_NE(of_vertex(s, 0).match_bits >> 60, of_vertex(s, 1).match_bits >> 60);
  EXPECT_EQ(of_vertex(r, 0).peer, kAnySource);
  EXPECT_EQ(r.early[0].vertex, 1u);  // the receive that only one message fits is appended first
}

TEST(CompileMatchBits, ReceiveOfAnyTagIgnoresTheTagOnly) {
  Schedule receiver;
  receiver.recv(8, 0, kAnyTag);
  receiver.finish();
  const std::vector<Wildcards> wildcards{Wildcards(receiver)};
  const Program r = compile(receiver, {.rank = 0, .context = 9, .wildcards = wildcards, .touches = {}});
  EXPECT_EQ(r.early[0].ignore_bits(), 0xffffffffu);
  EXPECT_EQ(r.early[0].match_bits & r.early[0].ignore_bits(), 0u);
}

}  // namespace
}  // namespace portunus::goal
