// expected.hpp: what the next copy of a detected view may consist of, as far as the last ones tell.
//
// Thread: one; pure. Invariants: ranges ascend and do not overlap.
#pragma once

#include <algorithm>

#include "shmem/views/diff/extents.hpp"
#include "shmem/views/job/layout.hpp"

namespace portunus::views {

struct Expected {
  std::vector<Range> ranges;
  size_t bytes = 0;
  bool repeats = false;  // the last copy was nearly what had been expected

  // A copy consisted of these ranges, in ascending order. What was expected before is kept if that is little more. What has grown by some
  // bytes will do so again: ranges are of whole blocks.
  void learn(std::vector<Range>&& copied) {
    for (Range& range : copied) {
      const size_t end = (range.end() + kBlock - 1) / kBlock * kBlock;
      range.offset = range.offset / kBlock * kBlock;
      range.bytes = end - range.offset;
    }
    join(copied);
    const size_t sum = bytes_of(copied);
    std::vector<Range> both;
    size_t common = 0;
    for (size_t i = 0, j = 0; i < ranges.size() || j < copied.size();) {
      const bool old = j == copied.size() || (i < ranges.size() && ranges[i].offset <= copied[j].offset);
      const Range next = old ? ranges[i++] : copied[j++];
      if (both.empty() || both.back().end() < next.offset) {
        both.push_back(next);
        continue;
      }
      const size_t overlap = std::min(both.back().end(), next.end()) - next.offset;
      common += overlap;
      both.back().bytes += next.bytes - overlap;
    }
    repeats = common >= sum - sum / 8 && bytes <= sum + sum / 4;
    const size_t all = bytes_of(both);
    const bool keeps = all <= sum + sum / 4;
    ranges = std::move(keeps ? both : copied);
    bytes = keeps ? all : sum;
  }

 private:
  // Joins those that touch or overlap by now.
  static void join(std::vector<Range>& all) {
    size_t kept = 0;
    for (const Range& range : all) {
      if (kept && all[kept - 1].end() >= range.offset)
        all[kept - 1].bytes = std::max(all[kept - 1].end(), range.end()) - all[kept - 1].offset;
      else all[kept++] = range;
    }
    all.resize(kept);
  }
};

}  // namespace portunus::views
