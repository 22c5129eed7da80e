// pollers.hpp: work of layers above that goes on when a thread of the process looks.
//
// A layer adds its poller once. While the poller's `pending` word is not 0, each thread that waits in a call calls its look() now and then,
// without the baton, and sleeps with the poller's watch bits as well (engine/progress/watch.hpp): the writers of what look() wants to see
// ring.
//
// Thread: add from any thread; the rest from application threads. Several may be inside one look() at a time.
// Invariants: a look that waits itself does not look at pollers again. A poller is never taken away before clear().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "portals/portals4_ext.h"

namespace portunus {

class Pollers {
 public:
  // False: there are too many. The same one again is no other.
  bool add(const ptlx_poller_t& poller) {
    const std::lock_guard held(adding_);
    const uint32_t count = count_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < count; ++i)
      if (all_[i] == &poller) return true;
    if (count == all_.size()) return false;
    all_[count] = &poller;
    count_.store(count + 1, std::memory_order_release);
    return true;
  }
  // Nobody is inside a call.
  void clear() { count_.store(0, std::memory_order_relaxed); }

  // Whether there is something to look for; adds the watch bits of what there is to `watched`.
  bool pending(uint32_t& watched) const {
    bool any = false;
    for (uint32_t i = 0, count = count_.load(std::memory_order_acquire); i < count; ++i) {  // pairs with add
      if (!is_pending(*all_[i])) continue;
      any = true;
      watched |= all_[i]->watched;
    }
    return any;
  }
  // True: one of them did something. `waits` and `looks` belong to the calling thread: it is inside a wait; it is in here.
  bool look(bool& waits, bool& looks) {
    if (looks) return false;
    looks = true;
    const bool waited = std::exchange(waits, false);
    bool found = false;
    for (uint32_t i = 0, count = count_.load(std::memory_order_acquire); i < count; ++i)  // pairs with add
      if (is_pending(*all_[i])) found = all_[i]->look(all_[i]->arg) != 0 || found;
    waits = waited;
    looks = false;
    if (found) found_.store(true, std::memory_order_relaxed);
    return found;
  }
  // Whether any has done something since this was asked last.
  bool take_found() { return found_.exchange(false, std::memory_order_relaxed); }

 private:
  static bool is_pending(const ptlx_poller_t& poller) { return __atomic_load_n(poller.pending, __ATOMIC_ACQUIRE) != 0; }

  std::mutex adding_;
  std::atomic<uint32_t> count_{0};
  std::atomic<bool> found_{false};
  std::array<const ptlx_poller_t*, PTLX_MOST_POLLERS> all_{};
};

}  // namespace portunus
