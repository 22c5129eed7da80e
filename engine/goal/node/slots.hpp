// Short contributions: every rank has a few slots in shared memory that it alone writes, and reads those of the others.
//
// A slot holds what a rank contributes to one collective, under the collective's number; `begun` is the number of the last
// one that the rank has begun. Slots are used in turn: who is about to write one again waits until all ranks have begun a
// collective behind the one that it was written for. So a rank waits once in each collective, however many ranks there are.
//
// Thread: one at a time per group.
// Invariants: a slot's number is stored, with release, after its data, and `begun` after a rank has read all that it
// needed of the collectives before. Both are loaded with acquire.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/goal/node/shared_memory.hpp"
#include "engine/goal/node/waiting.hpp"

namespace portunus::goal::node {

class Slots {
 public:
  static constexpr size_t kRoom = 1008;  // bytes of a contribution

  Slots(size_t rank, size_t size, Waiting& waiting) : rank_(rank), size_(size), waiting_(waiting) {}
  int make(Agreement& agreement, const GOAL_Group& group, bool may) { return memory_.make(agreement, group, bytes_each(), may); }
  [[nodiscard]] bool made() const { return memory_.made(); }
  static size_t bytes_each() { return sizeof(Place); }

  // The next collective, to which this rank contributes `bytes` of data, or (nullptr) nothing. `what` is everybody's. False:
  // a rank will never come.
  bool begin(const void* data, size_t bytes, uint64_t what);
  // Each after begin(); false as there.
  bool await_begun_by_all();
  bool await_all() {
    return await_each([this](size_t i) { return has_posted(i); });
  }
  bool await(size_t rank) {
    return waiting_.until([&] { return has_posted(rank); });
  }
  // After await: of that rank.
  [[nodiscard]] const std::byte* data(size_t rank) const { return slot(rank).data; }
  [[nodiscard]] uint64_t what(size_t rank) const { return slot(rank).what; }

 private:
  static constexpr size_t kSlots = 32;
  struct alignas(64) Slot {
    std::atomic<uint64_t> number;
    uint64_t what;
    std::byte data[kRoom];
  };
  struct alignas(64) Place {
    alignas(64) std::atomic<uint64_t> begun;
    std::array<Slot, kSlots> slots;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(Slot) == 1024);

  [[nodiscard]] Place& place(size_t rank) const { return *reinterpret_cast<Place*>(memory_.part(rank)); }
  [[nodiscard]] Slot& slot(size_t rank) const { return place(rank).slots[number_ % kSlots]; }
  [[nodiscard]] bool has_posted(size_t rank) const { return slot(rank).number.load(std::memory_order_acquire) == number_; }
  template <class Has>
  bool await_each(Has&& has) {
    size_t next = 0;
    return waiting_.until([&] {
      while (next < size_ && (next == rank_ || has(next))) ++next;
      return next == size_;
    });
  }

  size_t rank_, size_;
  Waiting& waiting_;
  SharedMemory memory_;
  uint64_t number_ = 0;  // of this collective, from 1 on
  uint64_t begun_by_all_ = 0;
};

}  // namespace portunus::goal::node
