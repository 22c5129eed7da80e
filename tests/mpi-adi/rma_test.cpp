// One-sided communication. Source: MPI-5.0, chapter 12.
#include <atomic>
#include <cstring>
#include <functional>

#include "collectives.hpp"

namespace rma_test {
namespace {

const MPI_Comm comm = MPI_COMM_WORLD;

// A window of so many longs, all 0, made by one of the four constructors.
struct Area {
  enum Kind { created, allocated, shared, dynamic };
  Area(Kind how, int count) : kind(how) {
    const MPI_Aint bytes = count * MPI_Aint{sizeof(long)};
    if (how == created || how == dynamic) {
      own.assign(static_cast<size_t>(count), 0);
      at = own.data();
    }
    switch (how) {
      case created: EXPECT_EQ(MPI_Win_create(at, bytes, sizeof(long), MPI_INFO_NULL, comm, &win), MPI_SUCCESS); break;
      case allocated: EXPECT_EQ(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, comm, &at, &win), MPI_SUCCESS); break;
      case shared: EXPECT_EQ(MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, comm, &at, &win), MPI_SUCCESS); break;
      case dynamic:
        EXPECT_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_attach(win, at, bytes), MPI_SUCCESS);
        bases.resize(static_cast<size_t>(ranks()));
        MPI_Aint mine;
        MPI_Get_address(at, &mine);
        MPI_Allgather(&mine, 1, MPI_AINT, bases.data(), 1, MPI_AINT, comm);
    }
    if (how != dynamic) bases.assign(static_cast<size_t>(ranks()), 0);
  }
  ~Area() {
    if (kind == dynamic) {
      EXPECT_EQ(MPI_Win_detach(win, at), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
    EXPECT_EQ(win, MPI_WIN_NULL);
  }
  // The displacement of element i of a rank.
  MPI_Aint place(int rank, int i) const {
    return kind == dynamic ? bases[static_cast<size_t>(rank)] + i * MPI_Aint{sizeof(long)} : MPI_Aint{i};
  }
  Kind kind;
  MPI_Win win = MPI_WIN_NULL;
  long* at = nullptr;
  std::vector<long> own;
  std::vector<MPI_Aint> bases;
};
// Shared windows are for ranks of one node.
bool one_node() {
  MPI_Comm node;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int here = 0;
  MPI_Comm_size(node, &here);
  MPI_Comm_free(&node);
  return here == ranks();
}

std::vector<Area::Kind> kinds() {
  if (!one_node()) return {Area::created, Area::allocated, Area::dynamic};
  return {Area::created, Area::allocated, Area::shared, Area::dynamic};
}

TEST(Rma, FencesSeparatePutsFromWhatIsReadAndGetsFromWhatIsWritten) {
  for (const Area::Kind kind : kinds())
    for (const int n : {1, 50, 40'000}) {
      Area area(kind, 2 * n);
      const std::vector<long> mine = vector_of<long>(rank(), static_cast<size_t>(n));
      std::vector<long> got(static_cast<size_t>(n), -1);
      MPI_Win_fence(0, area.win);
      EXPECT_EQ(MPI_Put(mine.data(), n, MPI_LONG, right(), area.place(right(), n), n, MPI_LONG, area.win), MPI_SUCCESS);
      MPI_Win_fence(0, area.win);
      EXPECT_EQ(std::vector<long>(area.at + n, area.at + 2 * n), vector_of<long>(left(), static_cast<size_t>(n)));
      EXPECT_EQ(MPI_Get(got.data(), n, MPI_LONG, right(), area.place(right(), n), n, MPI_LONG, area.win), MPI_SUCCESS);
      MPI_Win_fence(MPI_MODE_NOSUCCEED, area.win);
      EXPECT_EQ(got, mine);
    }
}

TEST(Rma, AccumulatesOfAllRanksAddUp) {
  for (const Area::Kind kind : kinds())
    for (const int n : {1, 9000}) {
      Area area(kind, n);
      const std::vector<long> mine = vector_of<long>(rank(), static_cast<size_t>(n));
      MPI_Win_fence(0, area.win);
      for (int target = 0; target < ranks(); ++target)
        EXPECT_EQ(MPI_Accumulate(mine.data(), n, MPI_LONG, target, area.place(target, 0), n, MPI_LONG, MPI_SUM, area.win), MPI_SUCCESS);
      MPI_Win_fence(0, area.win);
      std::vector<long> sum(static_cast<size_t>(n), 0);
      for (int r = 0; r < ranks(); ++r)
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += given(r, i);
      EXPECT_EQ(std::vector<long>(area.at, area.at + n), sum);
      MPI_Win_fence(0, area.win);
    }
}

// The target's thread looks at its condition while it has the engine, the origin's sleeps, and engine threads look in between.
TEST(Rma, FlushesEndWhileTheTargetIsInABarrier) {
  constexpr int kRounds = 40, kFlushes = 50;
  Area area(Area::allocated, 512);
  std::vector<long> here(512);
  for (int round = 0; round < kRounds; ++round) {
    const int count = 1 << round % 10;
    if (rank() == 0 && ranks() > 1) {
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, area.win);
      for (int i = 0; i < kFlushes; ++i) {
        EXPECT_EQ(MPI_Get(here.data(), count, MPI_LONG, 1, 0, count, MPI_LONG, area.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_flush(1, area.win), MPI_SUCCESS);
        EXPECT_EQ(here[0], long{round} * kFlushes + i);
        ++here[0];
        EXPECT_EQ(MPI_Put(here.data(), count, MPI_LONG, 1, 0, count, MPI_LONG, area.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_flush(1, area.win), MPI_SUCCESS);
      }
      MPI_Win_unlock(1, area.win);
    }
    MPI_Barrier(comm);
  }
}

TEST(Rma, FetchAndOpGivesEachCallerAnotherTicketWithoutTheTarget) {
  for (const Area::Kind kind : kinds()) {
    Area area(kind, 1);
    const int kEach = 50;
    const long one = 1;
    std::vector<long> tickets(kEach);
    barrier();
    if (rank() != 0 || ranks() == 1) {  // rank 0 makes no call of the window
      MPI_Win_lock_all(0, area.win);
      for (long& ticket : tickets) {
        EXPECT_EQ(MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, area.place(0, 0), MPI_SUM, area.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_flush(0, area.win), MPI_SUCCESS);
      }
      MPI_Win_unlock_all(area.win);
    }
    barrier();
    std::vector<long> all(static_cast<size_t>(kEach * ranks()));
    MPI_Allgather(tickets.data(), kEach, MPI_LONG, all.data(), kEach, MPI_LONG, comm);
    std::vector<long> taken(ranks() == 1 ? all.begin() : all.begin() + kEach, all.end());
    std::sort(taken.begin(), taken.end());
    for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], static_cast<long>(i));
  }
}

TEST(Rma, ExclusiveLocksKeepReadAndWriteTogether) {
  for (const Area::Kind kind : kinds()) {
    Area area(kind, 2);
    for (int i = 0; i < 20; ++i) {
      long value = -1;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, area.win);
      MPI_Get(&value, 1, MPI_LONG, 0, area.place(0, 1), 1, MPI_LONG, area.win);
      MPI_Win_flush(0, area.win);
      ++value;
      MPI_Put(&value, 1, MPI_LONG, 0, area.place(0, 1), 1, MPI_LONG, area.win);
      MPI_Win_unlock(0, area.win);
    }
    barrier();
    if (rank() == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, area.win);
      EXPECT_EQ(area.at[1], 20 * ranks());
      MPI_Win_unlock(0, area.win);
    }
  }
}

