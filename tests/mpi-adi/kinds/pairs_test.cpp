// Accumulates on pairs of a value and a place are atomic for every type of pair, in windows of every kind; where the memory is shared they
// need no message. Source: MPI-5.0, 12.3.4, 12.7.1.
#include <algorithm>
#include <cstring>
#include <functional>

#include "../ranks.hpp"

namespace pairs_test {
namespace {

enum class Kind { created, allocated, shared, dynamic };

// Room for `count` pairs of each rank.
template <class Pair>
struct Area {
  Area(Kind kind, int count) : own(static_cast<size_t>(count)), at(own.data()), bases(static_cast<size_t>(ranks())) {
    const MPI_Aint bytes = count * MPI_Aint{sizeof(Pair)};
    int error = MPI_SUCCESS;
    switch (kind) {
      case Kind::created: MPI_Win_create(at, bytes, sizeof(Pair), MPI_INFO_NULL, MPI_COMM_WORLD, &win); break;
      case Kind::allocated: MPI_Win_allocate(bytes, sizeof(Pair), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &win); break;
      case Kind::shared: error = MPI_Win_allocate_shared(bytes, sizeof(Pair), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &win); break;
      case Kind::dynamic:
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_attach(win, at, bytes);
        MPI_Aint mine;
        MPI_Get_address(at, &mine);
        MPI_Allgather(&mine, 1, MPI_AINT, bases.data(), 1, MPI_AINT, MPI_COMM_WORLD);
    }
    stands = error == MPI_SUCCESS;
    if (stands) std::memset(static_cast<void*>(at), 0, static_cast<size_t>(bytes));
  }
  std::vector<Pair> own;
  Pair* at;
  std::vector<MPI_Aint> bases;
  MPI_Win win = MPI_WIN_NULL;
  bool stands;
};

template <class Pair>
void check(MPI_Datatype type, Kind kind) {
  constexpr int kRounds = 60;
  Area<Pair> area(kind, 3);
  if (!area.stands) return;  // the ranks share no memory
  const auto place = [&](int target, int i) {
    return kind == Kind::dynamic ? area.bases[static_cast<size_t>(target)] + i * MPI_Aint{sizeof(Pair)} : MPI_Aint{i};
  };
  void* base = nullptr;
  int mapped = 0, unit;
  MPI_Aint size = 0;
  if (kind == Kind::allocated || kind == Kind::shared) {
    mapped = 1;
    for (int i = 0; i < ranks(); ++i) mapped = mapped && MPI_Win_shared_query(area.win, i, &size, &unit, &base) == MPI_SUCCESS && size > 0;
    MPI_Allreduce(MPI_IN_PLACE, &mapped, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  barrier();
  MPI_Win_lock_all(0, area.win);
  barrier();  // what the locks of others have sent is over
  const auto before = sends();
  // Place 0: the largest. Place 1: each takes away what was there, and puts something that nobody else puts. Place 2: the smallest.
  std::vector<int> taken(static_cast<size_t>(ranks()) * kRounds * static_cast<size_t>(ranks()) + 1, 0), all(taken.size());
  const auto number = [&](int target, int round) { return 1 + (target * ranks() + rank()) * kRounds + round; };
  for (int round = 0; round < kRounds; ++round)
    for (int i = 0; i < ranks(); ++i) {
      const int target = (rank() + i) % ranks();
      Pair given{}, old{};
      given.value = static_cast<decltype(given.value)>(round);
      given.index = static_cast<decltype(given.index)>(rank());
      MPI_Accumulate(&given, 1, type, target, place(target, 0), 1, type, MPI_MAXLOC, area.win);
      given.value = static_cast<decltype(given.value)>(-round - 1);
      MPI_Get_accumulate(&given, 1, type, &old, 1, type, target, place(target, 2), 1, type, MPI_MINLOC, area.win);
      Pair swapped{};
      swapped.index = number(target, round);
      swapped.value = static_cast<decltype(given.value)>(swapped.index % 100);
      Pair was{};
      MPI_Fetch_and_op(&swapped, &was, type, target, place(target, 1), MPI_REPLACE, area.win);
      MPI_Win_flush(target, area.win);
      EXPECT_GE(old.value, -round - 1 - kRounds);
      EXPECT_EQ(was.value, static_cast<decltype(was.value)>(was.index % 100));
      ++taken[static_cast<size_t>(was.index)];
    }
  if (mapped) {
    EXPECT_EQ(sends(), before);
  }
  barrier();
  Pair last[3] = {};
  for (int i = 0; i < 3; ++i) MPI_Fetch_and_op(nullptr, &last[i], type, rank(), place(rank(), i), MPI_NO_OP, area.win);
  MPI_Win_flush_all(area.win);
  MPI_Win_unlock_all(area.win);
  EXPECT_EQ(last[0].value, static_cast<decltype(last[0].value)>(kRounds - 1));
  EXPECT_EQ(last[0].index, 0);
  EXPECT_EQ(last[2].value, static_cast<decltype(last[2].value)>(-kRounds));
  EXPECT_EQ(last[2].index, 0);
  ++taken[static_cast<size_t>(last[1].index)];
  MPI_Allreduce(taken.data(), all.data(), static_cast<int>(taken.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all[0], ranks());  // what was there at first
  EXPECT_TRUE(std::all_of(all.begin() + 1, all.end(), [](int times) { return times == 1; }));
  MPI_Win_free(&area.win);
}

template <class Value>
struct Of {
  Value value;
  int index;
};

TEST(Pairs, AreAccumulatedAtomically) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const Kind kind : {Kind::created, Kind::allocated, Kind::shared, Kind::dynamic}) {
    check<Of<int>>(MPI_2INT, kind);
    check<Of<short>>(MPI_SHORT_INT, kind);
    check<Of<long>>(MPI_LONG_INT, kind);
    check<Of<float>>(MPI_FLOAT_INT, kind);
    check<Of<double>>(MPI_DOUBLE_INT, kind);
    check<Of<long double>>(MPI_LONG_DOUBLE_INT, kind);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace
}  // namespace pairs_test
