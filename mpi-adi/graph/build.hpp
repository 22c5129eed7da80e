// build.hpp: from a recording to a schedule.
//
//   tag 0   messages, each pair's in the order in which they are sent      tag 1   what tells synchronous senders
//   tag 2   collectives                                                    tag 3 + k   gate number k
//
// Thread: the one that makes, or writes, the graph.
#pragma once

#include <map>
#include <vector>

#include "engine/goal/goal_call.h"
#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/graph/recording.hpp"

namespace portunus::mpi::graph {

// The findings about the recordings of all ranks.
struct Agreement {
  bool meets = false;                         // the ranks have to wait for one another, lest one is too many runs ahead
  std::vector<const rma::Window*> windows{};  // that some of them access
};

constexpr uint32_t kMessageTag = 0, kAnswerTag = 1, kCollectiveTag = 2, kFirstGateTag = 3;
constexpr int kMostGates = 1024;

// A gate waits for a message of this rank to itself, which opening it makes up.
struct GraphGate {
  GOAL_Op operation = 0;
  bool open = false;
};

struct Plan {
  const Communicator& comm;
  const GOAL_Group& group;
  const Recording& recording;
  Agreement agreement;
  std::map<int, uint64_t>& signals;
  std::map<int, GraphGate>* gates = nullptr;  // learn their operations; none, for a text: nobody opens them
};

// Adds all to a new schedule: a code of GOAL.
int build(const Plan& plan, GOAL_Schedule schedule);

}  // namespace portunus::mpi::graph
