// rows.hpp: two loops around runs of bytes: the kernel of all copies that no tiles serve.
//
// Callers: nest.cpp. Sources that are not read in one go are asked for ahead, since the processor does not guess such strides;
// lines that are streamed are written whole. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shmem/distribution/copy/nest.hpp"

namespace portunus::distribution {

void copy_rows(std::byte* to, const std::byte* from, const Loop& outer, const Loop& inner, int64_t bytes, Stores stores);

}  // namespace portunus::distribution
