// planted.cpp: whether a fault strikes now that is planted in MPI's sources: see faults.hpp.
//
// The environment says which one is switched on; whether it strikes, the simulation draws, so that ranks differ and seeds replay. Thread:
// one.
#include <cstdlib>

#include "engine/simulation/seams.hpp"
#include "tests/simulation/faults.hpp"
#include "tests/simulation/mpi/machine.hpp"

namespace portunus {

bool planted(unsigned fault) {
  constexpr uint32_t kOneIn = 4;
  static const char* const said = std::getenv(simulation::kPlanted);
  static const unsigned long planted_fault = said ? std::strtoul(said, nullptr, 10) : ~0ul;
  return fault == planted_fault && static_cast<simulation::TestMachine*>(simulation::machine)->draw(kOneIn) == 0;
}

}  // namespace portunus
