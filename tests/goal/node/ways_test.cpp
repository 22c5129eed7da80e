// Which way long contributions go: both are tried, the quicker is taken, and that is asked again now and then.
#include <gtest/gtest.h>

#include "engine/goal/node/ways.hpp"

namespace portunus::goal::node {
namespace {

constexpr size_t kBytes = 64 * 1024;

// One contribution, which takes so long through rooms or from its place; whether it went from its place.
bool go(Ways& ways, uint64_t rooms, uint64_t place, size_t bytes = kBytes) {
  const bool in_place = ways.next(bytes);
  ways.took(bytes, in_place ? place : rooms);
  return in_place;
}

int in_place_of(Ways& ways, unsigned turns, uint64_t rooms, uint64_t place) {
  int count = 0;
  for (unsigned i = 0; i < turns; ++i) count += go(ways, rooms, place);
  return count;
}

TEST(Ways, TriesBothAndTakesTheQuicker) {
  Ways quick_rooms, quick_place;
  EXPECT_EQ(in_place_of(quick_rooms, Ways::kPeriod, 5, 9), int{Ways::kTries});
  EXPECT_EQ(in_place_of(quick_place, Ways::kPeriod, 9, 5), int{Ways::kPeriod - Ways::kTries});
}

TEST(Ways, AsksForTheTimeOfTriesAlone) {
  Ways ways;
  for (uint32_t i = 0; i < Ways::kPeriod; ++i) {
    EXPECT_EQ(ways.is_try(kBytes), i < 2 * Ways::kTries) << i;
    go(ways, 1, 2);
  }
  EXPECT_TRUE(ways.is_try(kBytes));
}

TEST(Ways, CountsTheQuickestTry) {
  Ways ways;
  for (uint32_t i = 0; i < 2 * Ways::kTries; ++i) go(ways, 7, i == Ways::kTries ? 6 : 1000);  // the others waited for somebody
  EXPECT_TRUE(ways.next(kBytes));
}

TEST(Ways, TurnsWhenTheOtherWayHasBecomeQuicker) {
  Ways ways;
  in_place_of(ways, Ways::kPeriod, 5, 9);
  EXPECT_EQ(in_place_of(ways, Ways::kPeriod, 5, 4), int{Ways::kPeriod - Ways::kTries});
  EXPECT_EQ(in_place_of(ways, Ways::kPeriod, 5, 9), int{Ways::kTries});
}

TEST(Ways, KeepsSizesApart) {
  Ways ways;
  for (uint32_t i = 0; i < 2 * Ways::kTries; ++i) go(ways, 9, 5);
  EXPECT_TRUE(ways.next(kBytes));
  EXPECT_FALSE(ways.next(Ways::kLeast));
  EXPECT_FALSE(ways.next(size_t{1} << 30));
}

TEST(Ways, OfRanksThatMakeTheSameCallsTryTheSame) {
  Ways one, other;
  for (uint32_t i = 0; i < 3 * Ways::kPeriod; ++i) {
    const bool is_try = one.is_try(kBytes);
    const bool in_place = go(one, 5, 9);
    EXPECT_EQ(go(other, 9, 5) == in_place, is_try) << i;
  }
}

}  // namespace
}  // namespace portunus::goal::node
