// ports.hpp: where processes meet that share no communicator, of whatever jobs: a port is a number that its owner publishes
// (rendezvous.hpp), and its name has that number and the owner's card. When both roots have met they lead their sides as in
// MPI_Intercomm_create.
//
// Thread: any. Source: MPI-5.0, 11.9.
#pragma once

#include <optional>
#include <string>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/dynamic/rendezvous.hpp"

namespace portunus::mpi::ports {

struct Port {
  Card owner{};
  uint64_t number = 0;
};

std::string name_of(const Port& port);
// Nothing if the name is none of a port.
std::optional<Port> port_named(const char* name);
bool is_own(const Port& port);

// The role of each of the two that meet.
enum class Role : int { accepts, connects };

// Two processes that know each other by rank, as a communicator of two by which their sides are led together.
class Pair {
 public:
  Pair(int other, Role role);
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  Communicator comm;
  int other_rank() const { return 1 - comm.rank; }

 private:
  int ranks_[2];
};

// The report of a root to its side: how it went, and whom it has met. Collective over `comm`; `meeting` and `role` mean something at the
// root. The sentence is that of the root's error.
int join_sides(const char* function, Communicator& comm, int root, const rendezvous::Meeting& meeting, Role role, const char* why,
               MPI_Comm* made);

}  // namespace portunus::mpi::ports
