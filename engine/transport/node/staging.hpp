// staging.hpp: data on their way through memory that both processes map, written at one end while they are taken at the other.
//
// For data that would have to be copied together before a peer could pull them. The *filler*, who sends, owns the memory, a ring
// of kBytes, and says in one word how much of which message it has written; the *taker* says in another how much it has taken.
// A side that finds nothing to do leaves a note, so that the other rings when there is something; nobody rings otherwise.
// Both words name the message by its number, so that a taker that was forgotten finds out when the memory is another message's.
//
// Thread: one filler, one taker, in different processes. Invariants: bytes are written before they are counted (release) and
// counted as taken after they were read (release), so that neither reads nor writes what is the other's. What the other side
// has written is checked before it is used.
// Cost: two words each way for kPiece bytes; no system call.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace portunus {

// Lies in the filler's segment, zeroed at first.
struct Staging {
  alignas(64) std::atomic<uint64_t> filled;  // number << kNumberShift | bytes; the filler's
  std::atomic<uint32_t> full;                // a note: the filler waits for room. The taker takes it away
  std::atomic<uint64_t> offset;              // of the memory in the segment's file, release by the owner; 0 = not there yet
  alignas(64) std::atomic<uint64_t> taken;   // the same of the taker
  std::atomic<uint32_t> empty;               // a note: the taker waits for bytes. The filler takes it away

  static constexpr size_t kBytes = 1 << 20;
  // A piece that is handed over stays in a second-level cache, together with what it is copied from or to.
  static constexpr size_t kPiece = 32 * 1024;
  static constexpr unsigned kNumberShift = 40;
  static constexpr uint64_t kMost = uint64_t{1} << kNumberShift;  // fewer bytes than this in a message
  static uint64_t bytes_of(uint64_t word) { return word & (kMost - 1); }
  static uint64_t number_of(uint64_t word) { return word >> kNumberShift; }
  static std::byte* at(std::byte* memory, uint64_t position) { return memory + position % kBytes; }
  // Dekker: leave a note and look again; say what was done and look for a note.
  static void leave(std::atomic<uint32_t>& note) {
    if (note.load(std::memory_order_relaxed) == 0) note.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  static bool take(std::atomic<uint32_t>& note) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return note.load(std::memory_order_relaxed) != 0 && note.exchange(0, std::memory_order_relaxed) != 0;
  }
};

class StagingFiller {
 public:
  bool open() const { return shared_ != nullptr; }
  // For one message. Its number tells it from others in the same memory.
  uint64_t begin(Staging& shared, std::byte* memory) {
    shared_ = &shared;
    memory_ = memory;
    filled_ = 0;
    number_ = next_number(shared);
    // Before any byte of this message: whoever has read one finds this word changed (StagingTaker::took).
    shared.taken.store(number_ << Staging::kNumberShift, std::memory_order_relaxed);
    shared.full.store(0, std::memory_order_relaxed);
    shared.empty.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    shared.filled.store(number_ << Staging::kNumberShift, std::memory_order_release);
    return number_;
  }
  // The message is over, however much was taken of it: its taker, if it still goes on, finds another number. True: it waits.
  bool end() {
    assert(open());
    shared_->filled.store(next_number(*shared_) << Staging::kNumberShift, std::memory_order_release);
    return Staging::take(std::exchange(shared_, nullptr)->empty);
  }
  const Staging* shared() const { return shared_; }
  uint64_t filled() const { return filled_; }
  // The room for the next bytes, of `left` that there are; none: the taker has to take some first.
  iovec room(uint64_t left) const {
    iovec found = room_now(left);
    if (found.iov_len == 0) {
      Staging::leave(shared_->full);
      found = room_now(left);
    }
    return found;
  }
  // True: the taker waits for what was added.
  bool add(size_t size) {
    assert(size > 0 && size <= Staging::kPiece && filled_ + size < Staging::kMost);
    filled_ += size;
    shared_->filled.store(number_ << Staging::kNumberShift | filled_, std::memory_order_release);  // pairs with StagingTaker::piece
    return Staging::take(shared_->empty);
  }

 private:
  iovec room_now(uint64_t left) const {
    const uint64_t taken = shared_->taken.load(std::memory_order_acquire);  // pairs with StagingTaker::took
    const uint64_t theirs = Staging::number_of(taken) == number_ ? std::min(Staging::bytes_of(taken), filled_) : 0;
    const uint64_t free = Staging::kBytes - std::min<uint64_t>(filled_ - theirs, Staging::kBytes);
    const size_t size = static_cast<size_t>(std::min({free, left, uint64_t{Staging::kPiece - filled_ % Staging::kPiece}}));
    return {Staging::at(memory_, filled_), size};
  }
  static uint64_t next_number(const Staging& shared) {
    return (Staging::number_of(shared.filled.load(std::memory_order_relaxed)) + 1) & (~uint64_t{0} >> Staging::kNumberShift);
  }

  Staging* shared_ = nullptr;
  std::byte* memory_ = nullptr;
  uint64_t number_ = 0;
  uint64_t filled_ = 0;
};

class StagingTaker {
 public:
  bool open() const { return shared_ != nullptr; }
  void begin(Staging& shared, std::byte* memory, uint64_t number) {
    shared_ = &shared;
    memory_ = memory;
    number_ = number;
    taken_ = 0;
  }
  // The next bytes, of `left` that are wanted; none (and `over` false): the filler has to write some first.
  iovec piece(uint64_t left, bool& over) const {
    iovec found = piece_now(left, over);
    if (found.iov_len == 0 && !over) {
      Staging::leave(shared_->empty);
      found = piece_now(left, over);
    }
    return found;
  }
  // They were read. False: the memory is another message's, and they may have been. `waited`: the filler waits for the room.
  bool took(size_t size, bool& waited) {
    std::atomic_thread_fence(std::memory_order_acquire);  // pairs with StagingFiller::begin: what was read before, and then the word
    uint64_t before = number_ << Staging::kNumberShift | taken_;
    assert(size > 0 && size <= Staging::kPiece && taken_ + size < Staging::kMost);
    taken_ += size;
    if (!shared_->taken.compare_exchange_strong(before, number_ << Staging::kNumberShift | taken_, std::memory_order_release,
                                                std::memory_order_relaxed))  // pairs with StagingFiller::room
      return false;
    waited = Staging::take(shared_->full);
    return true;
  }

 private:
  iovec piece_now(uint64_t left, bool& over) const {
    const uint64_t filled = shared_->filled.load(std::memory_order_acquire);  // pairs with StagingFiller::add
    const uint64_t there = Staging::bytes_of(filled);
    over = Staging::number_of(filled) != number_ || there < taken_ || there - taken_ > Staging::kBytes;
    if (over) return {nullptr, 0};
    const size_t size = static_cast<size_t>(std::min({there - taken_, left, uint64_t{Staging::kPiece - taken_ % Staging::kPiece}}));
    return {Staging::at(memory_, taken_), size};
  }

  Staging* shared_ = nullptr;
  std::byte* memory_ = nullptr;
  uint64_t number_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace portunus
