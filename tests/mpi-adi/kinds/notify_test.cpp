// Notified access: whoever sees a notification sees its data, in windows of every kind, whatever the length and the datatypes, however many
// notify one rank; and each access notifies once. Source: mpi-ext.h.
#include <array>
#include <functional>
#include <numeric>
#include <thread>

#include "../ranks.hpp"

namespace notify_test {
namespace {

enum class Kind { created, allocated, shared, dynamic };

// A window of bytes with notifications, in an epoch of accesses to all.
struct Area {
  Area(Kind how, size_t size, int notifications) : kind(how), own(size), at(own.data()), bases(static_cast<size_t>(ranks())) {
    const auto bytes = static_cast<MPI_Aint>(size);
    switch (kind) {
      case Kind::created: MPI_Win_create(at, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win); break;
      case Kind::allocated: MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &win); break;
      case Kind::shared: MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &win); break;
      case Kind::dynamic:
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_attach(win, at, bytes);
        MPI_Aint mine;
        MPI_Get_address(at, &mine);
        MPI_Allgather(&mine, 1, MPI_AINT, bases.data(), 1, MPI_AINT, MPI_COMM_WORLD);
    }
    EXPECT_EQ(MPIX_Win_create_notify(win, notifications), MPI_SUCCESS);
    MPI_Win_lock_all(0, win);
  }
  ~Area() {
    MPI_Win_unlock_all(win);
    EXPECT_EQ(MPIX_Win_free_notify(win), MPI_SUCCESS);
    if (kind == Kind::dynamic) MPI_Win_detach(win, at);
    MPI_Win_free(&win);
  }
  MPI_Aint place(int rank, size_t offset) const {
    return (rank < 0 ? 0 : bases[static_cast<size_t>(rank)]) + static_cast<MPI_Aint>(offset);
  }
  int put(const void* from, size_t bytes, int target, size_t offset, int idx) const {
    const int count = static_cast<int>(bytes);
    return MPIX_Put_notify(from, count, MPI_BYTE, target, place(target, offset), count, MPI_BYTE, win, idx);
  }
  int wait(int idx, MPI_Count value) const { return MPIX_Win_wait_notify(win, idx, value); }
  MPI_Count value(int idx) const {
    MPI_Count found = -1;
    EXPECT_EQ(MPIX_Win_get_notify(win, idx, &found), MPI_SUCCESS);
    return found;
  }
  Bytes seen(size_t offset, size_t size) const { return Bytes(at + offset, at + offset + size); }

  Kind kind;
  Bytes own;
  unsigned char* at;
  std::vector<MPI_Aint> bases;
  MPI_Win win = MPI_WIN_NULL;
};

std::vector<Kind> kinds() {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int here = 0;
  MPI_Comm_size(node, &here);
  MPI_Comm_free(&node);
  if (here != ranks()) return {Kind::created, Kind::allocated, Kind::dynamic};
  return {Kind::created, Kind::allocated, Kind::shared, Kind::dynamic};
}

