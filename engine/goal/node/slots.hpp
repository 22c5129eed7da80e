// Short contributions: every rank has a few slots in shared memory that it alone writes, and reads those of the others.
//
// A slot holds what a rank contributes to one collective, under the collective's number; slots are used in turn. `begun` is the number
// of the last collective that the rank has begun, `taken` that of the last one behind which it needs nothing more of any slot, here or
// before: a slot is written again when all ranks have taken what lay in it. So a rank waits once in each collective, however many ranks
// there are, and several may be under way.
//
// Thread: one at a time per group.
// Invariants: a slot's number is stored, with release, after its data, and `taken` after the last read. Both are loaded with acquire.
// A rank begins collectives in the order of their numbers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/goal/node/shared_memory.hpp"
#include "engine/host/copy_run.hpp"

namespace portunus::goal::node {

class Slots {
 public:
  static constexpr size_t kMiddle = 16 * 1024;  // the largest room of slots that stay in the caches
  // Bytes of long slots of all ranks that are written in turn, so that lines have left the caches of both cores when they are written again
  // (exchange_buffers.hpp), but not those that cores share.
  static constexpr size_t kAllLong = size_t{5} << 20;

  // `room`: bytes of a contribution at most, such that a slot is a number of cache lines; `slots`: how many there are, a power of two.
  Slots(size_t rank, size_t size, size_t room, size_t slots) : rank_(rank), size_(size) { resize(room, slots); }
  // Before make(): other sizes than the constructor's.
  void resize(size_t room, size_t slots) {
    assert(!made());
    room_ = room;
    slots_ = slots;
    before_ = before_data(room);
    stride_ = before_ + room;
    used_ = room <= kMiddle ? 0 : std::min(room, kAllLong / size_ / slots);
  }
  int make(Agreement& agreement, const GOAL_Group& group, bool may) { return memory_.make(agreement, group, bytes_each(), may); }
  // Instead: bytes_each() bytes of each rank, `apart` from each other, of memory that all ranks map; numbers in it are zero.
  void lie_at(std::byte* start, size_t apart) { memory_.lie_at(start, apart); }
  [[nodiscard]] bool made() const { return memory_.made(); }
  [[nodiscard]] size_t bytes_each() const { return bytes_each(room_, slots_); }
  static constexpr size_t bytes_each(size_t room, size_t slots) { return sizeof(Place) + slots * (before_data(room) + room); }
  [[nodiscard]] size_t room() const { return room_; }
  // The least room for so many bytes.
  static constexpr size_t room_for(size_t bytes) {
    const size_t before = before_data(bytes);
    return (before + bytes + kCacheLine - 1) / kCacheLine * kCacheLine - before;
  }

  // The number of the next collective, from 1 on; and how many were claimed.
  uint64_t claim() { return ++number_; }
  [[nodiscard]] uint64_t claimed() const { return number_; }
  // Zeroes the numbers that so many collectives may have written, of all ranks; nobody is in any.
  void clear(uint64_t collectives) {
    for (size_t rank = 0; collectives > 0 && rank < size_; ++rank) {
      place(rank).begun.store(0, std::memory_order_relaxed);
      place(rank).taken.store(0, std::memory_order_relaxed);
      for (uint64_t number = 1; number <= std::min<uint64_t>(collectives, slots_); ++number)
        slot(rank, number).number.store(0, std::memory_order_relaxed);
    }
  }
  // Whether a contribution to this one may be written. This rank has taken all up to `taken`.
  bool has_room(uint64_t number, uint64_t taken) { return number <= taken + slots_ && others_have_taken(number); }
  // The place of this rank's contribution, of `bytes` at most, to be written before it begins that number.
  [[nodiscard]] std::byte* own(uint64_t number, size_t bytes) {
    assert(others_have_taken(number));
    return reinterpret_cast<std::byte*>(&slot(rank_, number)) + place_of_data(number, bytes);
  }
  // Begins it, with a contribution if it `gives` one; `what` is everybody's.
  void begin(uint64_t number, bool gives, uint64_t what, uint64_t taken) {
    Place& mine = place(rank_);
    assert(number <= number_ && taken < number);
    assert(!gives || number <= taken + slots_);
    assert(mine.begun.load(std::memory_order_relaxed) < begun_word(number, 0) && mine.taken.load(std::memory_order_relaxed) <= taken);
    if (gives) {
      Head& head = slot(rank_, number);
      head.what = what;
      head.number.store(number, std::memory_order_release);
    }
    mine.taken.store(taken, std::memory_order_release);
    mine.begun.store(begun_word(number, what), std::memory_order_release);
  }
  void note_taken(uint64_t number) {
    assert(number >= place(rank_).taken.load(std::memory_order_relaxed) && has_begun(rank_, number));
    place(rank_).taken.store(number, std::memory_order_release);
  }

