// The pipes of two ranks (engine/goal/node/pipes.hpp), both ends in one process: what is given is taken, and what no rank would write is
// refused.
#include "engine/goal/node/pipes.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "engine/goal/goal_call.h"

namespace {

using portunus::goal::node::AbortPredicate;
using portunus::goal::node::DataRing;
using portunus::goal::node::Pipes;
using portunus::goal::node::Waiting;

constexpr size_t kRing = size_t{1} << 20, kLine = 64;
constexpr uint64_t kWhat = 7;

struct Rank {
  Waiting waiting{nullptr, AbortPredicate{}};
  DataRing ring{kRing, {[](const void*, uint64_t) { return true; }, nullptr}};
  Pipes pipes;
  explicit Rank(size_t rank) : pipes(rank, 2, ring, waiting) {
    ring.reserve();
    pipes.reserve();
  }
};

class TwoRanks : public testing::Test {
 protected:
  TwoRanks() {
    const size_t bytes = Pipes::bytes(2) + 2 * kRing;
    memory_.resize((bytes + kLine) / sizeof(uint64_t));
    void* at = memory_.data();
    size_t space = memory_.size() * sizeof(uint64_t);
    start_ = static_cast<std::byte*>(std::align(kLine, bytes, at, space));
    for (Rank* one : {&giver, &taker}) one->pipes.lie_at(start_);
  }
  void make_rings() {
    for (Rank* one : {&giver, &taker}) one->pipes.lie_rings_at(start_ + Pipes::bytes(2), kRing);
  }
  // The first record of the pipe from rank 0 to rank 1.
  std::byte* record() { return start_ + 2 * 2 * kLine + 8192; }

  void give(const std::vector<std::byte>& data) {
    giver.pipes.begin(kWhat);
    giver.pipes.give(1, data.data(), data.size());
    ASSERT_EQ(giver.pipes.end(), GOAL_SUCCESS);
  }
  int take(std::vector<std::byte>& data, uint64_t what = kWhat) {
    taker.pipes.begin(what);
    taker.pipes.take(0, data.data(), data.size());
    return taker.pipes.end();
  }
  static std::vector<std::byte> data_of(size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 31 + bytes);
    return data;
  }

  Rank giver{0}, taker{1};

 private:
  std::vector<uint64_t> memory_;
  std::byte* start_;
};

TEST_F(TwoRanks, WhatIsGivenIsTakenWhateverItsLength) {
  make_rings();
  for (int turn = 0; turn < 50; ++turn)
    for (const size_t bytes : {0, 1, 900, 2048, 2049, 5000, 16384, 16385, 200000}) {
      const std::vector<std::byte> data = data_of(bytes);
      give(data);
      std::vector<std::byte> got(bytes);
      ASSERT_EQ(take(got), GOAL_SUCCESS) << bytes;
      ASSERT_EQ(got, data) << bytes;
    }
}

TEST_F(TwoRanks, RingsOfLongDataMayComeBetweenTwoCalls) {
  for (int turn = 0; turn < 20; ++turn) {
    for (const size_t bytes : {8, 5000, 16385, 32768, 16384, 2049}) {
      const std::vector<std::byte> data = data_of(bytes);
      give(data);
      std::vector<std::byte> got(bytes);
      ASSERT_EQ(take(got), GOAL_SUCCESS) << bytes;
      ASSERT_EQ(got, data) << bytes;
    }
    if (turn == 10) make_rings();
  }
}

TEST_F(TwoRanks, AnotherCallOrLengthIsAMismatchAndTheNextCallIsNone) {
  make_rings();
  for (const size_t bytes : {size_t{8}, size_t{5000}, size_t{40000}}) {
    std::vector<std::byte> other(bytes + 1), same(bytes);
    give(data_of(bytes));
    EXPECT_EQ(take(other), GOAL_MISMATCH);
    give(data_of(bytes));
    EXPECT_EQ(take(same, kWhat + 1), GOAL_MISMATCH);
    EXPECT_EQ(same, std::vector<std::byte>(bytes));
    give(data_of(bytes));
    EXPECT_EQ(take(same), GOAL_SUCCESS);
    EXPECT_EQ(same, data_of(bytes));
  }
}

// A word of a record's head, and what it is changed to.
struct Change {
  size_t at;
  uint32_t value;
};
class RuinedRecord : public TwoRanks, public testing::WithParamInterface<Change> {};

TEST_P(RuinedRecord, IsRefused) {
  give(data_of(5000));
  std::memcpy(record() + GetParam().at, &GetParam().value, sizeof(uint32_t));
  std::vector<std::byte> got(5000);
  EXPECT_EQ(take(got), GOAL_MISMATCH);
  EXPECT_EQ(got, std::vector<std::byte>(5000));
}

constexpr size_t kPlace = 24, kBytes = 28;
INSTANTIATE_TEST_SUITE_P(Pipes, RuinedRecord,
                         testing::Values(Change{kPlace, UINT32_MAX}, Change{kPlace, 32768}, Change{kBytes, UINT32_MAX}, Change{kBytes, 0},
                                         Change{kBytes, 5001}));

}  // namespace
