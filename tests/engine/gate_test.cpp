// gate_test.cpp: what a thread that sleeps on a gate is woken by. Nothing here waits for a time to pass.
#include "engine/host/gate.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace portunus {
namespace {

class GateTest : public testing::Test {
 protected:
  GateTest() : first_(eventfd(0, EFD_CLOEXEC)), second_(eventfd(0, EFD_CLOEXEC)), gate_({first_, second_}) {}
  ~GateTest() override {
    close(first_);
    close(second_);
  }
  static void fill(int fd) { ASSERT_EQ(eventfd_write(fd, 1), 0); }
  static void empty(int fd) {
    eventfd_t value;
    ASSERT_EQ(eventfd_read(fd, &value), 0);
  }
  bool wakes(int timeout_ms = 0) const {
    pollfd one{gate_.fd(), POLLIN, 0};
    return poll(&one, 1, timeout_ms) == 1;
  }

  int first_, second_;
  Gate gate_;
};

TEST_F(GateTest, IsReadableWhileItIsOpenAndADescriptorBehindItIs) {
  fill(second_);
  EXPECT_FALSE(wakes()) << "it is closed at first";
  gate_.open();
  EXPECT_TRUE(wakes()) << "what came before it was opened counts";
  gate_.close();
  EXPECT_FALSE(wakes());
  gate_.open();
  empty(second_);
  EXPECT_FALSE(wakes());
  fill(first_);
  EXPECT_TRUE(wakes());
}

TEST_F(GateTest, MayBeOpenedAgainAfterItWasTakenOffItsDescriptors) {
  fill(first_);
  gate_.detach();
  EXPECT_FALSE(wakes());
  gate_.close();
  EXPECT_FALSE(wakes());
  gate_.open();
  EXPECT_TRUE(wakes());
  empty(first_);
  fill(second_);
  EXPECT_TRUE(wakes());
}

TEST_F(GateTest, WakesOnceAfterATimeOpenOrNot) {
  gate_.wake_after(1);
  EXPECT_TRUE(wakes(-1));
  gate_.clear();
  EXPECT_FALSE(wakes());
  fill(first_);
  gate_.open();
  gate_.wake_after(1);
  gate_.clear();
  EXPECT_TRUE(wakes()) << "the descriptor is as readable as before";
}

TEST_F(GateTest, IsOpenedAgainWhenSomebodyHasClosedItMeanwhile) {
  fill(first_);
  gate_.open();
  gate_.open();
  EXPECT_TRUE(wakes());
  gate_.close();
  EXPECT_FALSE(wakes());
  gate_.open();
  EXPECT_TRUE(wakes());
}

TEST_F(GateTest, AnotherMayOpenItForWhoSleepsOnIt) {
  gate_.open_for_sleeper();
  EXPECT_FALSE(wakes());
  fill(first_);
  EXPECT_TRUE(wakes());
  gate_.close();
  EXPECT_FALSE(wakes());
  gate_.detach();
  gate_.open_for_sleeper();
  EXPECT_TRUE(wakes());
  gate_.open();  // whoever sleeps need not know of it
  EXPECT_TRUE(wakes());
}

TEST_F(GateTest, WhatHasYetToComeSurvivesAWakeUpByOthers) {
  constexpr uint32_t kLong = 999'999'999;
  gate_.wake_after(kLong);
  gate_.clear();
  EXPECT_TRUE(gate_.call_off()) << "it was still to come";
}

TEST_F(GateTest, SaysWhetherItWasTheTimeThatWoke) {
  gate_.wake_after(1);
  EXPECT_TRUE(wakes(-1));
  EXPECT_TRUE(gate_.clear());
  EXPECT_FALSE(gate_.clear());
  gate_.wake_after(999'999'999);
  EXPECT_FALSE(gate_.clear());
}

TEST_F(GateTest, IsDueUntilItsTimeIsWellOver) {
  EXPECT_FALSE(gate_.is_due(0));
  gate_.wake_after(1);
  EXPECT_TRUE(gate_.is_due(0));
  EXPECT_FALSE(gate_.is_due(UINT64_MAX)) << "the mark alone does not count: it may have been left behind";
  gate_.call_off();
  EXPECT_FALSE(gate_.is_due(0));
}

TEST_F(GateTest, WhatIsCalledOffDoesNotCome) {
  EXPECT_FALSE(gate_.call_off()) << "nothing was to come";
  gate_.wake_after(1);
  EXPECT_TRUE(wakes(-1));
  EXPECT_TRUE(gate_.call_off()) << "also when it is there already";
  EXPECT_FALSE(wakes());
  EXPECT_FALSE(gate_.call_off());
  gate_.wake_after(1);
  EXPECT_TRUE(wakes(-1)) << "and comes when asked for again";
}

}  // namespace
}  // namespace portunus
