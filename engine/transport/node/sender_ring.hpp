// sender_ring.hpp: a ring of cache lines with one writer and one reader, in memory that both map.
//
// A record is some whole lines in a row. The first word of its first line is written last (release) and says how many lines; before
// that the writer has zeroed the first word of the line behind the record, so the reader always finds zero where nothing was
// published yet, and writes no line itself. A record that would run over the end begins at line 0; the lines left out are skipped.
//
// Thread: one writer, one reader. Invariants: writing takes no locked instruction and no fence; what the other side wrote is
// checked before it is used.
// Cost: two lines touched per one-line record, of which the second is the next record's.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace portunus {

struct SenderRing {
  static constexpr size_t kLine = 64;
  static constexpr uint32_t kSkip = 0x8000'0000;  // these lines hold nothing

  std::byte* lines = nullptr;
  uint64_t capacity = 0;                  // in lines, a power of two
  std::atomic<uint64_t>* head = nullptr;  // lines consumed; the reader's

  std::byte* at(uint64_t position) const { return lines + (position & (capacity - 1)) * kLine; }
  uint64_t to_end(uint64_t position) const { return capacity - (position & (capacity - 1)); }
  static std::atomic_ref<uint32_t> first_word(std::byte* line) { return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(line)); }
};

class SenderRingWriter : public SenderRing {
 public:
  // The place of a record of so many lines, or nullptr when there is no room now. Its first word must not be touched.
  std::byte* reserve(uint64_t count) {
    assert(count > 0 && count < capacity);
    uint64_t skip = count > to_end(tail_) ? to_end(tail_) : 0;
    if (tail_ + skip + count >= limit_) [[unlikely]] {
      if (returns_early(count)) skip = to_end(tail_);
      if (!extend_limit(tail_ + skip, count)) return nullptr;
    }
    return at(tail_ + skip);
  }
  // Shows the reader the record that lies at `record`, which `reserve` returned for as many lines.
  void publish(std::byte* record, uint64_t count) {
    std::byte* const begin = at(tail_);
    const uint64_t skip = begin == record ? 0 : to_end(tail_);
    assert(begin == record || record == at(tail_ + skip));
    tail_ += skip + count;
    if (zeroed_ <= tail_) {
      first_word(at(tail_)).store(0, std::memory_order_relaxed);
      zeroed_ = tail_ + 1;
    }
    if (skip) first_word(record).store(static_cast<uint32_t>(count), std::memory_order_relaxed);
    first_word(begin).store(static_cast<uint32_t>(skip ? kSkip | skip : count), std::memory_order_release);
    // The reader's cache still has the lines from the last lap. To take one away there takes as long as to send a record, so it is
    // done ahead, and not between a record and its publication.
    if (zeroed_ < tail_ + kAhead && zeroed_ < limit_) first_word(at(zeroed_++)).store(0, std::memory_order_relaxed);
  }
  // The same for all lines of a next record of so many, a few at a time, for who has nothing else to do. False: all is done.
  bool prefault_next(uint64_t count) {
    for (int few = 0; few < kFew; ++few) {
      if (zeroed_ > tail_ + count) return false;
      assert(zeroed_ > tail_);
      if (zeroed_ >= limit_ && (opened_ < capacity || !extend_limit(zeroed_, 0))) return false;
      first_word(at(zeroed_++)).store(0, std::memory_order_relaxed);
    }
    return true;
  }

 private:
  static constexpr uint64_t kAhead = 8, kPiece = 64 * 1024 / kLine, kShort = 16;
  static constexpr int kFew = 16;

  // In place of going where the ring has no pages yet, short records begin at line 0 again if the reader has done with half of the others.
  [[nodiscard]] bool returns_early(uint64_t count) const {
    const uint64_t lap = tail_ & ~(capacity - 1);
    return opened_ < capacity && count <= kShort && tail_ > lap && head->load(std::memory_order_acquire) >= lap + opened_ / 2;
  }
  // Whether `count` lines from `position` on, and the one behind them, may be written by now. Pages come a piece at a time: one call takes
  // a tenth of the page faults, of the writer and of the reader alike, and a writer of few records pays for few.
  bool extend_limit(uint64_t position, uint64_t count) {
    const uint64_t lap = position & ~(capacity - 1), last = position + count;
    for (; opened_ <= last - lap && opened_ < capacity; opened_ += kPiece) {
#ifdef MADV_POPULATE_READ  // what is shared can be written, too, once it can be read; without this call pages come one by one
      madvise(lines + opened_ * kLine, std::min(kPiece, capacity - opened_) * kLine, MADV_POPULATE_READ);
#endif
    }
    limit_ = head->load(std::memory_order_acquire) + capacity;  // pairs with the reader's release: it has done with these lines
    if (opened_ < capacity) limit_ = std::min(limit_, lap + opened_);
    return last < limit_;
  }

  uint64_t tail_ = 0;
  uint64_t zeroed_ = 1;  // the lines from tail_ up to here have a zero as first word
  uint64_t limit_ = 0;   // the lines before this one may be written
  uint64_t opened_ = 0;  // the first so many lines of the ring have their pages
};

class SenderRingReader : public SenderRing {
 public:
  // The oldest record and its lines, or nullptr.
  std::byte* next(uint32_t& count) {
    for (bool skipped = false;; skipped = true) {
      std::byte* const record = at(head_);
      count = first_word(record).load(std::memory_order_acquire);  // pairs with the release in publish
      if (count == 0) return nullptr;
      const uint32_t used = count & ~kSkip;
      const bool sensible = used != 0 && used <= to_end(head_);
      if (sensible && !(count & kSkip)) return record;
      if (!sensible || skipped) {  // behind lines left out lies a record
        broken = true;
        return nullptr;
      }
      done(used);
    }
  }
  // Begins to fetch what lies behind the record that `next` gave: in the middle of many, that has most likely been written.
  void prefetch(uint32_t count) const { __builtin_prefetch(at(head_ + count)); }
  bool empty() const { return broken || first_word(at(head_)).load(std::memory_order_acquire) == 0; }
  void done(uint32_t count) {
    assert(count > 0 && count <= to_end(head_));
    head_ += count;
    head->store(head_, std::memory_order_release);
  }

  bool broken = false;  // holds something no writer of ours would write

 private:
  uint64_t head_ = 0;
};

}  // namespace portunus
