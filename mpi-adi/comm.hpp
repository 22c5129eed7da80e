// comm.hpp: communicators. There are two: MPI_COMM_WORLD and MPI_COMM_SELF.
//
// Thread: constant between MPI_Init and MPI_Finalize, except the error handler, which any thread may set.
// Invariants: outside of that time no handle is valid, which is how every call finds out that it is too early or late.
// Source: MPI-5.0, 7.2.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

struct Communicator {
  const char* name = nullptr;
  uint16_t context = 0;  // first field of the match bits
  int rank = 0;          // of this process
  int size = 0;
  int first = 0;  // the rank in the job of this communicator's rank 0; members follow each other
  std::atomic<MPI_Errhandler> errhandler{nullptr};
};

extern constinit Communicator communicators[2];
extern constinit uintptr_t communicator_count;  // 0 unless MPI is running

inline Communicator& world() { return communicators[0]; }
inline Communicator& self() { return communicators[1]; }

// nullptr: no such communicator, or MPI is not running.
inline Communicator* find_communicator(MPI_Comm handle) {
  const uintptr_t index = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(MPI_COMM_WORLD);
  return index < communicator_count ? &communicators[index] : nullptr;
}

void open_communicators(int rank, int size);
void close_communicators();

}  // namespace portunus::mpi
