// heap.hpp: the symmetric heap as the program sees it.
//
// Thread: collective calls, one thread per PE at a time.
// Invariants: all PEs make the same calls in the same order, so their allocators answer alike.
// Source: OpenSHMEM 1.6, section "Memory Management Routines".
#pragma once

#include <cstddef>

namespace portunus::shmem {

// The largest alignment that an offset keeps at every PE is that of the heap's own start, `alignment`.
void heap_open(size_t size, size_t alignment);
void heap_close();

}  // namespace portunus::shmem
