// Computing by the engine itself: vectors of any length, in turns, and delays by the clock of the steps. Engines stepped by
// hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "tests/support/rig.hpp"

namespace portunus::test {
namespace {

struct LocalOperation : ::testing::Test {
  Rig rig{2};
  Node& node = rig[0];

  Command add(uint32_t ct, uint64_t success, uint64_t failure = 0) {
    Command command;
    command.verb = Verb::counter_add;
    command.handle = ct;
    command.extra.count = {success, failure};
    return command;
  }
  template <class T>
  Command await(const T* word, ptl_datatype_t type, ptlx_comparison_t comparison, T value, uint32_t done) {
    Command command;
    command.verb = Verb::local;
    command.op = kAwait;
    command.datatype = type;
    command.handle = done;
    command.source.base = const_cast<T*>(word);
    command.extra.awaited = {0, static_cast<uint32_t>(comparison), 1};
    std::memcpy(&command.extra.awaited.value, &value, sizeof value);
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
    command.extra.operand_a.base = a;
    command.result.base = b;
    return command;
  }
};

TEST_F(LocalOperation, LocalOperationsComputeVectorsOfAnyLengthInSegments) {
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

// However the operands are cut, in elements or beside them.
TEST_F(LocalOperation, LocalOperationsTakeOperandsInPieces) {
  std::vector<int32_t> a(1000), b(1000), sum(1000);
  for (int i = 0; i < 1000; ++i) a[i] = i, b[i] = 7 * i;
  const auto cut = [](std::vector<int32_t>& v, std::vector<size_t> sizes) {
    std::vector<ptl_iovec_t> pieces;
    auto* at = reinterpret_cast<std::byte*>(v.data());
    size_t left = 4 * v.size();
    for (size_t i = 0; left > 0; ++i) {
      const size_t n = std::min(left, sizes[i % sizes.size()]);
      pieces.push_back({at, n});
      at += n, left -= n;
    }
    return pieces;
  };
  const std::vector<ptl_iovec_t> to = cut(sum, {3, 0, 400, 1}), from = cut(a, {8}), other = cut(b, {1, 2, 77});
  const uint32_t trigger = node.counter(), done = node.counter();
  Command command = local(PTLX_ADD, PTL_INT32_T, const_cast<ptl_iovec_t*>(to.data()), const_cast<ptl_iovec_t*>(from.data()),
                          const_cast<ptl_iovec_t*>(other.data()), 1000, done);
  command.source.iov_count = static_cast<uint32_t>(to.size());
  command.extra.operand_a.pieces = from.size();
  command.result.iov_count = static_cast<uint32_t>(other.size());
  node.arm(command, trigger, 1);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(node.value(done).success, 1u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(sum[i], 8 * i);
}

// A vector of many megabytes does not hold up what else there is to do: a step has a budget, and vectors take turns.
TEST_F(LocalOperation, LongLocalOperationsLeaveRoomForOthers) {
  std::vector<uint64_t> a(1 << 20, 3), b(1 << 20, 4), product(1 << 20);
  uint32_t word[2] = {6, 7};
  const uint32_t trigger = node.counter(), done = node.counter(), small = node.counter(), hop = node.counter();
  node.arm(local(PTLX_MULT, PTL_UINT64_T, product.data(), a.data(), b.data(), a.size(), done), trigger, 1);
  node.arm(local(PTLX_ADD, PTL_UINT32_T, &word[0], &word[0], &word[1], 1, small), trigger, 1);
  node.arm(add(hop, 1), trigger, 1);
  node.add(trigger, 1);
  uint64_t steps = 0, small_at = 0, hop_at = 0;
  for (; node.value(done).success == 0; ++steps) {
    ASSERT_TRUE(steps == 0 || node.engine.busy());
    node.engine.step(0);
    if (node.value(small).success == 0) small_at = steps;
    if (node.value(hop).success == 0) hop_at = steps;
  }
  EXPECT_LE(hop_at, 1u);
  EXPECT_LE(small_at, 2u);
  EXPECT_GE(steps, (a.size() * 8) / LocalOperations::kBytesPerStep);
  EXPECT_EQ(word[0], 13u);
  EXPECT_EQ(std::count(product.begin(), product.end(), 12u), 1 << 20);
  EXPECT_FALSE(node.engine.busy());
}

TEST_F(LocalOperation, DivisionByZeroIsACountedFailure) {
  int32_t a[2] = {1, 2}, b[2] = {1, 0}, c[2];
  const uint32_t trigger = node.counter(), done = node.counter();
  node.arm(local(PTLX_DIV, PTL_INT32_T, c, a, b, 2, done), trigger, 1);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(node.value(done).success, 0u);
  EXPECT_EQ(node.value(done).failure, 1u);
}

TEST_F(LocalOperation, ADelayCompletesWhenTheClockSaysSo) {
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

TEST_F(LocalOperation, ADelayThatFiresLongAfterTheLastStepIsNotShorter) {
  const uint32_t trigger = node.counter(), done = node.counter();
  rig.settle(1000);
  node.arm(local(PTLX_DELAY, 0, nullptr, nullptr, nullptr, 500, done), trigger, 1);
  node.add(trigger, 1);
  rig.settle(5000);
  EXPECT_EQ(node.value(done).success, 0u);
  rig.settle(5500);
  EXPECT_EQ(node.value(done).success, 1u);
}

TEST_F(LocalOperation, AnAwaitedWordCountsWhenTheComparisonHolds) {
  struct Case {
    ptlx_comparison_t comparison;
    int32_t not_yet, then;
  };
  for (const Case& one : {Case{PTLX_EQUAL, 6, 7}, Case{PTLX_NOT_EQUAL, 7, 6}, Case{PTLX_GREATER, 7, 8}, Case{PTLX_GREATER_EQUAL, -1, 7},
                          Case{PTLX_LESS, 7, -1}, Case{PTLX_LESS_EQUAL, 8, 7}}) {
    int32_t word = one.not_yet;
    const uint32_t trigger = node.counter(), done = node.counter();
    node.arm(await(&word, PTL_INT32_T, one.comparison, 7, done), trigger, 1);
    word = one.then;
    rig.settle();
    EXPECT_EQ(node.value(done).success, 0u) << "nothing looks before the trigger";
    word = one.not_yet;
    node.add(trigger, 1);
    rig.settle();
    EXPECT_EQ(node.value(done).success, 0u);
    EXPECT_FALSE(node.engine.busy()) << "a thread that waits for a word may sleep";
    EXPECT_GT(node.engine.max_idle_ns(), 0) << "but looks again";
    EXPECT_EQ(node.engine.watched(), 1u) << "and may be rung";
    EXPECT_TRUE(node.engine.take_news()) << "and who sleeps already is told";
    EXPECT_FALSE(node.engine.take_news()) << "once";
    word = one.then;
    EXPECT_FALSE(node.engine.idle());
    rig.settle();
    EXPECT_EQ(node.value(done).success, 1u);
    EXPECT_EQ(node.engine.max_idle_ns(), -1);
    EXPECT_EQ(node.engine.watched(), 0u);
  }
}

TEST_F(LocalOperation, AnAwaitedWordHasTheWidthAndTheSignOfItsType) {
  const auto counts = [&](auto word, ptl_datatype_t type) {
    const uint32_t trigger = node.counter(), done = node.counter();
    node.arm(await(&word, type, PTLX_GREATER, decltype(word){0}, done), trigger, 1);
    node.add(trigger, 1);
    rig.settle();
    const uint64_t counted = node.value(done).success;
    node.engine.cancel_triggers(*node.objects.counters.find(done), done);
    return counted;
  };
  EXPECT_EQ(counts(int8_t{-1}, PTL_INT8_T) + counts(int16_t{-1}, PTL_INT16_T) + counts(int32_t{-1}, PTL_INT32_T) +
                counts(int64_t{-1}, PTL_INT64_T),
            0u);
  EXPECT_EQ(counts(uint8_t{255}, PTL_UINT8_T) + counts(uint16_t{65535}, PTL_UINT16_T) + counts(uint32_t{1} << 31, PTL_UINT32_T) +
                counts(uint64_t{1} << 63, PTL_UINT64_T),
            4u);
}

TEST_F(LocalOperation, AnAwaitedWordIsLookedAtNoMoreWhenItsCounterIsCancelled) {
  uint64_t word = 0;
  const uint32_t trigger = node.counter(), done = node.counter();
  node.arm(await(&word, PTL_UINT64_T, PTLX_EQUAL, uint64_t{1}, done), trigger, 1);
  node.add(trigger, 1);
  rig.settle();
  node.engine.cancel_triggers(*node.objects.counters.find(done), done);
  word = 1;
  rig.settle();
  EXPECT_EQ(node.value(done).success, 0u);
  EXPECT_EQ(node.engine.max_idle_ns(), -1);
}

TEST_F(LocalOperation, AFunctionOfALayerAboveIsCalledWhenItsTurnHasCome) {
  struct Work {
    int calls, answer;
  } well{0, 0}, badly{0, 1};
  const uint32_t trigger = node.counter(), done = node.counter();
  for (Work* one : {&well, &badly}) {
    Command command;
    command.verb = Verb::local;
    command.op = kCall;
    command.handle = done;
    command.extra.call = {[](void* work) {
                            ++static_cast<Work*>(work)->calls;
                            return static_cast<Work*>(work)->answer;
                          },
                          one};
    node.arm(command, trigger, 1);
  }
  rig.settle();
  EXPECT_EQ(well.calls + badly.calls, 0);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(well.calls, 1);
  EXPECT_EQ(badly.calls, 1);
  EXPECT_EQ(node.value(done).success, 1u);
  EXPECT_EQ(node.value(done).failure, 1u);
}

}  // namespace
}  // namespace portunus::test
