// description.hpp: tells who reads this process's memory from outside where the engine lies (engine/client/debugger.hpp).
#pragma once

#include "engine/client/debugger.hpp"

namespace portunus {

// Written when the engine starts and ends, read by nobody here.
extern constinit client::EngineRoots engine_roots;

}  // namespace portunus
