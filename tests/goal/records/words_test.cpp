// Which puts a wait for memory waits for, and who had a lock before whom.
#include "engine/tools/goalc/words.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "engine/tools/goalc/locks.hpp"

namespace portunus::goalc {
namespace {

using Edges = std::vector<std::pair<goal::VertexId, goal::VertexId>>;

// Rank 1 waits.
class WordsTest : public ::testing::Test {
 protected:
  void put(uint64_t place, uint64_t bytes, uint64_t time, goal::VertexId arrival, bool behind = false, uint32_t origin = 0) {
    words.put({0, origin, 1, place, bytes, time, behind, arrival});
  }
  Edges resolved() {
    Edges edges;
    words.resolve([&](uint32_t rank, goal::VertexId wait, goal::VertexId arrival) {
      EXPECT_EQ(rank, 1u);
      edges.emplace_back(wait, arrival);
    });
    return edges;
  }
  Words words;
};

TEST_F(WordsTest, AWaitHasSeenWhatWasPutIntoItsWordBefore) {
  put(100, 8, 10, 1);
  put(200, 8, 11, 2);  // elsewhere
  put(100, 8, 30, 3);  // later
  words.wait(1, 100, 8, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 1}}));
}

TEST_F(WordsTest, AWordInTheMiddleOfAPutIsPartOfIt) {
  put(0, 4096, 10, 1);
  put(4096, 8, 10, 2);
  words.wait(1, 4088, 8, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 1}}));
}

TEST_F(WordsTest, WhatWasOrderedBeforeTheWordIsThere) {
  put(0, 64, 10, 1);
  words.order(0, 0);
  put(64, 64, 11, 2);  // not ordered before the word
  put(200, 8, 12, 3);
  words.wait(1, 200, 8, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 1}, {50, 3}}));
}

TEST_F(WordsTest, WhatTheOriginKnewToBeThereIsNotMentioned) {
  put(0, 64, 10, 1);
  words.acknowledge(0, 0, 1);
  words.order(0, 0);
  put(200, 8, 12, 3);
  words.wait(1, 200, 8, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 3}}));
}

TEST_F(WordsTest, ASignalIsBehindItsData) {
  put(0, 64, 10, 1);
  put(64, 64, 11, 2);
  put(200, 8, 11, 3, true);
  words.wait(1, 200, 8, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 2}, {50, 3}}));
}

TEST_F(WordsTest, EachPutIsWaitedForOnce) {
  put(200, 8, 10, 1);
  put(200, 8, 11, 2, false, 2);
  words.wait(1, 200, 8, 20, 50);
  put(200, 8, 25, 3);
  words.wait(1, 200, 8, 30, 51);
  EXPECT_EQ(resolved(), (Edges{{50, 1}, {50, 2}, {51, 3}}));
}

TEST(Locks, GoFromWhoGaveThemBackToWhoTookThemNext) {
  Locks locks;
  locks.taken(0, 7, 10);
  locks.given_back(0, 7, 20);
  locks.taken(0, 7, 22);  // again: no message
  locks.given_back(0, 7, 30);
  locks.taken(1, 7, 35);
  locks.taken(1, 9, 36);  // another lock
  locks.resolve();
  EXPECT_EQ(locks.before(0), -1);
  EXPECT_EQ(locks.before(0), -1);
  EXPECT_EQ(locks.next(0), -1);
  EXPECT_EQ(locks.next(0), 1);
  EXPECT_EQ(locks.before(1), 0);
  EXPECT_EQ(locks.before(1), -1);
}

}  // namespace
}  // namespace portunus::goalc
