// probe.cpp: is the memory of a call there? Asked before it is handed to the engine, where a fault would end the process.
//
// Each thread remembers the ranges that it asked about last: memory that is taken away after that is not noticed.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "mpi-adi/ipc/explain.hpp"
#include "mpi-adi/ipc/port.hpp"

#ifndef MADV_POPULATE_READ  // Linux 5.14
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace portunus::peace {
namespace {

constexpr size_t kMostPopulated = 1 << 20;  // longer room must not take up memory before a message comes

// Whole pages. `end` 0: nothing.
struct Range {
  uintptr_t begin = 0, end = 0;
  bool written = false;
};
struct Known {
  std::array<Range, 8> ranges;
  unsigned next = 0;
};
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
thread_local constinit Known known{};

bool is_known(uintptr_t first, uintptr_t last, bool written) {
  for (const Range& range : known.ranges)
    if (first >= range.begin && first <= last && last < range.end && (range.written || !written)) return true;
  return false;
}

// By the kernel's list of mappings.
bool is_mapped(uintptr_t begin, uintptr_t end, bool written) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return true;  // without /proc nothing can be said
  uintptr_t from, to;
  char may_read, may_write;
  char line[512];
  while (begin < end && std::fgets(line, sizeof line, maps)) {
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c%c", &from, &to, &may_read, &may_write) != 4 || to <= begin) continue;
    if (from > begin || may_read != 'r' || (written && may_write != 'w')) break;
    begin = to;
  }
  std::fclose(maps);
  return begin >= end;
}

bool is_there(uintptr_t begin, uintptr_t end, bool written) {
  if (end - begin > kMostPopulated) return is_mapped(begin, end, written);
  int status;
  do {
    status = madvise(reinterpret_cast<void*>(begin), end - begin, written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
  } while (status != 0 && errno == EINTR);
  return status == 0 || (errno == EINVAL && is_mapped(begin, end, written));  // an older kernel, or a device's memory
}

}  // namespace

int check_memory(const char* argument, const void* memory, size_t bytes, Access access) {
  if (bytes == 0) return PEACE_OK;
  const auto first = reinterpret_cast<uintptr_t>(memory);
  const bool written = access == Access::write;
  if (is_known(first, first + bytes - 1, written)) [[likely]]
    return PEACE_OK;
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  if (!memory) return fail(PEACE_ARG, "%s is NULL with a length of %zu bytes", argument, bytes);
  if (bytes > PTL_SIZE_MAX / 2 || first + bytes > UINTPTR_MAX - page)
    return fail(PEACE_ARG, "%s and its length of %zu bytes reach beyond all memory", argument, bytes);
  const uintptr_t begin = first & ~(page - 1), end = (first + bytes + page - 1) & ~(page - 1);
  if (!is_there(begin, end, written))
    return fail(PEACE_ARG, "%s, %zu bytes at %p, is not memory that this process may %s", argument, bytes, memory,
                written ? "write" : "read");
  known.ranges[known.next++ % known.ranges.size()] = {begin, end, written};
  return PEACE_OK;
}

}  // namespace portunus::peace
