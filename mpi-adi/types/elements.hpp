// elements.hpp: datatypes as sequences of predefined ones.
// Thread: any. Source: MPI-5.0, 5.1.11 (get_elements), 14.5.2 (external32).
#pragma once

#include <cstdint>

#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi {

// How many predefined datatypes the first `bytes` of the data of elements of this type are; -1: one of them is cut.
int64_t elements_in(const Datatype& type, int64_t bytes);
// Bytes of the first `elements` predefined datatypes.
int64_t bytes_of_elements(const Datatype& type, int64_t elements);

// Calls visit(elementary type, displacement) for each, in the order of the type map.
template <class Visit>
void for_each_element(const Datatype& type, int64_t displacement, Visit&& visit) {
  if (type.pieces.empty() && type.predefined) return visit(type, displacement);
  if (type.size == 0) return;
  for (const Piece& piece : type.pieces)
    for (int64_t row = 0; row < piece.count; ++row)
      for (int64_t i = 0; i < piece.blocklength; ++i)
        for_each_element(*piece.type, displacement + piece.displacement + row * piece.stride + i * piece.type->extent, visit);
}

}  // namespace portunus::mpi
