// datatype.hpp: the sizes of the predefined datatypes.
//
// Thread: any; constant. Invariants: extent >= size; the two differ only for pairs with padding (MPI_DOUBLE_INT ..), which
// travel with their padding, as all ranks lay them out alike.
// Source: MPI-5.0, 3.2.2, 6.9.4 and 20.3 (handle values).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

struct TypeSize {
  uint8_t size = 0;    // bytes of data: MPI_Type_size
  uint8_t extent = 0;  // from one element to the next; 0 = no such datatype
};

constexpr size_t kTypeCount = 256;
extern const std::array<TypeSize, kTypeCount> kTypeSizes;  // by handle value, from MPI_DATATYPE_NULL on

inline TypeSize find_type(MPI_Datatype type) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(type) - reinterpret_cast<uintptr_t>(MPI_DATATYPE_NULL);
  return index < kTypeCount ? kTypeSizes[index] : TypeSize{};
}

}  // namespace portunus::mpi
