// nest.hpp: copies what a nest of loops with strides describes, as fast as the strides allow.
//
// Callers: plans, the virtual processors' order, packing. Owns nothing; any thread. The ranges written must not overlap what
// is read. Loops may come in any order: they are sorted, loops that together are contiguous become one run of bytes, and
// where one end is contiguous along another loop than the other end, tiles go through a small transposed block, so that
// every cache line is touched once at both ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace portunus::distribution {

// `count` times, `to` and `from` bytes apart at both ends. Strides are not negative.
struct Loop {
  int64_t count, to, from;
};

// A copy under the innermost loop: runs of `bytes`.
class Nest {
 public:
  static constexpr int kMost = 24;

  explicit Nest(int64_t bytes) : bytes_(bytes) {}
  // count 0: nothing is copied at all.
  void add(int64_t count, int64_t to, int64_t from) {
    empty_ |= count == 0;
    if (count > 1) loops_[depth_++] = {count, to, from};
  }
  void copy(std::byte* to, const std::byte* from);

 private:
  void order();
  void rows(std::byte* to, const std::byte* from, int loop) const;

  int64_t bytes_;
  bool empty_ = false, tiled_ = false;
  int depth_ = 0;
  Loop loops_[kMost];
};

}  // namespace portunus::distribution
