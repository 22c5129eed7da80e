// rma.hpp: moving bytes to and from symmetric memory; all put and get calls end here.
//
// On the node the calling thread copies, so such a call is complete on return; else it is a Portals operation.
//
// **Thread:** any.
// **Source:** OpenSHMEM 1.6, chapter "Remote Memory Access Routines".
#pragma once

#include <cstddef>

#include "shmem/context.hpp"

namespace portunus::shmem {

void put_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe);
void put_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe);
void get_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe);
void get_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe);

// nelems * element, which must exist.
inline size_t bytes_of(const char* function, size_t nelems, size_t element) {
  size_t bytes;
  if (__builtin_mul_overflow(nelems, element, &bytes)) [[unlikely]] misuse_length(function, nelems, element);
  return bytes;
}

}  // namespace portunus::shmem
