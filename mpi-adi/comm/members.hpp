// members.hpp: who is in a communicator.
#pragma once

#include <vector>

#include "mpi-adi/comm/comm.hpp"

namespace portunus::mpi {

// All members, of both sides of an intercommunicator, as ranks of the job: in one order on all of them.
std::vector<int> members_of(const Communicator& comm);

}  // namespace portunus::mpi
