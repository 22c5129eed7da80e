// comm_create.hpp: the steps that all calls which make communicators share.
// Thread: as the calls. Source: MPI-5.0, 7.4.2, 7.6.2.
#pragma once

#include <cstdint>

#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/comm/context.hpp"
#include "mpi-adi/comm/exchange.hpp"

namespace portunus::mpi {

// How the members, or all of a communicator (of both sides), and words bitwise. The argument must outlive the result.
AllAnd all_and_of(const Exchange& members);
AllAnd all_and_of(Communicator& comm);

// Tells agreements of one process apart; see context.hpp.
uint64_t key_of(const Communicator& comm, Traffic traffic, int tag);

// Agrees on a context and makes the communicator, with the parent's error handler. Takes over the groups, also when it
// fails; raises on `parent`.
int create_in(const char* function, Communicator& parent, const AllAnd& all_and, uint64_t key, Group* group, Group* remote_group,
              Communicator*& made);
// A call whose arguments are wrong at this rank alone takes part in its first step, that of create_in or of MPI_Comm_split, so that the
// others, who wait for it, learn of the fault. Answers `code`, which was raised.
int decline(Communicator& comm, int code);
int decline_split(Communicator& comm, int code);
int raise_creation(const char* function, const Communicator& comm, int error);

// The handle becomes MPI_COMM_NULL.
int free_communicator(const char* function, MPI_Comm* handle);

}  // namespace portunus::mpi
