// options.hpp: what the environment asks of the engine, read once when the engine starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/progress/plan.hpp"

namespace portunus {

// A wire between processes (measurement/delayed/delayed.hpp).
struct WireOptions {
  uint64_t latency_ns = 0;
  uint64_t bytes_per_us = 0;  // 0: there is none
};

// Which cores are the engine threads' own.
struct EngineCores {
  bool each = false;            // one for each rank of the node, of those that no rank needs
  std::vector<int> processors;  // or these logical processors, by local rank
  bool given() const { return each || !processors.empty(); }
};

struct Options {
  ProgressMode progress = ProgressMode::automatic;  // PTL_PROGRESS
  EngineCores engine_cores;                         // PTL_ENGINE_CORES
  bool node = true;                                 // PTL_NODE: 0 sends everything over the fabric
  bool fabric = true;                               // PTL_DEBUG=no-fabric never opens libfabric
  std::string provider;                             // PTL_FABRIC_PROVIDER
  std::string interface;                            // PTL_FABRIC_INTERFACE
  size_t ring_bytes = 512 * 1024;                   // PTL_NODE_RING: inbound ring of the node segment
  WireOptions node_wire;                            // PTL_DEBUG=wire=...: delays what goes through the node transport
  bool cma = true;                                  // PTL_DEBUG=no-cma streams bulk data through the rings
  unsigned peer_timeout_s = 30;                     // PTL_PEER_TIMEOUT: a peer silent for that long, if the network goes silent, is lost

  // Throws std::invalid_argument with variable, value and what is allowed.
  static Options from_environment();
};

}  // namespace portunus
