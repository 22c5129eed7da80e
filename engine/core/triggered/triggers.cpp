// triggers.cpp: parking, ripening and taking back.
#include "engine/core/triggered/triggers.hpp"

#include <cassert>

namespace portunus {

void Triggers::arm(Command& command) {
  Counter* counter = core_.objects.counters.find(command.trigger_ct);
  const uint32_t index = counter ? core_.objects.triggers.claim_held() : kNoIndex;
  if (index == kNoIndex) {  // the counter was freed meanwhile: the pool holds what the limits promise
    if (command.armed == Verb::append) core_.discard(command.handle);
    core_.interfaces[command.ni].triggers.give_held();
    return;
  }
  Trigger& trigger = core_.objects.triggers.at(index);
  trigger.command = command;
  trigger.command.verb = command.armed;
  trigger.stride = counter->stride;
  trigger.match_field = counter->match_field;
  if (trigger.stride && command.armed == Verb::append) {
    ListEntry& entry = core_.objects.entries.at(handle_index(command.handle));
    entry.recurs = true;
    trigger.command.match_bits = entry.match_bits;
  }
  park(*counter, trigger);
}

void Triggers::park(Counter& counter, Trigger& trigger) {
  const uint64_t threshold = trigger.command.threshold;
  assert((counter.parked == nullptr) == (counter.parked_count == 0));
  assert(counter.parked == nullptr || (counter.parked_tail != nullptr && counter.parked_tail->next == nullptr));
  trigger.next = nullptr;
  if (counter.reached() >= threshold) {  // already: behind those that ripened before it
    make_ready(&trigger, &trigger);
    return;
  }
  ++counter.parked_count;
  core_.is_news = true;
  if (!counter.parked) {
    counter.parked = counter.parked_tail = &trigger;
  } else if (counter.parked_tail->command.threshold <= threshold) {  // the usual case: ascending
    counter.parked_tail->next = &trigger;
    counter.parked_tail = &trigger;
  } else {
    Trigger** place = &counter.parked;
    while ((*place)->command.threshold <= threshold) place = &(*place)->next;
    trigger.next = *place;
    assert(trigger.next->command.threshold > threshold);  // so the tail stays
    *place = &trigger;
  }
}

// Parks a recurring trigger again, at the end: triggers that ran in order stay in order.
void Triggers::run_again(Trigger& trigger) {
  Command& command = trigger.command;
  Counter* counter = core_.objects.counters.find(command.trigger_ct);
  if (command.verb == Verb::append && !core_.objects.entries.find(command.handle))
    command.verb = Verb::none;  // it was unlinked and is gone
  if (!counter || command.verb == Verb::none) {
    drop(trigger);
    return;
  }
  command.threshold += trigger.stride;
  const uint64_t field = trigger.match_field;
  command.match_bits = (command.match_bits & ~field) | ((command.match_bits + (field & (~field + 1))) & field);
  park(*counter, trigger);
}

void Triggers::make_ready(Trigger* first, Trigger* last) {
  assert(!last->next && (ready_ == nullptr) == (ready_tail_ == nullptr) && (!ready_tail_ || !ready_tail_->next));
  if (ready_tail_) ready_tail_->next = first;
  else ready_ = first;
  ready_tail_ = last;
  core_.maybe_busy = true;
}

void Triggers::move_ripe(Counter& counter, uint64_t reached) {
  Trigger* const first = counter.parked;
  assert(first->command.threshold <= reached && counter.parked_count > 0);
  Trigger* last = first;
  --counter.parked_count;
  while (last->next && last->next->command.threshold <= reached) {
    last = last->next;
    --counter.parked_count;
    assert(last->command.threshold >= first->command.threshold);
  }
  counter.parked = last->next;
  assert((counter.parked == nullptr) == (counter.parked_count == 0));
  if (!counter.parked) counter.parked_tail = nullptr;
  last->next = nullptr;
  make_ready(first, last);
}

// It will not run (again).
void Triggers::drop(Trigger& trigger) {
  if (trigger.command.verb == Verb::append) core_.discard(trigger.command.handle);
  give_back(trigger);
}

void Triggers::give_back(Trigger& trigger) {
  core_.interfaces[trigger.command.ni].triggers.give_held();
  core_.objects.triggers.give_back_held(core_.objects.triggers.index_of(trigger));
}

void Triggers::drop(Counter& counter, uint32_t handle) {
  while (Trigger* trigger = counter.parked) {
    counter.parked = trigger->next;
    drop(*trigger);
    --counter.parked_count;
  }
  assert(counter.parked_count == 0);
  counter.parked_tail = nullptr;
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

const Trigger* Triggers::last_ready(uint32_t ct) const {
  const Trigger* last = nullptr;
  for (const Trigger* trigger = ready_; trigger; trigger = trigger->next)
    if (trigger->command.trigger_ct == ct) last = trigger;
  return last;
}

bool Triggers::will_count(uint32_t ct) const {
  for (const Trigger* trigger = ready_; trigger; trigger = trigger->next)
    if (counts_on(trigger->command, ct)) return true;
  return false;
}

}  // namespace portunus
