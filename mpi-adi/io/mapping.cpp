// mapping.cpp: see mapping.hpp.
#include "mpi-adi/io/mapping.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace portunus::mpi::io {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kBlock = 512;  // what st_blocks counts

int64_t below(int64_t offset) { return offset / kPage * kPage; }
int64_t above(int64_t offset) { return (offset + kPage - 1) / kPage * kPage; }

}  // namespace

Region::~Region() { munmap(start_, static_cast<size_t>(end_ - first_)); }

void Mapping::forget() {
  const std::lock_guard lock(mutex_);
  region_ = nullptr;
  ready_first_ = ready_end_ = 0;
}

bool Mapping::map(const PosixFile& posix, int64_t first, int64_t end) {
  if (region_ && region_->holds(first, end)) return true;
  if (region_) {  // with what is mapped already, if that is near
    const int64_t low = std::min(first, region_->first()), high = std::max(end, region_->end());
    if (high - low <= kMost) first = low, end = high;
  }
  const int protection = posix.can_be_mapped() ? PROT_READ | PROT_WRITE : PROT_READ;
  void* start = mmap(nullptr, static_cast<size_t>(end - first), protection, MAP_SHARED, posix.descriptor(), first);
  if (start == MAP_FAILED) return false;
  region_ = std::make_shared<Region>(static_cast<std::byte*>(start), first, end);
  ready_first_ = ready_end_ = 0;
  return true;
}

bool Mapping::fetch(const PosixFile& posix, int64_t first, int64_t end, bool writes, bool sparse) {
  if (posix.in_memory() && ready_first_ <= first && end <= ready_end_) return true;
  std::byte* start = region_->origin() + first;
  const auto bytes = static_cast<size_t>(end - first);
  if (!writes) {
    // A hole of a file in memory would be filled, and what is not cached a read gets sooner.
    char byte;
    if (posix.in_memory() ? sparse : !posix.read_cached(first, &byte, 1)) return false;
    return madvise(start, bytes, MADV_POPULATE_READ) == 0;
  }
  if (madvise(start, bytes, MADV_POPULATE_WRITE) != 0)
    return errno == EINVAL && posix.reserve(first, end - first) == 0;  // an older kernel: room there is, the rest is unlikely to fail
  if (first <= ready_end_ && ready_first_ <= end && ready_end_ > 0) {
    ready_first_ = std::min(ready_first_, first);
    ready_end_ = std::max(ready_end_, end);
  } else {
    ready_first_ = first;
    ready_end_ = end;
  }
  struct stat what;
  blocks_ = fstat(posix.descriptor(), &what) == 0 ? what.st_blocks : 0;
  return true;
}

std::shared_ptr<const Region> Mapping::reach(const PosixFile& posix, int64_t first, int64_t end, bool writes) {
  if (end - first > kMost || end <= first || !(writes ? posix.can_be_mapped() : posix.is_local())) return nullptr;
  const std::lock_guard lock(mutex_);
  struct stat what;
  if (fstat(posix.descriptor(), &what) != 0) return nullptr;
  if (what.st_size < end) {
    const int64_t from = std::max<int64_t>(first, what.st_size);
    if (!writes || posix.reserve(from, end - from) != 0 || fstat(posix.descriptor(), &what) != 0) return nullptr;
  }
  if (what.st_blocks < blocks_) ready_first_ = ready_end_ = 0;
  const bool sparse = what.st_blocks * kBlock < what.st_size;
  if (!map(posix, below(first), above(end)) || !fetch(posix, below(first), above(end), writes, sparse)) return nullptr;
  return region_;
}

}  // namespace portunus::mpi::io
