// shared_copy.hpp: one copy between two processes at which both of them work.
//
// The *owner*, who was asked to move the data, opens a job in its own segment and copies chunks from the front; the *helper*,
// whose memory is the other end, copies chunks from the back whenever it looks. Each chunk is claimed in one word before it is
// copied, so nobody copies it twice; the owner is done when all are claimed and the helper has finished with its own.
// A helper that never looks costs the owner one compare-and-swap a chunk.
//
// Thread: one owner, one helper, in different processes. Invariants: the fields of a job change only while no chunk of it is
// unclaimed or being copied; a claim is good only if the word has not changed since the fields were read.
// It is work sharing from both ends of a range, as loop schedulers do it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace portunus {

// Lies in the owner's segment, zeroed at first.
struct SharedCopy {
  alignas(64) std::atomic<uint64_t> turn;  // job << 48 | first unclaimed chunk << 24 | end of the unclaimed chunks
  std::atomic<uint64_t> owners_memory;
  std::atomic<uint64_t> helpers_memory;
  std::atomic<uint64_t> size;              // bytes << 1 | 1 if the data goes to the owner
  alignas(64) std::atomic<uint64_t> done;  // chunks that the helper is done with; the helper's
  std::atomic<uint64_t> failed;            // some of them it could not copy

  struct Chunk {
    uint64_t owners;  // addresses, each in its own process
    uint64_t helpers;
    size_t size;
    bool to_owner;
  };

  // From how many bytes on sharing pays: less is copied before a helper has noticed.
  static constexpr size_t kLeast = 48 * 1024;
  static constexpr size_t kLeastBothWays = 1024 * 1024;  // while the helper has memory of the owner's to copy itself
  // Small chunks pay the kernel's price for each too often, large ones let one side wait long for the other at the end.
  static constexpr size_t kSmallestChunk = 32 * 1024, kLargestChunk = 256 * 1024;
  static constexpr size_t kMost = size_t{1} << 36;
  static constexpr size_t chunk_of(size_t bytes) {
    const size_t even = (bytes / 8 + 4095) / 4096 * 4096;
    return std::clamp(even, kSmallestChunk, kLargestChunk);
  }

  static constexpr unsigned kJobShift = 48, kFirstShift = 24;
  static constexpr uint64_t kIndexMask = (uint64_t{1} << kFirstShift) - 1;
  static uint64_t first_of(uint64_t turn) { return turn >> kFirstShift & kIndexMask; }
  static uint64_t end_of(uint64_t turn) { return turn & kIndexMask; }

  // Is there anything to help with? A hint.
  bool wanted() const {
    const uint64_t now = turn.load(std::memory_order_relaxed);
    return first_of(now) != end_of(now);
  }
  // Helper: copies one chunk with copy(chunk), which answers whether it could; false: there was none.
  template <class Copy>
  bool help(Copy&& copy) {
    uint64_t now = turn.load(std::memory_order_acquire);  // pairs with open: the fields are those of this job, or a later one's
    for (;;) {
      if (first_of(now) >= end_of(now)) return false;
      const uint64_t index = end_of(now) - 1;
      const Chunk chunk = chunk_at(index);
      // Acquire: the fields cannot have changed before this. Fails when they may have.
      if (!turn.compare_exchange_strong(now, now - 1, std::memory_order_acquire)) continue;
      if (!copy(chunk)) failed.store(1, std::memory_order_relaxed);
      done.fetch_add(1, std::memory_order_release);  // the data before the count: see CopyOwner::finished
      return true;
    }
  }
  Chunk chunk_at(uint64_t index) const {
    const uint64_t bytes = size.load(std::memory_order_relaxed);
    const size_t whole = static_cast<size_t>(bytes >> 1), step = chunk_of(whole);
    const size_t at = static_cast<size_t>(index) * step;
    return {owners_memory.load(std::memory_order_relaxed) + at, helpers_memory.load(std::memory_order_relaxed) + at,
            std::min(step, whole - std::min(at, whole)), (bytes & 1) != 0};
  }
};

// The owner's end of a SharedCopy.
class CopyOwner {
 public:
  bool busy() const { return shared_ != nullptr; }
  // At most SharedCopy::kMost bytes; not while busy.
  void open(SharedCopy& shared, uint64_t owners, uint64_t helpers, size_t size, bool to_owner) {
    assert(!busy() && size > 0 && size <= SharedCopy::kMost);
    shared_ = &shared;
    chunks_ = (size + SharedCopy::chunk_of(size) - 1) / SharedCopy::chunk_of(size);
    assert(chunks_ <= SharedCopy::kIndexMask);
    const uint64_t job = (shared.turn.load(std::memory_order_relaxed) >> SharedCopy::kJobShift) + 1;
    shared.owners_memory.store(owners, std::memory_order_relaxed);
    shared.helpers_memory.store(helpers, std::memory_order_relaxed);
    shared.size.store(uint64_t{size} << 1 | to_owner, std::memory_order_relaxed);
    shared.done.store(0, std::memory_order_relaxed);
    shared.failed.store(0, std::memory_order_relaxed);
    shared.turn.store(job << SharedCopy::kJobShift | chunks_, std::memory_order_release);  // pairs with help
    claimed_ = 0;
  }
  // The next chunk from the front is the caller's to copy; false: none is left.
  bool claim(SharedCopy::Chunk& chunk) {
    uint64_t now = shared_->turn.load(std::memory_order_relaxed);
    while (SharedCopy::first_of(now) < SharedCopy::end_of(now)) {
      if (!shared_->turn.compare_exchange_weak(now, now + (uint64_t{1} << SharedCopy::kFirstShift), std::memory_order_relaxed)) continue;
      assert(claimed_ < chunks_);
      chunk = shared_->chunk_at(claimed_++);
      return true;
    }
    return false;
  }
  // No chunk is unclaimed any more: the helper is done with those it has claimed.
  bool finished() const { return shared_->done.load(std::memory_order_acquire) == chunks_ - claimed_; }
  // When finished: whether the helper could copy what it claimed. The job is over.
  bool close() {
    assert(busy());
    const bool whole = shared_->failed.load(std::memory_order_relaxed) == 0;
    shared_ = nullptr;
    return whole;
  }

 private:
  SharedCopy* shared_ = nullptr;
  uint64_t chunks_ = 0;
  uint64_t claimed_ = 0;  // from the front
};

}  // namespace portunus
