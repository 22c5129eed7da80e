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
  void change(record::Change how, uint64_t value, uint64_t time, goal::VertexId arrival, uint32_t origin = 0) {
    words.put({0, origin, 1, 200, 8, time, false, arrival, how, value});
  }
  void wait(uint64_t place, uint64_t time, goal::VertexId vertex) { words.wait(1, {place, 8, 0, 0}, time, vertex); }
  void found(uint64_t value, uint64_t time, goal::VertexId vertex) { words.wait(1, {200, 8, value, 1}, time, vertex); }
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
  wait(100, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 1}}));
}

TEST_F(WordsTest, AWordInTheMiddleOfAPutIsPartOfIt) {
  put(0, 4096, 10, 1);
  put(4096, 8, 10, 2);
  wait(4088, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 1}}));
}

TEST_F(WordsTest, WhatWasOrderedBeforeTheWordIsThere) {
  put(0, 64, 10, 1);
  words.order(0, 0);
  put(64, 64, 11, 2);  // not ordered before the word
  put(200, 8, 12, 3);
  wait(200, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 1}, {50, 3}}));
}

TEST_F(WordsTest, WhatTheOriginKnewToBeThereIsNotMentioned) {
  put(0, 64, 10, 1);
  words.acknowledge(0, 0, 1);
  words.order(0, 0);
  put(200, 8, 12, 3);
  wait(200, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 3}}));
}

TEST_F(WordsTest, ASignalIsBehindItsData) {
  put(0, 64, 10, 1);
  put(64, 64, 11, 2);
  put(200, 8, 11, 3, true);
  wait(200, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 2}, {50, 3}}));
}

TEST_F(WordsTest, EachPutIsWaitedForOnce) {
  put(200, 8, 10, 1);
  put(200, 8, 11, 2, false, 2);
  wait(200, 20, 50);
  put(200, 8, 25, 3);
  wait(200, 30, 51);
  EXPECT_EQ(resolved(), (Edges{{50, 1}, {50, 2}, {51, 3}}));
}

TEST_F(WordsTest, APutThatTheWordDoesNotShowYetIsNotSeen) {
  change(record::Change::set, 1, 10, 1);
  change(record::Change::set, 2, 15, 2);
  found(1, 20, 50);
  found(2, 21, 51);
  EXPECT_EQ(resolved(), (Edges{{50, 1}, {51, 2}}));
}

TEST_F(WordsTest, AsManyAreAddedAsTheWordShows) {
  change(record::Change::add, 1, 10, 1);
  change(record::Change::add, 1, 11, 2, 2);
  change(record::Change::add, 1, 12, 3, 3);
  found(2, 20, 50);
  found(3, 21, 51);
  EXPECT_EQ(resolved(), (Edges{{50, 1}, {50, 2}, {51, 3}}));
}

TEST_F(WordsTest, AWordThatIsAsTheLastWaitFoundItNeedsNoMore) {
  change(record::Change::set, 1, 10, 1);
  found(1, 20, 50);
  change(record::Change::set, 2, 25, 2);
  found(1, 30, 51);
  EXPECT_EQ(resolved(), (Edges{{50, 1}}));
}

TEST_F(WordsTest, AValueThatNobodyHasPutMayBeOfAnyPut) {
  change(record::Change::set, 1, 10, 1);
  change(record::Change::unknown, 0, 11, 2);
  found(7, 20, 50);
  EXPECT_EQ(resolved(), (Edges{{50, 1}, {50, 2}}));
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
