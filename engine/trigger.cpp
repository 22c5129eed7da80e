// trigger.cpp: commands that wait for a counter, and what the engine computes itself.
//
// A counter keeps its parked commands sorted by threshold, first in first out among equals. Reaching a threshold moves
// them to the ready queue; nothing recurses, however long a chain is.
// Source: Portals 4.3, triggered operations (fire on success + failure >= threshold); extension E3.
#include <algorithm>

#include "engine/atomic_ops.hpp"
#include "engine/engine.hpp"
#include "engine/host/clock.hpp"

namespace portunus {
namespace {

constexpr uint64_t kSegment = 64 * 1024;  // bytes of one piece of a long local operation

}  // namespace

// command.threshold and command.trigger_ct say when `armed` runs.
void Engine::arm(Command& command) {
  Counter* counter = objects_.counters.find(command.trigger_ct);
  uint32_t index = counter ? objects_.triggers.claim() : kNoIndex;
  if (index == kNoIndex) {
    if (command.armed == Verb::append) discard_entry(command.handle);  // the counter was freed meanwhile (the pool is as large as the limits)
    interfaces_[command.ni].triggers.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  Trigger* trigger = &objects_.triggers.at(index);
  trigger->command = command;
  trigger->command.verb = command.armed;
  trigger->next = nullptr;
  if (counter->sum() >= command.threshold) {  // reached already: behind those that ripened before it
    if (ready_tail_) ready_tail_->next = trigger; else ready_ = trigger;
    ready_tail_ = trigger;
    return;
  }
  ++counter->parked_count;
  if (!counter->parked) {
    counter->parked = counter->parked_tail = trigger;
  } else if (counter->parked_tail->command.threshold <= command.threshold) {  // the usual case: ascending
    counter->parked_tail->next = trigger;
    counter->parked_tail = trigger;
  } else {
    Trigger** place = &counter->parked;
    while ((*place)->command.threshold <= command.threshold) place = &(*place)->next;
    trigger->next = *place;
    *place = trigger;
  }
}

void Engine::add_to_counter(Counter& counter, uint64_t success, uint64_t failure) {
  counter.add(success, failure);
  posted = true;
  if (counter.parked) ripen(counter);
}

void Engine::ripen(Counter& counter) {
  const uint64_t reached = counter.sum();
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
  if (ready_tail_) ready_tail_->next = first; else ready_ = first;
  ready_tail_ = last;
}

void Engine::drop_triggers(Counter& counter) {
  for (Trigger* trigger = counter.parked; trigger;) {
    Trigger* next = trigger->next;
    Command& command = trigger->command;
    if (command.verb == Verb::append) discard_entry(command.handle);
    interfaces_[command.ni].triggers.fetch_sub(1, std::memory_order_relaxed);
    objects_.triggers.give_back(objects_.triggers.index_of(*trigger));
    trigger = next;
  }
  counter.parked = counter.parked_tail = nullptr;
  counter.parked_count = 0;
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

// dst = source.base, a = extra.third, b = result.base, elements = length. A long vector is worked off in
// segments: the rest goes to the end of the ready queue, so messages and other chains are served in between.
void Engine::run_local(Command& command) {
  const auto op = static_cast<ptlx_local_op_t>(command.op);
  if (op == PTLX_DELAY) {
    new_delays_.push_back({command.length, command.handle});
    return;
  }
  if (op == PTLX_TIMESTAMP) {
    uint64_t now = now_ns();
    std::memcpy(command.source.base, &now, sizeof now);
    count(command.handle, 1, 0);
    return;
  }
  const size_t width = datatype_size(command.datatype);
  const uint64_t elements = std::min<uint64_t>(command.length, kSegment / width);
  auto* dst = static_cast<std::byte*>(command.source.base);
  auto* a = static_cast<std::byte*>(command.extra.third);
  auto* b = static_cast<std::byte*>(command.result.base);
  if (!apply_local(op, command.datatype, dst, a, b, elements)) {
    count(command.handle, 0, 1);
    return;
  }
  if (elements == command.length) {
    count(command.handle, 1, 0);
    return;
  }
  uint32_t index = objects_.triggers.claim();
  if (index == kNoIndex) {  // no slot to continue in: finish here rather than lose work
    bool ok = apply_local(op, command.datatype, dst + elements * width, a + elements * width,
                          b ? b + elements * width : nullptr, command.length - elements);
    count(command.handle, ok ? 1 : 0, ok ? 0 : 1);
    return;
  }
  Trigger* rest = &objects_.triggers.at(index);
  rest->command = command;
  rest->command.length -= elements;
  rest->command.source.base = dst + elements * width;
  rest->command.extra.third = a + elements * width;
  rest->command.result.base = b ? b + elements * width : nullptr;
  rest->next = nullptr;
  interfaces_[command.ni].triggers.fetch_add(1, std::memory_order_relaxed);
  if (ready_tail_) ready_tail_->next = rest; else ready_ = rest;
  ready_tail_ = rest;
}

}  // namespace portunus
