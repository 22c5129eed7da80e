// inter.cpp: see inter.hpp. All data cross between the groups by one exchange; reductions are done where the result is wanted.
#include "mpi-adi/collectives/inter.hpp"

#include "mpi-adi/core/errors.hpp"

namespace portunus::mpi::collectives::inter {
namespace {

// Parts by the ranks of both groups, of which only the other one's have any.
Peers others(const Communicator& comm) { return {comm.size + comm.peers, remote_base(comm), nullptr, false, comm.peers}; }

// Part i is for rank i of the other group; of one rank alone where `only` says so.
Parts copies_of(const Communicator& comm, const Elements& data, int only = MPI_PROC_NULL) {
  const Peers peers = others(comm);
  Parts parts(peers.ranks);
  for (int i = 0; i < peers.number; ++i)
    if (only == MPI_PROC_NULL || i == only) parts.add(peers.base + i, data);
  parts.close();
  return parts;
}
Parts nothing(const Communicator& comm) { return Parts(others(comm).ranks); }

template <class To>
int cross(const Call& call, Parts out, To in) {
  return carry_out<Movement<Parts, To>>(call, GOAL_CALL_ALLTOALLV, 0, size_t{0}, std::move(out), std::move(in));
}

// The contributions of the other group, combined; elements from `first` on are the result.
Contributions combined(const Communicator& comm, MPI_Op op, const Elements& result, size_t each, size_t first) {
  const Peers peers = others(comm);
  return Contributions(op, result, peers.ranks, peers.base, peers.base + peers.number, each, first);
}

int check_root_between(const Call& call, int root) {
  if (root == MPI_ROOT || root == MPI_PROC_NULL || (root >= 0 && root < call.comm->peers)) return MPI_SUCCESS;
  return raise(call.function, call.comm, MPI_ERR_ROOT, "the root %d is no rank of the other group, MPI_ROOT or MPI_PROC_NULL", root);
}

}  // namespace

int all(const Call& call, const Side& out, const Side& in) {
  Parts sent, received;
  if (int error = parts_of(call, out, others(*call.comm), sent)) return error;
  if (int error = parts_of(call, in, others(*call.comm), received)) return error;
  return cross(call, std::move(sent), std::move(received));
}

int rooted(const Call& call, int root, bool from_root, const Side& at_root, const Side& elsewhere) {
  if (int error = check_root_between(call, root)) return error;
  Parts parts = nothing(*call.comm);
  if (root == MPI_ROOT)
    if (int error = parts_of(call, at_root, others(*call.comm), parts)) return error;
  if (root >= 0) {
    Elements part;
    if (int error = part_of(call, elsewhere.to_all(), 0, part)) return error;
    parts = copies_of(*call.comm, part, root);
  }
  const bool sends = from_root == (root == MPI_ROOT);
  return sends ? cross(call, std::move(parts), nothing(*call.comm)) : cross(call, nothing(*call.comm), std::move(parts));
}

int reduce(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root) {
  Communicator& comm = *call.comm;
  if (int error = check_root_between(call, root)) return error;
  if (root == MPI_PROC_NULL) return cross(call, nothing(comm), nothing(comm));
  const Side mine(root == MPI_ROOT ? recvbuf : sendbuf, count, type);
  if (int error = check_one(call, mine, 1, false)) return error;
  if (int error = check_op(call, op, type)) return error;
  const Elements vector = mine.elements(1);
  if (root == MPI_ROOT) return cross(call, nothing(comm), combined(comm, op, vector, vector.bytes(), 0));
  return cross(call, copies_of(comm, vector, root), nothing(comm));
}

int reduce_to_all(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Counts counts, MPI_Datatype type, MPI_Op op) {
  Communicator& comm = *call.comm;
  MPI_Count first = 0, own = count, total = counts.null() ? count : 0;
  for (int i = 0; !counts.null() && i < comm.size; ++i) {
    if (int error = check_buffer(call, recvbuf, counts[i], type)) return error;
    if (i == comm.rank) first = total, own = counts[i];
    total += counts[i];
  }
  const Side result(recvbuf, own, type);
  if (int error = check_one(call, result, 1, false)) return error;
  if (int error = check_buffer(call, sendbuf, total > 0 ? 1 : 0, type)) return error;
  if (int error = check_op(call, op, type)) return error;
  const Elements vector = Side(sendbuf, total, type).elements(1);
  const size_t each = vector.bytes(), element = total > 0 ? each / static_cast<size_t>(total) : 0;
  return cross(call, copies_of(comm, vector), combined(comm, op, result.elements(1), each, static_cast<size_t>(first) * element));
}

int refuse(const Call& call) { return raise(call.function, call.comm, MPI_ERR_COMM, "intercommunicators have no such collective"); }

}  // namespace portunus::mpi::collectives::inter
