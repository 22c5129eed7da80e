// transpose.hpp: a local array from the merged order into the virtual processors' and back: theorem 6.2 for whole arrays.
//
// Callers: ccc_to_virtual and ccc_from_virtual, which have checked that the axis merges. Any thread.
// The paper's map is the transpose of a matrix of c1 x (b2 c2) blocks of b1 elements; its two loops take n(n-1)/2 turns,
// this one step for each block at most.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shmem/distribution/ccc.h"

namespace portunus::distribution {

enum class Order { kToVirtual, kFromVirtual };

// `to` and `from`: arrays of processor t, of room(axis) and room(merged) elements, or the other way round.
void transpose(const ccc_axis& axis, const ccc_axis& merged, int64_t t, size_t size, Order order, std::byte* to, const std::byte* from);

}  // namespace portunus::distribution
