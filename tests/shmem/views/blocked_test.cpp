// What a blocked process says of its wait.
#include <gtest/gtest.h>

#include "shmem/views/watch/blocked.hpp"

namespace portunus::views {
namespace {

TEST(Blocked, SaysWhomItWaitsForAndForWhichView) {
  const Blocked blocked = Blocked::by(16383, 65000, 7);
  EXPECT_FALSE(blocked.none());
  EXPECT_EQ(blocked.view(), 16383);
  EXPECT_EQ(blocked.process(), 65000);
  EXPECT_EQ(blocked.turn(), 7u);
  EXPECT_TRUE(Blocked{}.none());
}

// Two processes that wait for each other look at the same times: each must find the other as it was.
TEST(Blocked, AWaitThatSaysSoAgainLooksTheSame) {
  const Blocked first = Blocked{}.again(3, 1, 5);
  EXPECT_EQ(first.again(3, 1, 6).bits, first.bits);
}

TEST(Blocked, AnotherWaitLooksDifferent) {
  const Blocked first = Blocked{}.again(3, 1, 5);
  EXPECT_NE(first.again(3, 2, 6).bits, first.bits);
  EXPECT_NE(first.again(4, 1, 6).bits, first.bits);
  // It went on in between, and waits for the same again.
  EXPECT_NE(Blocked{}.again(3, 1, 6).bits, first.bits);
}

}  // namespace
}  // namespace portunus::views
