// nest.cpp: sorts and joins loops, then copies rows or tiles.
#include "shmem/distribution/copy/nest.hpp"

#include <algorithm>
#include <cstring>

namespace portunus::distribution {
namespace {

template <int64_t kBytes>
void row_of(std::byte* to, const std::byte* from, const Loop& loop, int64_t) {
  for (int64_t i = 0; i < loop.count; ++i, to += loop.to, from += loop.from) memcpy(to, from, kBytes);
}
void row_of_any(std::byte* to, const std::byte* from, const Loop& loop, int64_t bytes) {
  for (int64_t i = 0; i < loop.count; ++i, to += loop.to, from += loop.from) memcpy(to, from, static_cast<size_t>(bytes));
}

void row(std::byte* to, const std::byte* from, const Loop& loop, int64_t bytes) {
  switch (bytes) {
    case 1: return row_of<1>(to, from, loop, bytes);
    case 2: return row_of<2>(to, from, loop, bytes);
    case 4: return row_of<4>(to, from, loop, bytes);
    case 8: return row_of<8>(to, from, loop, bytes);
    case 12: return row_of<12>(to, from, loop, bytes);
    case 16: return row_of<16>(to, from, loop, bytes);
    case 24: return row_of<24>(to, from, loop, bytes);
    case 32: return row_of<32>(to, from, loop, bytes);
    case 64: return row_of<64>(to, from, loop, bytes);
    case 128: return row_of<128>(to, from, loop, bytes);
    default: return row_of_any(to, from, loop, bytes);
  }
}

// One tile of kSide x kSide: along `in` the source is contiguous, along `out` the target. A line of cache wide at both ends.
template <class Unit, int kSide>
void full_tile(std::byte* to, const std::byte* from, const Loop& in, const Loop& out) {
  Unit block[kSide][kSide];
  for (int o = 0; o < kSide; ++o) memcpy(block[o], from + o * out.from, sizeof block[o]);
  for (int i = 0; i < kSide; ++i) {
    Unit line[kSide];
    for (int o = 0; o < kSide; ++o) line[o] = block[o][i];
    memcpy(to + i * in.to, line, sizeof line);
  }
}
// Of words, two by two in registers; two lines of the target at a time, since all eight may share one set of the cache.
template <>
[[gnu::always_inline]] inline void full_tile<uint64_t, 8>(std::byte* to, const std::byte* from, const Loop& in, const Loop& out) {
  typedef uint64_t Pair __attribute__((vector_size(16)));
  for (int i = 0; i < 8; i += 2)
    for (int o = 0; o < 8; o += 2) {
      Pair a, b;
      memcpy(&a, from + o * out.from + i * 8, sizeof a);
      memcpy(&b, from + (o + 1) * out.from + i * 8, sizeof b);
      const Pair low = {a[0], b[0]}, high = {a[1], b[1]};
      memcpy(to + i * in.to + o * 8, &low, sizeof low);
      memcpy(to + (i + 1) * in.to + o * 8, &high, sizeof high);
    }
}
template <class Unit>
void part_tile(std::byte* to, const std::byte* from, const Loop& in, const Loop& out, int64_t ins, int64_t outs) {
  for (int64_t i = 0; i < ins; ++i)
    for (int64_t o = 0; o < outs; ++o) memcpy(to + i * in.to + o * out.to, from + i * in.from + o * out.from, sizeof(Unit));
}

// Bands of tiles, so that the pages of both ends stay in the translation buffers.
template <class Unit>
void tiles(std::byte* to, const std::byte* from, const Loop& in, const Loop& out) {
  constexpr int kSide = 64 / sizeof(Unit);
  constexpr int64_t kBand = kSide > 32 ? kSide : 32;
  const bool whole = in.from == sizeof(Unit) && out.to == sizeof(Unit);
  for (int64_t band = 0; band < in.count; band += kBand) {
    const int64_t end = std::min(in.count, band + kBand);
    for (int64_t o = 0; o < out.count; o += kSide) {
      const int64_t outs = std::min<int64_t>(kSide, out.count - o);
      for (int64_t i = band; i < end; i += kSide) {
        const int64_t ins = std::min<int64_t>(kSide, end - i);
        std::byte* const there = to + i * in.to + o * out.to;
        const std::byte* const here = from + i * in.from + o * out.from;
        if (whole && ins == kSide && outs == kSide) full_tile<Unit, kSide>(there, here, in, out);
        else part_tile<Unit>(there, here, in, out, ins, outs);
      }
    }
  }
}

struct Sixteen {
  uint64_t halves[2];
};

bool has_tiles(int64_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16; }

void tile(std::byte* to, const std::byte* from, const Loop& in, const Loop& out, int64_t bytes) {
  switch (bytes) {
    case 1: return tiles<uint8_t>(to, from, in, out);
    case 2: return tiles<uint16_t>(to, from, in, out);
    case 4: return tiles<uint32_t>(to, from, in, out);
    case 8: return tiles<uint64_t>(to, from, in, out);
    default: return tiles<Sixteen>(to, from, in, out);
  }
}

}  // namespace

// Afterwards the last loop is the one with the smallest stride at the target; tiled_: the one before has the smallest at the
// source, and both are worth a tile.
void Nest::order() {
  std::sort(loops_, loops_ + depth_, [](const Loop& a, const Loop& b) { return a.to != b.to ? a.to > b.to : a.from > b.from; });
  // What continues at both ends where the inner loop ends is the same loop going on, and at last the same run of bytes.
  for (int i = depth_ - 2; i >= 0; --i) {
    const Loop &outer = loops_[i], &inner = loops_[i + 1];
    if (outer.to != inner.to * inner.count || outer.from != inner.from * inner.count) continue;
    loops_[i + 1].count *= outer.count;
    std::copy(loops_ + i + 1, loops_ + depth_, loops_ + i);
    --depth_;
  }
  if (depth_ > 0 && loops_[depth_ - 1].to == bytes_ && loops_[depth_ - 1].from == bytes_) bytes_ *= loops_[--depth_].count;
  if (depth_ < 2 || !has_tiles(bytes_)) return;
  int near = depth_ - 1;
  for (int i = 0; i < depth_; ++i)
    if (loops_[i].from < loops_[near].from) near = i;
  if (near == depth_ - 1 || loops_[near].count < 4 || loops_[depth_ - 1].count < 4) return;
  std::rotate(loops_ + near, loops_ + near + 1, loops_ + depth_ - 1);
  tiled_ = true;
}

void Nest::rows(std::byte* to, const std::byte* from, int loop) const {
  if (tiled_ && loop == depth_ - 2) return tile(to, from, loops_[loop], loops_[loop + 1], bytes_);
  const Loop& here = loops_[loop];
  if (loop == depth_ - 1) return row(to, from, here, bytes_);
  for (int64_t i = 0; i < here.count; ++i) rows(to + i * here.to, from + i * here.from, loop + 1);
}

void Nest::copy(std::byte* to, const std::byte* from) {
  if (empty_ || bytes_ == 0) return;
  order();
  if (depth_ == 0) memcpy(to, from, static_cast<size_t>(bytes_));
  else rows(to, from, 0);
}

}  // namespace portunus::distribution
