// faults.hpp: faults that are planted in copies of sources (engine_faults.py, mpi_faults.py), in the order of their numbers. Thread: any.
#pragma once

#include <cstdint>
#include <span>

#include "tests/simulation/mutants.hpp"

namespace portunus::simulation {

struct Fault {
  Work work;      // that meets it
  bool by_death;  // of Work::mpi: only where ranks die
  const char* name;
  const char* text;
  uint64_t first_seed;  // where the search for it begins
};
std::span<const Fault> faults();

inline constexpr char kPlanted[] = "SIMULATION_PLANTED";  // variable that tells MPI's processes the number of what is switched on

}  // namespace portunus::simulation
