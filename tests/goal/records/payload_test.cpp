// The memory that goalrun gives to the messages of a schedule.
#include "engine/tools/goalrun/payload.hpp"

#include <gtest/gtest.h>

namespace portunus::goalrun {
namespace {

// Two alike, then others in one thing each.
constexpr char kText[] = R"(num_ranks 2
rank 0 {
send 100b to 1 tag 1
send 100b to 1 tag 1
send 100b to 1 tag 2
send 200b to 1 tag 1
recv 100b from 1 tag 1
}
rank 1 {
recv 100b from 0 tag 1
recv 100b from 0 tag 1
recv 100b from 0 tag 2
recv 200b from 0 tag 1
send 100b to 0 tag 1
}
)";

class PayloadTest : public ::testing::Test {
 protected:
  PayloadTest() {
    for (const goal::Schedule& schedule : file.ranks) wildcards.emplace_back(schedule);
  }
  goal::GoalFile file = goal::parse_goal(kText);
  std::vector<goal::Wildcards> wildcards;
};

TEST_F(PayloadTest, EachMessageThatIsCheckedHasMemoryOfItsOwn) {
  const Payload payload(file, 0, wildcards, true);
  for (goal::VertexId v = 1; v < 5; ++v) EXPECT_GE(payload.buffer(v), payload.buffer(v - 1) + file.ranks[0][v - 1].size);
}

TEST_F(PayloadTest, OthersShareThatOfTheirPeerTagAndSize) {
  const Payload payload(file, 0, wildcards, false);
  EXPECT_EQ(payload.buffer(0), payload.buffer(1));
  for (goal::VertexId v = 2; v < 5; ++v) EXPECT_GE(payload.buffer(v), payload.buffer(v - 1) + file.ranks[0][v - 1].size);
  EXPECT_LT(Payload::bytes_needed(file.ranks[0], false), Payload::bytes_needed(file.ranks[0], true));
}

TEST_F(PayloadTest, WhatNoMemoryHoldsIsSaid) {
  const goal::GoalFile large = goal::parse_goal("num_ranks 1\nrank 0 {\nsend 4611686018427387903b to 0\n}\n");
  EXPECT_EQ(Payload::bytes_needed(large.ranks[0], true), UINT64_MAX);
}

}  // namespace
}  // namespace portunus::goalrun
