// accessible.cpp: see accessible.hpp.
#include "engine/host/accessible.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <optional>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace portunus {
namespace {

// The answer of the kernel's list of mappings. Nothing: there is none (/proc is missing).
std::optional<bool> mapped(uintptr_t begin, uintptr_t end, bool write) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return {};
  uintptr_t from, to;
  char may_read, may_write;
  char line[512];
  while (begin < end && std::fgets(line, sizeof line, maps)) {
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c%c", &from, &to, &may_read, &may_write) != 4 || to <= begin) continue;
    if (from > begin || may_read != 'r' || (write && may_write != 'w')) break;
    begin = to;
  }
  std::fclose(maps);
  return begin >= end;
}

// 0, or an errno: EINVAL where the kernel cannot do it, before Linux 5.14 or for a device's memory.
int populate(uintptr_t begin, uintptr_t end, bool write) {
  while (madvise(reinterpret_cast<void*>(begin), end - begin, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

}  // namespace

bool accessible(const void* start, size_t size, bool write, size_t most_populated) {
  static const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(start);
  if (size == 0) return true;
  if (size > UINTPTR_MAX - page || first > UINTPTR_MAX - page - size) return false;
  const uintptr_t begin = first & ~(page - 1), end = (first + size + page - 1) & ~(page - 1);
  if (size > most_populated) {
    if (const std::optional<bool> known = mapped(begin, end, write)) return *known;
    return populate(begin, end, write) == 0;
  }
  const int status = populate(begin, end, write);
  return status == 0 || (status == EINVAL && mapped(begin, end, write).value_or(false));
}

}  // namespace portunus
