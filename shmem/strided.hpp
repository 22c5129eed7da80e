// strided.hpp: blocks of elements at regular distances, to and from symmetric memory.
//
// Thread: any.
// Source: OpenSHMEM 1.6, sections "SHMEM_IPUT", "SHMEM_IBPUT" and their gets.
#pragma once

#include <cstddef>

#include "shmem/context.hpp"

namespace portunus::shmem {

// `blocks` blocks of `block` elements of `element` bytes; those of dest begin every `dst` elements, those of the source every
// `sst`.
struct Strided {
  size_t element, block, blocks;
  ptrdiff_t dst, sst;
};

void put_strided(const char* function, shmem_ctx_t context, void* dest, const void* source, const Strided& shape, int pe);
void get_strided(const char* function, shmem_ctx_t context, void* dest, const void* source, const Strided& shape, int pe);

}  // namespace portunus::shmem
