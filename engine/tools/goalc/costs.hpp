// The costs of the parts of a schedule, in nanoseconds: given by the user, or measured on this machine.
//
// Thread: one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "engine/goal/schedules/plan.hpp"

namespace portunus::goalc {

// The machine between the ranks, in the terms of LogGP.
struct Network {
  double latency_ns = 1500;
  double overhead_ns = 200;  // of the engine for one message, at each end
  double byte_ns = 0.1;
};

class Costs {
 public:
  explicit Costs(const Network& given, std::optional<double> given_hop_ns) : network(given), hop_ns_(given_hop_ns) {}

  const Network network;
  // From a counter that reaches a threshold to the operation that hangs there. Measured at the first call, if not given:
  // on a chain of counters in this process.
  double hop_ns();
  // The cost of the work itself: calc and local operations; 0 for messages. Measured once per operation and type.
  double work_ns(const goal::Plan& plan, goal::VertexId v);

 private:
  std::optional<double> hop_ns_;
  std::map<std::pair<int, int>, double> byte_ns_;  // by operation and type
};

}  // namespace portunus::goalc
