// leaks.hpp: what MPI_Finalize finds left: requests, all other objects that a program made or asked for, messages that nobody received.
//
// PTL_INFO=1 or PTL_DEBUG=leaks on all ranks: rank 0 prints one line for the job, of which ranks left what. PTL_DEBUG=leaks: each rank
// prints a line for each thing, some of each kind.
//
// Thread: who calls MPI_Finalize. Cost: without these, none but a byte of the barrier that ends MPI.
#pragma once

#include <array>
#include <cstdint>

namespace portunus::mpi::leaks {

bool wanted();

enum Kind : uint8_t {
  kRequests,
  kCommunicators,
  kDatatypes,
  kWindows,
  kFiles,
  kMessages,
  kGroups,
  kOperations,
  kInfos,
  kErrhandlers,
  kKeyvals,
  kKinds
};
using Counts = std::array<uint64_t, kKinds>;

// Before anything is closed: all but messages.
Counts objects();
// After all ranks have sent what they send. On all ranks of MPI_COMM_WORLD.
void tell(Counts counts);

}  // namespace portunus::mpi::leaks
