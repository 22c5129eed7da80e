// inter.hpp: collectives of intercommunicators: one group's data go to the other.
//
// The ranks of both groups are one group for GOAL. Which comes first both decide alike: the one whose first member was born first.
// Arguments are checked here, but for the communicator and, with roots, those of ranks that take no part (MPI_PROC_NULL). Thread: any, one
// collective per communicator at a time. Source: MPI-5.0, 6.2.3 and what each collective says of them.
#pragma once

#include "mpi-adi/collectives/checks.hpp"
#include "mpi-adi/comm/processes.hpp"

namespace portunus::mpi::collectives::inter {

// The numbers at which this group and the other one begin among all.
inline int own_base(const Communicator& comm) {
  return identity_of(comm.group->job_rank(0)) < identity_of(comm.remote_group->job_rank(0)) ? 0 : comm.remote_group->size;
}
inline int remote_base(const Communicator& comm) { return own_base(comm) == 0 ? comm.group->size : 0; }

int all(const Call& call, const Side& out, const Side& in);
// root: MPI_ROOT here, a rank of the other group, or MPI_PROC_NULL. from_root: data go from the root to the other group.
int rooted(const Call& call, int root, bool from_root, const Side& at_root, const Side& elsewhere);
int reduce(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root);
// `counts`: how the result is divided in this group; none: all get all of it.
int reduce_to_all(const Call& call, const void* sendbuf, void* recvbuf, MPI_Count count, Counts counts, MPI_Datatype type, MPI_Op op);
int refuse(const Call& call);

}  // namespace portunus::mpi::collectives::inter
