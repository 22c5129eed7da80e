// extents.hpp: what a declared view consists of, cut into blocks that have versions.
//
// Thread: one. Invariants: pieces are sorted and do not touch; a block lies in one piece, and ends where it ends; at
// most kMostBlocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace portunus::views {

struct Range {
  size_t offset, bytes;
  size_t end() const { return offset + bytes; }
  bool operator==(const Range&) const = default;
};

inline constexpr size_t kMostBlocks = 4096;

// Sorts, and joins those that touch. False when two overlap.
bool normalize(std::vector<Range>& pieces);
// Blocks of 256 bytes, or 512, 1024 .. where there would be too many. Pieces are never joined: kMostBlocks pieces at most.
std::vector<Range> blocks_of(const std::vector<Range>& pieces);
// The same for the same pieces; never 0.
uint64_t meaning_of(const std::vector<Range>& pieces);
bool overlap(const std::vector<Range>& a, const std::vector<Range>& b);
inline size_t bytes_of(const std::vector<Range>& pieces) {
  size_t sum = 0;
  for (const Range& piece : pieces) sum += piece.bytes;
  return sum;
}

}  // namespace portunus::views
