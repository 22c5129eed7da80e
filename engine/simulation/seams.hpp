// seams.hpp: where the libraries of a simulated process find their machine (seams.cpp). Thread: one.
#pragma once

#include "engine/simulation/machine.hpp"

namespace portunus::simulation {

extern constinit Machine* machine;  // set before anything else is called

}  // namespace portunus::simulation
