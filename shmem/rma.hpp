// rma.hpp: moving bytes to and from symmetric memory; all put and get calls end here.
//
// On the node the calling thread copies, so such a call is complete on return; else it is a Portals operation.
//
// Thread: any.
// Source: OpenSHMEM 1.6, chapter "Remote Memory Access Routines".
#pragma once

#include <cstddef>

#include "shmem/context.hpp"

namespace portunus::shmem {

// Calls near(pointer) where this PE reaches the memory by one, and rings afterwards if it was stored to; else far().
template <bool kStores, class Near, class Far>
[[gnu::always_inline]] inline void at_memory(const Peer& peer, const Place& place, size_t size, Near&& near, Far&& far) {
  if (peer.on_node()) [[likely]] {
    near(peer.at<void>(place));
    if constexpr (kStores) stored(peer, place, size);
  } else {
    far();
  }
}

void put_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe);
void put_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe);
void get_bytes(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe);
void get_bytes_nbi(const char* function, shmem_ctx_t context, void* dest, const void* source, size_t size, int pe);

// Returns nelems * element, and ends the job when that overflows.
inline size_t bytes_of(const char* function, size_t nelems, size_t element) {
  size_t bytes;
  if (__builtin_mul_overflow(nelems, element, &bytes)) [[unlikely]]
    misuse_length(function, nelems, element);
  return bytes;
}

// Checks, with SHMEM_DEBUG, that a symmetric object is aligned as its type. Some processors forgive that it is not.
inline void check_alignment(const char* function, const void* address, size_t element, int pe) {
  const size_t alignment = element < sizeof(uint64_t) ? element : sizeof(uint64_t);
  if (runtime.debug && reinterpret_cast<uintptr_t>(address) % alignment != 0) [[unlikely]]
    misuse_alignment(function, address, alignment, pe);
}

// Returns the bytes of an array of elements at a symmetric address.
inline size_t bytes_at(const char* function, const void* symmetric, size_t nelems, size_t element, int pe) {
  check_alignment(function, symmetric, element, pe);
  return bytes_of(function, nelems, element);
}

}  // namespace portunus::shmem
