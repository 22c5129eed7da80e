// Measured points: a point is a collective of one size among so many ranks, with the time of each of its algorithms.
//
// Thread: any; pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/goal/collectives/algorithms.hpp"
#include "engine/goal/collectives/rank_placement.hpp"

namespace portunus::goaltune {

struct Point {
  goal::collectives::Collective collective{};
  uint64_t bytes = 0;  // as algorithms.hpp counts them
  uint32_t ranks = 0;
  goal::collectives::RankPlacement place{};
  // Microseconds, of what the collective offers, in that order; empty before it is measured. A time may be wrong by as much as its doubt.
  std::vector<double> times, doubts;
};

struct Range {
  uint64_t least = 8, most = 4 << 20;  // bytes; `most`: that a rank has of all, before or after
  uint32_t step = 4;
};

// All points of a job, the same on all its ranks: group sizes 2, 4, 8 .. and all, sizes least, least * step ... Where the groups are is
// left open.
[[nodiscard]] std::vector<Point> points_of(std::span<const goal::collectives::Collective> collectives, uint32_t ranks, const Range& range);

}  // namespace portunus::goaltune
