// counter.hpp: a counting event.
//
// Thread: the baton holder adds and sets; anyone reads. `parked` belongs to the baton holder.
// Invariants: success and failure are each never torn; a pair read while it changes may be of two moments, as the
// specification permits. A count is visible only after the data it stands for (release).
// Source: Portals 4.3, counting events (PtlCTGet, PtlCTWait).
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/shared/interface_index.hpp"
#include "portals/portals4.h"

namespace portunus {

struct Trigger;  // a parked command (trigger.hpp)
struct Peer;

struct Counter {
  std::atomic<uint64_t> success;
  std::atomic<uint64_t> failure;
  Trigger* parked;  // ascending threshold, first in first out among equals
  Trigger* parked_tail;
  uint32_t parked_count;
  InterfaceIndex ni;
  bool success_only;     // failures do not ripen commands (extension E6)
  bool watches_several;  // peers, of which `watched` is one
  Peer* watched;         // its end counts here as a failure
  uint32_t errors;       // handle of the counter that counts our failures as successes; 0: none
  uint64_t stride;       // E5: commands parked here come back, this much later; 0: they run once
  uint64_t match_field;  // E5: the bits of a command's match bits that count up by one each time

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
  // The value that thresholds are compared with.
  uint64_t reached() const {
    const uint64_t successes = success.load(std::memory_order_relaxed);
    return success_only ? successes : successes + failure.load(std::memory_order_relaxed);
  }
  void reset() {
    set({0, 0});
    parked = parked_tail = nullptr;
    parked_count = errors = 0;
    success_only = watches_several = false;
    watched = nullptr;
    stride = match_field = 0;
  }
};

}  // namespace portunus
