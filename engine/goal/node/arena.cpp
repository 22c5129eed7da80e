// Taking and freeing units: see arena.hpp.
//
// Thread: as arena.hpp says.
#include "engine/goal/node/arena.hpp"

#include <cassert>

namespace portunus::goal::node {

int Arena::take(size_t bytes, uint64_t tag, size_t first_bytes) {
  assert(tag != 0 && first_bytes <= bytes);
  const size_t wanted = units(bytes);
  if (wanted > kUnits) return kNone;
  for (uint64_t taken = table_->taken.load(std::memory_order_relaxed);;) {
    size_t first = 0;
    while (first + wanted <= kUnits && (taken & run(wanted) << first) != 0) ++first;
    if (first + wanted > kUnits) return kNone;
    const uint64_t mine = run(wanted) << first;
    // With acquire, for the zeroes of those who had them.
    if (!table_->taken.compare_exchange_weak(taken, taken | mine, std::memory_order_acquire, std::memory_order_relaxed)) continue;
    const int place = static_cast<int>(first) + 1;
    const bool is_there = first_bytes == bytes ? complete(place, bytes) : is_reserved(mine) || reserve_(at(place), first_bytes);
    if (!is_there) {
      table_->taken.fetch_and(~mine, std::memory_order_release);
      return kNone;
    }
    assert(group(place).left.load(std::memory_order_relaxed) == 0 && group(place).tag.load(std::memory_order_relaxed) == 0);
    group(place).tag.store(tag, std::memory_order_release);
    return place;
  }
}

bool Arena::complete(int place, size_t bytes) {
  const uint64_t mine = run(units(bytes)) << (place - 1);
  if (is_reserved(mine)) return true;
  if (!reserve_(at(place), units(bytes) * unit_)) return false;
  table_->reserved.fetch_or(mine, std::memory_order_relaxed);
  return true;
}

int Arena::find(uint64_t tag) const {
  for (int place = 1; place <= kUnits; ++place)
    if (group(place).tag.load(std::memory_order_acquire) == tag) return place;
  return kNone;
}

std::byte* Arena::at(int place) const {
  assert(place > kNone && place <= kUnits);
  return start_ + static_cast<size_t>(place - 1) * unit_;
}

void Arena::raise(int place, const Counts& counts) {
  for (size_t i = 0; i < kCounts; ++i) {
    std::atomic<uint64_t>& word = group(place).counts[i];
    for (uint64_t now = word.load(std::memory_order_relaxed);
         now < counts[i] && !word.compare_exchange_weak(now, counts[i], std::memory_order_relaxed);) {
    }
  }
}

Arena::Counts Arena::counts(int place) const {
  Counts found;
  for (size_t i = 0; i < kCounts; ++i) found[i] = group(place).counts[i].load(std::memory_order_relaxed);
  return found;
}

void Arena::free(int place, size_t bytes) {
  Group& one = group(place);
  one.tag.store(0, std::memory_order_relaxed);
  one.left.store(0, std::memory_order_relaxed);
  for (std::atomic<uint64_t>& count : one.counts) count.store(0, std::memory_order_relaxed);
  [[maybe_unused]] const uint64_t mine = run(units(bytes)) << (place - 1);
  [[maybe_unused]] const uint64_t before = table_->taken.fetch_and(~mine, std::memory_order_release);
  assert((before & mine) == mine);
}

}  // namespace portunus::goal::node
