// Places in the memory of a group for the parts of it that have collectives of their own: no rank waits for another to get one.
//
// The memory is 64 units. Rank 0 of a part takes a run of them and writes the part's tag, which is made of its ranks and of a key that is
// no other part's of the same ranks, where the others find it. All that lies in units nobody has is zero.
//
// Thread: any. All words are atomic; a place is written by those who have it.
// Invariants: a tag is stored with release behind the units' zeroes, and loaded with acquire. A rank that leaves releases its last use, and
// the last one to leave acquires those of all: nobody looks for the tag any more, and it clears what was written and frees the units.
// A rank that ends without leaving keeps its places from ever being free.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace portunus::goal::node {

class Arena {
 public:
  static constexpr int kUnits = 64;
  // `unit`: bytes of which a place has some, a multiple of 64.
  explicit Arena(size_t unit) : unit_(unit) {}
  static constexpr size_t table_bytes() { return sizeof(Table); }
  [[nodiscard]] size_t bytes() const { return kUnits * unit_; }
  // Its zeroed table and its units in memory that all ranks of the group map. `reserve` makes some of the units' bytes be there.
  using Reserve = std::function<bool(const std::byte* from, size_t bytes)>;
  void lie_at(std::byte* table, std::byte* units, Reserve reserve) {
    table_ = reinterpret_cast<Table*>(table);
    start_ = units;
    reserve_ = std::move(reserve);
  }
  [[nodiscard]] bool made() const { return table_ != nullptr; }

  static constexpr int kNone = 0;
  // A place of so many bytes, or kNone: there is no room. Before complete(), only the `first` ones of it may be used.
  int take(size_t bytes, uint64_t tag, size_t first);
  int take(size_t bytes, uint64_t tag) { return take(bytes, tag, bytes); }
  // False: there is no memory for the others.
  bool complete(int place, size_t bytes);
  // The place with the tag; kNone: nobody has taken one.
  [[nodiscard]] int find(uint64_t tag) const;
  [[nodiscard]] std::byte* at(int place) const;
  // Words about what a place is used for: its ranks raise them, and the last one to leave reads them.
  static constexpr size_t kCounts = 3;
  using Counts = std::array<uint64_t, kCounts>;
  void raise(int place, const Counts& counts);
  [[nodiscard]] Counts counts(int place) const;
  // For each of so many ranks of the part, once: it will not use the place any more. True: it is the last one, and frees it.
  bool leave(int place, size_t ranks) { return group(place).left.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks; }
  void free(int place, size_t bytes);

 private:
  struct alignas(64) Group {
    std::atomic<uint64_t> tag;
    std::atomic<uint64_t> left;
    std::array<std::atomic<uint64_t>, kCounts> counts;
  };
  struct Table {
    alignas(64) std::atomic<uint64_t> taken;  // a bit for each unit
    std::atomic<uint64_t> reserved;
    std::array<Group, kUnits> groups;  // by their first unit
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(Table) % 64 == 0);

  [[nodiscard]] Group& group(int place) const { return table_->groups[static_cast<size_t>(place - 1)]; }
  [[nodiscard]] size_t units(size_t bytes) const { return (bytes + unit_ - 1) / unit_; }
  [[nodiscard]] bool is_reserved(uint64_t units) const { return (table_->reserved.load(std::memory_order_relaxed) & units) == units; }
  static uint64_t run(size_t units) { return units < kUnits ? (uint64_t{1} << units) - 1 : ~uint64_t{0}; }

  size_t unit_;
  Table* table_ = nullptr;
  std::byte* start_ = nullptr;
  Reserve reserve_;
};

}  // namespace portunus::goal::node
