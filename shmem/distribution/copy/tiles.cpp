// tiles.cpp: tiles of as many units as fit in a line, in bands.
#include "shmem/distribution/copy/tiles.hpp"

#include <algorithm>
#include <cstring>

#include "shmem/distribution/copy/lines.hpp"

namespace portunus::distribution {
namespace {

// One tile of kSide x kSide: along `in` the source is contiguous, along `out` the target. A line of cache wide at both ends.
template <class Unit, int kSide>
void full_tile(std::byte* to, const std::byte* from, const Loop& in, const Loop& out, Stores) {
  Unit block[kSide][kSide];
  for (int o = 0; o < kSide; ++o) memcpy(block[o], from + o * out.from, sizeof block[o]);
  for (int i = 0; i < kSide; ++i) {
    Unit line[kSide];
    for (int o = 0; o < kSide; ++o) line[o] = block[o][i];
    memcpy(to + i * in.to, line, sizeof line);
  }
}
// Words are transposed two by two in registers; two lines of the target at a time, since all eight may share one set of the cache.
template <>
[[gnu::always_inline]] inline void full_tile<uint64_t, 8>(std::byte* to, const std::byte* from, const Loop& in, const Loop& out,
                                                          Stores stores) {
  typedef uint64_t Pair __attribute__((vector_size(16)));
  static_assert(sizeof(Quarter) == sizeof(Pair));
  for (int i = 0; i < 8; i += 2) {
    Quarter low[4], high[4];
    for (int o = 0; o < 8; o += 2) {
      Pair a, b;
      memcpy(&a, from + o * out.from + i * 8, sizeof a);
      memcpy(&b, from + (o + 1) * out.from + i * 8, sizeof b);
      const Pair x = {a[0], b[0]}, y = {a[1], b[1]};
      memcpy(&low[o / 2], &x, sizeof x);
      memcpy(&high[o / 2], &y, sizeof y);
    }
    std::byte *const first = to + i * in.to, *const second = first + in.to;
    if (stores == Stores::kStreaming) {
      stream_line(first, low[0], low[1], low[2], low[3]);
      stream_line(second, high[0], high[1], high[2], high[3]);
    } else {
      memcpy(first, low, sizeof low);
      memcpy(second, high, sizeof high);
    }
  }
}
template <class Unit>
void part_tile(std::byte* to, const std::byte* from, const Loop& in, const Loop& out, int64_t ins, int64_t outs) {
  for (int64_t i = 0; i < ins; ++i)
    for (int64_t o = 0; o < outs; ++o) memcpy(to + i * in.to + o * out.to, from + i * in.from + o * out.from, sizeof(Unit));
}

// Bands of tiles, so that the pages of both ends stay in the translation buffers.
template <class Unit>
void tiles(std::byte* to, const std::byte* from, const Loop& in, const Loop& out, Stores stores) {
  constexpr int kSide = kLine / sizeof(Unit);
  constexpr int64_t kBand = kSide > 32 ? kSide : 32;
  const bool whole = in.from == sizeof(Unit) && out.to == sizeof(Unit);
  // Columns of the target before its lines begin; only lines that begin with a tile can be streamed.
  const bool lines = aligned(to, sizeof(Unit)) && in.to % kLine == 0;
  const int64_t before = lines ? static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to) % kLine / sizeof(Unit)) : 0;
  const Stores ways = lines ? stores : Stores::kCached;
  for (int64_t band = 0; band < in.count; band += kBand) {
    const int64_t end = std::min(in.count, band + kBand);
    for (int64_t o = 0, outs = 0; o < out.count; o += outs) {
      outs = std::min<int64_t>(o == 0 && before != 0 ? before : kSide, out.count - o);
      for (int64_t i = band; i < end; i += kSide) {
        const int64_t ins = std::min<int64_t>(kSide, end - i);
        std::byte* const there = to + i * in.to + o * out.to;
        const std::byte* const here = from + i * in.from + o * out.from;
        if (whole && ins == kSide && outs == kSide) full_tile<Unit, kSide>(there, here, in, out, ways);
        else part_tile<Unit>(there, here, in, out, ins, outs);
      }
    }
  }
}

struct Sixteen {
  uint64_t halves[2];
};

}  // namespace

void copy_tiles(std::byte* to, const std::byte* from, const Loop& in, const Loop& out, int64_t bytes, Stores stores) {
  switch (bytes) {
    case 1: return tiles<uint8_t>(to, from, in, out, stores);
    case 2: return tiles<uint16_t>(to, from, in, out, stores);
    case 4: return tiles<uint32_t>(to, from, in, out, stores);
    case 8: return tiles<uint64_t>(to, from, in, out, stores);
    default: return tiles<Sixteen>(to, from, in, out, stores);
  }
}

}  // namespace portunus::distribution
