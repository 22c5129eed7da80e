// calm_test.cpp: when the parked engine thread is woken for urgent messages only.
#include "engine/progress/calm.hpp"

#include <gtest/gtest.h>

#include "engine/progress/progress.hpp"

namespace portunus {
namespace {

// An application that comes for each message; nothing else depends on them.
struct Application {
  Calm calm;
  uint32_t looks = 0;
  uint64_t triggers = 0;

  void comes_for(uint32_t messages) {
    for (uint32_t i = 0; i < messages; ++i) calm.weigh(true, true, false, triggers, ++looks);
  }
};

TEST(Calm, BeginsAfterSomeWakeUpsForNothing) {
  Application a;
  a.comes_for(Calm::kVain - 1);
  EXPECT_FALSE(a.calm.now());
  a.comes_for(1);
  EXPECT_TRUE(a.calm.now());
}

TEST(Calm, BeginsWhereTheApplicationIsFasterThanTheThreadThatWasWoken) {
  Application a;
  for (uint32_t i = 0; i < Calm::kVain; ++i) a.calm.weigh(true, false, false, 0, ++a.looks);
  EXPECT_TRUE(a.calm.now());
}

TEST(Calm, EndsWithTheFirstAnswerThatTheThreadGives) {
  Application a;
  a.comes_for(100);
  a.calm.weigh(true, true, true, a.triggers, ++a.looks);
  EXPECT_FALSE(a.calm.now());
  a.comes_for(Calm::kVain - 1);
  EXPECT_FALSE(a.calm.now()) << "and all begins anew";
}

TEST(Calm, EndsWithATriggerThatFiresWhoeverSteppedThen) {
  Application a;
  a.comes_for(100);
  a.calm.weigh(true, false, false, ++a.triggers, ++a.looks);
  EXPECT_FALSE(a.calm.now());
}

TEST(Calm, IsDisturbedByATriggerUntilTheThreadHasSeenIt) {
  Application a;
  EXPECT_FALSE(a.calm.disturbed(1)) << "who is not calm is woken anyway";
  a.comes_for(100);
  EXPECT_FALSE(a.calm.disturbed(a.triggers));
  EXPECT_TRUE(a.calm.disturbed(++a.triggers));
  a.calm.weigh(true, false, false, a.triggers, ++a.looks);
  EXPECT_FALSE(a.calm.disturbed(a.triggers));
}

TEST(Calm, EndsWhenTheApplicationComesNoMoreAndBeginsAgainWhenItDoes) {
  Application a;
  a.comes_for(100);
  for (uint32_t i = 0; i < Calm::kUnasked; ++i) a.calm.weigh(true, false, false, 0, a.looks);
  EXPECT_FALSE(a.calm.now());
  a.comes_for(1);
  EXPECT_TRUE(a.calm.now());
}

TEST(Calm, NeverBeginsForAnApplicationThatLooksAtItsMemoryAlone) {
  Calm calm;
  for (int i = 0; i < 1000; ++i) {
    calm.weigh(true, true, false, 0, 0);
    EXPECT_FALSE(calm.now());
  }
}

TEST(Calm, IsUnlearntByAnApplicationThatNowLooksAtItsMemoryAlone) {
  Application a;
  a.comes_for(100);
  for (uint32_t i = 0; i < 2 * Calm::kUnasked; ++i) a.calm.weigh(true, true, false, 0, a.looks);
  a.comes_for(1);
  EXPECT_FALSE(a.calm.now());
}

TEST(Calm, IsNotForWhoStepsForAllOthersNorBesideANetwork) {
  ProgressPlan plan;
  plan.mode = ProgressMode::park;
  EXPECT_TRUE(plan.may_be_calm());
  plan.by_socket = true;
  EXPECT_FALSE(plan.may_be_calm());
  plan.by_socket = false;
  for (const auto mode : {ProgressMode::offload, ProgressMode::caller, ProgressMode::spin}) {
    plan.mode = mode;
    EXPECT_FALSE(plan.may_be_calm());
  }
}

}  // namespace
}  // namespace portunus
