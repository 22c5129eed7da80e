// nest.hpp: copies what a nest of loops with strides describes, as fast as the strides and the caches allow.
//
// Callers: plans, the virtual processors' order, packing. Owns nothing; any thread. The ranges written must not overlap what
// is read. Loops may come in any order: they are sorted once, loops that together are contiguous become one run of bytes, and
// where one end is contiguous along another loop than the other end, tiles go through a small transposed block, so that
// every cache line is touched once at both ends (tiles.hpp); all else are rows of runs (rows.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace portunus::distribution {

// `count` times, `to` and `from` bytes apart at both ends. Strides are not negative.
struct Loop {
  int64_t count, to, from;
};

// kStreaming: whole lines go past the caches, which is faster where the target does not fit in them, and slower where it does.
// Such stores are not ordered with others: stores_done() comes before anybody is told.
enum class Stores { kCached, kStreaming };
void stores_done();
// Whether arrays of so many bytes together, in use at the same time, do not fit in the largest cache.
bool exceeds_caches(int64_t bytes);

// Loops that were put in order, outermost first: the last has the smallest stride at the target; where `tiled`, the one before
// has the smallest at the source. A view: does not own them.
struct Loops {
  const Loop* loop;
  int depth;
  bool tiled;
  int64_t bytes;  // of a run below the innermost loop

  void copy(std::byte* to, const std::byte* from, Stores stores) const;
  // Part `part` of `parts`, about as much as the others, cut along the outer loops: by those who copy from several sources and
  // want to finish one stretch of the target after the other.
  void copy_part(std::byte* to, const std::byte* from, int64_t part, int64_t parts, Stores stores) const;

 private:
  void walk(std::byte* to, const std::byte* from, int level, int64_t count, Stores stores) const;
  void walk_range(std::byte* to, const std::byte* from, int level, int split, int64_t lo, int64_t hi, Stores stores) const;
};

// Collects loops around runs of `bytes`.
class Nest {
 public:
  static constexpr int kMost = 24;

  explicit Nest(int64_t bytes) : bytes_(bytes) {}
  // count 0: nothing is copied at all.
  void add(int64_t count, int64_t to, int64_t from) {
    empty_ |= count == 0;
    if (count > 1) loops_[depth_++] = {count, to, from};
  }
  bool empty() const { return empty_ || bytes_ == 0; }
  // In order, of this object's loops; nothing is added afterwards. Not of an empty nest.
  Loops ordered();
  void copy(std::byte* to, const std::byte* from, Stores stores = Stores::kCached) {
    if (!empty()) ordered().copy(to, from, stores);
  }

 private:
  int64_t bytes_;
  bool empty_ = false;
  int depth_ = 0;
  Loop loops_[kMost];
};

}  // namespace portunus::distribution
