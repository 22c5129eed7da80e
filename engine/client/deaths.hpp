// deaths.hpp: processes that have died while this one lives.
//
// Every process that is watched counts as a failure of one counter when it ends, also if it had ended before; the engine then writes a
// word, so that a look costs a load. To watch a process takes a connection to it.
//
// Thread: open, close: one; watch, rearm: one at a time; the rest: any. Source: portals4_ext.h, PtlxCTWatch, PtlxTriggeredNotify.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/client/objects.hpp"

namespace portunus::client {

class Deaths {
 public:
  Deaths() = default;
  Deaths(const Deaths&) = delete;
  Deaths& operator=(const Deaths&) = delete;

  // PTL_* codes. Without a counter nothing is told.
  int open(ptl_handle_ni_t ni) {
    ni_ = ni;
    told_ = 0;
    const int code = counter_.open(ni);
    return code == PTL_OK ? rearm(0) : code;
  }
  void close() {
    counter_.close();
    told_ = 0;
  }
  [[nodiscard]] bool is_open() const { return counter_.is_open(); }

  int watch(ptl_process_t process) { return PtlxCTWatch(counter_, process); }

  // How many deaths have been told: changes with each, once rearm() was called with the number before. Acquire pairs with the engine's
  // release: what the dead had stored or sent is here.
  [[nodiscard]] uint64_t told() const { return std::atomic_ref<const uint64_t>(told_).load(std::memory_order_acquire); }
  int rearm(uint64_t told) { return PtlxTriggeredNotify(ni_, &told_, -1, 0, counter_, told + 1); }
  // Its failures are deaths: for triggered operations.
  [[nodiscard]] ptl_handle_ct_t counter() const { return counter_; }
  // Whether any watched process has died; or nothing can be known any more.
  [[nodiscard]] bool any() const { return counter_.peek().failure > 0; }

  // Whether the engine knows a process to be dead.
  [[nodiscard]] bool includes(ptl_process_t process) const {
    Counter asked;
    return asked.open(ni_) == PTL_OK && PtlxCTWatch(asked, process) == PTL_OK && asked.peek().failure > 0;
  }

  // Waits until `counter` has so many successes. False: it has failed, or a watched process has died before.
  [[nodiscard]] bool await(ptl_handle_ct_t counter, ptl_size_t count) const {
    const ptl_handle_ct_t counters[] = {counter, counter_};
    const ptl_size_t counts[] = {count, PTL_SIZE_MAX};
    ptl_ct_event_t seen;
    unsigned which;
    return PtlCTPoll(counters, counts, 2, PTL_TIME_FOREVER, &seen, &which) == PTL_OK && which == 0 && seen.success >= count;
  }

 private:
  ptl_handle_ni_t ni_ = PTL_INVALID_HANDLE;
  Counter counter_;
  uint64_t told_ = 0;  // written by the engine, and by open() and close()
};

}  // namespace portunus::client
