// memory.hpp: the words that threads share while they wait, with the orders that the protocol needs, and what it does beside reading and
// writing them: fences, sleeping, yielding. The explorer of interleavings has its own (tests/support/simulated_threads.hpp).
//
// Thread: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/progress/asymmetric_fence.hpp"
#include "engine/progress/futex.hpp"
#include "engine/progress/guards.hpp"

namespace portunus {

// A clock that is cheap to read, in units of a quarter to half a microsecond; never 0. All processes of a node read the same.
// Simulated processes have another (engine/simulation/seams.cpp).
uint32_t coarse_stamp();

struct HardwareMemory {
  class Atomic32 {
   public:
    // Acquire: who sees the word changed also sees what was done before (that nobody waits any more, say).
    uint32_t load() const { return value_.load(std::memory_order_acquire); }
    // On failure `expected` becomes the present value.
    bool compare_exchange(uint32_t& expected, uint32_t desired) {
      return value_.compare_exchange_strong(expected, desired, std::memory_order_acq_rel, std::memory_order_relaxed);
    }
    uint32_t load_relaxed() const { return value_.load(std::memory_order_relaxed); }
    void store(uint32_t value) { value_.store(value, std::memory_order_relaxed); }
    void store_release(uint32_t value) { value_.store(value, std::memory_order_release); }
    uint32_t exchange(uint32_t value) { return value_.exchange(value, std::memory_order_seq_cst); }
    uint32_t fetch_add(uint32_t value) { return value_.fetch_add(value, std::memory_order_seq_cst); }
    void add(uint32_t value) { value_.fetch_add(value, std::memory_order_seq_cst); }
    uint32_t* address() { return reinterpret_cast<uint32_t*>(&value_); }

   private:
    std::atomic<uint32_t> value_{0};
  };
  using Hint = Atomic32;  // nobody is lost where it is read wrongly: not explored

  static uint32_t stamp() { return coarse_stamp(); }

  // For the explorer of interleavings. mark: the thread carries nothing over but what is given. repeat: a loop that has read a word begins
  // (`first`), or goes round with the value that its failed exchange has read instead.
  static void mark(int, uint32_t = 0) {}
  static void repeat(bool) {}
  static constexpr bool keeps(Guard) { return true; }
  static void fence(Guard) { std::atomic_thread_fence(std::memory_order_seq_cst); }
  static void light_fence() { portunus::light_fence(); }
  static void heavy_fence(Guard) { heavy_fence_on_node(); }
};

}  // namespace portunus
