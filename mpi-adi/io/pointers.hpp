// pointers.hpp: where the next access begins: individual and shared file pointers, in elementary types of the view.
//
// The shared pointer is a word at rank 0 that engines add to: no file, no lock, no call of rank 0's. When a view or position
// is set, which is collective, the ranks go over to another word, so that nobody's addition is lost. Thread: any. Source:
// MPI-5.0, 14.4.3, 14.4.4.
#pragma once

#include <cstdint>

#include "mpi-adi/io/file.hpp"

namespace portunus::mpi::io {

// The position `offset` from `whence`: an error class and a sentence, or MPI_SUCCESS. `current`: the pointer now.
int seek_target(const File& file, const View& view, MPI_Offset offset, int whence, int64_t current, int64_t& target, const char*& cause);

// The pointer before `by` elementary types were added: an error class.
int advance_shared(File& file, int64_t by, int64_t& before);
// Collective: the same for all ranks, in their order. `error`: of this rank's arguments; the first one of all is returned.
int advance_ordered(File& file, int64_t by, int error, int64_t& before);
// Collective: the shared pointer becomes `value`, which rank 0 says. `own`: what else is told to the others, from its word 1
// on.
int set_shared(File& file, int64_t value, Record own, std::vector<Record>& all);

}  // namespace portunus::mpi::io
