// intercomm.hpp: what the calls that join two groups share.
// Thread: collective over both sides. Source: MPI-5.0, 7.6.2.
#pragma once

#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi {

// `local_leader` is a rank of `local`; there, `remote_leader` is a rank of `peer`. MPI_SUCCESS or the error raised on `local`.
// `fault`: what the leader's caller has found and raised, or kNobodyThere: then the result is MPI_COMM_NULL on all of its side.
constexpr int kNobodyThere = MPI_ERR_LASTCODE + 1;
int connect_groups(const char* function, Communicator& local, int local_leader, Communicator& peer, int remote_leader, int tag,
                   MPI_Comm* result, int fault = MPI_SUCCESS);

}  // namespace portunus::mpi
