// topology_create.hpp: what the calls that make and ask topologies share.
// Thread: as communicators. Source: MPI-5.0, 8.5.
#pragma once

#include <memory>

#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/core/checks.hpp"

namespace portunus::mpi {

// An intracommunicator, and where the new one's handle goes.
int check_parent(const char* function, MPI_Comm handle, Communicator*& comm, MPI_Comm* result);
// A communicator with a topology of this kind.
int find_topology(const char* function, MPI_Comm handle, int kind, Communicator*& comm);
// MPI_Comm_split, and the members of the new communicator have this topology. Collective.
int create_with_topology(Communicator& old, int color, int key, std::shared_ptr<const Topology> topology, MPI_Comm* result);

}  // namespace portunus::mpi
