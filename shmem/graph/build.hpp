// build.hpp: from a recording to a schedule.
//
//   tag 0   collectives        tag 1 + k   gate number k
//
// Thread: the one that makes the graph.
#pragma once

#include <map>

#include "engine/goal/goal_call.h"
#include "shmem/graph/recording.hpp"

namespace portunus::shmem::graph {

constexpr int kMostGates = 1024;

// A gate waits for a message of this PE to itself, which opening it makes up.
struct GraphGate {
  GOAL_Op operation = 0;
  bool is_open = false;
};

struct Plan {
  const GOAL_Group& group;
  const Recording& recording;
  std::map<int, uint64_t>& signals;
  std::map<int, GraphGate>& gates;
};

// Adds all to a new schedule: a code of GOAL.
int build(const Plan& plan, GOAL_Schedule schedule);

}  // namespace portunus::shmem::graph