  [[nodiscard]] bool has_begun(size_t rank, uint64_t number) const {
    return place(rank).begun.load(std::memory_order_acquire) >= begun_word(number, 0);
  }
  // The same; `differs` becomes true where that rank is known to have begun another collective under this number. In one look: the word is
  // written again as soon as that rank goes on.
  [[nodiscard]] bool has_begun(size_t rank, uint64_t number, uint64_t what, bool& differs) const {
    const uint64_t word = place(rank).begun.load(std::memory_order_acquire);
    differs |= word >> 16 == number && word != begun_word(number, what);
    return word >= begun_word(number, 0);
  }
  [[nodiscard]] bool has_posted(size_t rank, uint64_t number) const {
    return slot(rank, number).number.load(std::memory_order_acquire) == number;
  }
  [[nodiscard]] bool has_taken(size_t rank, uint64_t number) const { return place(rank).taken.load(std::memory_order_acquire) >= number; }
  // After has_posted: of that rank, if that says the same of `bytes`.
  [[nodiscard]] const std::byte* data(size_t rank, uint64_t number, size_t bytes) const {
    assert(rank < size_ && has_posted(rank, number));
    return reinterpret_cast<const std::byte*>(&slot(rank, number)) + place_of_data(number, bytes);
  }
  [[nodiscard]] uint64_t what(size_t rank, uint64_t number) const { return slot(rank, number).what; }

 private:
  struct Head {  // of a slot, whose data follow
    std::atomic<uint64_t> number;
    uint64_t what;
  };
  struct alignas(64) Place {
    std::atomic<uint64_t> begun;  // | number : 48 | digest of `what` : 16 |
    std::atomic<uint64_t> taken;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(Head) == 16 && sizeof(Place) == 64);

  // Short data share the head's line; long ones begin with a line, as string instructions move them faster.
  static constexpr size_t before_data(size_t room) { return room < kLongRun ? sizeof(Head) : kCacheLine; }
  // Data that fill a part of a long slot go to the next part each time.
  [[nodiscard]] size_t place_of_data(uint64_t number, size_t bytes) const {
    assert(bytes <= room_);
    const size_t part = (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    return part == 0 || 2 * part > used_ ? before_ : before_ + number / slots_ % (used_ / part) * part;
  }

  [[nodiscard]] Place& place(size_t rank) const { return *reinterpret_cast<Place*>(memory_.part(rank)); }
  [[nodiscard]] Head& slot(size_t rank, uint64_t number) const {
    return *reinterpret_cast<Head*>(memory_.part(rank) + sizeof(Place) + (number & (slots_ - 1)) * stride_);
  }

  static uint64_t begun_word(uint64_t number, uint64_t what) {
    return number << 16 | ((what ^ what >> 16 ^ what >> 32 ^ what >> 48) & 0xffff);
  }
  bool others_have_taken(uint64_t number) {
    assert(number <= number_);
    if (number <= taken_by_all_ + slots_) return true;
    taken_by_all_ = number;
    for (size_t i = 0; i < size_; ++i)
      if (i != rank_) taken_by_all_ = std::min(taken_by_all_, place(i).taken.load(std::memory_order_acquire));
    return number <= taken_by_all_ + slots_;
  }

  size_t rank_, size_, room_ = 0, slots_ = 0;
  size_t before_ = 0, stride_ = 0, used_ = 0;  // bytes of a slot before its data, of a slot, and of those that data take in turn
  SharedMemory memory_;
  uint64_t number_ = 0;
  uint64_t taken_by_all_ = 0;  // at least
};

}  // namespace portunus::goal::node
