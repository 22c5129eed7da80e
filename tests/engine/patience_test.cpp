// patience_test.cpp: when a waiter that shares its core looks on before it gives the core up.
#include "engine/progress/patience.hpp"

#include <gtest/gtest.h>

namespace portunus {
namespace {

int times_granted(Patience& patience, int waits) {
  int granted = 0;
  for (int i = 0; i < waits; ++i) granted += patience.looks() > 0;
  return granted;
}

TEST(Patience, IsTriedNowAndThenWhereNothingIsKnown) {
  Patience patience;
  EXPECT_EQ(times_granted(patience, 10 * static_cast<int>(Patience::kTries)), 10);
}

TEST(Patience, IsGrantedOnceItHelped) {
  Patience patience;
  patience.tried(true);
  EXPECT_EQ(patience.looks(), Patience::kLooks);
}

TEST(Patience, EndsWhereItHelpsNoMoreHoweverLongItDid) {
  Patience patience;
  for (int i = 0; i < 1000; ++i) patience.tried(true);
  for (int i = 0; i < Patience::kMost; ++i) patience.tried(false);
  EXPECT_EQ(times_granted(patience, static_cast<int>(Patience::kTries)), 1);
}

TEST(Patience, LastsWhereTwoOfThreeTriesHelp) {
  Patience patience;
  patience.tried(true);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_GT(patience.looks(), 0);
    patience.tried(i % 3 != 2);
  }
}

TEST(Patience, DoesNotLastWhereEveryThirdTryHelps) {
  Patience patience;
  patience.tried(true);
  for (int i = 0; i < 1000; ++i) patience.tried(i % 3 == 1);
  patience.tried(false);
  patience.tried(false);
  EXPECT_LT(times_granted(patience, static_cast<int>(Patience::kTries)), 2);
}

}  // namespace
}  // namespace portunus
