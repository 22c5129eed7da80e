// gaps_test.cpp: what is expected to follow a wait after what has followed waits before.
#include "engine/progress/gaps.hpp"

#include <gtest/gtest.h>

namespace portunus {
namespace {

constexpr uint64_t kShort = Gaps::kComputes - 1, kLong = Gaps::kComputes;

// How often the expectation was wrong in `rounds` of these gaps.
int mistakes(Gaps& gaps, std::initializer_list<uint64_t> round, int rounds) {
  int wrong = 0;
  for (int i = 0; i < rounds; ++i)
    for (const uint64_t ns : round) {
      wrong += gaps.expect_computing() != (ns >= Gaps::kComputes);
      gaps.was(ns);
    }
  return wrong;
}

TEST(Gaps, ExpectComputingAtFirst) { EXPECT_TRUE(Gaps().expect_computing()); }

TEST(Gaps, ThatAreShortAgainAndAgainAreExpectedToBe) {
  Gaps gaps;
  mistakes(gaps, {kShort}, 20);
  EXPECT_EQ(mistakes(gaps, {kShort}, 100), 0);
}

TEST(Gaps, OfAnExchangeBetweenComputingAreLearnt) {
  Gaps gaps;
  mistakes(gaps, {kShort, kShort, kShort, kLong}, 20);
  EXPECT_EQ(mistakes(gaps, {kShort, kShort, kShort, kLong}, 100), 0);
}

TEST(Gaps, ThatChangeAreLearntAnew) {
  Gaps gaps;
  mistakes(gaps, {kShort}, 100);
  EXPECT_LE(mistakes(gaps, {kLong}, 100), 13) << "two for the history of nothing but short ones, some for those on the way";
  EXPECT_EQ(mistakes(gaps, {kLong}, 100), 0);
}

TEST(Gaps, OnceMistakenAreNotDoubted) {
  Gaps gaps;
  mistakes(gaps, {kShort}, 100);
  gaps.was(kLong);
  mistakes(gaps, {kShort}, 10);
  EXPECT_FALSE(gaps.expect_computing()) << "one that was long after many short ones says little";
}

}  // namespace
}  // namespace portunus
