// allocator.cpp: best fit over two orders of the free blocks.
#include "shmem/memory/allocator.hpp"

#include <cassert>

namespace portunus::shmem {

namespace {
constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) & ~(to - 1); }
}  // namespace

Allocator::Allocator(size_t capacity) : capacity_(capacity & ~(kGranule - 1)) {
  if (capacity_ != 0) add_free(0, capacity_);
}

void Allocator::add_free(size_t offset, size_t size) {
  assert(size > 0 && size % kGranule == 0 && offset % kGranule == 0 && offset + size <= capacity_);
  free_by_offset_.emplace(offset, size);
  free_by_size_.emplace(size, offset);
  free_bytes_ += size;
  assert(free_by_offset_.size() == free_by_size_.size() && free_bytes_ <= capacity_);
}

void Allocator::remove_free(size_t offset, size_t size) {
  free_by_offset_.erase(offset);
  free_by_size_.erase({size, offset});
  assert(free_by_offset_.size() == free_by_size_.size() && free_bytes_ >= size);
  free_bytes_ -= size;
}

std::optional<size_t> Allocator::allocate(size_t size, size_t alignment) {
  if (size == 0 || size > capacity_ || alignment > capacity_) return std::nullopt;
  size = round_up(size, kGranule);
  if (alignment < kGranule) alignment = kGranule;
  // Free blocks that are large enough only for lesser alignments are passed over, the smallest first; one of
  // size + alignment always fits, so the walk is over blocks within that window.
  for (auto it = free_by_size_.lower_bound({size, 0}); it != free_by_size_.end(); ++it) {
    const auto [room, start] = *it;
    const size_t offset = round_up(start, alignment);
    const size_t end = start + room;
    if (offset > end || end - offset < size) continue;
    assert(free_by_offset_.at(start) == room);
    remove_free(start, room);
    if (offset != start) add_free(start, offset - start);
    if (offset + size != end) add_free(offset + size, end - offset - size);
    used_.emplace(offset, size);
    return offset;
  }
  return std::nullopt;
}

bool Allocator::release(size_t offset) {
  const auto block = used_.find(offset);
  if (block == used_.end()) return false;
  size_t start = offset;
  size_t size = block->second;
  used_.erase(block);
  if (const auto next = free_by_offset_.find(start + size); next != free_by_offset_.end()) {
    const size_t more = next->second;
    remove_free(start + size, more);
    size += more;
  }
  if (auto before = free_by_offset_.lower_bound(start); before != free_by_offset_.begin()) {
    --before;
    const auto [left, room] = *before;
    if (left + room == start) {
      remove_free(left, room);
      start = left;
      size += room;
    }
  }
  add_free(start, size);
  return true;
}

bool Allocator::resize(size_t offset, size_t size) {
  const auto block = used_.find(offset);
  if (block == used_.end() || size == 0 || size > capacity_) return false;
  size = round_up(size, kGranule);
  const size_t end = offset + block->second;
  const auto next = free_by_offset_.find(end);
  const size_t more = next == free_by_offset_.end() ? 0 : next->second;
  if (size > block->second + more) return false;
  assert(end + more <= capacity_);
  if (more != 0) remove_free(end, more);
  const size_t rest = block->second + more - size;
  if (rest != 0) add_free(offset + size, rest);
  block->second = size;
  return true;
}

std::optional<size_t> Allocator::room(size_t offset) const {
  const auto block = used_.find(offset);
  if (block == used_.end()) return std::nullopt;
  return block->second;
}

bool Allocator::consistent() const {
  if (free_by_offset_.size() != free_by_size_.size()) return false;
  size_t at = 0, free_seen = 0;
  bool last_was_free = false;
  auto used = used_.begin();
  auto free = free_by_offset_.begin();
  while (at < capacity_) {
    const bool is_used = used != used_.end() && used->first == at;
    const bool is_free = free != free_by_offset_.end() && free->first == at;
    if (is_used == is_free || (is_free && last_was_free)) return false;
    const size_t size = is_used ? used->second : free->second;
    if (size == 0 || size % kGranule != 0) return false;
    if (is_free && !free_by_size_.contains({size, at})) return false;
    if (is_used) ++used;
    else {
      ++free;
      free_seen += size;
    }
    last_was_free = is_free;
    at += size;
  }
  return at == capacity_ && used == used_.end() && free == free_by_offset_.end() && free_seen == free_bytes_;
}

}  // namespace portunus::shmem
