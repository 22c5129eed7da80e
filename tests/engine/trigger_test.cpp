// Counters and triggered operations on a hand-stepped engine.
#include <gtest/gtest.h>

#include "tests/support/rig.hpp"

namespace portunus::test {
namespace {

struct Triggered : ::testing::Test {
  Rig rig{2};
  Node& node = rig[0];

  Command add(uint32_t ct, uint64_t success, uint64_t failure = 0) {
    Command command;
    command.verb = Verb::counter_add;
    command.handle = ct;
    command.extra.count = {success, failure};
    return command;
  }
  Command local(ptlx_local_op_t op, ptl_datatype_t type, void* dst, void* a, void* b, uint64_t count, uint32_t done) {
    Command command;
    command.verb = Verb::local;
    command.op = static_cast<uint8_t>(op);
    command.datatype = type;
    command.handle = done;
    command.length = count;
    command.source.base = dst;
    command.extra.third = a;
    command.result.base = b;
    return command;
  }
};

TEST_F(Triggered, FiresWhenSuccessAndFailureTogetherReachTheThreshold) {
  const uint32_t trigger = node.counter(), seen = node.counter();
  node.arm(add(seen, 1), trigger, 3);
  node.add(trigger, 1);
  node.add(trigger, 0, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 0u);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 1u);
}

TEST_F(Triggered, AThresholdThatIsAlreadyReachedFiresAtOnce) {
  const uint32_t trigger = node.counter(), seen = node.counter();
  node.arm(add(seen, 1), trigger, 0);
  node.add(trigger, 5);
  node.arm(add(seen, 1), trigger, 5);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 2u);
}

TEST_F(Triggered, FiresOnceEvenIfTheCounterIsSetBackAndRisesAgain) {
  const uint32_t trigger = node.counter(), seen = node.counter();
  node.arm(add(seen, 1), trigger, 1);
  node.add(trigger, 1);
  Command set;
  set.verb = Verb::counter_set;
  set.handle = trigger;
  node.run(set);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 1u);
}

TEST_F(Triggered, LowerThresholdsGoFirstAndEqualOnesInTheOrderOfIssue) {
  const uint32_t trigger = node.counter();
  uint64_t word = 0;
  uint64_t log[4] = {10, 20, 30, 40};
  Node& target = rig[1];
  const uint32_t eq = target.queue();
  target.portal(eq);
  target.append({.start = &word, .length = 8});
  node.arm(node.put(&log[2], 8, 1), trigger, 2);
  node.arm(node.put(&log[0], 8, 1), trigger, 1);
  node.arm(node.put(&log[3], 8, 1), trigger, 2);
  node.arm(node.put(&log[1], 8, 1), trigger, 1);
  node.add(trigger, 7);
  std::vector<uint64_t> order;
  while (node.engine.step(0) + target.engine.step(0) > 0) {
  }
  EXPECT_EQ(target.events(eq).size(), 4u);
  EXPECT_EQ(word, 40u);
}

TEST_F(Triggered, DataIsReadWhenTheOperationFires) {
  Node& target = rig[1];
  uint64_t word = 0, value = 1;
  target.portal();
  target.append({.start = &word, .length = 8});
  const uint32_t trigger = node.counter();
  node.arm(node.put(&value, 8, 1), trigger, 1);
  value = 2;
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(word, 2u);
}

TEST_F(Triggered, AChainOfAHundredThousandHopsRunsWithoutRecursion) {
  constexpr int kHops = 100'000;
  std::vector<uint32_t> cts;
  for (int i = 0; i <= kHops; ++i) cts.push_back(node.counter());
  for (int i = 0; i < kHops; ++i) node.arm(add(cts[static_cast<size_t>(i) + 1], 1), cts[static_cast<size_t>(i)], 1);
  node.add(cts[0], 1);
  rig.settle();
  EXPECT_EQ(node.value(cts[kHops]).success, 1u);
}

TEST_F(Triggered, AnOperationMayIncrementItsOwnCounter) {
  const uint32_t ct = node.counter();
  for (uint64_t i = 1; i <= 10; ++i) node.arm(add(ct, 1), ct, i);
  node.add(ct, 1);
  rig.settle();
  EXPECT_EQ(node.value(ct).success, 11u);
}

TEST_F(Triggered, IncrementsWrapModulo64Bits) {
  const uint32_t ct = node.counter();
  node.add(ct, 2);
  node.add(ct, ~uint64_t{0});
  EXPECT_EQ(node.value(ct).success, 1u);
}

