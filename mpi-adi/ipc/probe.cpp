// probe.cpp: is the memory of a call there? Asked before it is handed to the engine, where a fault would end the process.
//
// Each thread remembers the ranges that it asked about last: memory that is taken away after that is not noticed.
#include <unistd.h>

#include <array>

#include "mpi-adi/ipc/explain.hpp"
#include "mpi-adi/ipc/port.hpp"
#include "portals/portals4_ext.h"

namespace portunus::peace {
namespace {

// Whole pages. `end` 0: nothing.
struct Range {
  uintptr_t begin = 0, end = 0;
  bool written = false;
};
struct Known {
  std::array<Range, 8> ranges;
  unsigned next = 0;
  unsigned latest[2] = {};  // where the last answer was found: of memory to be read, of memory to be written
};
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
thread_local constinit Known known{};

bool covers(const Range& range, uintptr_t first, uintptr_t last, bool written) {
  return first >= range.begin && first <= last && last < range.end && (range.written || !written);
}

bool is_among(uintptr_t first, uintptr_t last, bool written) {
  for (unsigned i = 0; i < known.ranges.size(); ++i)
    if (covers(known.ranges[i], first, last, written)) {
      known.latest[written] = i;
      return true;
    }
  return false;
}

bool lies_beyond(const void* memory, size_t bytes) {
  return bytes > PTL_SIZE_MAX / 2 || reinterpret_cast<uintptr_t>(memory) > UINTPTR_MAX - page_bytes() - bytes;
}

// A range of memory that is none of those asked about lately.
bool look(const void* memory, size_t bytes, bool written) {
  const auto first = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t page = page_bytes(), begin = first & ~(page - 1), end = (first + bytes + page - 1) & ~(page - 1);
  if (!PtlxAccessible(memory, bytes, written)) return false;
  known.ranges[known.next++ % known.ranges.size()] = {begin, end, written};
  return true;
}

[[gnu::noinline]] int ask(const char* argument, const void* memory, size_t bytes, bool written) {
  const auto first = reinterpret_cast<uintptr_t>(memory);
  if (is_among(first, first + bytes - 1, written)) return PEACE_OK;
  if (!memory) return fail(PEACE_ARG, "%s is NULL with a length of %zu bytes", argument, bytes);
  if (lies_beyond(memory, bytes)) return fail(PEACE_ARG, "%s and its length of %zu bytes reach beyond all memory", argument, bytes);
  if (look(memory, bytes, written)) return PEACE_OK;
  return fail(PEACE_ARG, "%s, %zu bytes at %p, is not memory that this process may %s", argument, bytes, memory,
              written ? "write" : "read");
}

}  // namespace

size_t page_bytes() {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return page;
}

bool may_touch(const void* memory, size_t bytes, Access access) {
  const auto first = reinterpret_cast<uintptr_t>(memory);
  const bool written = access == Access::write;
  if (bytes == 0 || is_among(first, first + bytes - 1, written)) return true;
  return memory && !lies_beyond(memory, bytes) && look(memory, bytes, written);
}

int check_memory(const char* argument, const void* memory, size_t bytes, Access access) {
  if (bytes == 0) return PEACE_OK;
  const auto first = reinterpret_cast<uintptr_t>(memory);
  const bool written = access == Access::write;
  if (covers(known.ranges[known.latest[written]], first, first + bytes - 1, written)) [[likely]]
    return PEACE_OK;
  return ask(argument, memory, bytes, written);
}

}  // namespace portunus::peace
