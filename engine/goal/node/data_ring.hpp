// The ring of a rank's long data, which lie one behind the other: where the next ones go.
//
// A ring is much longer than what is under way, where memory allows: lines that another core still has in its own caches take up to four
// times as long to write and to read as those which have left them.
//
// Thread: one at a time per object.
// Invariants: data lie in one piece, and begin with a cache line. Their place is taken again when nobody needs them any more.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace portunus::goal::node {

class DataRing {
 public:
  // Whether nobody needs any more what was given in that exchange.
  struct IsOver {
    bool (*ask)(const void* arg, uint64_t exchange);
    const void* arg;
  };
  // `bytes`: a multiple of 64.
  DataRing(size_t bytes, IsOver exchange_is_over) : bytes_(bytes), exchange_is_over_(exchange_is_over) {}
  // Another one of the same rank.
  DataRing(size_t bytes, const DataRing& other) : DataRing(bytes, other.exchange_is_over_) {}
  [[nodiscard]] size_t bytes() const { return bytes_; }
  // Before take(): memory for what is remembered of data.
  void reserve() { data_.resize(kMost); }

  // Whether there is room for so many bytes; more than the ring has never find any.
  bool has_room(size_t bytes) {
    const uint64_t begin = begin_of(bytes), end = begin + lines(bytes);
    while (first_ < last_ && (last_ - first_ == kMost || end - at(first_).begin > bytes_)) {
      if (!is_over(at(first_))) return false;
      ++first_;
    }
    return lines(bytes) <= bytes_;
  }
  // Their place, after has_room(). They are needed until `word`, another rank's, holds `until`; or, without one, in that exchange.
  size_t take(size_t bytes, const std::atomic<uint64_t>* word, uint64_t until) {
    assert(last_ - first_ < kMost);
    const uint64_t begin = begin_of(bytes);
    at(last_++) = {begin, until, word};
    next_ = begin + lines(bytes);
    return begin % bytes_;
  }

 private:
  static constexpr size_t kLine = 64, kMost = 256;

  struct Data {
    uint64_t begin;  // counted from the beginning of the first round
    uint64_t until;
    const std::atomic<uint64_t>* word;
  };
  static size_t lines(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
  // The place at which so many bytes lie in one piece.
  [[nodiscard]] uint64_t begin_of(size_t bytes) const {
    const size_t left = bytes_ - next_ % bytes_;
    return lines(bytes) > left ? next_ + left : next_;
  }
  Data& at(size_t i) { return data_[i % kMost]; }
  [[nodiscard]] bool is_over(const Data& data) const {
    return data.word != nullptr ? data.word->load(std::memory_order_acquire) >= data.until
                                : exchange_is_over_.ask(exchange_is_over_.arg, data.until);
  }

  size_t bytes_;
  IsOver exchange_is_over_;
  uint64_t next_ = 0;
  size_t first_ = 0, last_ = 0;  // of what may be needed
  std::vector<Data> data_;
};

}  // namespace portunus::goal::node
