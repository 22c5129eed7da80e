// How long a thread that waits looks on, gives its core up, and when it sleeps.
#include <gtest/gtest.h>

#include "engine/core/process_environment.hpp"
#include "engine/progress/idle_policy.hpp"

namespace portunus {
namespace {

using Policy = WaitPolicy<ProcessEnvironment::Limits>;
constexpr int kMost = 1'000'000;

int turns_until_sleep(Policy& policy) {
  int turns = 0;
  while (turns < kMost && policy.next() != Policy::Next::sleep) ++turns;
  return turns;
}

TEST(WaitPolicy, SleepsAtLastAndNotAtOnce) {
  for (const bool has_core : {false, true}) {
    ProgressPlan plan;
    plan.spin_waits = has_core;
    Policy policy(plan);
    const int turns = turns_until_sleep(policy);
    EXPECT_GT(turns, 100);
    EXPECT_LT(turns, kMost);
  }
}

// Beside programs that compute each yield, and each sleep, takes a turn of theirs.
TEST(WaitPolicy, KeepsItsOwnCoreUntilItSleeps) {
  ProgressPlan plan;
  plan.spin_waits = true;
  Policy policy(plan);
  for (Policy::Next next; (next = policy.next()) != Policy::Next::sleep;) ASSERT_EQ(next, Policy::Next::look);
  policy.found();  // and from the beginning after something has come
  EXPECT_GT(turns_until_sleep(policy), 100);
}

// A step that is a system call takes longer: what is to be some milliseconds is counted in fewer.
TEST(WaitPolicy, CountsCostlyStepsForSeveral) {
  ProgressPlan plan;
  plan.spin_waits = true;
  const auto turns = [&](bool costly) {
    Policy policy(plan);
    int number = 0;
    for (; policy.next() != Policy::Next::sleep; ++number) policy.stepped_in_vain(policy.steps_at_once(), costly);
    return number;
  };
  EXPECT_NEAR(turns(false), ProcessEnvironment::Limits::kStepsOfCostly * turns(true), ProcessEnvironment::Limits::kStepsOfCostly);
}

// With more ranks than cores the others may be ranks.
TEST(WaitPolicy, GoesOnYieldingToOtherRanks) {
  ProgressPlan plan;
  plan.oversubscribed = true;
  Policy policy(plan);
  policy.next();
  EXPECT_FALSE(policy.others_ran());
  EXPECT_GT(turns_until_sleep(policy), 100);
}

// But not to programs that compute all the time, be they ranks or not: 400 turns of them would take seconds.
TEST(WaitPolicy, SleepsAfterSomeTurnsOfOthersWithMoreRanksThanCores) {
  ProgressPlan plan;
  plan.oversubscribed = true;
  Policy policy(plan);
  int turns = 0;
  while (policy.next() == Policy::Next::yield && turns < 100) {
    ++turns;
    policy.others_ran();
  }
  EXPECT_EQ(turns, ProcessEnvironment::Limits::kLongYields);
}

}  // namespace
// A call that begins what others set going ends a nap longer than kLongestTick (progress_waiting.hpp), so that nothing waits for it.
TEST(TickPolicy, NapsForLongOnlyWhileNothingIsBegunThatOthersSetGoing) {
  using Limits = ProcessEnvironment::Limits;
  TickPolicy<Limits> policy;
  EXPECT_EQ(policy.attended_ns(true), Limits::kFirstTick);
  for (int i = 0; i < 10; ++i) EXPECT_LE(policy.attended_ns(true), Limits::kLongestTick);
  int64_t before = 0;
  for (int i = 0; i < 10; ++i) {
    const int64_t nap = policy.attended_ns(false);
    EXPECT_GE(nap, before) << "each as long as the one before, or longer";
    EXPECT_LE(nap, Limits::kLongestCalmTick);
    before = nap;
  }
  EXPECT_EQ(before, Limits::kLongestCalmTick);
  EXPECT_LE(policy.attended_ns(true), Limits::kLongestTick) << "news end that at once";
  EXPECT_LE(policy.attended_ns(false), Limits::kLongestTick) << "and it begins again from there";
  policy.unattended();
  EXPECT_EQ(policy.attended_ns(false), Limits::kFirstTick);
}

// The holder looks when it leaves. Hundreds of ranks of a node that map each other stay inside for seconds.
TEST(TickPolicy, NapsLongerAndLongerWhileACallIsUnderWay) {
  using Limits = ProcessEnvironment::Limits;
  TickPolicy<Limits> policy;
  EXPECT_EQ(policy.held_ns(), Limits::kFirstTick);
  int64_t before = Limits::kFirstTick;
  for (int i = 0; i < 20; ++i) {
    const int64_t nap = policy.held_ns();
    EXPECT_EQ(nap, std::min(2 * before, Limits::kLongestHeldTick));
    before = nap;
  }
  policy.unattended();
  EXPECT_EQ(policy.held_ns(), Limits::kFirstTick) << "one look ends it";
}

}  // namespace portunus
