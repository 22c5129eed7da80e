// gaps.hpp: does computing follow this wait, or this call, or does the next wait?
//
// Who ends a wait beside a network leaves it to the engine's thread to hear what arrives. If the next wait follows at once, as within one
// exchange of several messages, all that this brings is a system call at each end, and a thread that wakes to find that nobody needs it.
// What a program does between its waits repeats itself: a few messages of an exchange, then computing, then the same exchange. So what
// came after the same sequence of gaps before is expected again, as processors predict branches.
//
// Thread: any. All of it are hints: what threads do to each other's is a wrong guess. Cost: some loads and stores.
// Source: Yeh and Patt, "Two-level adaptive training branch prediction", 1991.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace portunus {

class Gaps {
 public:
  // Between two waits, or a call and the next wait, so many ns have passed: what was expected last has come true, or not.
  void was(uint64_t ns) {
    const uint32_t history = history_.load(std::memory_order_relaxed);
    const bool computed = ns >= kComputes;
    std::atomic<uint8_t>& doubts = doubts_[history];
    const uint8_t before = doubts.load(std::memory_order_relaxed);
    if (computed ? before > 0 : before < kMost)
      doubts.store(static_cast<uint8_t>(computed ? before - 1 : before + 1), std::memory_order_relaxed);
    history_.store((history << 1 | (computed ? 1 : 0)) % kHistories, std::memory_order_relaxed);
  }
  // At first it does.
  bool expect_computing() const { return doubts_[history_.load(std::memory_order_relaxed)].load(std::memory_order_relaxed) <= kMost / 2; }

  // ns. The thread costs who computes 60 us when it comes once. An exchange of messages must not be taken for computing because it was
  // disturbed once: it would be disturbed the next time for that.
  static constexpr uint64_t kComputes = 150'000;

 private:
  static constexpr uint8_t kMost = 3;
  static constexpr uint32_t kHistories = 1 << 10;  // of ten gaps

  std::array<std::atomic<uint8_t>, kHistories> doubts_{};
  std::atomic<uint32_t> history_{0};
};

}  // namespace portunus
