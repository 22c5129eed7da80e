// move.hpp: the elements that one PE sends another, as a product of lists of pieces; copied directly, or to and from a
// message.
//
// A message holds them packed: row by row in the order of the source's axes, each axis in the order of its list. It is one
// more array, so that packing, unpacking and copying directly are the same nest of loops with other strides. Callers: plans,
// cost. A Move does not own its lists. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "shmem/distribution/copy/program.hpp"
#include "shmem/distribution/layout/pieces.hpp"

namespace portunus::distribution {

// The two ends of a compiled copy.
enum class Ends { kArrays, kPack, kUnpack };  // both arrays; the source's and the message; the message and the target's

struct Move {
  int axes = 0;
  int64_t size = 0;  // bytes of an element
  std::array<const Pieces*, CCC_MOST_AXES> lists{};
  std::array<int64_t, CCC_MOST_AXES> from_stride{}, to_stride{};  // bytes by which an offset of 1 moves, at both ends

  bool empty() const;
  int64_t bytes() const;
  // Stretches of the message that lie in one piece at the source, at the target, and at both.
  int64_t from_pieces() const;
  int64_t to_pieces() const;
  int64_t pieces() const;

  // All, from array to array.
  void copy(std::byte* to, const std::byte* from) const;
  // The same worked out once. False: there are too many nests of loops to keep.
  bool compile(Program* program, Ends ends = Ends::kArrays) const;
  // Bytes offset .. offset + bytes of the message, from the source's array or into the target's.
  void pack(int64_t offset, int64_t bytes, std::byte* message, const std::byte* from) const;
  void unpack(int64_t offset, int64_t bytes, const std::byte* message, std::byte* to) const;
  // Calls f(first byte in the array, bytes) for each stretch of the message, in its order.
  template <class F>
  void each_piece(Side side, F f) const;
};

template <class F>
void Move::each_piece(Side side, F f) const {
  int64_t begin = 0, end = -1;  // of the stretch so far
  const auto& stride = side == Side::kFrom ? from_stride : to_stride;
  const auto go = [&](const auto& again, int axis, int64_t at) -> void {
    if (axis == axes) {
      if (at != end) {
        if (end >= 0) f(begin, end - begin);
        begin = at;
      }
      end = at + size;
      return;
    }
    const auto d = static_cast<size_t>(axis);
    for (const Family& family : lists[d]->families())
      for (int64_t round = 0; round < family.rounds; ++round)
        for (int64_t i = 0; i < family.count; ++i) {
          const int64_t first = side == Side::kFrom ? family.from + round * family.from_round + i * family.from_step
                                                    : family.to + round * family.to_round + i * family.to_step;
          if (axis + 1 == axes && stride[d] == size) {  // a piece of the last axis is a stretch
            const int64_t here = at + first * size;
            if (here != end) {
              if (end >= 0) f(begin, end - begin);
              begin = here;
            }
            end = here + family.length * size;
          } else {
            for (int64_t k = 0; k < family.length; ++k) again(again, axis + 1, at + (first + k) * stride[d]);
          }
        }
  };
  go(go, 0, 0);
  if (end >= 0) f(begin, end - begin);
}

}  // namespace portunus::distribution
