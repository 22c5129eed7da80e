// tiles.hpp: two loops that one end takes in the other order than the other end: a transpose, by tiles of a cache line's side.
//
// Callers: nest.cpp. Along `in` the source has the smaller stride, along `out` the target. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shmem/distribution/copy/nest.hpp"

namespace portunus::distribution {

// Along `in`, tiles come in bands of so many: parts of a copy are best cut there.
inline constexpr int64_t kTileBand = 64;
inline bool has_tiles(int64_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16; }
void copy_tiles(std::byte* to, const std::byte* from, const Loop& in, const Loop& out, int64_t bytes, Stores stores);

}  // namespace portunus::distribution
