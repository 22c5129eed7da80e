// shared.hpp: what the library itself keeps in symmetric memory, behind the heap.
//
//        | team_ids, generations (PE 0's are used) | signals of team 0 | signals of team 1 .. |
//
// Thread: written by other PEs' stores, atomics and puts. All words start at zero.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "shmem/team.hpp"

namespace portunus::shmem {

struct Shared {
  uint64_t team_ids[kMostTeams / 64];  // bit i: number i is taken
  uint64_t generations;                // numbers given out so far
};
inline constexpr size_t kSharedHeader = 4096;
static_assert(sizeof(Shared) <= kSharedHeader);

// One for each round of a dissemination barrier; or one for the release and one to count arrivals (sync.hpp).
struct alignas(64) Signal {
  uint64_t count;
};
inline size_t signals_of(int n_pes) {
  return static_cast<size_t>(std::max(2, static_cast<int>(std::bit_width(static_cast<unsigned>(n_pes) - 1u))));
}

inline size_t shared_size(int n_pes) { return kSharedHeader + kMostTeams * signals_of(n_pes) * sizeof(Signal); }

}  // namespace portunus::shmem
