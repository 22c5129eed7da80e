// misuse.cpp: the sentences.
#include "shmem/misuse.hpp"

#include <cstdarg>
#include <cstdio>

#include "portals/portals4_ext.h"
#include "shmem/runtime.hpp"

namespace portunus::shmem {

void misuse(const char* sentence, ...) {
  char text[512];
  int used = 0;
  if (runtime.n_pes != 0) used = snprintf(text, sizeof text, "shmem: PE %d: ", runtime.my_pe);
  else used = snprintf(text, sizeof text, "shmem: ");
  va_list args;
  va_start(args, sentence);
  vsnprintf(text + used, sizeof text - static_cast<size_t>(used), sentence, args);
  va_end(args);
  fflush(nullptr);
  PtlxJobAbort(kMisuseStatus, text);
  __builtin_unreachable();
}

void misuse_pe(const char* function, int pe) {
  require_init(function);
  misuse("%s: there is no PE %d; PEs are 0 .. %d", function, pe, runtime.n_pes - 1);
}

void misuse_team_pe(const char* function, int pe, int size) {
  misuse("%s: there is no PE %d in the team of the context; its PEs are 0 .. %d", function, pe, size - 1);
}

void misuse_address(const char* function, const void* address, size_t size, int pe) {
  require_init(function);
  const auto& heap = runtime.segment[kHeap];
  const auto& data = runtime.segment[kData];
  misuse(
      "%s to PE %d: the %zu bytes at %p are not symmetric; symmetric are the heap, %#zx .. %#zx, and the globals of the "
      "executable, %#zx .. %#zx",
      function, pe, size, address, heap.start, heap.start + heap.size, data.start, data.start + data.size);
}

void misuse_alignment(const char* function, const void* address, size_t alignment, int pe) {
  misuse("%s to PE %d: address %p is not a multiple of %zu, as its type needs", function, pe, address, alignment);
}

void misuse_length(const char* function, size_t nelems, size_t element) {
  misuse("%s: %zu elements of %zu bytes are more than memory can hold", function, nelems, element);
}

void misuse_memory(const char* function) { misuse("%s: there is not enough memory for what this call needs", function); }

void misuse_context(const char* function) {
  require_init(function);
  misuse("%s: the context is SHMEM_CTX_INVALID", function);
}

}  // namespace portunus::shmem
