// team.cpp: the way of each call, and the schedules that stay.
#include "engine/goal/call/team.hpp"

#include <algorithm>
#include <utility>

#include "engine/goal/calls.hpp"

namespace portunus::goal {

CallTeam::CallTeam(const GOAL_Group& group, unsigned context, unsigned options, GOAL_Domain domain, node::AbortPredicate abort)
    : group_(group), context_(context), options_(options), abort_(abort) {
  const auto size = static_cast<size_t>(group.size);
  if (group.ranks) ranks_.assign(group.ranks, group.ranks + size);
  if (group.nodes) nodes_.assign(group.nodes, group.nodes + size);
  group_.ranks = group.ranks ? ranks_.data() : nullptr;
  group_.nodes = group.nodes ? nodes_.data() : nullptr;
  group_.tag = 0;
  if (!(options & GOAL_TEAM_NO_MEMORY)) memory_.emplace(group_, context, domain, abort);
}

class CallTeam::Numbers {
 public:
  explicit Numbers(CallTeam& team) : team_(team), made_(team.made_), apart_(team.apart_) {}
  ~Numbers() {
    if (kept_) return;
    if (team_.memory_) team_.memory_->take_back();
    team_.made_ = made_;
    team_.apart_ = apart_;
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  // The code of the call, which has begun unless it found no memory.
  int keep(int code) {
    kept_ = code != GOAL_ERR_NO_SPACE;
    return code;
  }

 private:
  CallTeam& team_;
  uint32_t made_;
  unsigned apart_;
  bool kept_ = false;
};

int CallTeam::run(const GOAL_Call& call) {
  if (memory_) {
    const int code = memory_->run(call);
    if (code != node::kNotTaken) return code;
  }
  Numbers numbers(*this);
  std::shared_ptr<Execution> execution;
  int code = numbers.keep(find(call, false, execution));
  if (code == GOAL_SUCCESS) code = execution->start(call);
  if (code == GOAL_SUCCESS) code = execution->wait(abort_);
  return code == GOAL_SUCCESS ? execution->take(call) : code;
}

int CallTeam::start(const GOAL_Call& call, goal_started& started) {
  if (memory_) {
    const int code = memory_->start(call, started.ended, started.arg, started.on_node);
    if (code != node::kNotTaken) return code;
  }
  Numbers numbers(*this);
  if (const int code = numbers.keep(find(call, true, started.execution)); code != GOAL_SUCCESS) return code;
  return started.start();
}

// The ranks meet in each run: one that starts the same again and again could be ahead of the others without limit.
int CallTeam::make(const GOAL_Call& call, goal_started& started) {
  Numbers numbers(*this);
  started.execution = std::make_shared<Execution>(call, group_, false);
  return numbers.keep(started.execution->make(call, {context_, Residents::kTags + made_++ % kMade, 0, !waits_for_all(call)}));
}

int CallTeam::prepare(const GOAL_Call& call, goal_started& started) {
  if (memory_) {
    const int code = memory_->make(call, started.made);
    if (code != node::kNotTaken) return code;
  }
  return make(call, started);
}

int CallTeam::make_of(GOAL_Schedule schedule, goal_started& started) const {
  started.execution = std::make_shared<Execution>(group_, schedule);
  started.execution->tell_ends(StartedSchedules::instance().word());
  return GOAL_SUCCESS;
}

bool CallTeam::must_meet(const GOAL_Call& call) {
  apart_ = waits_for_all(call) ? 0 : apart_ + 1;
  if (apart_ < kApart) return false;
  apart_ = 0;
  return true;
}

bool CallTeam::is_copied(const GOAL_Call& call) const {
  const Extents extents = extents_of(call, group_);
  return std::max(extents.in, extents.out) <= kMostCopied;
}

int CallTeam::find(const GOAL_Call& call, bool starts, std::shared_ptr<Execution>& found) {
  const bool meets = must_meet(call);
  details_.clear();
  if (has_own_sizes(call)) [[unlikely]]
    write_details(call, group_, !is_copied(call), details_);
  const unsigned turns = !starts ? 1 : most_bytes(call, group_) > kMostTurning ? 2 : Residents::kTurns;
  Residents::Place& place = residents_.place_of(shape_of(call, starts, meets), turns);
  if (!place.now || !place.now->ready_for(call, details_)) [[unlikely]] {
    const int code = guarded([&] { return renew(place, call, meets); });
    if (code != GOAL_SUCCESS) {
      residents_.take_back(starts);
      return code;
    }
  }
  ++place.epoch;
  found = place.now;
  return GOAL_SUCCESS;
}

// Puts an execution for the call where there is none, or one that is under way, works on other memory, has other details or has failed.
int CallTeam::renew(Residents::Place& place, const GOAL_Call& call, bool meets) {
  auto made = std::make_shared<Execution>(call, group_, is_copied(call), details_);
  const Execution::Binding binding{context_, place.tag, place.epoch, meets};
  const Execution* like = residents_.find([&](const Execution& other) { return made->is_like(other); });
  const int code = like ? made->make_like(*like, call, binding) : made->make(call, binding);
  if (code != GOAL_SUCCESS) return code;
  if (Execution::bytes_in_all() > kMostKept) {
    residents_.drop_idle();
    like = nullptr;
  }
  Residents::replace(place, std::move(made), like);
  if (place.before.size() < kMostPending) return GOAL_SUCCESS;
  const auto oldest = std::ranges::find_if(place.before, [](const auto& one) { return one->busy(); });
  if (oldest != place.before.end()) (*oldest)->wait(abort_);
  return GOAL_SUCCESS;
}

}  // namespace portunus::goal
