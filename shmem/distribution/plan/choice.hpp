// choice.hpp: the one table that says in which of the three ways a plan moves what a pair of PEs exchanges.
//
// Both ends decide from the pair's pieces alone, so that they decide alike. `run` copies directly between PEs of a node
// (peer.hpp); everything else is a message.
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

inline Way way_of(const Move& move) {
  const int64_t pieces = std::max(move.from_pieces(), move.to_pieces());
  return pieces <= kMostPieces && move.bytes() >= pieces * kSchedulePiece ? Way::kSchedule : Way::kLaidOut;
}

}  // namespace portunus::distribution
