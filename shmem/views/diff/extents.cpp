// extents.cpp: sorting and cutting pieces.
#include "shmem/views/diff/extents.hpp"

#include <algorithm>

#include "shmem/views/job/layout.hpp"

namespace portunus::views {

bool normalize(std::vector<Range>& pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const Range& a, const Range& b) { return a.offset < b.offset; });
  std::vector<Range> joined;
  for (const Range& piece : pieces) {
    if (!joined.empty() && joined.back().end() > piece.offset) return false;
    if (!joined.empty() && joined.back().end() == piece.offset) joined.back().bytes += piece.bytes;
    else joined.push_back(piece);
  }
  pieces = std::move(joined);
  return true;
}

std::vector<Range> blocks_of(const std::vector<Range>& pieces) {
  for (size_t size = kBlock;; size *= 2) {
    std::vector<Range> blocks;
    for (const Range& piece : pieces)
      for (size_t at = piece.offset; at < piece.end();) {
        const size_t end = std::min(piece.end(), (at / size + 1) * size);
        blocks.push_back({at, end - at});
        at = end;
      }
    if (blocks.size() <= kMostBlocks || blocks.size() == pieces.size()) return blocks;
  }
}

// FNV-1a over offsets and lengths.
uint64_t meaning_of(const std::vector<Range>& pieces) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const Range& piece : pieces)
    for (const size_t word : {piece.offset, piece.bytes}) hash = (hash ^ word) * 0x100000001b3u;
  return hash ? hash : 1;
}

bool overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].end() <= b[j].offset) ++i;
    else if (b[j].end() <= a[i].offset) ++j;
    else return true;
  }
  return false;
}

}  // namespace portunus::views
