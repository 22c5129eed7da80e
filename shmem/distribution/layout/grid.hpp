// grid.hpp: what a layout's numbers mean: targets and PEs, rooms and strides. And whether a layout, or a pair, is usable.
//
// Callers: the calls of ccc.h about layouts, plans. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "shmem/distribution/axis/axis.hpp"

namespace portunus::distribution {

using Coordinates = std::array<int64_t, CCC_MOST_AXES>;

// Row-major; of a layout that `check_layout` has accepted.
int64_t targets_of(const ccc_layout& layout);
int64_t elements_of_room(const ccc_layout& layout);
Coordinates coordinates_of(const ccc_layout& layout, int64_t number);
int64_t number_of(const ccc_layout& layout, const Coordinates& coordinates);
inline int pe_of(const ccc_layout& layout, int64_t number) {
  return layout.pes ? layout.pes[number] : layout.first_pe + static_cast<int>(number);
}
// The number of the target that a PE is, or none.
std::optional<int64_t> target_on(const ccc_layout& layout, int pe);
// By how many elements the offset grows with that of each axis.
Coordinates strides_of(const ccc_layout& layout);
bool has_elements(const ccc_layout& layout, int64_t number);

// A code and a sentence. `pes`: how many the job has, or a large number.
int check_layout(const ccc_layout* layout, const char* which, int pes);
// Both layouts, the permutation (NULL: none is meant; `order` becomes it), and all bytes.
int check_pair(const ccc_layout* from, const ccc_layout* to, const int* permutation, size_t size, int pes,
               std::array<int, CCC_MOST_AXES>* order);

}  // namespace portunus::distribution
