// theorem_test.cpp: theorems 6.1 and 6.2, as printed, as proven, and exact.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "reference.hpp"

using namespace reference;

namespace {

// Calls f(b1, b2, p, u, n) for all small parameters.
template <class F>
void for_all(int64_t most_block, int64_t most_p, int64_t most_u, int64_t most_n, F f) {
  for (int64_t b1 = 1; b1 <= most_block; ++b1)
    for (int64_t b2 = 1; b2 <= most_block; ++b2)
      for (int64_t p = 1; p <= most_p; ++p)
        for (int64_t u = 1; u <= most_u; ++u)
          for (int64_t n = 1; n <= most_n; ++n) f(b1, b2, p, u, n);
}

bool same_targets(int64_t n, const Chain& chain) {
  int64_t block = 1;
  for (const auto& [b, p] : chain) block *= b;
  for (int64_t s = 0; s < n; ++s)
    if (place(s, n, chain).first != target(s, block, chain.back().second)) return false;
  return true;
}

// Local arrays of processor t in both orders: what is at each place is the index, -1 in holes.
std::vector<int64_t> local(const ccc_axis& axis, int64_t t) {
  std::vector<int64_t> data(static_cast<size_t>(ccc_room(&axis)), -1);
  for (size_t o = 0; o < data.size(); ++o) data[o] = ccc_global(&axis, t, static_cast<int64_t>(o));
  return data;
}

void expect_redeployment(int64_t n, const Chain& chain) {
  const ccc_axis axis = axis_of(n, chain);
  ccc_axis merged;
  ASSERT_EQ(ccc_merges(&axis, &merged), 1);
  for (int64_t t = 0; t < chain.back().second; ++t) {
    const std::vector<int64_t> plain = local(merged, t), virtuals = local(axis, t);
    std::vector<int64_t> to(virtuals.size(), -1), back(plain.size(), -1);
    ASSERT_EQ(ccc_to_virtual(&axis, t, sizeof(int64_t), to.data(), plain.data()), CCC_SUCCESS) << ccc_explain();
    ASSERT_EQ(ccc_from_virtual(&axis, t, sizeof(int64_t), back.data(), to.data()), CCC_SUCCESS) << ccc_explain();
    for (size_t o = 0; o < to.size(); ++o)
      if (virtuals[o] >= 0) {
        ASSERT_EQ(to[o], virtuals[o]);
      }
    for (size_t o = 0; o < back.size(); ++o)
      if (plain[o] >= 0) {
        ASSERT_EQ(back[o], plain[o]);
      }
  }
}

}  // namespace

TEST(Theorem61, IsFalseAsPrintedAndExactInTheFormOfMerges) {
  int64_t printed = 0, printed_wrong = 0, proof = 0, proof_wrong = 0, exact_wrong = 0, sets = 0;
  for_all(4, 4, 12, 40, [&](int64_t b1, int64_t b2, int64_t p, int64_t u, int64_t n) {
    const Chain chain{{b1, u}, {b2, p}};
    const bool equal = same_targets(n, chain);
    if (p * b2 % u == 0) ++printed, printed_wrong += !equal;
    if (u % (p * b2) == 0) ++proof, proof_wrong += !equal;
    const ccc_axis axis = axis_of(n, chain);
    ccc_axis merged{};
    exact_wrong += (ccc_merges(&axis, &merged) == 1) != equal;
    if (equal) {
      ASSERT_EQ(merged.step[0].block, b1 * b2);
    }
    ++sets;
  });
  EXPECT_EQ(sets, 30720);
  EXPECT_EQ(printed, 8480);
  EXPECT_EQ(printed_wrong, 4320);
  EXPECT_EQ(proof, 8000);
  EXPECT_EQ(proof_wrong, 0);
  EXPECT_EQ(exact_wrong, 0);
  EXPECT_FALSE(same_targets(3, {{1, 2}, {2, 2}})) << "the smallest counterexample to the printed hypothesis, 2 | 2*2";
}

TEST(Theorem61, IsExactForChainsOfThreeStepsToo) {
  int64_t equal_ones = 0;
  for (int64_t code = 0; code < 8 * 8 * 8; ++code) {
    const Chain chain{{code % 2 + 1, code / 2 % 4 + 1}, {code / 8 % 2 + 1, code / 16 % 4 + 1}, {code / 64 % 2 + 1, code / 128 + 1}};
    for (int64_t n = 1; n <= 40; ++n) {
      const ccc_axis axis = axis_of(n, chain);
      const bool equal = same_targets(n, chain);
      equal_ones += equal;
      ASSERT_EQ(ccc_merges(&axis, nullptr) == 1, equal) << code << " n " << n;
    }
  }
  EXPECT_GT(equal_ones, 1000);
}

TEST(Theorem62, MapIsRightUnmapAsPrintedIsNotAndTheClosedFormIsBoth) {
  int64_t points = 0, map_wrong = 0, unmap_wrong = 0, mended_wrong = 0, closed_wrong = 0;
  for_all(4, 3, 4, 4, [&](int64_t b1, int64_t b2, int64_t p, int64_t c1, int64_t c2) {
    const int64_t u = c2 * p * b2, n = c1 * c2 * p * b2 * b1;
    for (int64_t s = 0; s < n; ++s) {
      const int64_t cascade = place(s, n, {{b1, u}, {b2, p}}).second, merged = offset(s, b1 * b2, p);
      ++points;
      map_wrong += map_printed(merged, b1, c1, b2, c2) != cascade;
      unmap_wrong += unmap_printed(cascade, b1, c1, b2, c2) != merged;
      mended_wrong += unmap_printed(cascade, b1, c1, b2, c2, true) != merged;
      closed_wrong += ccc_map(merged, b1, c1, b2, c2) != cascade || ccc_unmap(cascade, b1, c1, b2, c2) != merged;
    }
  });
  EXPECT_EQ(points, 60000);
  EXPECT_EQ(map_wrong, 0);
  EXPECT_EQ(unmap_wrong, 24000);
  EXPECT_EQ(mended_wrong, 0);
  EXPECT_EQ(closed_wrong, 0);
  EXPECT_EQ(unmap_printed(1, 1, 1, 1, 2), 2) << "block-cyclic(1), 2 virtual processors on 1: outside of the array";
  EXPECT_EQ(ccc_unmap(1, 1, 1, 1, 2), 1);
}

