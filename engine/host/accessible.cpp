// accessible.cpp: see accessible.hpp.
#include "engine/host/accessible.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace portunus {
namespace {

// What the kernel says about its mappings: for those that it does not populate.
bool mapped(uintptr_t begin, uintptr_t end, bool write) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return false;
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

}  // namespace

bool accessible(const void* start, size_t size, bool write) {
  static const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(start);
  if (size == 0) return true;
  if (first > UINTPTR_MAX - page - size) return false;
  const uintptr_t begin = first & ~(page - 1), end = (first + size + page - 1) & ~(page - 1);
  int status;
  while ((status = madvise(reinterpret_cast<void*>(begin), end - begin, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ)) != 0 &&
         errno == EINTR) {
  }
  return status == 0 || (errno == EINVAL && mapped(begin, end, write));
}

}  // namespace portunus
