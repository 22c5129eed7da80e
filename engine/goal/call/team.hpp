// team.hpp: what a group keeps for its collectives, and how each call is done: see goal_call.h.
//
// The messages of a team's schedules have its context, and tags by which they are told apart:
//       0 ..   511   kept ones (schedule_cache.hpp). Started ones of one shape take turns, so that several can be under way
//     512 .. 32767   those of GOAL_Make, by turns
//   32768 ..         the agreements about memory (node/collectives.cpp)
// Which one a call gets depends on the order of the calls alone, which is the same on all ranks. A number may be used again before other
// ranks are done with it: of two processes, the messages of the first use are matched before those of the second, as every message of a
// schedule has its receive. Where a kept one is still under way on this rank when its turn comes, works on other memory, or has other sizes
// than those that this rank alone knows, another takes its place, which counts on from its epoch: to the other ranks it is the same.
//
// Thread: one at a time per team. Invariants: as GOAL tells only 256 epochs apart, and memory for messages that nobody has asked for is not
// endless, the ranks meet after at most kApart calls in which nobody waits for all; and no more than kMostPending runs of one place are
// under way on a rank.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/goal/call/execution.hpp"
#include "engine/goal/call/schedule_cache.hpp"
#include "engine/goal/call/started.hpp"
#include "engine/goal/node/collectives.hpp"

namespace portunus::goal {

class CallTeam {
 public:
  CallTeam(const GOAL_Group& group, unsigned context, unsigned options, GOAL_Domain domain, node::AbortPredicate abort);

  // A sentence about what is wrong with a call; nullptr: nothing, or the caller has looked at it.
  [[nodiscard]] const char* refusal_of(const GOAL_Call& call) const {
    return (options_ & GOAL_TEAM_CHECKED) != 0 ? nullptr : goal::refusal_of(call, group_);
  }
  // GOAL_* codes, as GOAL_Call_run, GOAL_Start, GOAL_Make and GOAL_Prepare.
  int run(const GOAL_Call& call);
  int start(const GOAL_Call& call, goal_started& started);
  int make(const GOAL_Call& call, goal_started& started);
  int prepare(const GOAL_Call& call, goal_started& started);
  // As GOAL_Team_share.
  int share() { return memory_ ? memory_->make_all() : int{GOAL_SUCCESS}; }
  // As GOAL_Place_take, GOAL_Place_find, GOAL_Place_leave and GOAL_Team_lie_at.
  int take_place(const GOAL_Group& part, uint64_t key) { return memory_ ? memory_->take_place(part, key) : 0; }
  [[nodiscard]] int find_place(const GOAL_Group& part, uint64_t key) const { return memory_ ? memory_->find_place(part, key) : 0; }
  void leave_place(const GOAL_Group& part, int place) {
    if (memory_ && place != 0) memory_->leave_place(part, place);
  }
  void return_place(const GOAL_Group& part, int place) {
    if (memory_ && place != 0) memory_->return_place(part, place);
  }
  int lie_at(CallTeam& whole, int place) { return memory_ && whole.memory_ ? memory_->lie_at(*whole.memory_, place) : int{GOAL_SUCCESS}; }
  // As GOAL_Make_of.
  int make_of(GOAL_Schedule schedule, goal_started& started) const;

 private:
  // The counts of one call, which are given back if it finds no memory and so has begun nothing.
  class Numbers;
  using Residents = ScheduleCache<Shape, Execution>;
  static constexpr unsigned kMade = 32768 - Residents::kTags, kApart = 64, kMostPending = 192;
  static constexpr size_t kMostCopied = 32 * 1024;        // at either end of a rank: copying more costs more than another schedule
  static constexpr size_t kMostTurning = 512 * 1024;      // longer ones take few turns, as each has a scratchpad
  static constexpr size_t kMostKept = size_t{256} << 20;  // bytes of all that are kept by the process

  // Finds, or makes, an execution for the call that is not busy: GOAL_* codes.
  int find(const GOAL_Call& call, bool starts, std::shared_ptr<Execution>& found);
  int renew(Residents::Place& place, const GOAL_Call& call, bool meets);
  [[nodiscard]] bool is_copied(const GOAL_Call& call) const;
  // Does this call have to be a meeting? Counts it.
  bool must_meet(const GOAL_Call& call);

  std::vector<int> ranks_, nodes_;
  GOAL_Group group_;
  unsigned context_, options_;
  node::AbortPredicate abort_;
  std::optional<node::Collectives> memory_;
  Residents residents_;
  Details details_;  // of the call
  uint32_t made_ = 0;
  unsigned apart_ = 0;
};

}  // namespace portunus::goal
