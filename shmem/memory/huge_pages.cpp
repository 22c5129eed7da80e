// huge_pages.cpp: asks the kernel, and reads from it what became of that.
#include "shmem/memory/huge_pages.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace portunus::shmem {

int make_huge(void* start, size_t size) {
  const auto at = reinterpret_cast<uintptr_t>(start);
  const uintptr_t first = (at + kHugePage - 1) & ~(kHugePage - 1);
  const uintptr_t last = (at + size) & ~(kHugePage - 1);
  if (first >= last) return EINVAL;
  void* const from = reinterpret_cast<void*>(first);
  // Refused or not: what counts is the last. It finds nothing to do where the second, by the first, made huge pages already.
  madvise(from, last - first, MADV_HUGEPAGE);
  madvise(from, last - first, MADV_POPULATE_WRITE);
  return madvise(from, last - first, MADV_COLLAPSE) == 0 ? 0 : errno;
}

size_t huge_bytes(const void* start) {
  FILE* const file = fopen("/proc/self/smaps", "r");
  if (!file) return 0;
  const auto at = reinterpret_cast<uintptr_t>(start);
  char line[1024];
  bool inside = false;
  size_t bytes = 0;
  while (fgets(line, sizeof line, file)) {
    unsigned long from, to, kib;
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2) inside = from <= at && at < to;
    else if (inside && (sscanf(line, "ShmemPmdMapped: %lu", &kib) == 1 || sscanf(line, "AnonHugePages: %lu", &kib) == 1))
      bytes += kib << 10;
  }
  fclose(file);
  return bytes;
}

}  // namespace portunus::shmem
