// intercomm.hpp: what the calls that join two groups share.
// Thread: collective over both sides. Source: MPI-5.0, 7.6.2.
#pragma once

#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi {

// `local_leader` is a rank of `local`; there, `remote_leader` is a rank of `peer`. MPI_SUCCESS or the error raised on `local`.
int connect_groups(const char* function, Communicator& local, int local_leader, Communicator& peer, int remote_leader, int tag,
                   MPI_Comm* result);

}  // namespace portunus::mpi
