// Schedules built by calls: edges, cycles, and how all ranks fit together.
#include "engine/goal/schedules/schedule.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/goal/schedules/validate.hpp"

namespace portunus::goal {
namespace {

template <class F>
std::optional<ScheduleError> error_of(F&& f) {
  try {
    f();
  } catch (const ScheduleError& e) {
    return e;
  }
  return std::nullopt;
}

std::vector<VertexId> vertices_of(std::span<const Edge> edges) {
  std::vector<VertexId> ids;
  for (const Edge e : edges) ids.push_back(e.vertex);
  return ids;
}

using Ids = std::vector<VertexId>;

TEST(Schedule, IdsFollowTheOrderOfCreation) {
  Schedule s;
  EXPECT_EQ(s.send(8, 1, 3), 0u);
  EXPECT_EQ(s.recv(16, 2, 4), 1u);
  EXPECT_EQ(s.calc(500), 2u);
  s.finish();
  ASSERT_EQ(s.size(), 3u);
  EXPECT_EQ(s[0].kind, Kind::send);
  EXPECT_EQ(s[0].size, 8u);
  EXPECT_EQ(s[0].peer, 1u);
  EXPECT_EQ(s[0].tag, 3u);
  EXPECT_EQ(s[1].kind, Kind::recv);
  EXPECT_EQ(s[2].kind, Kind::calc);
  EXPECT_EQ(s[2].size, 500u);
  EXPECT_TRUE(s.prerequisites(2).empty());
  EXPECT_TRUE(s.dependents(0).empty());
}

TEST(Schedule, EmptyScheduleHasNothingToWaitFor) {
  Schedule s;
  s.finish();
  EXPECT_EQ(s.size(), 0u);
  EXPECT_EQ(s.num_edges(), 0u);
  EXPECT_EQ(s.find("l1"), kNoVertex);
}

TEST(Schedule, EdgesAreSeenFromBothEnds) {
  Schedule s;
  for (int i = 0; i < 4; ++i) s.calc(1);
  s.add_dependency(3, 2);
  s.add_dependency(3, 0, After::start);
  s.add_dependency(1, 0);
  s.finish();
  EXPECT_EQ(vertices_of(s.prerequisites(3)), (Ids{0, 2}));
  EXPECT_EQ(s.prerequisites(3)[0].on_start, 1u);
  EXPECT_EQ(s.prerequisites(3)[1].on_start, 0u);
  EXPECT_EQ(vertices_of(s.dependents(0)), (Ids{1, 3}));
  EXPECT_EQ(s.dependents(0)[0].on_start, 0u);
  EXPECT_EQ(s.dependents(0)[1].on_start, 1u);
  EXPECT_EQ(s.num_edges(), 3u);
}

TEST(Schedule, DependencyGivenTwiceCountsOnce) {
  Schedule s;
  for (int i = 0; i < 3; ++i) s.calc(1);
  for (int i = 0; i < 3; ++i) s.add_dependency(1, 0);
  s.add_dependency(2, 1);
  s.finish();
  EXPECT_EQ(vertices_of(s.prerequisites(1)), Ids{0});
  EXPECT_EQ(vertices_of(s.prerequisites(2)), Ids{1});
  EXPECT_EQ(s.num_edges(), 2u);
}

TEST(Schedule, RequiresIncludesIrequires) {
  Schedule s;
  s.calc(1);
  s.calc(1);
  s.add_dependency(1, 0, After::start);
  s.add_dependency(1, 0, After::finish);
  s.finish();
  ASSERT_EQ(s.prerequisites(1).size(), 1u);
  EXPECT_EQ(s.prerequisites(1)[0].on_start, 0u);
}

TEST(Schedule, LabelsAreFoundAmongMany) {
  Schedule s;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(s.add({}, "l" + std::to_string(i)), static_cast<VertexId>(i));
    if (i % 3 == 0) s.add_dependency(static_cast<VertexId>(i), 0, After::start);
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(s.find("l" + std::to_string(i)), static_cast<VertexId>(i));
    EXPECT_EQ(s.label(static_cast<VertexId>(i)), "l" + std::to_string(i));
  }
  EXPECT_EQ(s.find("l1000"), kNoVertex);
  EXPECT_EQ(s.find(""), kNoVertex);
}

TEST(Schedule, LabelUsedTwiceIsRefused) {
  Schedule s;
  Vertex v;
  v.where = {3, 1};
  s.add(v, "l1");
  v.where = {7, 2};
  const auto e = error_of([&] { s.add(v, "l1"); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->line, 7u);
  EXPECT_EQ(e->column, 2u);
  EXPECT_EQ(e->message, "the label \"l1\" is already that of the calc \"l1\" (3:1); give one of the two another label");
  EXPECT_EQ(std::string(e->what()), "7:2: " + e->message);
}

TEST(Schedule, SelfDependencyIsACycle) {
  Schedule s;
  s.calc(1);
  s.add_dependency(0, 0);
  const auto e = error_of([&] { s.finish(); });
  ASSERT_TRUE(e);
  EXPECT_EQ(std::string(e->what()), "the calc number 0 waits for itself; remove one of these dependencies");
}

TEST(Schedule, StartDependenciesFormCyclesToo) {
  Schedule s;
  s.calc(1);
  s.send(8, 0);
  s.calc(1);
  s.add_dependency(1, 0, After::start);
  s.add_dependency(0, 1, After::start);
  s.add_dependency(2, 0);
  const auto e = error_of([&] { s.finish(); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->message,
            "operations wait for each other in a circle: the calc number 0 waits for the send number 1, "
            "which waits for the first; remove one of these dependencies");
}

TEST(Schedule, CycleErrorNamesOnlyItsOwnOperations) {
  Schedule s;
  for (int i = 0; i < 6; ++i) s.add({}, std::string(1, static_cast<char>('a' + i)));
  s.add_dependency(1, 0);  // b waits for a, c, d, e in turn: only c -> d -> e -> c is the cycle
  s.add_dependency(2, 3);
  s.add_dependency(3, 4);
  s.add_dependency(4, 2);
  s.add_dependency(1, 2);
  s.add_dependency(2, 0);
  s.add_dependency(5, 4);
  const auto e = error_of([&] { s.finish(); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->message,
            "operations wait for each other in a circle: the calc \"c\" waits for the calc \"d\", which waits "
            "for the calc \"e\", which waits for the first; remove one of these dependencies");
}

TEST(Schedule, LongCycleIsPrintedShort) {
  constexpr VertexId kLength = 100000;
  Schedule s;
  for (VertexId v = 0; v < kLength; ++v) s.calc(1);
  for (VertexId v = 0; v < kLength; ++v) s.add_dependency(v, (v + 1) % kLength);
  const auto e = error_of([&] { s.finish(); });
  ASSERT_TRUE(e);
  EXPECT_NE(e->message.find("(99992 more)"), std::string::npos) << e->message;
  EXPECT_LT(e->message.size(), 1000u);
}

TEST(Schedule, DeepChainHasNoCycle) {
  constexpr VertexId kLength = 1000000;
  Schedule s;
  for (VertexId v = 0; v < kLength; ++v) s.calc(1);
  for (VertexId v = 1; v < kLength; ++v) s.add_dependency(v, v - 1);
  EXPECT_NO_THROW(s.finish());
  EXPECT_EQ(s.num_edges(), kLength - 1);
}

std::vector<Schedule> ranks(size_t n) { return std::vector<Schedule>(n); }

std::optional<ScheduleError> validation(std::vector<Schedule>& all, uint64_t eager_limit = 0xffffffffffffffff) {
  for (Schedule& s : all) s.finish();
  return error_of([&] { validate(all, eager_limit); });
}

TEST(Validate, MatchingMessagesPass) {
  auto all = ranks(2);
  all[0].send(8, 1, 5);
  all[0].send(16, 1, 5);
  all[0].send(24, 1, 6);
  all[1].recv(24, 0, 6);
  all[1].recv(8, 0, 5);
  all[1].recv(16, 0, 5);
  EXPECT_FALSE(validation(all));
}

TEST(Validate, MessageToOneselfPasses) {
  auto all = ranks(1);
  all[0].send(8, 0);
  all[0].recv(8, 0);
  EXPECT_FALSE(validation(all));
}

TEST(Validate, PeerMustBeARank) {
  auto all = ranks(2);
  all[1].send(8, 2);
  const auto e = validation(all);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->message,
            "the send number 0 of rank 1 names the peer 2, but ranks go from 0 to 1; correct the peer or "
            "raise num_ranks");
}

TEST(Validate, OnlyReceivesMayHaveAnyPeer) {
  auto all = ranks(1);
  all[0].send(8, kAnySource);
  all[0].recv(8, kAnySource);
  EXPECT_TRUE(validation(all));
}

TEST(Validate, SendWithoutReceiveIsRefused) {
  auto all = ranks(2);
  all[0].send(8, 1);
  all[0].send(8, 1);
  all[1].recv(8, 0);
  const auto e = validation(all);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->message,
            "the send number 1 of rank 0 has no matching receive: with tag 0 rank 0 sends 2 and rank 1 "
            "receives 1; add the receive or remove this send");
}

TEST(Validate, ReceiveWithoutSendIsRefused) {
  auto all = ranks(2);
  all[0].send(8, 1, 1);
  all[1].recv(8, 0, 1);
  all[1].recv(8, 0, 2);
  const auto e = validation(all);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->message,
            "the recv number 1 of rank 1 has no matching send: with tag 2 rank 0 sends 0 and rank 1 "
            "receives 1; add the send or remove this receive");
}

TEST(Validate, SizesOfAPairMustBeEqual) {
  auto all = ranks(2);
  all[0].send(8, 1);
  all[0].send(16, 1);
  all[1].recv(8, 0);
  all[1].recv(32, 0);
  const auto e = validation(all);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->message,
            "the recv number 1 of rank 1 expects 32 bytes, but the message it gets, the send number 1 of "
            "rank 0, has 16; make the sizes equal or give the messages different tags");
}

