// init.hpp: before, during and after MPI.
//
// MPI runs from the first MPI_Init or MPI_Session_init on until whoever began has ended. After the last session, and after MPI_Finalize in
// a program that has had a session before, it only rests: another session wakes it again, which no other rank need know of, and the end of
// the process stops it. Thread: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace portunus::mpi {

enum class Phase : uint8_t { before, running, over, forked };  // forked: in a child of the process that runs MPI
extern constinit std::atomic<Phase> phase;

// One more user of MPI, which starts it at the given level of threads, unless it runs already. MPI_SUCCESS or the error that was raised.
int begin_use(const char* function, int level);
// One user less. The last one waits for all ranks and stops MPI; if `may_rest`, it only waits for what this rank has sent.
int end_use(const char* function, bool may_rest);
// There has been a session: after MPI_Finalize there may be others.
void note_session();

}  // namespace portunus::mpi
