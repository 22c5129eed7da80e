// From measured points to few rules: what is covered, what noise does not do, where rules end.
#include "engine/tools/goaltune/winners.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace portunus::goaltune {
namespace {

using goal::collectives::Collective;
using goal::collectives::kAnySize;
using goal::collectives::kCollectives;
using goal::collectives::line_of;
using goal::collectives::RankPlacement;
using goal::collectives::Rule;
using goal::collectives::Where;

constexpr double kMargin = 0.05;
constexpr Where kHere{RankPlacement::kNetwork | RankPlacement::kCrowded, 0};  // where the points below are: on a node with cores for all

// Times of allreduce: doubling, halving, ring.
Point point(uint64_t bytes, uint32_t ranks, std::vector<double> times, double doubt = 0) {
  const std::vector<double> doubts(times.size(), doubt);
  return {Collective::allreduce, bytes, ranks, {}, std::move(times), doubts};
}

TEST(Winners, AreOneRuleWhereOneAlgorithmIsGoodEverywhere) {
  const std::vector<Point> points = {point(8, 2, {1, 2, 3}), point(8192, 2, {10.4, 10, 30}), point(8, 4, {2, 3, 4})};
  EXPECT_EQ(rules_from(points, kMargin), (std::vector<Rule>{{Collective::allreduce, kAnySize, 4, GOAL_DOUBLING, kHere}}));
}

TEST(Winners, EndHalfwayToTheSizeWhereAnotherIsBetter) {
  const std::vector<Point> points = {point(8, 4, {1, 2, 3}), point(128, 4, {2, 3, 4}), point(2048, 4, {9, 5, 8}),
                                     point(8192, 4, {90, 50, 20})};
  const std::vector<Rule> rules = {{Collective::allreduce, 512, 4, GOAL_DOUBLING, kHere},
                                   {Collective::allreduce, 4096, 4, GOAL_HALVING, kHere},
                                   {Collective::allreduce, kAnySize, 4, GOAL_RING, kHere}};
  EXPECT_EQ(rules_from(points, kMargin), rules);
}

TEST(Winners, ReplaceAnAlgorithmOnlyByOneThatIsBetterByTheMargin) {
  const std::vector<Point> points = {point(8, 4, {1, 2, 3}), point(32, 4, {1.04, 1, 3}), point(128, 4, {1, 2, 3})};
  EXPECT_EQ(rules_from(points, kMargin).size(), 1u);
  EXPECT_EQ(rules_from(points, 0.03).size(), 3u);
}

TEST(Winners, AreNotReplacedWhereItMayBeDoubted) {
  std::vector<Point> points = {point(8, 4, {1, 2, 3}), point(32, 4, {2, 1, 3}, 1), point(128, 4, {1, 2, 3})};
  EXPECT_EQ(rules_from(points, kMargin).size(), 1u);
  EXPECT_DOUBLE_EQ(loss_of(points[1], GOAL_DOUBLING).seen, 1);
  EXPECT_DOUBLE_EQ(loss_of(points[1], GOAL_DOUBLING).sure, 0);
  points[1].times[1] = 0.001;
  EXPECT_LT(loss_of(points[1], GOAL_DOUBLING).seen, 2.0);  // what cannot be told from nothing is not divided by
  points[1].times[1] = 1;
  points[1].doubts = {0.1, 0.1, 0.1};
  EXPECT_EQ(rules_from(points, kMargin).size(), 3u);
  EXPECT_GT(loss_of(points[1], GOAL_DOUBLING).sure, 0.8);
}

TEST(Winners, OfGroupsThatWantOthersHaveLinesOfTheirOwnSmallestFirst) {
  const std::vector<Point> points = {point(8, 8, {3, 2, 1}), point(8, 2, {1, 2, 3}), point(8, 4, {1, 2, 3})};
  const std::vector<Rule> rules = {{Collective::allreduce, kAnySize, 4, GOAL_DOUBLING, kHere},
                                   {Collective::allreduce, kAnySize, 8, GOAL_RING, kHere}};
  EXPECT_EQ(rules_from(points, kMargin), rules);
}

TEST(Winners, SayNothingOfWhatWasNotMeasured) {
  EXPECT_TRUE(rules_from({}, kMargin).empty());
  EXPECT_TRUE(rules_from(std::vector<Point>{point(8, 2, {})}, kMargin).empty());
  for (const Rule& rule : rules_from(std::vector<Point>{point(8, 2, {1, 2, 3}), point(8, 6, {1, 2, 3})}, kMargin))
    EXPECT_LE(rule.up_to_ranks, 6u);
}

TEST(Winners, HoldWhereTheyWereMeasured) {
  std::vector<Point> points = {point(8, 2, {1, 2, 3}), point(8, 4, {3, 2, 1})};
  constexpr uint8_t kAll = RankPlacement::kNetwork | RankPlacement::kSeveral | RankPlacement::kCrowded;
  points[1].place.facts = kAll;
  const std::vector<Rule> rules = {{Collective::allreduce, kAnySize, 2, GOAL_DOUBLING, kHere},
                                   {Collective::allreduce, kAnySize, 4, GOAL_RING, {kAll, kAll}}};
  EXPECT_EQ(rules_from(points, kMargin), rules);
  points[1].place.facts = RankPlacement::kNetwork;
  EXPECT_EQ(rules_from(points, kMargin).back().where, (Where{kAll, RankPlacement::kNetwork}));
}

// Whatever was measured: a rule for every point, that loses no more than the margin there.
TEST(Winners, AreGoodAtEveryPoint) {
  std::vector<Collective> all;
  for (uint8_t c = 0; c < kCollectives; ++c) all.push_back(static_cast<Collective>(c));
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    std::vector<Point> points = points_of(all, 2 + seed % 15, {.least = 8, .most = 1 << 20, .step = 2 + seed % 7});
    uint32_t state = seed;
    for (Point& point : points) {
      for (size_t i = 0; i < offered(point.collective).size(); ++i) {
        state = state * 1664525 + 1013904223;
        point.times.push_back(10 + state / 65536 % 10);
        point.doubts.push_back(0);
      }
    }
    const std::vector<Rule> rules = rules_from(points, kMargin);
    std::string text;
    for (const Rule& rule : rules) text += line_of(rule) + "\n";
    EXPECT_EQ(goal::collectives::parse_rules(text), rules);
    for (const Point& point : points) {
      const auto rule =
          std::ranges::find_if(rules, [&](const Rule& r) { return r.holds(point.collective, point.bytes, point.ranks, point.place); });
      ASSERT_NE(rule, rules.end());
      EXPECT_LE(loss_of(point, rule->algorithm).seen, kMargin + 1e-9);
    }
  }
}

TEST(Points, AreOfGroupsOf2_4_8AndAllRanksAndLeaveNoRankMoreMemoryThanIsAsked) {
  const Collective one[] = {Collective::alltoall};
  std::vector<uint32_t> groups;
  for (const Point& point : points_of(one, 6, {.least = 8, .most = 4096, .step = 8})) {
    EXPECT_LE(point.bytes * point.ranks, 4096u);
    if (groups.empty() || groups.back() != point.ranks) groups.push_back(point.ranks);
  }
  EXPECT_EQ(groups, (std::vector<uint32_t>{2, 4, 6}));
  const Collective barrier[] = {Collective::barrier};
  EXPECT_EQ(points_of(barrier, 8, {}).size(), 3u);
  EXPECT_TRUE(points_of(barrier, 1, {}).empty());
}

}  // namespace
}  // namespace portunus::goaltune
