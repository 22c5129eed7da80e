// command_queue.hpp: a bounded ring of commands, application threads to the holder of the baton.
//
// Thread: push from any thread, pop by the baton holder. Invariants: first reserved, first out; a slot's sequence says
// whose turn it is (position: free for that push; position + 1: filled), so neither side ever reads a half-written command. Behind a
// push that is under way, filled commands stay: whoever runs anything past the queue looks at maybe_filled after the last pop.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>

#include "engine/shared/command.hpp"

namespace portunus {

class CommandQueue {
 public:
  explicit CommandQueue(uint32_t size_power_of_two = 1024) : mask_(size_power_of_two - 1), slots_(new Slot[size_power_of_two]) {
    assert((size_power_of_two & mask_) == 0);
    for (uint32_t i = 0; i < size_power_of_two; ++i) slots_[i].sequence.store(i, std::memory_order_relaxed);
  }

  // False when full: the caller helps or waits, and tries again.
  bool push(const Command& command) {
    uint64_t position = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[position & mask_];
      uint64_t sequence = slot.sequence.load(std::memory_order_acquire);  // pairs with the release in pop
      if (sequence == position) {
        if (tail_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
          slot.command = command;
          slot.sequence.store(position + 1, std::memory_order_release);
          return true;
        }
      } else if (sequence < position) {
        return false;
      } else {
        position = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  bool pop(Command& out) {
    uint64_t position = head_.load(std::memory_order_relaxed);
    Slot& slot = slots_[position & mask_];
    if (slot.sequence.load(std::memory_order_acquire) != position + 1) return false;  // pairs with the release in push
    assert(position < tail_.load(std::memory_order_relaxed));
    out = slot.command;
    slot.sequence.store(position + mask_ + 1, std::memory_order_release);
    head_.store(position + 1, std::memory_order_relaxed);
    return true;
  }

  // Would a pop succeed? Who has released the baton looks this way: whose push is under way looks at the baton afterwards.
  bool ready() const {
    const uint64_t position = head_.load(std::memory_order_relaxed);
    return slots_[position & mask_].sequence.load(std::memory_order_acquire) == position + 1;  // pairs with the release in push
  }
  // May a pop succeed, or is a push under way? Any thread; false positives and late answers are the caller's to handle.
  bool maybe_filled() const { return tail_.load(std::memory_order_relaxed) != head_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> sequence{0};
    Command command;
  };

  uint64_t mask_;
  std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) std::atomic<uint64_t> head_{0};  // the baton holder's
};

}  // namespace portunus
