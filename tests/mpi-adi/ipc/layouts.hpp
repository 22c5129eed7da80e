// layouts.hpp: memory in pieces by chance, and a model of it: where each byte of a message lies.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "mpi-adi/ipc/peace.h"

namespace peace_test {

// Byte i of message `number`.
inline unsigned char byte_of(uint64_t number, size_t i) {
  return static_cast<unsigned char>(i * 31 + (i >> 10) + (i >> 17) * 3 + number * 77);
}

struct Layout {
  static constexpr unsigned char kGap = 0xee;

  std::vector<unsigned char> memory;
  std::vector<peace_piece_t> pieces;
  std::vector<size_t> places;  // of each byte, in the order of the message

  Layout() = default;
  Layout(const Layout&) = delete;  // pieces point into the memory
  Layout(Layout&&) = default;
  Layout& operator=(Layout&&) = default;

  // So many blocks at `offset`, of `block` bytes each, whose memory is there already.
  void add(size_t offset, size_t block, size_t count, ptrdiff_t stride) {
    pieces.push_back(peace_stride(memory.data() + offset, count, block, stride));
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < block; ++j) places.push_back(offset + static_cast<size_t>(static_cast<ptrdiff_t>(i) * stride) + j);
  }
  void fill(uint64_t number) {
    for (size_t i = 0; i < places.size(); ++i) memory[places[i]] = byte_of(number, i);
  }
  // Whether the first `bytes` are those of the message, and all the others as they were.
  bool holds(uint64_t number, size_t bytes) const {
    std::vector<unsigned char> expected(memory.size(), kGap);
    for (size_t i = 0; i < bytes; ++i) expected[places[i]] = byte_of(number, i);
    return memory == expected;
  }
  void clear() { std::fill(memory.begin(), memory.end(), kGap); }
};

// Pieces of `bytes` in all, which do not overlap: runs, strides forward and backward, two members of structs, empty ones; in any order.
inline Layout layout_of(size_t bytes, uint64_t seed) {
  struct Planned {
    size_t offset, block, count;
    ptrdiff_t stride;
  };
  std::mt19937_64 random(seed * 2654435761u + bytes);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  constexpr size_t kBlocks[] = {1, 2, 3, 4, 8, 16, 24, 100, 1000, 4096, 20'000};
  std::vector<Planned> planned;
  size_t end = below(64), left = bytes;
  const size_t most_pieces = 1 + below(40);
  while (left > 0) {
    const size_t block = std::min(left, kBlocks[below(std::size(kBlocks))]), most = left / block;
    const size_t count = planned.size() > most_pieces ? most : 1 + below(most), stride = block + below(3) * below(block + 40);
    switch (planned.size() > most_pieces ? 1 : below(4)) {
      case 0: {
        const size_t run = 1 + below(left);
        planned.push_back({end, run, 1, 0});
        end += run;
        left -= run;
        break;
      }
      case 1:
        planned.push_back({end, block, count, static_cast<ptrdiff_t>(stride)});
        end += count * stride;
        left -= count * block;
        break;
      case 2:
        planned.push_back({end + (count - 1) * stride, block, count, -static_cast<ptrdiff_t>(stride)});
        end += count * stride;
        left -= count * block;
        break;
      default: {
        const size_t second = 1 + below(block), each = count / 2 + 1;
        if (each * (block + second) > left) break;
        const auto size = static_cast<ptrdiff_t>(stride + second);
        planned.push_back({end, block, each, size});
        planned.push_back({end + block, second, each, size});
        end += each * static_cast<size_t>(size);
        left -= each * (block + second);
      }
    }
    end += below(2) * below(5000);
    if (below(8) == 0) planned.push_back({0, 0, 3, 7});
  }
  std::shuffle(planned.begin(), planned.end(), random);
  Layout layout;
  layout.memory.assign(end + 64, Layout::kGap);
  layout.places.reserve(bytes);
  for (const Planned& piece : planned) layout.add(piece.offset, piece.block, piece.count, piece.stride);
  return layout;
}

}  // namespace peace_test