TEST_F(Triggered, CancellingDropsWhatIsPendingAndKeepsTheCounter) {
  const uint32_t trigger = node.counter(), seen = node.counter();
  node.arm(add(seen, 1), trigger, 1);
  const uint32_t entry = node.claim({.length = 0});
  Command append;
  append.verb = Verb::append;
  append.handle = entry;
  node.arm(append, trigger, 1);
  node.engine.drop_triggers(*node.objects.counters.find(trigger));
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 0u);
  EXPECT_EQ(node.value(trigger).success, 1u);
  EXPECT_EQ(node.objects.entries.find(entry), nullptr);
}

TEST_F(Triggered, AnAppendedEntryAppearsWhenItsCounterSaysSo) {
  char memory[8] = {};
  node.portal();
  const uint32_t trigger = node.counter();
  Command append;
  append.verb = Verb::append;
  append.handle = node.claim({.start = memory, .length = 8});
  node.arm(append, trigger, 1);
  const uint32_t eq = rig[1].queue();
  Command put = rig[1].put("early", 5, 0);
  put.ack = PTL_ACK_REQ;
  put.source.eq = eq;
  rig[1].run(put);
  rig.settle();
  EXPECT_EQ(rig[1].events(eq).back().ni_fail_type, PTL_NI_DROPPED);
  node.add(trigger, 1);
  rig.settle();
  rig[1].run(put);
  rig.settle();
  EXPECT_EQ(rig[1].events(eq).back().ni_fail_type, PTL_NI_OK);
  EXPECT_STREQ(memory, "early");
}

TEST_F(Triggered, AnEntryUnlinkedBeforeItsTriggerFiresNeverAppears) {
  node.portal();
  const uint32_t trigger = node.counter();
  Command append;
  append.verb = Verb::append;
  append.handle = node.claim({.length = 0});
  node.arm(append, trigger, 1);
  EXPECT_EQ(node.engine.unlink(append.handle), PTL_OK);
  EXPECT_EQ(node.engine.unlink(append.handle), PTL_ARG_INVALID);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_TRUE(node.engine.interface(0).portals[0]->priority.empty());
}

TEST_F(Triggered, LocalOperationsComputeVectorsOfAnyLengthInSegments) {
  const size_t n = 100'000;
  std::vector<double> a(n), b(n), sum(n);
  for (size_t i = 0; i < n; ++i) a[i] = static_cast<double>(i), b[i] = 0.5;
  const uint32_t trigger = node.counter(), done = node.counter();
  node.arm(local(PTLX_ADD, PTL_DOUBLE, sum.data(), a.data(), b.data(), n, done), trigger, 1);
  node.add(trigger, 1);
  node.engine.settle();
  rig.settle();
  EXPECT_EQ(node.value(done).success, 1u);
  for (size_t i = 0; i < n; i += 9999) EXPECT_EQ(sum[i], a[i] + 0.5);
}

TEST_F(Triggered, DivisionByZeroIsACountedFailure) {
  int32_t a[2] = {1, 2}, b[2] = {1, 0}, c[2];
  const uint32_t trigger = node.counter(), done = node.counter();
  node.arm(local(PTLX_DIV, PTL_INT32_T, c, a, b, 2, done), trigger, 1);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(node.value(done).success, 0u);
  EXPECT_EQ(node.value(done).failure, 1u);
}

TEST_F(Triggered, ADelayCompletesWhenTheClockSaysSo) {
  const uint32_t trigger = node.counter(), done = node.counter();
  rig.settle(1000);
  node.arm(local(PTLX_DELAY, 0, nullptr, nullptr, nullptr, 500, done), trigger, 1);
  node.add(trigger, 1);
  rig.settle(1400);
  EXPECT_EQ(node.value(done).success, 0u);
  EXPECT_TRUE(node.engine.busy());
  rig.settle(2000);
  EXPECT_EQ(node.value(done).success, 1u);
}

TEST_F(Triggered, ADelayThatFiresLongAfterTheLastStepIsNotShorter) {
  const uint32_t trigger = node.counter(), done = node.counter();
  rig.settle(1000);
  node.arm(local(PTLX_DELAY, 0, nullptr, nullptr, nullptr, 500, done), trigger, 1);
  node.add(trigger, 1);
  rig.settle(5000);
  EXPECT_EQ(node.value(done).success, 0u);
  rig.settle(5500);
  EXPECT_EQ(node.value(done).success, 1u);
}

}  // namespace
}  // namespace portunus::test
