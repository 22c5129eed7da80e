// build.hpp: from a recording to a schedule.
//
//   tag 0   collectives        tag 4 + k   gate number k        tags 2, 3   messages in a text
//
// Thread: the one that makes, or writes, the graph.
#pragma once

#include <deque>
#include <map>
#include <vector>

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
  std::map<int, GraphGate>& gates;  // learn their operations
};

// Adds all of a recording to a new schedule. A text has other operations for what is parked.
class ScheduleBuilder {
 public:
  ScheduleBuilder(const Plan& plan, GOAL_Schedule schedule);
  virtual ~ScheduleBuilder() = default;
  // A code of GOAL.
  int build();

 protected:
  const std::deque<Node>& nodes() const { return plan_.recording.nodes(); }
  GOAL_Schedule schedule() const { return schedule_; }
  const GOAL_Group& group() const { return group_; }
  int self() const { return group_.ranks[group_.rank]; }
  int add_join(GOAL_Span& span);

 private:
  virtual int prepare();
  virtual int add_access(const Node& node, GOAL_Span& span);
  virtual int add_await(const Node& node, GOAL_Span& span);
  virtual int add_gate(const Node& node, GOAL_Span& span);
  int add_collective(const Node& node, GOAL_Span& span);
  int add(const Node& node, GOAL_Span& span);
  int add_meeting();
  // The first failure counts.
  void try_to(int code) {
    if (code_ == GOAL_SUCCESS) code_ = code;
  }

  const Plan& plan_;
  GOAL_Schedule schedule_;
  GOAL_Group group_;
  std::vector<GOAL_Span> spans_;
  int code_ = GOAL_SUCCESS;
};

}  // namespace portunus::shmem::graph
