// event_queue.hpp: a ring of full events, one writer, many readers.
//
// Thread: the baton holder posts and makes room; any number of threads take, and each event goes to exactly one of them.
// Invariants: a full ring overwrites its oldest event; the reader who comes next learns that something was lost.
// Events are copied word by word through relaxed atomics under a per-slot sequence, so a reader that is overtaken by the
// writer sees it and reads again: no lock, no torn event. The ring is as long as events pile up, however many slots were asked for,
// so that a queue that is emptied quickly stays in the cache. A slot's sequence names one position for ever: positions go on
// counting when the queue is opened again, and memory that a late reader may still look at stays mapped.
// Source: Portals 4.3, event queues (PtlEQGet, PTL_EQ_DROPPED); at least `count` slots, and one more for each portal
// table entry with flow control.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/shared/interface_index.hpp"
#include "portals/portals4.h"

namespace portunus {

class EventQueue {
 public:
  static constexpr uint64_t kMostReserved = 512;  // portal table entries of an interface

  // Memory is reserved for `count` rounded up to a power of two and touched only when events are posted.
  bool open(uint64_t count) {
    const uint64_t size = std::bit_ceil(count < 2 ? uint64_t{2} : count);
    const uint64_t capacity = std::bit_ceil(count + kMostReserved);
    if (capacity > capacity_) {
      void* memory = mmap(nullptr, capacity * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) return false;
      if (Slot* former = slots_.load(std::memory_order_relaxed)) madvise(former, capacity_ * sizeof(Slot), MADV_DONTNEED);
      slots_.store(static_cast<Slot*>(memory), std::memory_order_relaxed);
      capacity_ = capacity;
    }
    most_ = size;
    size_.store(size < kShort ? size : kShort, std::memory_order_release);  // pairs with take: who sees the size sees slots that many
    count_ = count;
    reserved_ = promised_ = 0;
    head_seen_ = tail_.load(std::memory_order_relaxed);
    head_.store(head_seen_, std::memory_order_relaxed);
    return true;
  }

  // One slot more, or one less again, than was asked for. Events that wait for readers keep their order.
  void reserve() {
    const uint64_t wanted = std::bit_ceil(count_ + ++reserved_);
    if (wanted > most_ && wanted <= capacity_) most_ = wanted;
  }
  void unreserve() {
    assert(reserved_ > 0);
    --reserved_;
  }
  // Gives the memory back; nobody may be reading.
  void close() {
    if (Slot* slots = slots_.load(std::memory_order_relaxed)) munmap(slots, capacity_ * sizeof(Slot));
    slots_.store(nullptr, std::memory_order_relaxed);
    capacity_ = 0;
  }

  void post(const ptl_event_t& event) {
    uint64_t position = tail_.load(std::memory_order_relaxed);
    assert(head_seen_ <= position && std::has_single_bit(size_.load(std::memory_order_relaxed)));
    if (position - head_seen_ >= size_.load(std::memory_order_relaxed)) [[unlikely]]
      make_room(position);
    Slot& slot = slots_.load(std::memory_order_relaxed)[position & (size_.load(std::memory_order_relaxed) - 1)];
    slot.sequence.store(kBeingWritten, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);  // readers that see new words see kBeingWritten or later
    const std::array<uint64_t, kWords> words = words_of(event);
#pragma GCC unroll 16
    for (size_t i = 0; i < kWords; ++i) slot.words[i].store(words[i], std::memory_order_relaxed);
    slot.sequence.store(position + 1, std::memory_order_release);
    tail_.store(position + 1, std::memory_order_release);
  }

  // PTL_OK, PTL_EQ_EMPTY, or PTL_EQ_DROPPED (an event is returned and earlier ones were lost).
  int take(ptl_event_t& event) {
    unsigned taken;
    return take(&event, 1, taken);
  }
  // The same for up to `most` events, one at least, at the price of one locked instruction: `taken` of them unless the queue is
  // empty. What lies behind them may be written over.
  int take(ptl_event_t* events, unsigned most, unsigned& taken) { return empty() ? PTL_EQ_EMPTY : take_some(events, most, taken); }