TEST(Theorem62, AnswersMinus1OutsideOfTheArrayAndForNumbersThatAreNone) {
  EXPECT_EQ(ccc_map(-1, 1, 1, 1, 1), -1);
  EXPECT_EQ(ccc_map(24, 1, 2, 3, 4), -1);
  EXPECT_NE(ccc_map(23, 1, 2, 3, 4), -1);
  EXPECT_EQ(ccc_unmap(24, 1, 2, 3, 4), -1);
  EXPECT_EQ(ccc_map(0, 0, 1, 1, 1), -1);
  EXPECT_EQ(ccc_unmap(0, 1, 1, 1, 0), -1);
  EXPECT_EQ(ccc_unmap(0, 1, 1, -1, -1), -1);
  EXPECT_EQ(ccc_map(0, INT64_MAX, 2, 2, 2), -1);
}

TEST(Theorem62, IsTheIdentityInOneCycle) {
  int64_t points = 0;
  for (int64_t b1 = 1; b1 < 5; ++b1)
    for (int64_t b2 = 1; b2 < 5; ++b2)
      for (int64_t p = 1; p < 5; ++p)
        for (int64_t u = 1; u < 13; ++u)
          for (int64_t n = 1; n <= u * b1; ++n) {
            const ccc_axis axis = axis_of(n, {{b1, u}, {b2, p}});
            for (int64_t s = 0; s < n; ++s, ++points) ASSERT_EQ(ccc_offset(&axis, s), offset(s, b1 * b2, p));
          }
  EXPECT_EQ(points, 162240);
}

TEST(Theorem62, LeavesTheMergedSpaceForHolesWhereTheLastCycleIsNotFull) {
  int64_t sets = 0, larger = 0, out = 0;
  for (int64_t b1 = 1; b1 < 4; ++b1)
    for (int64_t b2 = 1; b2 < 4; ++b2)
      for (int64_t p = 1; p < 4; ++p)
        for (int64_t c2 = 1; c2 < 4; ++c2)
          for (int64_t n = 1; n < 60; ++n, ++sets) {
            const int64_t u = c2 * p * b2, c1 = cycles(n, b1, u);
            const ccc_axis axis = axis_of(n, {{b1, u}, {b2, p}});
            ccc_axis merged;
            ASSERT_EQ(ccc_merges(&axis, &merged), 1);
            ASSERT_EQ(ccc_room(&axis), b1 * c1 * b2 * c2);
            larger += ccc_room(&axis) != ccc_room(&merged);
            bool leaves = false;
            for (int64_t o = 0; o < ccc_room(&axis); ++o) leaves |= ccc_unmap(o, b1, c1, b2, c2) >= ccc_room(&merged);
            out += leaves;
          }
  EXPECT_EQ(sets, 4779);
  EXPECT_EQ(larger, 1989);
  EXPECT_EQ(out, 1989);
}

TEST(Redeployment, MovesWholeArraysForthAndBackWhateverTheCyclesLeave) {
  for (int64_t b1 = 1; b1 < 4; ++b1)
    for (int64_t b2 = 1; b2 < 4; ++b2)
      for (int64_t p = 1; p < 4; ++p)
        for (int64_t u = 1; u < 13; ++u)
          for (const int64_t n : {0, 1, 2, 5, 12, 13, 35, 36, 59, 600}) {
            const ccc_axis axis = axis_of(n, {{b1, u}, {b2, p}});
            if (ccc_merges(&axis, nullptr)) expect_redeployment(n, {{b1, u}, {b2, p}});
            if (HasFatalFailure()) return;
          }
  expect_redeployment(500, {{2, 24}, {3, 4}, {1, 2}});
  expect_redeployment(8192, {{1, 64}, {1, 1}});
}

TEST(Redeployment, RefusesWhatDoesNotMergeAndWhatOverlaps) {
  const ccc_axis axis = axis_of(12, {{1, 6}, {2, 3}}), other = axis_of(12, {{1, 3}, {1, 2}});
  std::vector<double> a(24), b(24);
  EXPECT_EQ(ccc_to_virtual(&other, 0, 8, a.data(), b.data()), CCC_ERR_STATE);
  EXPECT_NE(std::string(ccc_explain()).find("does not merge"), std::string::npos);
  EXPECT_EQ(ccc_to_virtual(&axis, 3, 8, a.data(), b.data()), CCC_ERR_ARG);
  EXPECT_EQ(ccc_to_virtual(&axis, 0, 0, a.data(), b.data()), CCC_ERR_ARG);
  EXPECT_EQ(ccc_to_virtual(&axis, 0, SIZE_MAX, a.data(), b.data()), CCC_ERR_ARG);
  EXPECT_EQ(ccc_to_virtual(&axis, 0, 8, a.data(), a.data() + 1), CCC_ERR_ARG);
  EXPECT_EQ(ccc_to_virtual(&axis, 0, 8, nullptr, a.data()), CCC_ERR_ARG);
  EXPECT_EQ(ccc_from_virtual(nullptr, 0, 8, a.data(), b.data()), CCC_ERR_ARG);
}
