// The table of ways: what decides, over all facts there can be.
#include "engine/core/initiator/way.hpp"

#include <gtest/gtest.h>

namespace portunus::test {
namespace {

constexpr uint16_t kAllFacts = 0x7f;

TEST(Ways, EveryRowIsTakenByItsOwnFacts) {
  for (const WayRow& row : kWays) EXPECT_EQ(choose_way(row.needs), row.way);
}

TEST(Ways, NoWayIsTakenWithoutWhatItNeeds) {
  for (uint16_t facts = 0; facts <= kAllFacts; ++facts) {
    const Way way = choose_way(facts);
    EXPECT_EQ(way == Way::inlined, (facts & fact::kFitsMessage) != 0) << facts;
    if (goes_through_staging(way)) {
      EXPECT_TRUE(facts & fact::kStaging) << facts;
    }
    if (opens_memory(way)) {
      EXPECT_TRUE(facts & fact::kRemoteAccess) << facts;
    }
    if (way == Way::pulled) {
      EXPECT_FALSE(facts & (fact::kInPieces | fact::kEntryLaidOut)) << facts;
    }
  }
}

TEST(Ways, TakingAwayWhatAWayNeedsLeadsToAnotherAndInTheEndToMessages) {
  for (uint16_t facts = 0; facts <= kAllFacts; ++facts) {
    uint16_t left = facts;
    int asked = 0;
    for (Way way = choose_way(left); way != Way::streamed && way != Way::inlined; way = choose_way(left)) {
      left &= static_cast<uint16_t>(goes_through_staging(way) ? ~fact::kStaging : ~fact::kRemoteAccess);
      ASSERT_LT(++asked, 4) << facts;
    }
  }
}

TEST(Ways, PiecesAreCopiedTogetherWhereBothEndsMapMemoryAndOnePieceIsPulled) {
  using namespace fact;
  EXPECT_EQ(choose_way(kStaging | kInPieces | kRemoteAccess), Way::staged);
  EXPECT_EQ(choose_way(kStaging | kRemoteAccess), Way::pulled);
  EXPECT_EQ(choose_way(kInPieces | kSourceLaidOut | kRemoteAccess), Way::packed);
  EXPECT_EQ(choose_way(kInPieces | kRemoteAccess), Way::streamed);
  EXPECT_EQ(choose_way(kRemoteAccess | kEntryLaidOut), Way::bounced);
}

}  // namespace
}  // namespace portunus::test