  bool empty() const { return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire); }
  // Flow control, baton holder only. Slots of the asked-for count that are neither used nor promised to messages under way:
  uint64_t room() const {
    const uint64_t used = tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed) + promised_;
    return used >= count_ ? 0 : count_ - used;
  }
  void promise(uint64_t slots) { promised_ += slots; }
  void keep_promise(uint64_t slots) { promised_ -= slots < promised_ ? slots : promised_; }
  // How many events were ever posted, and whether the next one overwrites one that nobody has read.
  uint64_t posted() const { return tail_.load(std::memory_order_relaxed); }
  bool full() const { return posted() - head_.load(std::memory_order_relaxed) >= most_; }
  bool waiting(uint64_t position) const { return head_.load(std::memory_order_relaxed) <= position && position < posted(); }

  InterfaceIndex ni;

 private:
  [[gnu::noinline]] int take_some(ptl_event_t* events, unsigned most, unsigned& taken) {
    bool lost = false;
    uint64_t position = head_.load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t size = size_.load(std::memory_order_acquire);
      const Slot* slots = slots_.load(std::memory_order_relaxed);
      const auto holds = [&](unsigned i, std::memory_order order) {
        return slots[(position + i) & (size - 1)].sequence.load(order) == position + i + 1;
      };
      unsigned count = 0;
      for (; count < most && holds(count, std::memory_order_acquire); ++count) {  // pairs with the release in post
                                                                                  // Word by word, for the same reason as in words_of.
#pragma GCC unroll 16
        for (size_t i = 0; i < kWords; ++i) {
          const uint64_t word = slots[(position + count) & (size - 1)].words[i].load(std::memory_order_relaxed);
          std::memcpy(reinterpret_cast<std::byte*>(&events[count]) + 8 * i, &word, 8);
        }
      }
      if (count > 0) {
        std::atomic_thread_fence(std::memory_order_acquire);
        unsigned whole = 0;
        while (whole < count && holds(whole, std::memory_order_relaxed)) ++whole;
        if (whole == count) {
          if (!head_.compare_exchange_strong(position, position + count, std::memory_order_relaxed)) continue;
          taken = count;
          return lost ? PTL_EQ_DROPPED : PTL_OK;
        }
      }
      uint64_t end = tail_.load(std::memory_order_acquire);
      // Negative when the event before ours was taken between the two last stores of its post.
      const auto waiting = static_cast<int64_t>(end - position);
      if (waiting > static_cast<int64_t>(size)) {                     // overrun: go on with the oldest event that is still there
        if (size_.load(std::memory_order_relaxed) != size) continue;  // no: the ring has become longer, which who sees the end sees, too
        uint64_t oldest = end - size;
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

  static constexpr size_t kWords = sizeof(ptl_event_t) / 8;
  static constexpr uint64_t kBeingWritten = ~uint64_t{0};
  static constexpr uint64_t kShort = 256;
  // Before a post at `end`, when the ring may be full: makes it longer if it is and may be.
  void make_room(uint64_t end) {
    head_seen_ = head_.load(std::memory_order_relaxed);
    const uint64_t size = size_.load(std::memory_order_relaxed);
    if (end - head_seen_ < size || size >= most_) return;
    const uint64_t wanted = 2 * size;
    assert(head_seen_ <= end && wanted <= capacity_);
    Slot* const slots = slots_.load(std::memory_order_relaxed);
    for (uint64_t at = end > size ? end - size : 0; at != end; ++at) {
      Slot& from = slots[at & (size - 1)];
      Slot& to = slots[at & (wanted - 1)];  // the same one, or one whose event was taken long ago
      if (&from == &to || from.sequence.load(std::memory_order_relaxed) != at + 1) continue;
      to.sequence.store(kBeingWritten, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_release);
      for (size_t i = 0; i < kWords; ++i) to.words[i].store(from.words[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
      to.sequence.store(at + 1, std::memory_order_release);
    }
    size_.store(wanted, std::memory_order_release);  // pairs with take: who sees the size sees the copies
  }
  // The bytes of an event. Small members are put together in a register: a word loaded over bytes that were just stored waits for them.
  static std::array<uint64_t, kWords> words_of(const ptl_event_t& event) {
    std::array<uint64_t, kWords> words;
    if constexpr (std::endian::native == std::endian::little && offsetof(ptl_event_t, start) == 0 && offsetof(ptl_event_t, user_ptr) == 8 &&
                  offsetof(ptl_event_t, hdr_data) == 16 && offsetof(ptl_event_t, match_bits) == 24 &&
                  offsetof(ptl_event_t, rlength) == 32 && offsetof(ptl_event_t, mlength) == 40 &&
                  offsetof(ptl_event_t, remote_offset) == 48 && offsetof(ptl_event_t, initiator) == 56 &&
                  offsetof(ptl_event_t, uid) == 64 && offsetof(ptl_event_t, type) == 72 && offsetof(ptl_event_t, atomic_type) == 76 &&
                  sizeof event == 80) {
      words[0] = reinterpret_cast<uint64_t>(event.start);
      words[1] = reinterpret_cast<uint64_t>(event.user_ptr);
      words[2] = event.hdr_data;
      words[3] = event.match_bits;
      words[4] = event.rlength;
      words[5] = event.mlength;
      words[6] = event.remote_offset;
      words[7] = event.initiator.phys.nid | uint64_t{event.initiator.phys.pid} << 32;
      words[8] = event.uid | uint64_t{event.pt_index} << 32;
      words[9] = event.type | uint64_t{event.ptl_list} << 8 | uint64_t{event.ni_fail_type} << 16 | uint64_t{event.atomic_operation} << 24 |
                 uint64_t{event.atomic_type} << 32;
    } else {
      std::memcpy(words.data(), &event, sizeof event);
    }
    return words;
  }
  struct alignas(32) Slot {
    std::atomic<uint64_t> sequence;
    std::atomic<uint64_t> words[kWords];
  };
  static_assert(sizeof(ptl_event_t) % 8 == 0);

  std::atomic<Slot*> slots_;
  std::atomic<uint64_t> size_;  // slots in use
  uint64_t most_;               // that may be in use: counts and reservations, rounded up
  uint64_t head_seen_;          // the readers' position when last looked at
  uint64_t capacity_;           // slots mapped
  uint64_t count_;
  uint64_t reserved_;
  uint64_t promised_;
  alignas(64) std::atomic<uint64_t> tail_;  // the engine's
  alignas(64) std::atomic<uint64_t> head_;  // the readers'
};

}  // namespace portunus
