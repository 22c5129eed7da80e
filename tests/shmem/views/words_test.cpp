// The words by which a blocked process tells of its wait, is told, and asks for data.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>

#include "shmem/views/diff/compare.hpp"
#include "shmem/views/diff/expected.hpp"
#include "shmem/views/handover/release_notice.hpp"
#include "shmem/views/handover/request_notice.hpp"
#include "shmem/views/watch/blocked.hpp"

namespace portunus::views {
namespace {

TEST(Blocked, SaysWhomItWaitsForAndForWhichView) {
  const Blocked blocked = Blocked::by(16383, 65000, 7);
  EXPECT_FALSE(blocked.none());
  EXPECT_EQ(blocked.view(), 16383);
  EXPECT_EQ(blocked.process(), 65000);
  EXPECT_EQ(blocked.turn(), 7u);
  EXPECT_TRUE(Blocked{}.none());
}

// Two processes that wait for each other look at the same times: each must find the other as it was.
TEST(Blocked, AWaitThatSaysSoAgainLooksTheSame) {
  const Blocked first = Blocked{}.again(3, 1, 5);
  EXPECT_EQ(first.again(3, 1, 6).bits, first.bits);
}

TEST(Blocked, AnotherWaitLooksDifferent) {
  const Blocked first = Blocked{}.again(3, 1, 5);
  EXPECT_NE(first.again(3, 2, 6).bits, first.bits);
  EXPECT_NE(first.again(4, 1, 6).bits, first.bits);
  // It went on in between, and waits for the same again.
  EXPECT_NE(Blocked{}.again(3, 1, 6).bits, first.bits);
}

TEST(ReleaseNotice, SaysWhatThereIsToBeCopied) {
  const ReleaseNotice word = ReleaseNotice::yes(77, true, 5);
  EXPECT_EQ(word.notice(), Notice::yes);
  EXPECT_TRUE(word.says_version());
  EXPECT_EQ(word.version(), 77u);
  EXPECT_EQ(word.generation(), 5u);
  EXPECT_TRUE(word.uniform());
  EXPECT_FALSE(ReleaseNotice::yes(77, false, 5).uniform());
}

TEST(ReleaseNotice, LeavesOutWhatDoesNotFit) {
  constexpr uint64_t kMostVersion = (uint64_t{1} << 40) - 1, kMostGeneration = (uint64_t{1} << 21) - 1;
  EXPECT_EQ(ReleaseNotice::yes(kMostVersion, true, kMostGeneration).version(), kMostVersion);
  EXPECT_EQ(ReleaseNotice::yes(kMostVersion, true, kMostGeneration).generation(), kMostGeneration);
  for (const ReleaseNotice word : {ReleaseNotice::yes(kMostVersion + 1, true, 0), ReleaseNotice::yes(1, true, kMostGeneration + 1)}) {
    EXPECT_EQ(word.notice(), Notice::yes);
    EXPECT_FALSE(word.says_version());
  }
  EXPECT_FALSE((ReleaseNotice{static_cast<uint64_t>(Notice::brought)}.says_version()));
}

TEST(RequestNotice, IsTakenOnlyWholeAndForTheSameView) {
  const RequestNotice one = RequestNotice::of(3, 10, 4096, 77, 0), other = RequestNotice::of(3, 11, 8192, 77, 0);
  EXPECT_TRUE(one.is_for(3));
  EXPECT_FALSE(one.is_for(4));
  EXPECT_FALSE(RequestNotice{}.is_for(0));
  auto torn = std::bit_cast<std::array<uint64_t, 8>>(one);
  const auto words = std::bit_cast<std::array<uint64_t, 8>>(other);
  for (size_t i = 0; i + 1 < 6; ++i) {
    torn[i] = words[i];
    if (i == 0) continue;  // they are for the same view
    EXPECT_EQ(std::bit_cast<RequestNotice>(torn).is_for(3), torn == words) << i;
  }
}

TEST(Expected, WhatCameBeforeComesAgain) {
  Expected expected;
  expected.learn({{0, 4096}, {8192, 4096}});
  EXPECT_FALSE(expected.repeats);
  expected.learn({{0, 4096}, {8192, 4096}});
  EXPECT_TRUE(expected.repeats);
  EXPECT_EQ(expected.ranges, (std::vector<Range>{{0, 4096}, {8192, 4096}}));
}

// Pages at the rim change now and then: they are expected, too, as long as that is little.
TEST(Expected, KeepsALittleMoreThanTheLastCopy) {
  Expected expected;
  expected.learn({{0, 40960}, {81920, 4096}});
  expected.learn({{0, 40960}, {122880, 4096}});
  EXPECT_TRUE(expected.repeats);
  EXPECT_EQ(expected.ranges, (std::vector<Range>{{0, 40960}, {81920, 4096}, {122880, 4096}}));
  EXPECT_EQ(expected.bytes, 49152u);
  expected.learn({{4096, 4096}});
  EXPECT_FALSE(expected.repeats);
  EXPECT_EQ(expected.ranges, (std::vector<Range>{{4096, 4096}}));
  EXPECT_EQ(expected.bytes, 4096u);
}

TEST(Expected, IsOfWholeBlocksAndJoinsWhatOverlaps) {
  Expected expected;
  expected.learn({{300, 1000}});
  EXPECT_EQ(expected.ranges, (std::vector<Range>{{256, 1280}}));
  expected.learn({{260, 20}, {290, 1200}});
  EXPECT_TRUE(expected.repeats);
  EXPECT_EQ(expected.ranges, (std::vector<Range>{{256, 1280}}));
  EXPECT_EQ(expected.bytes, 1280u);
}

TEST(Compare, CountsTheBitsOfAPage) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 1000; ++i) {
    uint64_t map[kMapWords];
    size_t bits = 0;
    for (uint64_t& word : map) word = i == 0 ? ~uint64_t{0} : random() & random(), bits += static_cast<size_t>(std::popcount(word));
    EXPECT_EQ(bits_in(map), bits);
  }
}

}  // namespace
}  // namespace portunus::views