TEST(Rma, SharedAndExclusiveLocksOfOneRankTakeTurns) {
  for (const Area::Kind kind : kinds()) {
    Area area(kind, 2);
    for (int i = 0; i < 30; ++i) {
      const bool reads = (i + rank()) % 3 == 0;
      const int target = i % ranks();
      long values[2] = {-1, -1};
      MPI_Win_lock(reads ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, area.win);
      for (int j = 0; j < 2; ++j) MPI_Get(&values[j], 1, MPI_LONG, target, area.place(target, j), 1, MPI_LONG, area.win);
      MPI_Win_flush(target, area.win);
      EXPECT_EQ(values[0], values[1]);
      for (int j = 0; j < 2 && !reads; ++j) {
        ++values[j];
        MPI_Put(&values[j], 1, MPI_LONG, target, area.place(target, j), 1, MPI_LONG, area.win);
      }
      MPI_Win_unlock(target, area.win);
    }
    barrier();
    long written = 0, sum = 0, expected = 0;
    for (int i = 0; i < 30; ++i) written += (i + rank()) % 3 != 0;
    MPI_Allreduce(&written, &expected, 1, MPI_LONG, MPI_SUM, comm);
    MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, area.win);
    MPI_Allreduce(area.at, &sum, 1, MPI_LONG, MPI_SUM, comm);
    MPI_Win_unlock(rank(), area.win);
    EXPECT_EQ(sum, expected);
  }
}

