// reduced.cpp: takes steps out, and lists what a target has of one cycle.
#include "shmem/distribution/layout/reduced.hpp"

namespace portunus::distribution {

Reduced::Reduced(const ccc_axis& axis) : axis_(axis) {
  for (int i = 0; i < axis.steps; ++i)
    levels_.push_back({axis.step[i].block, axis.step[i].processors, i == 0 ? 1 : axis.hidden[i == 1 ? kRoom1 : kRoom2]});
  int64_t points = axis.n;
  for (size_t i = 0; i + 1 < levels_.size();) {
    const Level here = levels_[i], next = levels_[i + 1];
    // In one cycle a step's offset is the place within its block: the next one deals out larger blocks.
    if (points <= here.block * here.processors && next.inner == here.inner * here.block) {
      levels_[i + 1] = {here.block * next.block, next.processors, here.inner};
      levels_.erase(levels_.begin() + static_cast<ptrdiff_t>(i));
    } else if (next.block == 1 && here.processors <= next.processors) {
      levels_.erase(levels_.begin() + static_cast<ptrdiff_t>(i) + 1);  // one to one
    } else {
      points = here.processors;
      ++i;
    }
  }
  block_ = levels_[0].block;
  cycle_ = block_ * levels_[0].processors;
  if (levels_[0].processors == 1 && levels_.size() == 1) block_ = cycle_ = std::max<int64_t>(1, axis.n);
  if (is_balanced(axis)) cycle_ = std::max<int64_t>(1, axis.n);
}

// Points of `level` that end at t, as intervals; points are 0 .. points-1.
void Reduced::own_points(size_t level, int64_t points, int64_t t, std::vector<std::pair<int64_t, int64_t>>& found) const {
  const auto [block, processors, inner] = levels_[level];
  std::vector<std::pair<int64_t, int64_t>> blocks{{t, 1}};
  if (level + 1 < levels_.size()) {
    blocks.clear();
    own_points(level + 1, processors, t, blocks);
  }
  for (int64_t round = 0; round < points; round += block * processors)
    for (const auto& [first, count] : blocks) {
      const int64_t begin = round + first * block, end = std::min(points, begin + count * block);
      if (begin >= end) break;
      if (!found.empty() && found.back().first + found.back().second == begin) found.back().second += end - begin;
      else found.push_back({begin, end - begin});
    }
}

std::vector<std::pair<int64_t, int64_t>> Reduced::own(int64_t t) const {
  std::vector<std::pair<int64_t, int64_t>> found;
  if (is_balanced(axis_)) {
    const Balanced balanced(axis_);
    if (balanced.count(t) > 0) found.push_back({balanced.first(t), balanced.count(t)});
  } else if (block_ == cycle_ && levels_.size() == 1) {
    if (t == 0) found.push_back({0, cycle_});
  } else if (t < levels_.back().processors) {
    own_points(0, std::min(cycle_, axis_.n), t, found);
  }
  return found;
}

}  // namespace portunus::distribution