// Around the ring, each round into the same memory once its reader has said that it has seen the one before.
TEST(Notify, DataAreThereBeforeTheirNotification) {
  constexpr int kRounds = 12;
  for (const Kind kind : kinds())
    for (const size_t size : {size_t{8}, size_t{777}, size_t{8200}, size_t{100'000}, size_t{4} << 20}) {
      const int rounds = size > 1'000'000 ? 3 : kRounds;
      Area area(kind, size, 2);
      for (int round = 0; round < rounds; ++round) {
        const Bytes mine = message(rank(), round, size);
        EXPECT_EQ(area.wait(1, round), MPI_SUCCESS);
        EXPECT_EQ(area.put(mine.data(), size, right(), 0, 0), MPI_SUCCESS);
        EXPECT_EQ(area.wait(0, round + 1), MPI_SUCCESS);
        EXPECT_EQ(area.seen(0, size), message(left(), round, size)) << size;
        EXPECT_EQ(area.put(nullptr, 0, left(), 0, 1), MPI_SUCCESS);
        MPI_Win_flush_all(area.win);
      }
      EXPECT_EQ(area.wait(1, rounds), MPI_SUCCESS);
      EXPECT_EQ(area.value(0), rounds);
    }
}

// All at one rank, which looks at each part as soon as its notification says that it is there; more than any queue holds.
TEST(Notify, ManyOriginsCountUpOneNumberEach) {
  constexpr size_t kEach = 1500, kBytes = 1024;
  for (const Kind kind : kinds()) {
    const auto origins = static_cast<size_t>(ranks());
    Area area(kind, rank() == 0 ? origins * kEach * kBytes : 8, rank() == 0 ? ranks() + 1 : 0);
    const Bytes mine = message(rank(), 0, kEach * kBytes);
    for (size_t i = 0; i < kEach; ++i) {
      const size_t at = (static_cast<size_t>(rank()) * kEach + i) * kBytes;
      EXPECT_EQ(area.put(&mine[i * kBytes], kBytes, 0, at, i % 2 == 0 ? rank() : ranks()), MPI_SUCCESS);
    }
    if (rank() == 0) {
      for (int origin = 0; origin < ranks(); ++origin) EXPECT_EQ(area.wait(origin, kEach / 2), MPI_SUCCESS);
      EXPECT_EQ(area.wait(ranks(), static_cast<MPI_Count>(origins * kEach / 2)), MPI_SUCCESS);
      for (size_t origin = 0; origin < origins; ++origin)
        EXPECT_EQ(area.seen(origin * kEach * kBytes, kEach * kBytes), message(static_cast<int>(origin), 0, kEach * kBytes));
    }
    barrier();
    if (rank() == 0) {
      EXPECT_EQ(area.value(ranks()), static_cast<MPI_Count>(origins * kEach / 2));
    }
  }
}

// The last run of several is not the first to be seen, be they short or long.
TEST(Notify, DerivedTypesNotifyOnceBehindTheirLastRun) {
  struct Shape {
    int runs, bytes;
  };
  for (const Kind kind : kinds())
    for (const Shape shape : {Shape{50, 8}, {7, 20'000}, {3, 1'500'000}}) {
      const auto run = static_cast<size_t>(shape.bytes), runs = static_cast<size_t>(shape.runs);
      MPI_Datatype gaps;
      MPI_Type_vector(shape.runs, shape.bytes, 2 * shape.bytes, MPI_BYTE, &gaps);
      MPI_Type_commit(&gaps);
      Area area(kind, 2 * run * runs, 1);
      for (int round = 0; round < 3; ++round) {
        const Bytes mine = message(rank(), round, run * runs), theirs = message(left(), round, run * runs);
        EXPECT_EQ(
            MPIX_Put_notify(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, right(), area.place(right(), 0), 1, gaps, area.win, 0),
            MPI_SUCCESS);
        EXPECT_EQ(area.wait(0, round + 1), MPI_SUCCESS);
        for (size_t i = 0; i < runs; ++i)
          EXPECT_EQ(area.seen(2 * i * run, run), Bytes(&theirs[i * run], &theirs[i * run] + run)) << run << " " << i;
        MPI_Win_flush_all(area.win);
        barrier();
      }
      EXPECT_EQ(area.value(0), 3);
      MPI_Type_free(&gaps);
    }
}

// A short last run is taken at once where it is alone; behind a long one it waits, for puts as for gets.
TEST(Notify, AShortLastRunDoesNotOvertakeALongOne) {
  constexpr int kLong = 2'000'000, kShort = 8;
  int lengths[] = {kLong, kShort}, places[] = {0, kLong + 8};
  MPI_Datatype two;
  MPI_Type_indexed(2, lengths, places, MPI_BYTE, &two);
  MPI_Type_commit(&two);
  for (const Kind kind : kinds()) {
    Area area(kind, kLong + 8 + kShort, 2);
    Bytes got(kLong + kShort);
    for (int round = 0; round < 3; ++round) {
      const Bytes mine = message(rank(), round, kLong + kShort), theirs = message(left(), round, kLong + kShort);
      const auto count = static_cast<int>(mine.size());
      EXPECT_EQ(MPIX_Put_notify(mine.data(), count, MPI_BYTE, right(), area.place(right(), 0), 1, two, area.win, 0), MPI_SUCCESS);
      EXPECT_EQ(area.wait(0, round + 1), MPI_SUCCESS);
      EXPECT_EQ(area.seen(0, kLong), Bytes(theirs.begin(), theirs.begin() + kLong));
      EXPECT_EQ(area.seen(kLong + 8, kShort), Bytes(theirs.begin() + kLong, theirs.end()));
      MPI_Win_flush_all(area.win);
      barrier();
      EXPECT_EQ(MPIX_Get_notify(got.data(), count, MPI_BYTE, right(), area.place(right(), 0), 1, two, area.win, 1), MPI_SUCCESS);
      EXPECT_EQ(area.wait(1, round + 1), MPI_SUCCESS);
      std::fill(area.at, area.at + kLong + 8 + kShort, static_cast<unsigned char>(0xEE));
      MPI_Win_flush_all(area.win);
      EXPECT_EQ(got, mine);
      barrier();
    }
  }
  MPI_Type_free(&two);
}

// The owner may write over what a get has read once it is notified.
TEST(Notify, GetsNotifyWhenTheirDataHaveBeenRead) {
  for (const Kind kind : kinds())
    for (const size_t size : {size_t{8}, size_t{5000}, size_t{300'000}, size_t{4} << 20}) {
      Area area(kind, size, 1);
      Bytes got(size);
      for (int round = 0; round < 4; ++round) {
        const Bytes mine = message(rank(), round, size);
        std::copy(mine.begin(), mine.end(), area.at);
        MPI_Win_sync(area.win);
        barrier();
        const int count = static_cast<int>(size);
        EXPECT_EQ(MPIX_Get_notify(got.data(), count, MPI_BYTE, right(), area.place(right(), 0), count, MPI_BYTE, area.win, 0), MPI_SUCCESS);
        EXPECT_EQ(area.wait(0, round + 1), MPI_SUCCESS);
        std::fill(area.at, area.at + size, static_cast<unsigned char>(0xEE));
        MPI_Win_flush_all(area.win);
        EXPECT_EQ(got, message(right(), round, size)) << size;
        barrier();
      }
    }
}

// Counts that an int does not hold; those that go beyond the window are errors, and notify nobody.
TEST(Notify, TakeLargeCounts) {
  constexpr MPI_Count kMany = (MPI_Count{1} << 31) + 1000;
  const Area area(Kind::allocated, 64, 2);
  MPI_Datatype nothing;
  MPI_Type_contiguous(0, MPI_BYTE, &nothing);
  MPI_Type_commit(&nothing);
  const Bytes mine = message(rank(), 1, 16);
  Bytes got(16);
  EXPECT_EQ(MPIX_Put_notify_c(mine.data(), kMany, nothing, right(), area.place(right(), 0), kMany, nothing, area.win, 0), MPI_SUCCESS);
  EXPECT_EQ(MPIX_Put_notify_c(mine.data(), 16, MPI_BYTE, right(), area.place(right(), 0), 16, MPI_BYTE, area.win, 0), MPI_SUCCESS);
  EXPECT_EQ(area.wait(0, 2), MPI_SUCCESS);
  EXPECT_EQ(area.seen(0, 16), message(left(), 1, 16));
  barrier();
  EXPECT_EQ(MPIX_Get_notify_c(got.data(), 16, MPI_BYTE, right(), area.place(right(), 0), 16, MPI_BYTE, area.win, 1), MPI_SUCCESS);
  MPI_Win_flush_all(area.win);
  EXPECT_EQ(got, mine);
  EXPECT_EQ(area.wait(1, 1), MPI_SUCCESS);
  {
    const ReturnErrors guard;
    MPI_Win_set_errhandler(area.win, MPI_ERRORS_RETURN);
    EXPECT_NE(MPIX_Put_notify_c(mine.data(), kMany, MPI_BYTE, right(), area.place(right(), 0), kMany, MPI_BYTE, area.win, 0), MPI_SUCCESS);
    EXPECT_NE(MPIX_Get_notify_c(got.data(), kMany, MPI_BYTE, right(), area.place(right(), 0), kMany, MPI_BYTE, area.win, 0), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPIX_Put_notify_c(mine.data(), -1, MPI_BYTE, right(), area.place(right(), 0), 1, MPI_BYTE, area.win, 0)),
              MPI_ERR_COUNT);
  }
  barrier();
  EXPECT_EQ(area.value(0), 2);
  barrier();
  MPI_Type_free(&nothing);
}

TEST(Notify, ANumberCanBeSetAndCountsOn) {
  for (const Kind kind : kinds()) {
    Area area(kind, 8, 3);
    const long mine = rank();
    int flag = -1;
    EXPECT_EQ(MPIX_Win_test_notify(area.win, 2, 1, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(MPIX_Win_set_notify(area.win, 2, -5), MPI_SUCCESS);
    barrier();
    for (int i = 0; i < 7; ++i) EXPECT_EQ(area.put(&mine, sizeof mine, right(), 0, 2), MPI_SUCCESS);
    EXPECT_EQ(area.wait(2, 2), MPI_SUCCESS);
    EXPECT_EQ(area.value(2), 2);
    EXPECT_EQ(MPIX_Win_test_notify(area.win, 2, 2, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPIX_Win_test_notify(area.win, 2, 3, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(MPIX_Win_set_notify(area.win, 2, 0), MPI_SUCCESS);
    EXPECT_EQ(area.value(2), 0);
    EXPECT_EQ(area.value(0), 0);
    barrier();
    EXPECT_EQ(area.put(&mine, sizeof mine, MPI_PROC_NULL, 0, 2), MPI_SUCCESS);
    EXPECT_EQ(area.put(&mine, sizeof mine, rank(), 0, 2), MPI_SUCCESS);
    EXPECT_EQ(area.wait(2, 1), MPI_SUCCESS);
    EXPECT_EQ(area.seen(0, sizeof mine),
              Bytes(reinterpret_cast<const unsigned char*>(&mine), reinterpret_cast<const unsigned char*>(&mine + 1)));
    MPI_Win_flush_all(area.win);
  }
}

TEST(Notify, AWindowMayHaveThemAgainAndAgain) {
  for (const Kind kind : kinds()) {
    Area area(kind, 8, 1);
    for (int again = 0; again < 20; ++again) {
      EXPECT_EQ(area.put(&again, sizeof again, right(), 0, 0), MPI_SUCCESS);
      EXPECT_EQ(area.wait(0, 1), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Win_free_notify(area.win), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Win_create_notify(area.win, 1), MPI_SUCCESS);
      EXPECT_EQ(area.value(0), 0);
      barrier();
    }
  }
}

// A wait for a number leaves the other threads their messages, and they leave it the number.
TEST(Threads, OneWaitsForANotificationBesideOthersThatReceive) {
  int level;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP();
  constexpr int kRounds = 100;
  std::array<int, kRounds + 1> numbers;  // which the accesses read until they are flushed
  std::iota(numbers.begin(), numbers.end(), 0);
  for (const Kind kind : kinds()) {
    Area area(kind, 8, 2);
    std::thread waits([&] {
      for (int round = 1; round <= kRounds; ++round) {
        EXPECT_EQ(area.wait(0, round), MPI_SUCCESS);
        EXPECT_EQ(area.put(&numbers[static_cast<size_t>(round)], sizeof round, left(), 0, 1), MPI_SUCCESS);
      }
    });
    std::thread receives([&] {
      for (int round = 0; round < kRounds; ++round) {
        const Bytes mine = message(rank(), round, 64), theirs = message(left(), round, 64);
        Bytes room = room_for(theirs);
        MPI_Request request = isend(mine, right(), 5);
        receive(room, left(), 5);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(room, theirs);
      }
    });
    for (int round = 1; round <= kRounds; ++round) {
      EXPECT_EQ(area.put(&numbers[static_cast<size_t>(round)], sizeof round, right(), 0, 0), MPI_SUCCESS);
      EXPECT_EQ(area.wait(1, round), MPI_SUCCESS);
    }
    waits.join();
    receives.join();
    MPI_Win_flush_all(area.win);
  }
}

}  // namespace
}  // namespace notify_test
