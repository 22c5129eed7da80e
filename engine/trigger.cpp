// trigger.cpp: commands that wait for a counter, and what the engine computes itself.
//
// A counter keeps its parked commands sorted by threshold, first in first out among equals (E7). Reaching a threshold
// moves them to the ready queue; nothing recurses, however long a chain is.
// Source: Portals 4.3, triggered operations (fire on success + failure >= threshold); extensions E3 to E7.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>

#include "engine/engine.hpp"
#include "engine/host/clock.hpp"

namespace portunus {
namespace {

constexpr uint64_t kSegment = 64 * 1024;  // bytes that one local operation may write before it is another one's turn
constexpr uint64_t kLeast = 1024;         // a budget below this is not worth a turn

// E4: one more in the word, visible after the data it stands for; then whoever sleeps on it is woken.
void notify(const Command& command) {
  auto* word = static_cast<uint64_t*>(command.source.base);
  std::atomic_ref<uint64_t>(*word).fetch_add(1, std::memory_order_release);
  if (command.length & PTLX_NOTIFY_FUTEX) syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  if (command.hdr_data) {
    const int descriptor = static_cast<int>(command.hdr_data) - 1;
    const uint64_t one = 1;
    if (write(descriptor, &one, sizeof one) < 0) return;  // it is full, so the reader wakes anyway; or the user closed it
  }
}

}  // namespace

// command.threshold and command.trigger_ct say when `armed` runs.
void Engine::arm(Command& command) {
  Counter* counter = objects_.counters.find(command.trigger_ct);
  uint32_t index = counter ? objects_.triggers.claim_held() : kNoIndex;
  if (index == kNoIndex) {
    if (command.armed == Verb::append) discard_entry(command.handle);  // the counter was freed meanwhile: the pool holds what the limits promise
    interfaces_[command.ni].triggers.give_held();
    return;
  }
  Trigger& trigger = objects_.triggers.at(index);
  trigger.command = command;
  trigger.command.verb = command.armed;
  trigger.stride = counter->stride;
  trigger.match_field = counter->match_field;
  if (trigger.stride && command.armed == Verb::append) {
    ListEntry& entry = objects_.entries.at(handle_index(command.handle));
    entry.recurs = true;
    trigger.command.match_bits = entry.match_bits;
  }
  park(*counter, trigger);
}

void Engine::park(Counter& counter, Trigger& trigger) {
  const uint64_t threshold = trigger.command.threshold;
  trigger.next = nullptr;
  if (counter.reached() >= threshold) {  // already: behind those that ripened before it
    make_ready(&trigger, &trigger);
    return;
  }
  ++counter.parked_count;
  if (!counter.parked) {
    counter.parked = counter.parked_tail = &trigger;
  } else if (counter.parked_tail->command.threshold <= threshold) {  // the usual case: ascending
    counter.parked_tail->next = &trigger;
    counter.parked_tail = &trigger;
  } else {
    Trigger** place = &counter.parked;
    while ((*place)->command.threshold <= threshold) place = &(*place)->next;
    trigger.next = *place;
    *place = &trigger;
  }
}

// E5: a command that has just run waits for the next round. What ran in order is parked in order again, at the end.
void Engine::run_again(Trigger& trigger) {
  Command& command = trigger.command;
  Counter* counter = objects_.counters.find(command.trigger_ct);
  if (command.verb == Verb::append && !objects_.entries.find(command.handle)) command.verb = Verb::none;  // it was unlinked and is gone
  if (!counter || command.verb == Verb::none) {
    drop(trigger);
    return;
  }
  command.threshold += trigger.stride;
  const uint64_t field = trigger.match_field;
  command.match_bits = (command.match_bits & ~field) | ((command.match_bits + (field & (~field + 1))) & field);
  park(*counter, trigger);
}

void Engine::add_to_counter(Counter& counter, uint64_t success, uint64_t failure) {
  counter.add(success, failure);
  posted = true;
  if (failure && counter.errors) count(counter.errors, failure, 0);
  if (counter.parked) ripen(counter);
}

void Engine::make_ready(Trigger* first, Trigger* last) {
  if (ready_tail_) ready_tail_->next = first; else ready_ = first;
  ready_tail_ = last;
  restless_ = true;
}

void Engine::ripen(Counter& counter) {
  const uint64_t reached = counter.reached();
  Trigger* first = counter.parked;
  if (!first || first->command.threshold > reached) return;
  Trigger* last = first;
  --counter.parked_count;
  while (last->next && last->next->command.threshold <= reached) {
    last = last->next;
    --counter.parked_count;
  }
  counter.parked = last->next;
  if (!counter.parked) counter.parked_tail = nullptr;
  last->next = nullptr;
  make_ready(first, last);
}

// It will not run (again).
void Engine::drop(Trigger& trigger) {
  const Command& command = trigger.command;
  if (command.verb == Verb::append) discard_entry(command.handle);
  interfaces_[command.ni].triggers.give_held();
  objects_.triggers.give_back_held(objects_.triggers.index_of(trigger));
}

void Engine::drop_triggers(Counter& counter, uint32_t handle) {
  while (Trigger* trigger = counter.parked) {
    counter.parked = trigger->next;
    drop(*trigger);
  }
  counter.parked_tail = nullptr;
  counter.parked_count = 0;
  ready_tail_ = nullptr;
  for (Trigger** place = &ready_; *place;) {
    Trigger& trigger = **place;
    if (trigger.command.trigger_ct == handle) {
      *place = trigger.next;
      drop(trigger);
    } else {
      ready_tail_ = &trigger;
      place = &trigger.next;
    }
  }
}

void Engine::cancel_triggers(Counter& counter, uint32_t handle) {
  const Trigger* last = nullptr;
  for (const Trigger* trigger = ready_; trigger; trigger = trigger->next)
    if (trigger->command.trigger_ct == handle) last = trigger;
  for (bool before = last != nullptr; before;) {
    before = ready_ != last;
    run_first_ready();
  }
  drop_triggers(counter, handle);
}

// What is under way that will count on this counter: 1 messages whose data a peer has yet to take, 2 anything else.
unsigned Engine::counts_on(uint32_t ct) const {
  const auto by = [ct](const Command& command) {
    return is_message(command.verb) ? command.source.ct == ct || command.result.ct == ct : command.verb == Verb::local && command.handle == ct;
  };
  unsigned what = 0;
  for (const Operation& operation : operation_pool_)
    if (operation.peer && (operation.source.ct == ct || operation.result.ct == ct)) what |= 1;
  for (const Peer* peer : stalled_)
    for (const HeldMessage& held : *peer->held)
      if (held.command && by(*held.command)) what |= 1;
  for (const auto& transfer : transfers_)
    if (transfer->delivery.entry->ct == ct) what |= 2;
  for (const Trigger* trigger = ready_; trigger; trigger = trigger->next)
    if (by(trigger->command)) what |= 2;
  for (const LocalWork& work : works_)
    if (work.completion() == ct) what |= 2;
  return what;
}

// E6: thresholds are compared with successes from now on, so nothing ripens by it.
void Engine::guard(Counter& counter, uint32_t errors) {
  counter.success_only = true;
  counter.errors = errors;
}

// The end of this peer will be a failure on the counter; also if it has come already.
int Engine::watch(uint32_t ct, Peer& peer) {
  if (peer.failed) {
    count(ct, 0, 1);
    return PTL_OK;
  }
  objects_.counters.find(ct)->watches = true;
  peer.watchers.push_back(ct);
  ++watches_;
  return PTL_OK;
}

void Engine::unwatch(uint32_t ct) {
  for (auto& [id, peer] : peers_) watches_ -= std::erase(peer->watchers, ct);
}

// A step's clock may be read before the step, or long before a command from outside: only the next one is surely not
// older than the moment at which a delay fired, so no delay is shorter than asked for.
void Engine::begin_delays(uint64_t now_ns) {
  for (const Delay& fresh : new_delays_) {
    delays_.push_back({now_ns + fresh.due_ns, fresh.ct});
    std::push_heap(delays_.begin(), delays_.end(), [](const Delay& a, const Delay& b) { return a.due_ns > b.due_ns; });
  }
  new_delays_.clear();
}

// A long vector takes several steps, so that messages and other chains are served in between; short ones are done at
// once while the step's budget lasts.
void Engine::run_local(const Command& command) {
  const auto op = static_cast<ptlx_local_op_t>(command.op);
  if (op == PTLX_DELAY) {
    new_delays_.push_back({command.length, command.handle});
    restless_ = true;
    return;
  }
  if (op == PTLX_TIMESTAMP) {
    uint64_t now = now_ns();
    std::memcpy(command.source.base, &now, sizeof now);
    count(command.handle, 1, 0);
    return;
  }
  if (command.op == kNotify) {
    notify(command);
    return;
  }
  LocalWork work(command);
  if (run_segment(work)) return;
  works_.push_back(work);
  restless_ = true;
}

// True if the work has ended and was reported.
bool Engine::run_segment(LocalWork& work) {
  uint64_t segment = std::min(kSegment, local_budget_);
  const uint64_t given = segment;
  const LocalWork::Outcome outcome = work.run(segment);
  local_budget_ -= given - segment;
  if (outcome == LocalWork::Outcome::more) return false;
  const bool done = outcome == LocalWork::Outcome::done;
  count(work.completion(), done ? 1 : 0, done ? 0 : 1);
  return true;
}

// Long local operations take turns, a segment each.
int Engine::run_works() {
  int done = 0;
  for (; !works_.empty() && local_budget_ >= kLeast; ++done) {
    LocalWork work = works_.front();
    works_.pop_front();
    if (!run_segment(work)) works_.push_back(work);
  }
  return done;
}

}  // namespace portunus
