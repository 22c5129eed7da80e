// mutex.hpp: a mutex of one word, taken and given back inline.
//
// A rendezvous passes several, and where nobody else wants it the C library's takes two calls and 55 instructions. Thread: any.
// Source: Drepper, Futexes Are Tricky, 2011 (the second mutex).
#pragma once

#include <atomic>
#include <mutex>

namespace portunus::peace {

class Mutex {
 public:
  void lock() {
    int free = kFree;
    if (!word_.compare_exchange_strong(free, kTaken, std::memory_order_acquire, std::memory_order_relaxed)) [[unlikely]]
      wait();
  }
  void unlock() {
    if (word_.exchange(kFree, std::memory_order_release) == kWanted) [[unlikely]]
      word_.notify_one();
  }

 private:
  static constexpr int kFree = 0, kTaken = 1, kWanted = 2;  // wanted: taken, and somebody may sleep for it
  // A thread that has slept cannot know whether others still do, so the word says so until they have had it.
  [[gnu::noinline]] void wait() {
    while (word_.exchange(kWanted, std::memory_order_acquire) != kFree) word_.wait(kWanted, std::memory_order_relaxed);
  }

  std::atomic<int> word_{kFree};
};

}  // namespace portunus::peace
