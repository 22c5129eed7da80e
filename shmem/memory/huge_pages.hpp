// huge_pages.hpp: SHMEM_HUGE_PAGES=1, the symmetric heap in pages of 2 MiB: fewer misses of the TLB for scattered access.
//
// Thread: set-up, one thread.
// Source: madvise(2), MADV_COLLAPSE (Linux 6.1): shared memory becomes huge whatever /dev/shm was mounted with.
#pragma once

#include <cstddef>

namespace portunus::shmem {

inline constexpr size_t kHugePage = size_t{2} << 20;

// Makes the whole huge pages of [start, start + size) huge. 0, or the errno that says why not all of them are.
int make_huge(void* start, size_t size);
// The bytes of the mapping that holds `start` which this process reaches by huge pages; 0 if the kernel does not say.
size_t huge_bytes(const void* start);

}  // namespace portunus::shmem
