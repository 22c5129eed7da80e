// transpose.cpp: full cycles as one nest of loops where theorem 6.2 holds, the others block by block.
#include "shmem/distribution/axis/transpose.hpp"

#include <algorithm>
#include <cstring>

#include "shmem/distribution/axis/axis.hpp"
#include "shmem/distribution/copy/nest.hpp"

namespace portunus::distribution {
namespace {

// The virtual processor that processor t has in place w, or -1.
int64_t virtual_at(const ccc_axis& axis, int64_t t, int64_t w) {
  for (int i = axis.steps - 1; i >= 1; --i) {
    const auto [b, p] = axis.step[i];
    const int64_t inner = i == 1 ? 1 : axis.hidden[kRoom2] / axis.hidden[kRoom1];
    t = (w / inner) / b * b * p + t * b + w / inner % b;
    w %= inner;
    if (t >= axis.step[i - 1].processors) return -1;
  }
  return t;
}

struct Blocks {
  Order order;
  int64_t size;
  std::byte* to;
  const std::byte* from;

  void copy(int64_t merged, int64_t cascade, int64_t elements) const {
    const bool forth = order == Order::kToVirtual;
    memcpy(to + (forth ? cascade : merged) * size, from + (forth ? merged : cascade) * size, static_cast<size_t>(elements * size));
  }
};

}  // namespace

void transpose(const ccc_axis& axis, const ccc_axis& merged, int64_t t, size_t size, Order order, std::byte* to, const std::byte* from) {
  const auto [b, u] = axis.step[0];
  const Blocks blocks{order, static_cast<int64_t>(size), to, from};
  if (room(axis) == 0) return;
  if (axis.steps == 1) return blocks.copy(0, 0, room(axis));
  const int64_t of_virtual = axis.hidden[kRoom1], virtuals = room(axis) / of_virtual, cycles = of_virtual / b;
  // With full cycles of the second step, place w has in the merged order every virtuals-th block, from the w-th on.
  const bool regular = axis.steps == 2 && u % (axis.step[1].block * axis.step[1].processors) == 0;
  const int64_t full = regular ? axis.n / (b * u) : 0;
  if (full != 0) {
    const int64_t block = b * blocks.size, within = cycles * block;
    Nest nest(block);
    if (order == Order::kToVirtual) nest.add(virtuals, within, block), nest.add(full, block, virtuals * block);
    else nest.add(virtuals, block, within), nest.add(full, virtuals * block, block);
    nest.copy(to, from, exceeds_caches(2 * room(axis) * blocks.size) ? Stores::kStreaming : Stores::kCached);
    stores_done();
  }
  for (int64_t w = 0; w < virtuals; ++w) {
    const int64_t vp = virtual_at(axis, t, w);
    if (vp < 0) continue;
    for (int64_t m = full; m < cycles; ++m) {
      const int64_t s = (m * u + vp) * b;
      if (s >= axis.n) break;
      const int64_t length = std::min(b, axis.n - s);
      // A block of the cascade lies in one block of the merged axis, of b times the other blocks.
      blocks.copy(offset(merged, s), w * of_virtual + m * b, length);
    }
  }
}

}  // namespace portunus::distribution
