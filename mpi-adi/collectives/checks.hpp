// checks.hpp: the arguments of collectives: what is valid, or which error is raised.
//
// Thread: any. Source: MPI-5.0, 6.2.
#pragma once

#include <cstddef>

#include "mpi-adi/collectives/counts.hpp"
#include "mpi-adi/collectives/elements.hpp"
#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi::collectives {

// Each returns MPI_SUCCESS or the error that it raised.
// The communicator; the address for the request.
int check_call(Call& call, MPI_Comm comm);
int check_root(const Call& call, int root);
int check_buffer(const Call& call, const void* buffer, MPI_Count count, MPI_Datatype type);
// Checks memory that is going to be read, if PTL_DEBUG asks for that.
inline int check_memory(const Call& call, const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (!debug.buffers) [[likely]]
    return MPI_SUCCESS;
  return check_readable(call.function, call.comm, buffer, count, *find_type(type, count));
}
// Notes the types that the other ranks' data must have, and the operation that combines them, if one does.
[[gnu::cold, gnu::noinline]] void note_signature(const Call& call, MPI_Count count, MPI_Datatype type, MPI_Op op);
inline void sign(const Call& call, MPI_Count count, MPI_Datatype type, MPI_Op op = MPI_OP_NULL) {
  if (debug.calls) [[unlikely]]
    note_signature(call, count, type, op);
}
// `counts` and `displacements` for every rank.
int check_buffers(const Call& call, const void* buffer, Counts counts, Counts displacements, MPI_Datatype type);
int check_op(const Call& call, MPI_Op op, MPI_Datatype type);
int refuse_in_place(const Call& call, const char* buffer);
int check_distinct(const Call& call, const Elements& from, const Elements& to);
// The data that this rank sends to itself, and the place for them: no way of the data may cut it in silence. `exact`: nor need a way know
// what to do with less.
int check_own_part(const Call& call, size_t sent, size_t place, bool exact = true);

}  // namespace portunus::mpi::collectives
