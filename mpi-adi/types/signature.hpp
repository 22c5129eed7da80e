// signature.hpp: a number for a type signature: which basic datatypes, in which order, whatever lies between them.
//
// Thread: any. Costs O(pieces of the datatype). Source: MPI-5.0, 3.3.1, 5.1 (type signatures).
#pragma once

#include <cstdint>

#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi {

// Not 0, and equal where the signatures are; basic datatypes of one kind and size, as MPI_INT and MPI_INTEGER, are one. 0: there are no
// data. kAnySignature: MPI_PACKED is among them, which goes with all.
constexpr uint64_t kAnySignature = ~uint64_t{0};
uint64_t signature_of(const Datatype& type, MPI_Count count);

}  // namespace portunus::mpi
