// simulate.hpp: how long a schedule takes on a network whose parts hold each other up, by the parameters of LogGOPS.
//
// A rank is processors (`cpu` in the schedule), of which each does one thing after the other in the order in which they become ready; the
// network is that of ptlsim (ptlsim/wires.hpp). A send takes o + O s of the processor, a receive the same once the message is there and
// was posted; a message of more than S bytes is announced first and travels when its receive is posted.
// Thread: one. Source: Hoefler, Schneider, Lumsdaine, "LogGOPSim", HPDC 2010.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/goal/schedules/plan.hpp"
#include "engine/tools/goalc/costs.hpp"
#include "engine/tools/ptlsim/wires.hpp"

namespace portunus::goalc {

struct RankTime {
  double ends_ns = 0;      // its last operation
  double computes_ns = 0;  // calc and local operations
  double overhead_ns = 0;  // of the processor, for messages
};

struct Simulated {
  std::vector<RankTime> ranks;
  uint64_t messages = 0, bytes = 0, announced = 0;
};

// Throws std::runtime_error naming an operation that waits for ever.
[[nodiscard]] Simulated simulate(std::span<const goal::Plan> ranks, const ptlsim::NetworkModel& network, Costs& costs);

}  // namespace portunus::goalc
