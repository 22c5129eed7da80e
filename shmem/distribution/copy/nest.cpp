// nest.cpp: sorts and joins loops, walks the outer ones, and cuts them in parts.
#include "shmem/distribution/copy/nest.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "shmem/distribution/copy/rows.hpp"
#include "shmem/distribution/copy/tiles.hpp"

namespace portunus::distribution {
namespace {

// The size of the cache that this core shares with the fewest others; sysconf tells of all of the machine's together.
int64_t largest_cache() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  int64_t size = 0;
  char unit = ' ';
  if (file >> size >> unit && size > 0) return unit == 'M' ? size << 20 : unit == 'K' ? size << 10 : size;
  const long told = sysconf(_SC_LEVEL3_CACHE_SIZE);
  constexpr int64_t kUsual = int64_t{16} << 20;
  return told > 0 ? std::min<int64_t>(told, 2 * kUsual) : kUsual;
}

}  // namespace

bool exceeds_caches(int64_t bytes) {
  static const int64_t cache = largest_cache();
  return bytes >= cache - cache / 4;
}

Loops Nest::ordered() {
  std::sort(loops_, loops_ + depth_, [](const Loop& a, const Loop& b) { return a.to != b.to ? a.to > b.to : a.from > b.from; });
  // An outer loop that continues at both ends where the inner one ends is the same loop going on, and at last the same run of bytes.
  for (int i = depth_ - 2; i >= 0; --i) {
    const Loop &outer = loops_[i], &inner = loops_[i + 1];
    if (outer.to != inner.to * inner.count || outer.from != inner.from * inner.count) continue;
    loops_[i + 1].count *= outer.count;
    std::copy(loops_ + i + 1, loops_ + depth_, loops_ + i);
    --depth_;
  }
  if (depth_ > 0 && loops_[depth_ - 1].to == bytes_ && loops_[depth_ - 1].from == bytes_) bytes_ *= loops_[--depth_].count;
  bool tiled = false;
  if (depth_ >= 2 && has_tiles(bytes_)) {
    int near = depth_ - 1;
    for (int i = 0; i < depth_; ++i)
      if (loops_[i].from < loops_[near].from) near = i;
    tiled = near != depth_ - 1 && loops_[near].count >= 4 && loops_[depth_ - 1].count >= 4;
    if (tiled) std::rotate(loops_ + near, loops_ + near + 1, loops_ + depth_ - 1);
  }
  return {loops_, depth_, tiled, bytes_};
}

// The loops from `level` on, of which that one is taken `count` times.
void Loops::walk(std::byte* to, const std::byte* from, int level, int64_t count, Stores stores) const {
  const Loop& here = loop[level];
  if (level + 1 == depth) return copy_rows(to, from, {1, 0, 0}, {count, here.to, here.from}, bytes, stores);
  if (level + 2 == depth) {
    if (tiled) return copy_tiles(to, from, {count, here.to, here.from}, loop[level + 1], bytes, stores);
    return copy_rows(to, from, {count, here.to, here.from}, loop[level + 1], bytes, stores);
  }
  for (int64_t i = 0; i < count; ++i) walk(to + i * here.to, from + i * here.from, level + 1, loop[level + 1].count, stores);
}

// Numbers lo .. hi of the loops level .. split together, counted row by row.
void Loops::walk_range(std::byte* to, const std::byte* from, int level, int split, int64_t lo, int64_t hi, Stores stores) const {
  const Loop& here = loop[level];
  if (level == split) return walk(to + lo * here.to, from + lo * here.from, level, hi - lo, stores);
  int64_t below = 1;
  for (int i = level + 1; i <= split; ++i) below *= loop[i].count;
  for (int64_t i = lo / below; i * below < hi; ++i)
    walk_range(to + i * here.to, from + i * here.from, level + 1, split, std::max<int64_t>(0, lo - i * below),
               std::min(below, hi - i * below), stores);
}

void Loops::copy(std::byte* to, const std::byte* from, Stores stores) const {
  if (depth == 0) copy_rows(to, from, {1, 0, 0}, {1, 0, 0}, bytes, stores);
  else walk(to, from, 0, loop[0].count, stores);
}

void Loops::copy_part(std::byte* to, const std::byte* from, int64_t part, int64_t parts, Stores stores) const {
  constexpr int64_t kLine = 64;
  if (depth == 0) {
    const int64_t lines = (bytes + kLine - 1) / kLine;
    const int64_t lo = lines * part / parts * kLine, hi = std::min(bytes, lines * (part + 1) / parts * kLine);
    if (lo < hi) copy_rows(to + lo, from + lo, {1, 0, 0}, {1, 0, 0}, hi - lo, stores);
    return;
  }
  const int last = tiled ? depth - 2 : depth - 1;
  int split = 0;
  int64_t all = loop[0].count;
  while (split < last && all < parts) all *= loop[++split].count;
  const int64_t unit = tiled && split == last ? kTileBand : 1, units = (all + unit - 1) / unit;
  const int64_t lo = units * part / parts * unit, hi = std::min(all, units * (part + 1) / parts * unit);
  if (lo < hi) walk_range(to, from, 0, split, lo, hi, stores);
}

}  // namespace portunus::distribution