TEST(Validate, ReceivesOfAnySourceTakeWhatIsLeft) {
  auto all = ranks(3);
  all[1].send(8, 0, 4);
  all[1].send(8, 0, 4);
  all[2].send(64, 0, 4);
  all[0].recv(8, 1, 4);
  all[0].recv(64, kAnySource, 4);
  all[0].recv(8, kAnySource, 4);
  EXPECT_FALSE(validation(all));
}

TEST(Validate, ReceivesOfAnyTagAndAnySourceMix) {
  auto all = ranks(3);
  all[1].send(8, 0, 4);
  all[1].send(8, 0, 5);
  all[2].send(8, 0, 4);
  all[2].send(8, 0, kAnyTag);
  all[0].recv(8, 1, kAnyTag);
  all[0].recv(8, kAnySource, 4);
  all[0].recv(8, kAnySource, kAnyTag);
  all[0].recv(8, 2, kAnyTag);
  EXPECT_FALSE(validation(all));
}

TEST(Validate, WildcardOfAnotherTagDoesNotHelp) {
  auto all = ranks(2);
  all[1].send(8, 0, 4);
  all[0].recv(8, kAnySource, 5);
  const auto e = validation(all);
  ASSERT_TRUE(e);
  EXPECT_NE(e->message.find("the send number 0 of rank 1 has no matching receive"), std::string::npos) << e->message;
}

