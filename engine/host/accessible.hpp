// accessible.hpp: whether this process could touch a range of its own memory now.
//
// Thread: any. Cost: a system call; several where the kernel lacks MADV_POPULATE_* (before Linux 5.14) and for device memory.
// Source: madvise(2), proc(5).
#pragma once

#include <cstddef>

namespace portunus {

// True: every byte can be read, or written if `write`; its pages are in memory then. What unmaps them afterwards makes it untrue again.
bool accessible(const void* start, size_t size, bool write);

}  // namespace portunus
