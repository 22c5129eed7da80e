// event_queue.hpp: a ring of full events, one writer, many readers.
//
// Thread: the baton holder posts; any number of threads take, and each event goes to exactly one of them.
// Invariants: a full ring overwrites its oldest event; the reader who comes next learns that something was lost.
// Events are copied word by word through relaxed atomics under a per-slot sequence, so a reader that is overtaken by the
// writer sees it and reads again: no lock, no torn event.
// Source: Portals 4.3, event queues (PtlEQGet, PTL_EQ_DROPPED); at least `count` slots.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "portals/portals4.h"

namespace portunus {

class EventQueue {
 public:
  // Memory is reserved for `count` rounded up to a power of two and touched only when events are posted.
  bool open(uint64_t count) {
    uint64_t size = std::bit_ceil(count < 2 ? uint64_t{2} : count);
    if (size > size_) {
      close();
      void* memory = mmap(nullptr, size * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) return false;
      slots_ = static_cast<Slot*>(memory);
      size_ = size;
    } else {
      for (uint64_t i = 0; i < size_ && slots_[i].sequence.load(std::memory_order_relaxed) != 0; ++i)
        slots_[i].sequence.store(0, std::memory_order_relaxed);
    }
    count_ = count;
    head_.store(0, std::memory_order_relaxed);
    tail_.store(0, std::memory_order_relaxed);
    return true;
  }
  void close() {
    if (slots_) munmap(slots_, size_ * sizeof(Slot));
    slots_ = nullptr;
    size_ = 0;
  }

  void post(const ptl_event_t& event) {
    uint64_t position = tail_.load(std::memory_order_relaxed);
    Slot& slot = slots_[position & (size_ - 1)];
    slot.sequence.store(kBeingWritten, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);  // readers that see new words see kBeingWritten or later
    std::array<uint64_t, kWords> words;
    std::memcpy(words.data(), &event, sizeof event);
    for (size_t i = 0; i < kWords; ++i) slot.words[i].store(words[i], std::memory_order_relaxed);
    slot.sequence.store(position + 1, std::memory_order_release);
    tail_.store(position + 1, std::memory_order_release);
  }

  // PTL_OK, PTL_EQ_EMPTY, or PTL_EQ_DROPPED (an event is returned and earlier ones were lost).
  int take(ptl_event_t& event) {
    bool lost = false;
    uint64_t position = head_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[position & (size_ - 1)];
      if (slot.sequence.load(std::memory_order_acquire) == position + 1) {  // pairs with the release in post
        std::array<uint64_t, kWords> words;
        for (size_t i = 0; i < kWords; ++i) words[i] = slot.words[i].load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (slot.sequence.load(std::memory_order_relaxed) == position + 1) {
          if (!head_.compare_exchange_strong(position, position + 1, std::memory_order_relaxed)) continue;
          std::memcpy(&event, words.data(), sizeof event);
          return lost ? PTL_EQ_DROPPED : PTL_OK;
        }
      }
      uint64_t end = tail_.load(std::memory_order_acquire);
      // Negative when the event before ours was taken between the two last stores of its post.
      const auto waiting = static_cast<int64_t>(end - position);
      if (waiting > static_cast<int64_t>(size_)) {  // overrun: go on with the oldest event that is still there
        uint64_t oldest = end - size_;
        if (head_.compare_exchange_strong(position, oldest, std::memory_order_relaxed)) {
          position = oldest;
          lost = true;
        }
        continue;
      }
      uint64_t now = head_.load(std::memory_order_relaxed);
      if (now == position) {
        if (waiting <= 0) return PTL_EQ_EMPTY;
      }
      position = now;  // another reader was faster, or the slot is being overwritten: look again
    }
  }

  bool empty() const { return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire); }
  // Slots of the asked-for count that are still free: what flow control goes by. Baton holder only.
  uint64_t room() const {
    uint64_t used = tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed);
    return used >= count_ ? 0 : count_ - used;
  }

  uint8_t ni;

 private:
  static constexpr size_t kWords = sizeof(ptl_event_t) / 8;
  static constexpr uint64_t kBeingWritten = ~uint64_t{0};
  struct alignas(32) Slot {
    std::atomic<uint64_t> sequence;
    std::atomic<uint64_t> words[kWords];
  };
  static_assert(sizeof(ptl_event_t) % 8 == 0);

  Slot* slots_;
  uint64_t size_;
  uint64_t count_;
  alignas(64) std::atomic<uint64_t> tail_;  // the engine's
  alignas(64) std::atomic<uint64_t> head_;  // the readers'
};

}  // namespace portunus
