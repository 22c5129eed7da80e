// The chain of operations that decides when a schedule ends.
//
// Thread: any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/goal/schedules/plan.hpp"
#include "engine/tools/goalc/costs.hpp"

namespace portunus::goalc {

struct Step {
  uint32_t rank = 0;
  goal::VertexId vertex = 0;
  double starts_ns = 0, ends_ns = 0;
};

// From the first operation to the one that ends last, by the costs alone: operations of one rank do not hold each other up.
// The messages that receives of any source or any tag wait for are not known; they are taken to wait for no message.
[[nodiscard]] std::vector<Step> critical_path(std::span<const goal::Plan> ranks, Costs& costs);

}  // namespace portunus::goalc
