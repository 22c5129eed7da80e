// signature.hpp: a number for a type signature: which basic datatypes, in which order, whatever lies between them.
//
// Thread: any. Costs O(pieces of the datatype). Source: MPI-5.0, 3.3.1, 5.1 (type signatures).
#pragma once

#include <cstdint>
#include <string>

#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi {

// Not 0, and equal where the signatures are; basic datatypes of one kind and size, as MPI_INT and MPI_INTEGER, are one. 0: there are no
// data. kAnySignature: MPI_PACKED is among them, which goes with all.
constexpr uint64_t kAnySignature = ~uint64_t{0};
uint64_t signature_of(const Datatype& type, MPI_Count count);

// The signature of a message's data, such that a receive of more can be compared with it: the first basic datatype's handle, and a hash
// where there are several. 0: MPI_BYTE or MPI_PACKED are among them, or there are no data; then it goes with all.
//
//   63                56 55                                          0
//   +-------------------+---------------------------------------------+
//   |  basic datatype   |  0: all are this one; else a hash of all    |
//   +-------------------+---------------------------------------------+
uint64_t sent_signature(const Datatype& type, MPI_Count count);
// The only one of its basic datatypes; nullptr: there are several, or it goes with all.
const Datatype* only_basic_of(const Datatype& type);
// Whether the first `bytes` of these data, no more than they have, are of the signature that was sent.
bool begins_with(const Datatype& type, MPI_Count count, uint64_t bytes, uint64_t sent);
// As "4 MPI_INT", or "24 bytes of several datatypes, first MPI_INT".
std::string signature_text(uint64_t sent, uint64_t bytes);

}  // namespace portunus::mpi
