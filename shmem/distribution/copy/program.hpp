// program.hpp: the nests of loops of one copy, put in order once and then run as often as one likes.
//
// Callers: plans, by way of Move::compile. Owns its loops; any thread, once all is added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shmem/distribution/copy/nest.hpp"

namespace portunus::distribution {

class Program {
 public:
  // Adds a copy `to` and `from` bytes behind the beginnings of both arrays.
  void add(int64_t to, int64_t from, Nest nest);
  // More were added than are kept: it is of no use.
  bool full() const { return full_; }
  // Others write between its runs, into the same lines of the target.
  bool shares_lines() const { return shares_lines_; }
  size_t memory() const { return steps_.capacity() * sizeof(Step) + loops_.capacity() * sizeof(Loop); }

  void copy(std::byte* to, const std::byte* from, Stores stores) const;
  // Part `part` of `parts`, cut along the outer loops of each nest.
  void copy_part(std::byte* to, const std::byte* from, int64_t part, int64_t parts, Stores stores) const;

 private:
  static constexpr size_t kMost = 64;
  struct Step {
    int64_t to, from, bytes;
    uint32_t first;  // of its loops
    int16_t depth;
    bool tiled;
  };
  Loops loops_of(const Step& step) const { return {loops_.data() + step.first, step.depth, step.tiled, step.bytes}; }

  std::vector<Step> steps_;
  std::vector<Loop> loops_;
  bool full_ = false, shares_lines_ = false;
};

}  // namespace portunus::distribution