// All that wait for an exclusive lock to be released have a shared one at the same time: none waits for another's unlock.
TEST(Rma, SharedLocksAreHeldTogetherAfterAnExclusiveOne) {
  for (const Area::Kind kind : kinds()) {
    Area area(kind, 1);
    for (int i = 0; i < 10; ++i) {
      const int holder = i % ranks(), target = (i + 1) % ranks();
      if (rank() == holder) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, area.win);
      barrier();
      if (rank() == holder) MPI_Win_unlock(target, area.win);
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, area.win);
      barrier();
      MPI_Win_unlock(target, area.win);
    }
  }
}

TEST(Rma, PostStartCompleteWaitSynchronizesNeighboursOnly) {
  for (const Area::Kind kind : kinds()) {
    Area area(kind, 1);
    MPI_Group all, from, to;
    MPI_Comm_group(comm, &all);
    const int source = left(), target = right();
    MPI_Group_incl(all, 1, &source, &from);
    MPI_Group_incl(all, 1, &target, &to);
    for (long i = 1; i <= 20; ++i) {
      const long value = rank() * 100 + i;
      MPI_Win_post(from, 0, area.win);
      MPI_Win_start(to, 0, area.win);
      EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, target, area.place(target, 0), 1, MPI_LONG, area.win), MPI_SUCCESS);
      MPI_Win_complete(area.win);
      int done = 0;
      if (i % 2 == 0) MPI_Win_wait(area.win);
      else
        while (!done) MPI_Win_test(area.win, &done);
      EXPECT_EQ(area.at[0], source * 100 + i);
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Group_free(&all);
  }
}

// Each target has posted before the origin, rank 0, starts; it starts to them one after the other, the last one first, and to all at once.
TEST(Rma, AStartWaitsForThePostsOfItsGroupOnly) {
  for (const Area::Kind kind : kinds()) {
    Area area(kind, ranks());
    MPI_Group all, origin;
    MPI_Comm_group(comm, &all);
    const int zero = 0;
    MPI_Group_incl(all, 1, &zero, &origin);
    for (long round = 1; round <= 3; ++round) {
      if (rank() != 0) MPI_Win_post(origin, 0, area.win);
      barrier();
      for (int target = ranks() - 1; rank() == 0 && round < 3 && target > 0; --target) {
        MPI_Group to;
        MPI_Group_incl(all, 1, &target, &to);
        MPI_Win_start(to, 0, area.win);
        const long value = round * 100 + target;
        EXPECT_EQ(MPI_Put(&value, 1, MPI_LONG, target, area.place(target, 0), 1, MPI_LONG, area.win), MPI_SUCCESS);
        MPI_Win_complete(area.win);
        MPI_Group_free(&to);
      }
      if (rank() == 0 && round == 3) {
        MPI_Group others;
        MPI_Group_excl(all, 1, &zero, &others);
        std::vector<long> values(static_cast<size_t>(ranks()));
        MPI_Win_start(others, 0, area.win);
        for (int target = 1; target < ranks(); ++target) {
          values[static_cast<size_t>(target)] = round * 100 + target;
          EXPECT_EQ(MPI_Put(&values[static_cast<size_t>(target)], 1, MPI_LONG, target, area.place(target, 0), 1, MPI_LONG, area.win),
                    MPI_SUCCESS);
        }
        MPI_Win_complete(area.win);
        MPI_Group_free(&others);
      }
      if (rank() == 0) continue;
      MPI_Win_wait(area.win);
      EXPECT_EQ(area.at[0], round * 100 + rank());
    }
    MPI_Group_free(&origin);
    MPI_Group_free(&all);
  }
}

struct Located {
  double value;
  int index;
};

