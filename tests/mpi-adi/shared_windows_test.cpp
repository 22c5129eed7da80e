// Windows whose memory is shared: where the ranks' parts lie, and what is told of them. Source: MPI-5.0, 12.2.3.
#include <string>

#include "ranks.hpp"

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
