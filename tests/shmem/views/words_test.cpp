// The words by which a blocked process tells of its wait, is told, and asks for data.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>

#include "shmem/views/diff/compare.hpp"
#include "shmem/views/diff/expected.hpp"
#include "shmem/views/handover/release_notice.hpp"
#include "shmem/views/handover/released_data.hpp"
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

TEST(Blocked, AProcessIsWaitedForByTheOneBehindItAndByThoseWhoAskedToRead) {
  const Word writes{Word{}.waiting().bits + Word::granted() + Word::announcement(3, false)};
  EXPECT_TRUE(is_waited_for(writes, 0, 3));
  EXPECT_FALSE(is_waited_for(writes, 0, 4));
  EXPECT_TRUE(is_waited_for(writes, uint64_t{1} << 4, 36));
  EXPECT_FALSE(is_waited_for(writes, uint64_t{1} << 36, 4)) << "it is being served";
  const Word released{writes.bits + Word::released()};
  EXPECT_FALSE(is_waited_for(released, uint64_t{1} << 4, 3));
  EXPECT_FALSE(is_waited_for(released.waiting(), 0, 3)) << "it is in the queue again, behind";
}

// The words of each of some processes about one view.
struct Said {
  std::vector<Blocked> waits;
  std::vector<Word> words;
  std::vector<uint64_t> readers, notices;

  explicit Said(size_t n) : waits(n), words(n), readers(n), notices(n) {}
  // Process p waits in the queue behind `before`, which is told to have it behind.
  void queue(size_t p, size_t before) {
    waits[p] = Blocked::by(1, static_cast<unsigned>(before), 9);
    words[p] = words[p].waiting();
    words[before].bits += Word::announcement(static_cast<unsigned>(p), false);
  }
  // Process 0 of three has written and released, its notice to 1 has not arrived, and 2 waits behind 1.
  static Said with_a_notice_under_way() {
    Said said(3);
    said.words[0] = {Word{}.waiting().bits + Word::granted()};
    said.queue(1, 0);
    said.queue(2, 1);
    said.words[0].bits += Word::released();
    return said;
  }
  void expect_no_circle() {
    for (int p = 0; p < 3; ++p) EXPECT_EQ(circle_from(p), std::vector<int>{}) << "from " << p;
  }
  std::vector<int> circle_from(int me) {
    std::vector<int> names;
    for (const auto& [process, said] : follow_waits(*this, me, static_cast<int>(waits.size()))) names.push_back(process);
    return names;
  }
  bool blocked(int p, Blocked& said) const {
    said = waits[static_cast<size_t>(p)];
    return true;
  }
  bool has_notice(int p, int) const { return notices[static_cast<size_t>(p)] != 0; }
  bool word(int p, int, int, Word& word, uint64_t& bits) const {
    word = words[static_cast<size_t>(p)];
    bits = readers[static_cast<size_t>(p)];
    return true;
  }
};

TEST(Blocked, ThoseWhoWaitForEachOtherAreACircle) {
  Said said(3);
  for (Word& word : said.words) word = word.waiting();
  for (size_t p = 0; p < 3; ++p) {
    said.waits[p] = Blocked::by(1, static_cast<unsigned>((p + 1) % 3), 9);
    said.words[(p + 1) % 3].bits += Word::announcement(static_cast<unsigned>(p), false);
  }
  EXPECT_EQ(said.circle_from(1), (std::vector<int>{1, 2, 0}));
  said.notices[2] = 1;
  EXPECT_EQ(said.circle_from(1), std::vector<int>{});
}

// Process 0 waits again already, behind 2.
TEST(Blocked, ANoticeThatIsUnderWayIsNoCircle) {
  Said said = Said::with_a_notice_under_way();
  said.queue(0, 2);
  said.expect_no_circle();
}

// Process 0 reads next: it has asked 2, which waits.
TEST(Blocked, ANoticeThatIsUnderWayIsNoCircleOfAReader) {
  Said said = Said::with_a_notice_under_way();
  said.waits[0] = Blocked::by(1, 2, 9);
  said.readers[2] = 1;
  said.expect_no_circle();
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

TEST(ReleasedData, IsTakenOnlyWhole) {
  std::mt19937_64 random(11);
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{8}, size_t{100}, ReleasedData::kMostBytes}) {
    ReleasedData one{}, other{};
    for (ReleasedData* data : {&one, &other}) {
      data->view = 4;
      data->version = 10 + (data == &other);
      data->bytes = bytes;
      for (uint64_t& word : data->data) word = random();
      data->sum = data->right_sum();
      EXPECT_TRUE(data->is_right()) << bytes;
    }
    auto torn = std::bit_cast<std::array<uint64_t, 128>>(one);
    const auto words = std::bit_cast<std::array<uint64_t, 128>>(other);
    const size_t all = other.size() / 8;
    for (size_t i = 1; i < all; ++i) {
      torn[i] = words[i];
      EXPECT_EQ(std::bit_cast<ReleasedData>(torn).is_right(), i + 1 == all) << bytes << ", word " << i;
    }
    other.bytes = ~uint64_t{0};
    EXPECT_FALSE(other.is_right());
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
