// triggers.hpp: commands that wait for a counter, and those whose turn has come.
//
// A counter keeps its parked commands sorted by threshold, first in first out among equals (E7). Reaching a threshold moves
// them to the ready queue, which Engine::step() drains; nothing recurses, however long a chain is. With a stride (E5) a
// command that has run is parked again.
//
// Thread: the baton holder. Callers: Engine arms, runs and drops; Reports ripens what a count has reached.
// Invariants: a trigger is on its counter's list, in the ready queue, or being run; its slot and its unit of the interface's
// limit are given back together.
// Source: Portals 4.3, triggered operations (fire on success + failure >= threshold); extensions E5 to E7.
#pragma once

#include <cassert>

#include "engine/core/core.hpp"
#include "engine/shared/command.hpp"

namespace portunus {

class Triggers {
 public:
  explicit Triggers(Core& core) : core_(core) {}

  // command.threshold and command.trigger_ct say when `command.armed` runs. Its counter may be gone: then it never will.
  void arm(Command& command);
  // After a count: what it has reached becomes ready.
  void ripen(Counter& counter) {
    if (!counter.parked) return;
    const uint64_t reached = counter.reached();
    if (counter.parked->command.threshold <= reached) move_ripe(counter, reached);
  }
  bool ready() const { return ready_ != nullptr; }
  // The first of the ready queue, which is not empty; the caller executes its command and then calls has_run.
  Trigger& take_ready() {
    assert(ready_ && ready_tail_ && !ready_tail_->next);
    Trigger& first = *ready_;
    ready_ = first.next;
    if (!ready_) ready_tail_ = nullptr;
    ++core_.stats.triggers;
    return first;
  }
  // It is parked for its next round, or ends.
  void has_run(Trigger& trigger) {
    if (trigger.stride) run_again(trigger);
    else give_back(trigger);
  }
  // The last ready command that waited for this counter, or nullptr.
  const Trigger* last_ready(uint32_t ct) const;
  bool is_first(const Trigger* trigger) const { return ready_ == trigger; }
  // Takes back what is parked on the counter or waits, ripe, for its turn.
  void drop(Counter& counter, uint32_t handle);
  // Whether something ready will count there.
  bool will_count(uint32_t ct) const;

 private:
  void park(Counter& counter, Trigger& trigger);
  void move_ripe(Counter& counter, uint64_t reached);
  void make_ready(Trigger* first, Trigger* last);
  void run_again(Trigger& trigger);
  void drop(Trigger& trigger);
  void give_back(Trigger& trigger);

  Core& core_;
  Trigger* ready_ = nullptr;
  Trigger* ready_tail_ = nullptr;
};

}  // namespace portunus
