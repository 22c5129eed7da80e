// engine_faults.hpp: the faults of engine_faults.py, in the order of their numbers. Thread: any.
#pragma once

#include <span>

#include "tests/simulation/mutants.hpp"

namespace portunus::simulation {

struct EngineFault {
  Work work;  // that meets it
  const char* name;
  const char* text;
};
std::span<const EngineFault> engine_faults();

}  // namespace portunus::simulation
