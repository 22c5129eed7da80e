// options.hpp: what the environment asks of the engine, read once when the engine starts.
#pragma once

#include <cstdint>
#include <string>

namespace portunus {

enum class Progress : uint8_t { automatic, spin, park, offload, caller };

struct Options {
  Progress progress = Progress::automatic;  // PTL_PROGRESS
  int engine_core = -1;                     // PTL_ENGINE_CORE: logical processor, -1 = choose
  bool node = true;                         // PTL_NODE: 0 sends everything over the fabric
  bool fabric = true;                       // PTL_FABRIC: 0 never opens libfabric
  std::string provider;                     // PTL_FABRIC_PROVIDER
  std::string interface;                    // PTL_FABRIC_INTERFACE
  size_t ring_bytes = 512 * 1024;           // PTL_NODE_RING: inbound ring of the node segment
  bool cma = true;                          // PTL_NODE_CMA: 0 streams bulk data through the rings

  // Throws std::invalid_argument with variable, value and what is allowed.
  static Options from_environment();
};

}  // namespace portunus
