// reduced.hpp: an axis with the steps taken out that change nothing, and what planning asks of it.
//
// Callers: the lists of pieces. A step that deals out in one cycle, or one to one, is taken out, so that what is contiguous
// is seen to be. Offsets and targets are those of the axis; rooms are not kept. `cycle` indices later everything repeats:
// the target is the same and the offset `advance` larger.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "shmem/distribution/axis/axis.hpp"

namespace portunus::distribution {

class Reduced {
 public:
  explicit Reduced(const ccc_axis& axis);

  int64_t cycle() const { return cycle_; }
  int64_t advance() const { return block_; }
  // The shortest that a run of contiguous offsets is, but for the last; 0: unknown.
  int64_t usual_run() const { return is_balanced(axis_) ? axis_.hidden[kBlock] : block_; }
  // From s to where contiguous offsets on one target end.
  int64_t run_end(int64_t s) const {
    if (is_balanced(axis_)) {
      const Balanced balanced(axis_);
      const int64_t t = balanced.target(s);
      return balanced.first(t) + balanced.count(t);
    }
    return std::min(axis_.n, s - s % block_ + block_);
  }
  int64_t target(int64_t s) const { return distribution::target(axis_, s); }
  int64_t offset(int64_t s) const { return distribution::offset(axis_, s); }

  // The intervals of one cycle that target t has, ascending: first index and length.
  std::vector<std::pair<int64_t, int64_t>> own(int64_t t) const;

 private:
  struct Level {
    int64_t block, processors, inner;  // `inner`: what its offset is multiplied by
  };
  void own_points(size_t level, int64_t points, int64_t t, std::vector<std::pair<int64_t, int64_t>>& found) const;

  ccc_axis axis_;
  std::vector<Level> levels_;
  int64_t block_, cycle_;
};

}  // namespace portunus::distribution
