// lock.hpp: the lock of each rank's part of a window, taken and released by atomics on its lock word, without the target.
//
// A member that maps the word looks at it until it is released. Any other one would ask by message after message: it leaves a bit beside
// the word and sleeps, and the rank that releases the lock wakes it.
//
// Thread: locks of one window one at a time. Cost: one atomic to take or to release a free lock; three more messages to and from the target
// for each sleep, and one to each sleeper. Source: MPI-5.0, 12.5.3.
#pragma once

#include "mpi-adi/rma/window.hpp"

namespace portunus::mpi::rma {

// Returns when this rank has the lock of `rank`: MPI_SUCCESS, or the error that was raised. `type`: MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED.
int take_lock(const char* function, Window& window, int rank, int type);
// Releases it, if there is anything to release.
int release_lock(const char* function, Window& window, int rank);

}  // namespace portunus::mpi::rma
