// How a vector is cut into pieces, one per rank.
//
// Thread: any; plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/goal/collectives/script.hpp"

namespace portunus::goal::collectives {

// Consecutive pieces of a vector: number i is elements begin[i] .. begin[i + 1].
class Cuts {
 public:
  // As equal as can be; the first ones are longer by one.
  static Cuts even(uint64_t count, uint32_t parts) {
    Cuts cuts;
    cuts.begin_.reserve(parts + size_t{1});
    for (uint64_t i = 0; i <= parts; ++i) cuts.begin_.push_back(count / parts * i + std::min(i, count % parts));
    return cuts;
  }
  static Cuts of(const std::vector<uint64_t>& counts) {
    Cuts cuts;
    cuts.begin_.assign(1, 0);
    for (const uint64_t count : counts) cuts.begin_.push_back(cuts.begin_.back() + count);
    return cuts;
  }
  [[nodiscard]] uint32_t parts() const { return static_cast<uint32_t>(begin_.size() - 1); }
  [[nodiscard]] uint64_t begin(uint32_t i) const { return begin_[i]; }
  [[nodiscard]] uint64_t count(uint32_t i) const { return begin_[i + 1] - begin_[i]; }
  [[nodiscard]] uint64_t count(uint32_t first, uint32_t last) const { return begin_[last] - begin_[first]; }
  [[nodiscard]] uint64_t total() const { return begin_.back(); }
  // The cuts numbered by `kept`, ascending, first and last among them.
  template <class Kept>
  [[nodiscard]] Cuts joined(uint32_t parts, Kept&& kept) const {
    Cuts cuts;
    for (uint32_t i = 0; i < parts; ++i) cuts.begin_.push_back(begin_[kept(i)]);
    cuts.begin_.push_back(begin_.back());
    return cuts;
  }

  // The pieces in memory, if elements of `width` bytes lie one after the other from `base` on.
  [[nodiscard]] std::vector<Piece> in(Memory base, uint64_t width) const {
    std::vector<Piece> pieces;
    pieces.reserve(parts());
    for (uint32_t i = 0; i < parts(); ++i) pieces.push_back({base + begin(i) * width, count(i) * width});
    return pieces;
  }

 private:
  std::vector<uint64_t> begin_;
};

// A few pieces of scratchpad where messages land in turn: as many as there are messages when they are small, so that
// none waits for another; two when they are large.
class ReceiveBuffers {
 public:
  ReceiveBuffers(Script& script, uint64_t bytes, uint32_t messages)
      : stride_((bytes + 63) / 64 * 64),
        slots_(bytes <= kSmall ? messages : std::min(messages, 2u)),
        base_(script.scratch(stride_ * slots_)) {}
  [[nodiscard]] Memory slot(uint32_t message) const { return base_ + message % slots_ * stride_; }

 private:
  static constexpr uint64_t kSmall = 32 << 10;
  uint64_t stride_;
  uint32_t slots_;
  Memory base_;
};

}  // namespace portunus::goal::collectives
