// windows.cpp: a rank's accesses to windows: see rank.hpp.
#include "tests/simulation/mpi/rank.hpp"

namespace portunus::simulation {

void Rank::access(const Action& action) {
  machine_.acts("an access to a window");
  const int target = action.peer;
  switch (action.access) {
    case Access::put_get: {
      std::vector<uint8_t> out(action.length), in(action.length);
      for (size_t i = 0; i < out.size(); ++i) out[i] = message_byte(action.number, i);
      const MPI_Aint at = kOwnAreas + me_ * kArea;
      const int count = static_cast<int>(action.length);
      check(MPI_Put(out.data(), count, MPI_BYTE, target, at, count, MPI_BYTE, window_), "MPI_Put");
      check(MPI_Win_flush(target, window_), "MPI_Win_flush");
      check(MPI_Get(in.data(), count, MPI_BYTE, target, at, count, MPI_BYTE, window_), "MPI_Get");
      check(one_in(2) ? MPI_Win_flush(target, window_) : MPI_Win_flush_all(window_), "MPI_Win_flush");
      expect(in == out, "MPI_Get does not return what was put");
      break;
    }
    case Access::accumulate: {
      const auto by = static_cast<int64_t>(action.length);
      check(MPI_Accumulate(&by, 1, MPI_INT64_T, target, 8, 1, MPI_INT64_T, MPI_SUM, window_), "MPI_Accumulate");
      check(MPI_Win_flush_local(target, window_), "MPI_Win_flush_local");
      break;
    }
    case Access::fetch: {
      const int64_t one = 1;
      int64_t old = -1;
      check(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, target, 0, MPI_SUM, window_), "MPI_Fetch_and_op");
      check(MPI_Win_flush(target, window_), "MPI_Win_flush");
      expect(old >= 0 && old < plan_.fetched[static_cast<size_t>(target)], "MPI_Fetch_and_op returns what was never there");
      break;
    }
    case Access::compare_and_swap: {
      const auto swap = [&](int64_t from, int64_t to) {
        int64_t old = -1;
        check(MPI_Compare_and_swap(&to, &from, &old, MPI_INT64_T, target, 16, window_), "MPI_Compare_and_swap");
        check(MPI_Win_flush(target, window_), "MPI_Win_flush");
        return old;
      };
      const int64_t mine = me_ + 1;
      while (swap(0, mine) != 0) {
      }
      expect(swap(mine, 0) == mine, "a word that was locked has been changed by others");
      break;
    }
    case Access::count: break;
  }
}

}  // namespace portunus::simulation
