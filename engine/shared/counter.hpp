// counter.hpp: a counting event.
//
// Thread: the baton holder adds and sets; anyone reads. `parked` belongs to the baton holder.
// Invariants: success and failure are each never torn; a pair read while it changes may be of two moments, as the
// specification permits. A count is visible only after the data it stands for (release).
// Source: Portals 4.3, counting events (PtlCTGet, PtlCTWait).
#pragma once

#include <atomic>
#include <cstdint>

#include "portals/portals4.h"

namespace portunus {

struct Trigger;  // a parked command (trigger.hpp)

struct Counter {
  std::atomic<uint64_t> success;
  std::atomic<uint64_t> failure;
  Trigger* parked;      // ascending threshold, first in first out among equals
  Trigger* parked_tail;
  uint32_t parked_count;
  uint8_t ni;

  ptl_ct_event_t read() const {
    // Acquire pairs with the release in add/set: who sees the count sees the data.
    return {success.load(std::memory_order_acquire), failure.load(std::memory_order_acquire)};
  }
  // Sole writer, so no read-modify-write instruction is needed.
  void add(uint64_t ok, uint64_t failed) {
    if (ok) success.store(success.load(std::memory_order_relaxed) + ok, std::memory_order_release);
    if (failed) failure.store(failure.load(std::memory_order_relaxed) + failed, std::memory_order_release);
  }
  void set(ptl_ct_event_t value) {
    success.store(value.success, std::memory_order_release);
    failure.store(value.failure, std::memory_order_release);
  }
  uint64_t sum() const {
    return success.load(std::memory_order_relaxed) + failure.load(std::memory_order_relaxed);
  }
};

}  // namespace portunus
