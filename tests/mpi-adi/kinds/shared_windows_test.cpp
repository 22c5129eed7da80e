// Windows whose memory is shared: where the ranks' parts lie, and what is told of them. Source: MPI-5.0, 12.2.3.
#include <sys/statvfs.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "../ranks.hpp"

namespace shared_windows_test {
namespace {

struct Part {
  MPI_Aint size = -1;
  int unit = -1;
  char* base = nullptr;
};
Part part_of(MPI_Win win, int of) {
  Part part;
  EXPECT_EQ(MPI_Win_shared_query(win, of, &part.size, &part.unit, &part.base), MPI_SUCCESS);
  return part;
}

TEST(SharedWindows, HaveTheirPartsByteByByteUnlessTheProgramGivesThatUp) {
  for (const char* gives_up : {"", "false", "true"}) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (*gives_up) MPI_Info_set(info, "alloc_shared_noncontig", gives_up);
    for (const MPI_Aint each : {1000, 1, 7, 64, 4099}) {
      char* mine;
      MPI_Win win;
      const MPI_Aint size = each + rank();
      if (MPI_Win_allocate_shared(size, 1, info, MPI_COMM_WORLD, &mine, &win) != MPI_SUCCESS) continue;
      for (MPI_Aint i = 0; i < size; ++i) mine[i] = static_cast<char>(rank() + 1);
      MPI_Win_fence(0, win);
      char* end = nullptr;
      for (int i = 0; i < ranks(); ++i) {
        const Part part = part_of(win, i);
        EXPECT_EQ(part.size, each + i);
        if (i > 0) {
          if (std::string(gives_up) == "true") EXPECT_GE(part.base, end);
          else EXPECT_EQ(part.base, end);
        }
        end = part.base + part.size;
        EXPECT_TRUE(part.base[0] == i + 1 && part.base[part.size - 1] == i + 1);
      }
      MPI_Win_fence(0, win);
      MPI_Win_free(&win);
    }
    MPI_Info_free(&info);
  }
}

// Whether each rank has the memory of all mapped.
bool are_mapped(MPI_Win win) {
  MPI_Aint size = 1;
  int unit, mapped = 1;
  void* base = nullptr;
  for (int i = 0; i < ranks() && mapped; ++i) mapped = MPI_Win_shared_query(win, i, &size, &unit, &base) == MPI_SUCCESS && size > 0;
  MPI_Allreduce(MPI_IN_PLACE, &mapped, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return mapped != 0;
}

// Each adds to the numbers of all, which only locks keep from being changed by others in between.
void count_under_locks(MPI_Win win, const std::vector<int>& types, bool sends_nothing) {
  constexpr int kRounds = 200;
  barrier();
  const auto before = sends();
  long exclusive = 0;
  for (int round = 0; round < kRounds; ++round)
    for (int i = 0; i < ranks(); ++i) {
      const int target = (rank() + i) % ranks(), type = types[static_cast<size_t>(round) % types.size()];
      long both[2] = {};
      MPI_Win_lock(type, target, 0, win);
      MPI_Get(both, 2, MPI_LONG, target, 0, 2, MPI_LONG, win);
      MPI_Win_flush(target, win);
      EXPECT_EQ(both[0], both[1]);  // whoever changes them holds the lock alone
      if (type == MPI_LOCK_EXCLUSIVE) {
        ++both[0], ++both[1], ++exclusive;
        MPI_Put(&both[0], 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
        MPI_Put(&both[1], 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
      }
      MPI_Win_unlock(target, win);
    }
  EXPECT_TRUE(!sends_nothing || sends() == before);
  barrier();
  long mine[2] = {};
  MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, win);
  MPI_Get(mine, 2, MPI_LONG, rank(), 0, 2, MPI_LONG, win);
  MPI_Win_unlock(rank(), win);
  EXPECT_TRUE(mine[0] == exclusive && mine[1] == exclusive);
}

TEST(SharedWindows, KeepOthersOutWhileOneHoldsTheLockAndNeedNoMessage) {
  long own[2] = {}, *at = own;
  for (const bool allocated : {true, false}) {
    MPI_Win win;
    if (allocated) MPI_Win_allocate(sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &win);
    else MPI_Win_create(own, sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (allocated) at[0] = at[1] = 0;
    const bool mapped = allocated && are_mapped(win);
    MPI_Win_fence(0, win);
    count_under_locks(win, {MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE}, mapped);
    MPI_Win_free(&win);
  }
}

// Patches of a matrix of the next rank's, as Global Arrays and its like put, get and add them, beside a model of that matrix.
constexpr int kSide = 24;
struct Patch {
  int row, column, rows, columns;
};

template <class Action>
void for_each_element(const Patch& patch, Action&& action) {
  for (int row = 0; row < patch.rows; ++row)
    for (int column = 0; column < patch.columns; ++column)
      action(row * patch.columns + column, (patch.row + row) * kSide + patch.column + column);
}

void access_patch(int how, const Patch& patch, double* model, int target, MPI_Win win) {
  const int elements = patch.rows * patch.columns;
  const MPI_Aint place = patch.row * kSide + patch.column;
  std::vector<double> mine(static_cast<size_t>(elements)), had(mine.size()), wanted(mine.size());
  for_each_element(patch, [&](int i, int at) { mine[static_cast<size_t>(i)] = i + how, wanted[static_cast<size_t>(i)] = model[at]; });
  MPI_Datatype there;
  MPI_Type_vector(patch.rows, patch.columns, kSide, MPI_DOUBLE, &there);
  MPI_Type_commit(&there);
  MPI_Request request = MPI_REQUEST_NULL;
  double *const from = mine.data(), *const to = had.data();
  switch (how) {
    case 0: MPI_Put(from, elements, MPI_DOUBLE, target, place, 1, there, win); break;
    case 1: MPI_Rput(from, elements, MPI_DOUBLE, target, place, 1, there, win, &request); break;
    case 2: MPI_Get(to, elements, MPI_DOUBLE, target, place, 1, there, win); break;
    case 3: MPI_Rget(to, elements, MPI_DOUBLE, target, place, 1, there, win, &request); break;
    case 4: MPI_Accumulate(from, elements, MPI_DOUBLE, target, place, 1, there, MPI_SUM, win); break;
    case 5: MPI_Raccumulate(from, elements, MPI_DOUBLE, target, place, 1, there, MPI_SUM, win, &request); break;
    case 6: MPI_Get_accumulate(from, elements, MPI_DOUBLE, to, elements, MPI_DOUBLE, target, place, 1, there, MPI_SUM, win); break;
    default: MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE, to, elements, MPI_DOUBLE, target, place, 1, there, MPI_NO_OP, win); break;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(target, win);
  MPI_Type_free(&there);
  for_each_element(patch, [&](int i, int at) {
    if (how < 2) model[at] = mine[static_cast<size_t>(i)];
    if (how >= 4 && how < 7) model[at] += mine[static_cast<size_t>(i)];
  });
  if (how < 2 || how == 4 || how == 5) return;
  EXPECT_EQ(had, wanted) << "access " << how;
}

TEST(SharedWindows, GiveAndTakePatchesWithoutAMessage) {
  double* matrix = nullptr;
  std::vector<double> model(kSide * kSide, 0.0);
  MPI_Win win;
  MPI_Win_allocate(kSide * kSide * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &matrix, &win);
  std::fill_n(matrix, model.size(), 0.0);
  const bool mapped = are_mapped(win);
  const int target = (rank() + 1) % ranks();
  std::mt19937 random(static_cast<unsigned>(rank()));
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (const bool at_once : {false, true}) {  // all under one lock, or each under one of its own
    barrier();
    const auto before = sends();
    if (at_once) MPI_Win_lock_all(0, win);
    for (int round = 0; round < 200; ++round) {
      Patch patch{below(kSide), below(kSide), 0, 0};
      patch.rows = 1 + below(kSide - patch.row);
      patch.columns = 1 + below(kSide - patch.column);
      if (!at_once) MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win);
      access_patch(round % 8, patch, model.data(), target, win);
      if (!at_once) MPI_Win_unlock(target, win);
    }
    if (at_once) MPI_Win_unlock_all(win);
    EXPECT_TRUE(!mapped || sends() == before);
    barrier();
  }
  MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
  access_patch(2, {0, 0, kSide, kSide}, model.data(), target, win);
  MPI_Win_unlock(target, win);
  MPI_Win_free(&win);
}

uint64_t room() {
  struct statvfs found {};
  return statvfs("/dev/shm", &found) == 0 ? uint64_t{found.f_bavail} * found.f_frsize : 0;
}

// So much that what other processes take and give back meanwhile does not matter; on less room nothing can be said.
TEST(SharedWindows, TakeMemoryWhereItIsTouched) {
  constexpr MPI_Aint kBytes = 1 << 30, kLeast = 256 << 20;
  MPI_Aint bytes = std::min<MPI_Aint>(kBytes, static_cast<MPI_Aint>(room() / 2)) / ranks();
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_AINT, MPI_MIN, MPI_COMM_WORLD);
  if (bytes * ranks() < kLeast) return;
  for (const bool shared : {true, false}) {
    char* mine;
    MPI_Win win;
    const uint64_t before = room();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int error = shared ? MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win)
                             : MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (error != MPI_SUCCESS) continue;  // the ranks are told that they share no memory
    mine[0] = mine[bytes - 1] = 1;
    MPI_Win_fence(0, win);
    EXPECT_LT(before - std::min(before, room()), static_cast<uint64_t>(kLeast) / 2);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
  }
}

// MPI_PROC_NULL means the lowest rank that gave memory: the same for all, whoever can reach it.
void check_first(MPI_Win win, int first) {
  const Part null = part_of(win, MPI_PROC_NULL), there = part_of(win, first);
  EXPECT_EQ(null.base, there.base);
  EXPECT_EQ(null.size, there.size);
  EXPECT_EQ(null.unit, there.unit);
  MPI_Win_free(&win);
}

TEST(SharedWindows, TellOfTheFirstThatHasMemory) {
  for (int first = 0; first < ranks(); ++first) {
    const MPI_Aint size = rank() < first ? 0 : 64;
    void* base;
    MPI_Win win;
    MPI_Win_allocate(size, rank() + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    check_first(win, first);
    if (MPI_Win_allocate_shared(size, rank() + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) == MPI_SUCCESS) check_first(win, first);
    void* memory;
    MPI_Alloc_mem(64, MPI_INFO_NULL, &memory);
    MPI_Win_create(memory, size, rank() + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    check_first(win, first);
    MPI_Free_mem(memory);
  }
}

}  // namespace
}  // namespace shared_windows_test
