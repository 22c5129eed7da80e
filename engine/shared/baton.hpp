// baton.hpp: who steps the engine.
//
// One word. Whoever holds it owns everything that folder engine/ keeps (match lists, triggers, transports); taking it
// acquires what the last holder released.
//
// Thread: any. Invariants: at most one holder; `release` is a full barrier, so what the leaving holder looks at next
// (commands pushed meanwhile, sleepers) is not older than the hand-over: together with a pusher that publishes, fences
// and then looks at the baton, no command is left behind.
#pragma once

#include <atomic>
#include <cstdint>

namespace portunus {

class Baton {
 public:
  bool try_take() {
    if (word_.load(std::memory_order_relaxed) & kHeld) return false;
    return (word_.fetch_or(kHeld, std::memory_order_seq_cst) & kHeld) == 0;  // acquires what `release` released
  }
  void release() {
    uses_.store(uses_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    word_.store(0, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // an exchange would not order the reads that follow everywhere
  }
  bool held() const { return (word_.load(std::memory_order_seq_cst) & kHeld) != 0; }

  // Somebody needs the baton for a synchronous call: holders that spin give it up after the current step.
  void want() { wanted_.fetch_add(1, std::memory_order_relaxed); }
  void got() { wanted_.fetch_sub(1, std::memory_order_relaxed); }
  bool wanted() const { return wanted_.load(std::memory_order_relaxed) != 0; }

  // Changes whenever someone hands the baton back: lets the engine thread see that an application is busy here.
  uint64_t uses() const { return uses_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kHeld = 1;
  alignas(64) std::atomic<uint32_t> word_{0};
  std::atomic<uint64_t> uses_{0};  // written by the holder only
  alignas(64) std::atomic<uint32_t> wanted_{0};
};

}  // namespace portunus
