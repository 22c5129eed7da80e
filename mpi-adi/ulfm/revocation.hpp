// revocation.hpp: the two ways a communicator is revoked.
// Thread: any. Source: Bland et al. 2013.
#pragma once

#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi::ulfm {

// Ends what this rank has under way in the communicator and tells others: all if the user here has revoked it, else some, in case who
// did has died meanwhile. Does nothing if it was revoked before.
void take(Communicator& comm, bool by_user);

}  // namespace portunus::mpi::ulfm
