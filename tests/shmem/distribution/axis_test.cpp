// axis_test.cpp: axes against the definitions, over all small parameters, and what the theorems say.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>

#include "reference.hpp"
#include "shmem/distribution/axis/axis.hpp"

using namespace reference;

namespace {

// Everything that can be said of an axis, index by index.
void expect_as_defined(int64_t n, const Chain& chain) {
  const ccc_axis axis = axis_of(n, chain);
  ASSERT_EQ(axis.n, n);
  const int64_t p = chain.back().second, rooms = ccc_room(&axis);
  ASSERT_EQ(rooms, room(n, chain));
  std::vector<int64_t> counts(static_cast<size_t>(p));
  std::set<std::pair<int64_t, int64_t>> taken;
  for (int64_t s = 0; s < n; ++s) {
    const auto [t, o] = place(s, n, chain);
    ASSERT_EQ(ccc_target(&axis, s), t) << "s " << s;
    ASSERT_EQ(ccc_offset(&axis, s), o) << "s " << s;
    ASSERT_LT(o, rooms);
    ASSERT_EQ(ccc_global(&axis, t, o), s);
    ASSERT_TRUE(taken.insert({t, o}).second) << "the distribution is not injective";
    ++counts[static_cast<size_t>(t)];
  }
  for (int64_t t = 0; t < p; ++t) {
    ASSERT_EQ(ccc_count(&axis, t), counts[static_cast<size_t>(t)]) << "t " << t;
    for (int64_t o = 0; o < rooms && rooms < 4096; ++o)
      if (!taken.contains({t, o})) {
        ASSERT_EQ(ccc_global(&axis, t, o), -1) << "a hole at " << o;
      }
  }
}

std::string written(int64_t n, const Chain& chain) {
  std::string text = std::to_string(n);
  for (const auto& [b, p] : chain) text += " (" + std::to_string(b) + "," + std::to_string(p) + ")";
  return text;
}

}  // namespace

TEST(Axis, IsWhatEquations1And2SayForAllSmallParameters) {
  for (int64_t b = 1; b <= 6; ++b)
    for (int64_t p = 1; p <= 6; ++p)
      for (int64_t n = 0; n <= 50; ++n) {
        SCOPED_TRACE(written(n, {{b, p}}));
        expect_as_defined(n, {{b, p}});
        if (HasFatalFailure()) return;
      }
}

TEST(Axis, IsWhatDefinition52SaysForEveryCascadeAndNothingNeedsToDivideAnything) {
  for (int64_t code = 0; code < 24 * 24; ++code) {
    const Chain chain{{code % 3 + 1, code / 3 % 8 + 1}, {code / 24 % 3 + 1, code / 72 + 1}};
    SCOPED_TRACE(written(60, chain));
    expect_as_defined(60, chain);
    if (HasFatalFailure()) return;
  }
  for (int64_t code = 0; code < 12 * 12 * 12; ++code) {
    const Chain chain{{code % 2 + 1, code / 2 % 6 + 1}, {code / 12 % 2 + 1, code / 24 % 6 + 1}, {code / 144 % 2 + 1, code / 288 + 1}};
    SCOPED_TRACE(written(60, chain));
    expect_as_defined(code % 61, chain);
    if (HasFatalFailure()) return;
  }
}

TEST(Axis, PutsIndex57OfExample42OnProcessor6AtOffset5) {
  ccc_axis axis;
  ASSERT_EQ(ccc_block_cyclic(&axis, 64, 4, 8), CCC_SUCCESS);
  EXPECT_EQ(ccc_target(&axis, 57), 6);
  EXPECT_EQ(ccc_offset(&axis, 57), 5);
}

TEST(Axis, CompressLeavesEverythingOnProcessor0AndWithBlockPWouldNot) {
  int64_t wrong = 0;
  for (int64_t p = 1; p < 9; ++p)
    for (int64_t n = 1; n < 40; ++n) {
      bool all = true;
      for (int64_t s = 0; s < n; ++s) all &= target(s, p, p) == 0;
      wrong += !all;
      ccc_axis axis;
      ASSERT_EQ(ccc_compress(&axis, n), CCC_SUCCESS);
      ASSERT_EQ(ccc_count(&axis, 0), n);
      ASSERT_EQ(ccc_room(&axis), n);
    }
  EXPECT_EQ(wrong, 238);
}

TEST(Axis, BlockMayLeaveProcessorsEmptyAndBalancedDoesNot) {
  int64_t empty = 0;
  for (int64_t p = 1; p < 33; ++p)
    for (int64_t n = p; n < 200; ++n) {
      ccc_axis block, balanced;
      ASSERT_EQ(ccc_block(&block, n, p), CCC_SUCCESS);
      ASSERT_EQ(ccc_balanced(&balanced, n, p), CCC_SUCCESS);
      empty += ccc_count(&block, p - 1) == 0;
      int64_t s = 0;
      for (int64_t t = 0; t < p; ++t) {
        ASSERT_EQ(ccc_count(&balanced, t), n / p + (t < n % p));
        for (int64_t o = 0; o < ccc_count(&balanced, t); ++o, ++s) {
          ASSERT_EQ(ccc_target(&balanced, s), t);
          ASSERT_EQ(ccc_offset(&balanced, s), o);
          ASSERT_EQ(ccc_global(&balanced, t, o), s);
        }
        for (int64_t o = ccc_count(&balanced, t); o < ccc_room(&balanced); ++o) ASSERT_EQ(ccc_global(&balanced, t, o), -1);
      }
      ASSERT_EQ(s, n);
    }
  EXPECT_EQ(empty, 2747);
}

