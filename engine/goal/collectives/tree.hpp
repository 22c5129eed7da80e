// Binomial trees over 0 .. size-1 with root 0: the parent of a rank is the rank without its lowest bit.
//
// Thread: any; pure.
// Invariants: the ranks below a child, itself included, are child .. end-1.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace portunus::goal::collectives {

inline uint32_t parent(uint32_t rank) { return rank & (rank - 1); }

// The end of the ranks that hang on `rank`.
inline uint32_t subtree_end(uint32_t rank, uint32_t size) { return rank == 0 ? size : std::min(size, rank + (rank & -rank)); }

// Calls f(child, end of its subtree), the largest subtree first.
template <class F>
void each_child(uint32_t rank, uint32_t size, F&& f) {
  const uint32_t reach = rank == 0 ? std::bit_ceil(size) : rank & -rank;
  for (uint32_t step = reach / 2; step > 0; step /= 2) {
    if (rank + step < size) f(rank + step, std::min(size, rank + 2 * step));
  }
}

// The same, the smallest subtree first: the order in which their results are ready, and in which ranks ascend.
template <class F>
void each_child_ascending(uint32_t rank, uint32_t size, F&& f) {
  const uint32_t reach = rank == 0 ? std::bit_ceil(size) : rank & -rank;
  for (uint32_t step = 1; step < reach && rank + step < size; step *= 2) f(rank + step, std::min(size, rank + 2 * step));
}

}  // namespace portunus::goal::collectives
