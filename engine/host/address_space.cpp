// address_space.cpp: takes more than is wanted, and gives back what lies before and behind.
#include "engine/host/address_space.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdio>

namespace portunus {
namespace {

void* reserve(size_t size, size_t alignment) {
  void* const space = mmap(nullptr, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  char* const start = static_cast<char*>(space);
  const size_t before = -reinterpret_cast<uintptr_t>(space) & (alignment - 1);
  if (before != 0) munmap(start, before);
  munmap(start + before + size, alignment - before);
  return start + before;
}

}  // namespace

void* reserve_addresses(size_t size) {
  constexpr size_t kPage = 4096;
  size = (size + kPage - 1) & ~(kPage - 1);
  for (size_t alignment = std::bit_ceil(size); alignment > kHugePage; alignment /= 2)
    if (void* const start = reserve(size, alignment)) return start;
  return reserve(size, kHugePage);
}

size_t free_addresses() {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  unsigned long pages = 0;
  if (FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const size_t used = pages != 0 ? pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) : limit.rlim_cur / 2;
  return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

}  // namespace portunus
