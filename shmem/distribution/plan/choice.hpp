// choice.hpp: the one table that says in which of the three ways a plan moves what a pair of PEs exchanges.
//
// Both ends decide from the pair's pieces alone, and from what all PEs have agreed on, so that they decide alike. `run` copies directly
// between PEs of a node (peer.hpp); everything else is a message.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shmem/distribution/layout/move.hpp"

namespace portunus::distribution {

enum class Way {
  kSchedule,  // send and receive of a GOAL schedule, by pieces (by_goal.hpp)
  kLaidOut    // one put, laid out by a function at both ends (by_layout.hpp)
};

// From pieces of so many bytes on, on average at the end that has more of them, a schedule is used: it costs one increment
// to start, but 16 to 24 bytes and some time for each piece.
inline constexpr int64_t kSchedulePiece = 512;
// A schedule holds its pieces; more than so many are laid out.
inline constexpr int64_t kMostPieces = 16384;

// Between PEs of a node that outnumber its cores, `run` posts messages of at most so many bytes rather than let the reader copy:
// their source need not be given the core once more to hear that they were read.
inline constexpr int64_t kMostPosted = 2048;
// And at most so many bytes of letter boxes on a PE.
inline constexpr int64_t kMostBoxes = int64_t{1} << 20;

inline Way way_of(const Move& move) {
  const int64_t pieces = std::max(move.from_pieces(), move.to_pieces());
  return pieces <= kMostPieces && move.bytes() >= pieces * kSchedulePiece ? Way::kSchedule : Way::kLaidOut;
}

}  // namespace portunus::distribution
