// init.hpp: before, during and after MPI.
//
// MPI runs from the first MPI_Init or MPI_Session_init on until whoever began has ended.
// Thread: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace portunus::mpi {

enum class Phase : uint8_t { before, running, over };
extern constinit std::atomic<Phase> phase;

// One more user of MPI, which starts it at the given level of threads, unless it runs already. MPI_SUCCESS or the error that was raised.
int begin_use(const char* function, int level);
// One user less; the last one waits for all ranks and stops MPI.
int end_use(const char* function);

}  // namespace portunus::mpi