TEST(Validate, WildcardWithoutMessageIsRefused) {
  auto all = ranks(2);
  all[1].send(8, 0, 4);
  all[0].recv(8, kAnySource, kAnyTag);
  all[0].recv(8, kAnySource, 4);
  const auto e = validation(all);
  ASSERT_TRUE(e);
  EXPECT_NE(e->message.find("has no message left"), std::string::npos) << e->message;
}

TEST(Validate, MoreMessagesThanWildcardsAreRefused) {
  auto all = ranks(3);
  all[1].send(8, 0, 4);
  all[2].send(8, 0, 5);
  all[0].recv(8, kAnySource, kAnyTag);
  const auto e = validation(all);
  ASSERT_TRUE(e);
  EXPECT_NE(e->message.find("2 messages are left for its 1 receives"), std::string::npos) << e->message;
}

TEST(Validate, RanksThatWaitForEachOtherAreRefused) {
  auto all = ranks(2);
  for (uint32_t r = 0; r < 2; ++r) {
    all[r].send(8, 1 - r);
    all[r].recv(8, 1 - r);
    all[r].add_dependency(0, 1);
  }
  const auto e = validation(all);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->message,
            "the recv number 1 of rank 0 can never end: it waits for the send number 0 of rank 1, that one for "
            "the recv number 1 of rank 1, that one for the send number 0 of rank 0, that one for the first; "
            "remove a dependency or reorder the messages");
}

TEST(Validate, ExchangeAfterSendingPassesOnlyWithinTheEagerLimit) {
  const auto exchange = [] {
    auto all = ranks(2);
    for (uint32_t r = 0; r < 2; ++r) {
      all[r].send(4096, 1 - r);
      all[r].recv(4096, 1 - r);
      all[r].add_dependency(1, 0);
    }
    return all;
  };
  auto eager = exchange();
  EXPECT_FALSE(validation(eager, 4096));
  auto waiting = exchange();
  const auto e = validation(waiting, 4095);
  ASSERT_TRUE(e);
  EXPECT_NE(e->message.find("can never end"), std::string::npos) << e->message;
}

}  // namespace
}  // namespace portunus::goal
