// Barrier, bcast, allreduce and alltoall of all ranks of a large job, as graphs, and what is known about them.
//
// Thread: any; pure.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/goal/collectives/collectives.hpp"

namespace portunus::goal::collectives {

struct KnownCollective {
  const char* name;
  void (*write)(Script& script, const Team& team);
  uint64_t (*messages)(uint64_t ranks);
  uint64_t (*rounds)(uint64_t ranks);
  uint32_t most_ranks = 1 << 20;  // with more of them the graphs are too large
};

inline constexpr uint64_t kGraphBytes = 8;
inline uint64_t log2_up(uint64_t n) { return static_cast<uint64_t>(std::bit_width(n - 1)); }
inline uint64_t log2_down(uint64_t n) { return static_cast<uint64_t>(std::bit_width(n)) - 1; }

inline const KnownCollective kKnownCollectives[] = {
    {"barrier", [](Script& script, const Team& team) { barrier(script, team, Choices()); }, [](uint64_t n) { return n * log2_up(n); },
     [](uint64_t n) { return log2_up(n); }},
    // The deepest rank has all bits set that a rank can have.
    {"bcast", [](Script& script, const Team& team) { bcast_binomial(script, team, 0, argument(0), kGraphBytes); },
     [](uint64_t n) { return n - 1; }, [](uint64_t n) { return log2_down(n); }},
    // Ranks beyond a power of two add a round before and one after; one way has both only where two opposite ranks of the core
    // have taken one in.
    {"allreduce",
     [](Script& script, const Team& team) {
       allreduce_doubling(script, team, {argument(0), argument(1), kGraphBytes / 8, {PTLX_ADD, PTL_INT64_T}});
     },
     [](uint64_t n) { return std::bit_floor(n) * log2_down(n) + 2 * (n - std::bit_floor(n)); },
     [](uint64_t n) {
       const uint64_t left_out = n - std::bit_floor(n), core = std::bit_floor(n);
       return log2_down(n) + (left_out == 0 ? 0 : 2 * left_out > core ? 2 : 1);
     }},
    // The last round waits for the one before it if a piece goes as far as both of them carry it.
    {"alltoall", [](Script& script, const Team& team) { alltoall_bruck(script, team, argument(0), argument(1), kGraphBytes); },
     [](uint64_t n) { return n * log2_up(n); }, [](uint64_t n) { return log2_up(n) - (n > 2 && 4 * n <= 3 * std::bit_ceil(n) ? 1 : 0); },
     256},
};

inline std::vector<Schedule> graphs_of(const KnownCollective& collective, uint32_t ranks) {
  std::vector<Schedule> all;
  all.reserve(ranks);
  for (uint32_t r = 0; r < ranks; ++r) {
    Builder builder;
    Script script(builder);
    collective.write(script, Team(r, ranks));
    all.push_back(std::move(builder.finish().graph));
  }
  return all;
}

}  // namespace portunus::goal::collectives
