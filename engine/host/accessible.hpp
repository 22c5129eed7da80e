// accessible.hpp: whether this process could touch a range of its own memory now.
//
// Thread: any. Cost: a system call; several where the kernel lacks MADV_POPULATE_* (before Linux 5.14) and for device memory.
// Source: madvise(2), proc(5).
#pragma once

#include <cstddef>
#include <cstdint>

namespace portunus {

// True: every byte can be read, or written if `write`. Up to `most_populated` bytes are brought into memory for that; of a longer range
// the kernel's list of mappings is asked, which takes up no memory but does not notice a file that has become shorter than its mapping.
// Unmapping the range afterwards makes the answer untrue again.
bool accessible(const void* start, size_t size, bool write, size_t most_populated = SIZE_MAX);

}  // namespace portunus
