// choice.hpp: the one table that says in which of the three ways a plan moves what a pair of PEs exchanges.
//
// Both ends decide from the pair's pieces alone, and from what all PEs have agreed on, so that they decide alike. `run` copies directly
// between PEs of a node (peer.hpp); everything else is a message.
#pragma once

#include <algorithm>
#include <cstdint>

#include "portals/portals4_ext.h"
#include "shmem/distribution/layout/move.hpp"

namespace portunus::distribution {

enum class Way {
  kSchedule,  // send and receive of a GOAL schedule, by pieces (by_goal.hpp)
  kLaidOut    // one put, laid out by a function at both ends (by_layout.hpp)
};

// A schedule costs one increment to start, but 16 to 24 bytes and some time for each piece. Measured (bench/distribution/ways.c): it is
// the faster one, by a sixth, between PEs of a node, for messages of so many bytes in pieces of so many, on average at the end that
// has more of them. Over a network, and everywhere else, a put that is laid out is as fast or faster, up to ten times with small pieces.
inline constexpr int64_t kSchedulePiece = 256;
inline constexpr int64_t kLeastScheduled = int64_t{128} << 10, kMostScheduled = int64_t{2} << 20;
// Between PEs of a node that outnumber its cores, `run` posts messages of at most so many bytes rather than let the reader copy:
// their source need not be given the core once more to hear that they were read.
inline constexpr int64_t kMostPosted = 2048;
// And at most so many bytes of letter boxes on a PE.
inline constexpr int64_t kMostBoxes = int64_t{1} << 20;

// PTL_DEBUG=ccc-schedule or ccc-laid-out takes one way for all, for measuring; the same on all PEs.
inline Way way_of(const Move& move, bool on_node) {
  static const bool all_scheduled = PtlxDebug("ccc-schedule") != 0, all_laid_out = PtlxDebug("ccc-laid-out") != 0;
  const int64_t bytes = move.bytes();
  if (all_scheduled) return Way::kSchedule;
  if (all_laid_out) return Way::kLaidOut;
  if (!on_node || bytes < kLeastScheduled || bytes > kMostScheduled) return Way::kLaidOut;
  return bytes >= std::max(move.from_pieces(), move.to_pieces()) * kSchedulePiece ? Way::kSchedule : Way::kLaidOut;
}

}  // namespace portunus::distribution
