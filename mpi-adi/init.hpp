// init.hpp: before, during and after MPI.
// Thread: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace portunus::mpi {

enum class Phase : uint8_t { before, running, over };
extern constinit std::atomic<Phase> phase;

}  // namespace portunus::mpi