TEST(Rma, GetAccumulateCompareAndSwapAndPairsAreAtomic) {
  Area area(Area::created, 4);
  const long mine = rank() + 1;
  long old = -1;
  MPI_Win_lock_all(0, area.win);
  EXPECT_EQ(MPI_Get_accumulate(&mine, 1, MPI_LONG, &old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_MAX, area.win), MPI_SUCCESS);
  MPI_Win_flush_all(area.win);
  EXPECT_LE(old, ranks());
  const long zero = 0;
  EXPECT_EQ(MPI_Compare_and_swap(&mine, &zero, &old, MPI_LONG, 0, 1, area.win), MPI_SUCCESS);
  MPI_Win_flush(0, area.win);
  const long won = old == 0;
  const Located located{static_cast<double>(rank() + 1), rank()};
  EXPECT_EQ(MPI_Accumulate(&located, 1, MPI_DOUBLE_INT, 0, 2, 1, MPI_DOUBLE_INT, MPI_MAXLOC, area.win), MPI_SUCCESS);
  MPI_Win_unlock_all(area.win);
  long winners = 0;
  MPI_Allreduce(&won, &winners, 1, MPI_LONG, MPI_SUM, comm);
  EXPECT_EQ(winners, 1);
  if (rank() == 0) {
    Located best;
    std::memcpy(&best, area.at + 2, sizeof best);
    EXPECT_EQ(area.at[0], ranks());
    EXPECT_EQ(best.value, ranks());
    EXPECT_EQ(best.index, ranks() - 1);
  }
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, area.win);
  EXPECT_EQ(MPI_Fetch_and_op(nullptr, &old, MPI_LONG, 0, 0, MPI_NO_OP, area.win), MPI_SUCCESS);
  MPI_Win_unlock(0, area.win);
  EXPECT_EQ(old, ranks());
  barrier();
}

TEST(Rma, DerivedDatatypesAtTheOriginAndTheTargetMeetElementByElement) {
  // Every second long of the origin goes to every third of the target.
  Area area(Area::created, 30);
  MPI_Datatype second, third;
  MPI_Type_vector(10, 1, 2, MPI_LONG, &second);
  MPI_Type_vector(5, 1, 3, MPI_LONG, &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&third);
  const std::vector<long> mine = vector_of<long>(rank(), 20), theirs = vector_of<long>(left(), 20);
  std::vector<long> got(20, -1);
  MPI_Win_fence(0, area.win);
  EXPECT_EQ(MPI_Put(mine.data(), 1, second, right(), 0, 2, third, area.win), MPI_SUCCESS);
  MPI_Win_fence(0, area.win);
  // The extent of five longs, three apart, is thirteen.
  const auto place = [](int i) { return i / 5 * 13 + i % 5 * 3; };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(area.at[place(i)], theirs[static_cast<size_t>(2 * i)]);
  EXPECT_EQ(area.at[1], 0);
  MPI_Win_fence(0, area.win);
  EXPECT_EQ(MPI_Accumulate(mine.data(), 1, second, right(), 0, 2, third, MPI_SUM, area.win), MPI_SUCCESS);
  MPI_Win_fence(0, area.win);
  EXPECT_EQ(MPI_Get(got.data(), 1, second, right(), 0, 2, third, area.win), MPI_SUCCESS);
  MPI_Win_fence(0, area.win);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(got[i], i % 2 == 0 ? 2 * mine[i] : -1);
  MPI_Type_free(&second);
  MPI_Type_free(&third);
}

