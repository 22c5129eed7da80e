// checks.hpp: the arguments of collectives: what is valid, or which error is raised.
//
// Thread: any. Source: MPI-5.0, 6.2.
#pragma once

#include <cstddef>
#include <vector>

#include "mpi-adi/collectives/counts.hpp"
#include "mpi-adi/collectives/movement.hpp"
#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi::collectives {

// One side of a collective as the user gave it: what goes to, or comes from, each rank.
struct Side {
  Side(const void* where, MPI_Count each, MPI_Datatype of) : buffer(where), count(each), type(of) {}
  Side(const void* where, Counts each, Counts places, MPI_Datatype of)
      : buffer(where), type(of), differ(true), counts(each), displacements(places) {}
  Side(const void* where, Counts each, Counts places, const MPI_Datatype of[])
      : buffer(where), differ(true), has_types(true), counts(each), displacements(places), types(of) {}
  // The same elements go to all.
  Side to_all() const {
    Side side(*this);
    side.same = true;
    return side;
  }

  Elements elements(int parts) const { return Elements(buffer, static_cast<size_t>(count) * static_cast<size_t>(parts), type); }

  const void* buffer;
  MPI_Count count = 0;  // each
  MPI_Datatype type = MPI_BYTE;
  bool differ = false, has_types = false, same = false;
  Counts counts{}, displacements{};     // where they differ
  const MPI_Datatype* types = nullptr;  // has_types: then displacements are bytes
};

// The ranks that parts belong to: from `base` on so many, or those of the list, pairs of which may be `turned`; of `ranks` in all.
struct Peers {
  int ranks, base = 0;
  const std::vector<int>* list = nullptr;
  bool turned = false;
  int number = list ? static_cast<int>(list->size()) : ranks;
};

// Each returns MPI_SUCCESS or the error that it raised.
// The part that the side has for peer number i; those that it has for all peers.
int part_of(const Call& call, const Side& side, int i, Elements& part);
int parts_of(const Call& call, const Side& side, const Peers& peers, Parts& parts);
// The communicator; the address for the request.
int check_call(Call& call, MPI_Comm comm);
int check_root(const Call& call, int root);
int check_elements(const Call& call, MPI_Count count, MPI_Datatype type);
// The address of elements that were checked.
[[gnu::cold]] int check_address_slowly(const Call& call, const void* buffer, MPI_Count count, MPI_Datatype type);
inline int check_address(const Call& call, const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (buffer != nullptr && buffer != MPI_IN_PLACE) [[likely]]
    return MPI_SUCCESS;
  return check_address_slowly(call, buffer, count, type);
}
inline int check_buffer(const Call& call, const void* buffer, MPI_Count count, MPI_Datatype type) {
  if (int error = check_elements(call, count, type)) return error;
  return check_address(call, buffer, count, type);
}
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
// The same where ranks have parts of different lengths, of which some may have none: the basic datatype, if it is one only.
[[gnu::cold, gnu::noinline]] void note_basic_type(const Call& call, bool has_data, MPI_Datatype type);
inline void sign_basic(const Call& call, bool has_data, MPI_Datatype type) {
  if (debug.calls) [[unlikely]]
    note_basic_type(call, has_data, type);
}
// The same where each rank has data of its own for each.
[[gnu::cold, gnu::noinline]] void note_pairs(const Call& call, const Parts& sent, const Parts& received);
inline void sign_pairs(const Call& call, const Parts& sent, const Parts& received) {
  if (debug.calls) [[unlikely]]
    note_pairs(call, sent, received);
}
// So many parts of one size, one behind the other, which this rank `reads`, or which come.
inline int check_one(const Call& call, const Side& side, int parts, bool reads) {
  if (int error = check_buffer(call, side.buffer, side.count, side.type)) return error;
  return reads ? check_memory(call, side.buffer, side.count * parts, side.type) : MPI_SUCCESS;
}
int check_op(const Call& call, MPI_Op op, MPI_Datatype type);
int check_distinct(const Call& call, const Elements& from, const Elements& to);
// The data that this rank sends to itself, and the place for them: no way of the data may cut it in silence. `exact`: nor need a way know
// what to do with less.
int check_own_part(const Call& call, size_t sent, size_t place, bool exact = true);

}  // namespace portunus::mpi::collectives
