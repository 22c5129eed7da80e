// fuzz_test.cpp: any numbers as arguments: a code and a sentence, or an axis that is one; never a fault, under sanitizers
// neither.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "random_layout.hpp"

namespace {

// Small, around powers of two, the extremes, or anything.
int64_t any(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0: return static_cast<int64_t>(random() % 5) - 1;
    case 1: return static_cast<int64_t>(random() % 300);
    case 2: return (int64_t{1} << random() % 63) + static_cast<int64_t>(random() % 3) - 1;
    case 3: return random() % 2 ? INT64_MAX - static_cast<int64_t>(random() % 3) : INT64_MIN + static_cast<int64_t>(random() % 3);
    case 4: return static_cast<int64_t>(random() % 100000);
    default: return static_cast<int64_t>(random());
  }
}

int make(std::mt19937_64& random, ccc_axis* axis) {
  switch (random() % 5) {
    case 0: return ccc_block_cyclic(axis, any(random), any(random), any(random));
    case 1: return ccc_block(axis, any(random), any(random));
    case 2: return ccc_balanced(axis, any(random), any(random));
    case 3: return ccc_cyclic(axis, any(random), any(random));
    default: return ccc_compress(axis, any(random));
  }
}

}  // namespace

TEST(Fuzz, AxesOfAnyNumbersAreRefusedOrWhole) {
  std::mt19937_64 random(41);
  int made = 0, refused = 0;
  for (int round = 0; round < 60000; ++round) {
    ccc_axis axis{};
    int code = make(random, &axis);
    for (uint64_t more = random() % 3; more > 0 && code == CCC_SUCCESS; --more)
      if (ccc_cascade(&axis, any(random), any(random)) != CCC_SUCCESS) ++refused;
    if (code != CCC_SUCCESS) {
      ASSERT_EQ(code, CCC_ERR_ARG);
      ASSERT_GT(strlen(ccc_explain()), 10u);
      ++refused;
      continue;
    }
    ++made;
    const int64_t rooms = ccc_room(&axis), last = axis.step[axis.steps - 1].processors;
    ASSERT_GE(rooms, 0);
    ccc_axis merged{};
    ccc_merges(&axis, &merged);
    for (int k = 0; k < 8; ++k) {
      const int64_t s = any(random);
      const int64_t t = ccc_target(&axis, s), o = ccc_offset(&axis, s);
      if (s < 0 || s >= axis.n) {
        ASSERT_TRUE(t == -1 && o == -1);
        continue;
      }
      ASSERT_TRUE(t >= 0 && t < last && o >= 0 && o < rooms);
      ASSERT_EQ(ccc_global(&axis, t, o), s);
      ASSERT_GE(ccc_count(&axis, t), 1);
    }
    ASSERT_GE(ccc_global(&axis, any(random), any(random)), -1);
    ASSERT_GE(ccc_count(&axis, any(random)), -1);
    ASSERT_GE(ccc_map(any(random), any(random), any(random), any(random), any(random)), -1);
    ASSERT_GE(ccc_unmap(any(random), any(random), any(random), any(random), any(random)), -1);
  }
  EXPECT_GT(made, 5000);
  EXPECT_GT(refused, 5000);
}

TEST(Fuzz, LayoutsOfAnyNumbersAreRefusedOrHaveACost) {
  std::mt19937_64 random(43);
  int counted = 0;
  for (int round = 0; round < 6000; ++round) {
    const int axes = 1 + static_cast<int>(random() % 3);
    auto [from, to, order] = random_pair(random, 12, axes, 40, false);
    ccc_cost cost{};
    // One thing is made anything.
    switch (random() % 8) {
      case 0: from.axes = static_cast<int>(any(random)); break;
      case 1: to.first_pe = static_cast<int>(any(random)); break;
      case 2: order[random() % 3] = static_cast<int>(any(random)); break;
      case 3: make(random, &from.axis[random() % 3]); break;
      case 4: to.axis[random() % 3].step[random() % 3].block = any(random); break;
      case 5: to.axis[random() % 3].hidden[random() % 8] = any(random); break;
      case 6: to.axis[random() % 3].steps = static_cast<int>(any(random)); break;
      default: break;
    }
    const size_t size = random() % 8 == 0 ? static_cast<size_t>(any(random)) : 8;
    const int code = ccc_cost_of(&from, &to, order.data(), size, &cost);
    ASSERT_TRUE(code == CCC_SUCCESS || code == CCC_ERR_ARG) << ccc_explain();
    counted += code == CCC_SUCCESS;
    std::array<int, 1024> pes{};
    if (code == CCC_SUCCESS && all_targets(to) <= 1024) {
      ASSERT_EQ(ccc_relabel(&from, &to, order.data(), pes.data()), CCC_SUCCESS);
    }
  }
  EXPECT_GT(counted, 1000);
}