TEST(Rma, RequestsCompleteWithTheirAccess) {
  for (const Area::Kind kind : kinds()) {
    Area area(kind, 100);
    const MPI_Aint place = area.place(right(), 0);
    const std::vector<long> mine = vector_of<long>(rank(), 100);
    std::vector<long> got(100, -1), old(100, -1);
    MPI_Request request;
    MPI_Win_lock_all(0, area.win);
    EXPECT_EQ(MPI_Rput(mine.data(), 100, MPI_LONG, right(), place, 100, MPI_LONG, area.win, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Win_flush_all(area.win);
    EXPECT_EQ(MPI_Rget(got.data(), 100, MPI_LONG, right(), place, 100, MPI_LONG, area.win, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got, mine);
    EXPECT_EQ(MPI_Raccumulate(mine.data(), 100, MPI_LONG, right(), place, 100, MPI_LONG, MPI_SUM, area.win, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Rget_accumulate(mine.data(), 100, MPI_LONG, old.data(), 100, MPI_LONG, right(), place, 100, MPI_LONG, MPI_REPLACE,
                                  area.win, &request),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (size_t i = 0; i < old.size(); ++i) EXPECT_EQ(old[i], 2 * mine[i]);
    MPI_Win_unlock_all(area.win);
    barrier();
    EXPECT_EQ(std::vector<long>(area.at, area.at + 100), vector_of<long>(left(), 100));
  }
}

TEST(Rma, SharedWindowsAreLoadedAndStoredByAllRanksOfTheNode) {
  if (!one_node()) GTEST_SKIP() << "the ranks are on several nodes";
  Area area(Area::shared, 1);
  MPI_Aint size = 0;
  int unit = 0;
  long* theirs = nullptr;
  EXPECT_EQ(MPI_Win_shared_query(area.win, right(), &size, &unit, &theirs), MPI_SUCCESS);
  EXPECT_EQ(size, MPI_Aint{sizeof(long)});
  EXPECT_EQ(unit, int{sizeof(long)});
  MPI_Win_fence(0, area.win);
  *theirs = rank() + 10;
  MPI_Win_fence(0, area.win);
  EXPECT_EQ(area.at[0], left() + 10);
}

TEST(Rma, OtherWindowsTellWhichMemoryIsWithinReach) {
  MPI_Aint size = -1;
  int unit = 0;
  long* memory = nullptr;
  for (const Area::Kind kind : {Area::created, Area::allocated}) {
    Area area(kind, 2);
    EXPECT_EQ(MPI_Win_shared_query(area.win, rank(), &size, &unit, &memory), MPI_SUCCESS);
    EXPECT_EQ(memory, area.at);
    EXPECT_EQ(size, MPI_Aint{2 * sizeof(long)});
    EXPECT_EQ(MPI_Win_shared_query(area.win, right(), &size, &unit, &memory), MPI_SUCCESS);
    EXPECT_EQ(size, memory ? MPI_Aint{2 * sizeof(long)} : MPI_Aint{0});
    MPI_Win_fence(0, area.win);
    if (memory) *memory = rank() + 10;
    const long word = rank() + 20;
    EXPECT_EQ(MPI_Put(&word, 1, MPI_LONG, rank(), 1, 1, MPI_LONG, area.win), MPI_SUCCESS);
    MPI_Win_fence(0, area.win);
    long* lefts = nullptr;
    EXPECT_EQ(MPI_Win_shared_query(area.win, left(), &size, &unit, &lefts), MPI_SUCCESS);
    if (lefts) {  // then ours was within the reach of who stored there
      EXPECT_EQ(area.at[0], left() + 10);
    }
    EXPECT_EQ(area.at[1], word);
  }
  Area area(Area::dynamic, 1);
  MPI_Win_set_errhandler(area.win, MPI_ERRORS_RETURN);
  EXPECT_EQ(MPI_Win_shared_query(area.win, 0, &size, &unit, &memory), MPI_ERR_RMA_FLAVOR);
}

TEST(Rma, WindowsTellWhatTheyAreAndReportMistakes) {
  Area area(Area::created, 3);
  void* value = nullptr;
  int flag = 0, length = 0;
  EXPECT_EQ(MPI_Win_get_attr(area.win, MPI_WIN_BASE, &value, &flag), MPI_SUCCESS);
  EXPECT_TRUE(flag && value == area.at);
  EXPECT_EQ(MPI_Win_get_attr(area.win, MPI_WIN_SIZE, &value, &flag), MPI_SUCCESS);
  EXPECT_EQ(*static_cast<MPI_Aint*>(value), MPI_Aint{3 * sizeof(long)});
  EXPECT_EQ(MPI_Win_get_attr(area.win, MPI_WIN_CREATE_FLAVOR, &value, &flag), MPI_SUCCESS);
  EXPECT_EQ(*static_cast<int*>(value), MPI_WIN_FLAVOR_CREATE);
  MPI_Win_set_name(area.win, "area");
  char name[MPI_MAX_OBJECT_NAME];
  EXPECT_EQ(MPI_Win_get_name(area.win, name, &length), MPI_SUCCESS);
  EXPECT_STREQ(name, "area");
  MPI_Win_set_errhandler(area.win, MPI_ERRORS_RETURN);
  long word = 0;
  EXPECT_EQ(MPI_Put(&word, 1, MPI_LONG, 0, 0, 1, MPI_LONG, area.win), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_unlock(0, area.win), MPI_ERR_RMA_SYNC);
  MPI_Win_fence(0, area.win);
  EXPECT_EQ(MPI_Put(&word, 1, MPI_LONG, 0, 3, 1, MPI_LONG, area.win), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(MPI_Put(&word, 1, MPI_LONG, ranks(), 0, 1, MPI_LONG, area.win), MPI_ERR_RANK);
  EXPECT_EQ(MPI_Put(&word, -1, MPI_LONG, 0, 0, 1, MPI_LONG, area.win), MPI_ERR_COUNT);
  EXPECT_EQ(MPI_Put(&word, 1, MPI_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG, area.win), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate(&word, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_MINLOC, area.win), MPI_ERR_OP);
  MPI_Win_fence(0, area.win);
}

}  // namespace
}  // namespace rma_test
