// address_space.hpp: addresses for long blocks of memory, so far apart that offsets into a block keep their alignment in every process.
//
// Thread: any. Cost: two to four system calls.
#pragma once

#include <cstddef>

namespace portunus {

constexpr size_t kHugePage = size_t{2} << 20;

// `size` >= kHugePage bytes of addresses without memory, to be mapped over. They begin at a multiple of a power of two that is no less than
// `size`, where there are addresses enough, and of kHugePage otherwise. nullptr and errno if there is no room.
void* reserve_addresses(size_t size);

// How many bytes this process may still map, by `ulimit -v`; SIZE_MAX: there is no limit.
size_t free_addresses();

}  // namespace portunus
