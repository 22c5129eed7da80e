// Places in memory that others share: who takes one and who finds it, when it is free again, and that it is zero then.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "engine/goal/node/arena.hpp"

namespace portunus::goal::node {
namespace {

constexpr size_t kUnit = 128;

class AnArena : public testing::Test {
 protected:
  AnArena() : memory_(static_cast<std::byte*>(std::aligned_alloc(64, kBytes))) {
    std::fill_n(memory_.get(), kBytes, std::byte{0});
    for (Arena* arena : {&one, &other})
      arena->lie_at(memory_.get(), memory_.get() + Arena::table_bytes(), [this](const std::byte*, size_t bytes) {
        reserved += bytes;
        return has_room.load();
      });
  }
  Arena one{kUnit}, other{kUnit};
  std::atomic<size_t> reserved{0};
  std::atomic<bool> has_room{true};

 private:
  static constexpr size_t kBytes = Arena::table_bytes() + Arena::kUnits * kUnit;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

TEST_F(AnArena, TellsOthersWhatOneHasTaken) {
  EXPECT_EQ(other.find(7), Arena::kNone);
  const int place = one.take(3 * kUnit, 7), next = one.take(1, 8);
  ASSERT_NE(place, Arena::kNone);
  EXPECT_EQ(other.find(7), place);
  EXPECT_EQ(other.find(8), next);
  EXPECT_GE(one.at(next), one.at(place) + 3 * kUnit);
}

TEST_F(AnArena, IsFullWhenAllUnitsAreTakenAndNotBefore) {
  std::vector<int> places;
  for (uint64_t tag = 1; tag <= 16; ++tag) places.push_back(one.take(4 * kUnit, tag));
  for (const int place : places) EXPECT_NE(place, Arena::kNone);
  EXPECT_EQ(one.take(1, 17), Arena::kNone);
  one.free(places[5], 4 * kUnit);
  EXPECT_EQ(one.take(5 * kUnit, 17), Arena::kNone);
  EXPECT_EQ(one.take(4 * kUnit, 17), places[5]);
  EXPECT_EQ(one.take(64 * kUnit + 1, 18), Arena::kNone);
}

TEST_F(AnArena, HasAPlaceOfAllUnits) {
  const int place = one.take(64 * kUnit, 5);
  ASSERT_NE(place, Arena::kNone);
  EXPECT_EQ(one.take(1, 6), Arena::kNone);
  one.free(place, 64 * kUnit);
  EXPECT_NE(one.take(1, 6), Arena::kNone);
}

TEST_F(AnArena, ReservesAUnitOnceAndHasNoPlaceWhereThereIsNoRoom) {
  has_room = false;
  EXPECT_EQ(one.take(2 * kUnit, 4), Arena::kNone);
  EXPECT_EQ(other.find(4), Arena::kNone);
  has_room = true;
  reserved = 0;
  for (int turn = 0; turn < 3; ++turn) {
    const int place = one.take(2 * kUnit, 4);
    ASSERT_NE(place, Arena::kNone);
    one.free(place, 2 * kUnit);
  }
  EXPECT_EQ(reserved.load(), 2 * kUnit);
  EXPECT_NE(one.take(3 * kUnit, 4), Arena::kNone);
  EXPECT_EQ(reserved.load(), 5 * kUnit);
}

TEST_F(AnArena, ReservesFirstWhatAPlaceNeedsFirstAndTheRestWhenItIsComplete) {
  const int place = one.take(2 * kUnit, 4, 24);
  ASSERT_NE(place, Arena::kNone);
  EXPECT_EQ(reserved.load(), 24u);
  has_room = false;
  EXPECT_FALSE(one.complete(place, 2 * kUnit));
  has_room = true;
  reserved = 0;
  EXPECT_TRUE(one.complete(place, 2 * kUnit));
  EXPECT_TRUE(one.complete(place, 2 * kUnit));
  EXPECT_EQ(reserved.load(), 2 * kUnit) << "once";
  one.free(place, 2 * kUnit);
  ASSERT_EQ(one.take(2 * kUnit, 5, 24), place);
  EXPECT_EQ(reserved.load(), 2 * kUnit) << "it is there";
}

TEST_F(AnArena, CountsWhoHasLeftAndWhatWasWritten) {
  const int place = one.take(kUnit, 7);
  other.raise(place, {4, 9, 0});
  one.raise(place, {6, 2, 3});
  EXPECT_EQ(one.counts(place), (Arena::Counts{6, 9, 3}));
  EXPECT_FALSE(other.leave(place, 3));
  EXPECT_FALSE(one.leave(place, 3));
  EXPECT_EQ(other.find(7), place) << "one has yet to leave";
  EXPECT_TRUE(other.leave(place, 3));
  one.free(place, kUnit);
  EXPECT_EQ(other.find(7), Arena::kNone);
  ASSERT_EQ(one.take(kUnit, 9), place);
  EXPECT_FALSE(one.leave(place, 2));
  EXPECT_EQ(one.counts(place), (Arena::Counts{0, 0, 0}));
}

// Places of different lengths by many at once: nobody gets what another has.
TEST_F(AnArena, GivesAUnitToOneAtATime) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t who = 1; who <= 4; ++who)
    threads.emplace_back([&, who] {
      for (size_t turn = 0; turn < 2000; ++turn) {
        const size_t bytes = (1 + (turn + who) % 20) * kUnit;
        const int place = one.take(bytes, who);
        if (place == Arena::kNone) continue;
        std::byte* const start = one.at(place);
        for (size_t i = 0; i < bytes; ++i) wrong += start[i] != std::byte{0};
        std::fill_n(start, bytes, static_cast<std::byte>(who));
        for (size_t i = 0; i < bytes; ++i) wrong += start[i] != static_cast<std::byte>(who);
        std::fill_n(start, bytes, std::byte{0});
        one.free(place, bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace portunus::goal::node