TEST(Axis, OfLargeNumbersIsWhatPlainArithmeticSays) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 20000; ++round) {
    const auto below = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1; };
    Chain chain;
    const int steps = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < steps; ++i) chain.push_back({below(int64_t{1} << random() % 14), below(int64_t{1} << random() % 10)});
    const int64_t n = below(int64_t{1} << (20 + random() % 30));
    ccc_axis axis = axis_of(n, chain);
    if (axis.n == 0) continue;  // does not fit
    for (int k = 0; k < 5; ++k) {
      const int64_t s = k == 0 ? n - 1 : below(n) - 1;
      const auto [t, o] = place(s, n, chain);
      ASSERT_EQ(ccc_target(&axis, s), t) << written(n, chain) << " s " << s;
      ASSERT_EQ(ccc_offset(&axis, s), o) << written(n, chain) << " s " << s;
      ASSERT_EQ(ccc_global(&axis, t, o), s) << written(n, chain);
    }
    int64_t sum = 0;
    for (int64_t t = 0; t < chain.back().second; ++t) sum += ccc_count(&axis, t);
    ASSERT_EQ(sum, n) << written(n, chain);
  }
}

TEST(Axis, DividesExactlyUpTo63Bits) {
  using namespace portunus::distribution;
  std::mt19937_64 random(3);
  constexpr int64_t kLast = INT64_MAX;
  for (int round = 0; round < 200000; ++round) {
    const int64_t d = static_cast<int64_t>(random() >> (1 + random() % 63)) | 1, x = static_cast<int64_t>(random() >> 1);
    for (const int64_t by : {d, d - 1 > 0 ? d - 1 : 1, int64_t{1} << (round % 63)})
      for (const int64_t value : {x, x / by * by, x / by * by - (x / by > 0), kLast, int64_t{0}})
        ASSERT_EQ(divide(value, divisor(by)), value / by) << value << " / " << by;
  }
}

TEST(Axis, IsAConstantExpression) {
  using namespace portunus::distribution;
  constexpr ccc_axis axis = [] {
    ccc_axis made{.n = 64, .steps = 1, .step = {{4, 8}}, .hidden = {}};
    finish(made);
    return made;
  }();
  static_assert(target(axis, 57) == 6 && offset(axis, 57) == 5 && global(axis, 6, 5) == 57 && count(axis, 6) == 8);
}

TEST(Axis, RefusesWhatIsOutOfRangeWithASentence) {
  ccc_axis axis{};
  constexpr int64_t kMuch = int64_t{1} << 40;
  const auto refused = [](int code, const char* part) {
    EXPECT_EQ(code, CCC_ERR_ARG);
    EXPECT_NE(std::string(ccc_explain()).find(part), std::string::npos) << ccc_explain();
  };
  refused(ccc_block_cyclic(nullptr, 1, 1, 1), "NULL");
  refused(ccc_block_cyclic(&axis, -1, 1, 1), "-1 indices");
  refused(ccc_block_cyclic(&axis, 1, 0, 1), "block cannot have 0");
  refused(ccc_block_cyclic(&axis, 1, 1, 0), "0 processors");
  refused(ccc_block_cyclic(&axis, 1, kMuch, kMuch), "63 bits");
  refused(ccc_block(&axis, 10, -3), "-3 processors");
  refused(ccc_block(&axis, -10, 3), "-10 indices");
  refused(ccc_balanced(&axis, 10, 0), "0 processors");
  refused(ccc_cyclic(&axis, -5, 2), "-5 indices");
  refused(ccc_compress(&axis, -1), "-1 indices");
  refused(ccc_cascade(&axis, 1, 1), "no axis");
  EXPECT_EQ(axis.steps, 0) << "outputs are set on success only";
  EXPECT_EQ(ccc_target(&axis, 0), -1) << "an axis made by hand";
  EXPECT_EQ(ccc_room(&axis), -1);
  ASSERT_EQ(ccc_balanced(&axis, 10, 3), CCC_SUCCESS);
  refused(ccc_cascade(&axis, 1, 2), "balanced");
  ASSERT_EQ(ccc_block_cyclic(&axis, 100, 2, 10), CCC_SUCCESS);
  refused(ccc_cascade(&axis, -1, 2), "blocks of -1");
  refused(ccc_cascade(&axis, 1, 0), "0 processors");
  refused(ccc_cascade(&axis, kMuch, kMuch), "63 bits");
  ASSERT_EQ(ccc_cascade(&axis, 0, 4), CCC_SUCCESS);
  EXPECT_EQ(axis.step[1].block, 3) << "ceil(10 / 4)";
  ASSERT_EQ(ccc_cascade(&axis, 1, 2), CCC_SUCCESS);
  refused(ccc_cascade(&axis, 1, 1), "3 steps");
  for (const int64_t s : {int64_t{-1}, int64_t{100}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(ccc_target(&axis, s), -1);
    EXPECT_EQ(ccc_offset(&axis, s), -1);
    EXPECT_EQ(ccc_global(&axis, s, 0), -1);
    EXPECT_EQ(ccc_count(&axis, s), -1);
  }
  EXPECT_EQ(ccc_global(&axis, 0, ccc_room(&axis)), -1);
  EXPECT_EQ(ccc_target(nullptr, 0), -1);
  EXPECT_EQ(ccc_merges(nullptr, nullptr), 0);
}
