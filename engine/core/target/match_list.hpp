// MatchList: the entries of one list (priority or overflow) of a portal table entry, searched by arriving messages.
//
// A few entries in front lie packed in the list itself, in a ring in order of age, and are compared one by one; most lists never need more.
// All others lie behind, in a tuple space: one KeyIndex per pair of masks (ignore bits, source mask) in use, so that a search costs one
// probe per pair however long the list. Masks beyond kMaskClasses pairs share one ordered list, as do entries for which a table could not
// be allocated; that list is scanned.
//
// Thread: whoever holds the baton.
// Invariants: every entry in front is older than every entry behind: appending goes in front only while
// nothing is behind. Within and between the structures behind, sequence numbers decide. So find() returns the
// oldest match wherever it lies. When few entries are left those behind are pulled to the front, as often as appending
// behind has paid for the search for them.
// Memory is allocated only when the number of distinct keys of a mask class reaches a new high.
// Source: Portals 4, list entries and matching order; KeyIndex names the papers.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/core/target/key_index.hpp"
#include "engine/core/target/match_pattern.hpp"
#include "engine/core/target/order_list.hpp"

namespace portunus {

// Base of whatever is kept in a MatchList. Owned by the caller; must not move or change its pattern while linked. All that a
// search or an unlinking reads of it lies in one cache line.
struct alignas(64) MatchEntry : MatchPattern {
  MatchEntry() = default;
  explicit MatchEntry(const MatchPattern& pattern) : MatchPattern(pattern) {}

  bool linked() const { return place_ != Place::none; }

 private:
  friend class MatchList;
  friend class KeyIndex<MatchEntry>;
  friend class OrderList<MatchEntry>;
  friend struct Inside;  // tells debuggers where it lies
  enum class Place : uint8_t { none, front, mask_class, generic };

  Links<MatchEntry>& key_links(unsigned) { return links_; }
  Links<MatchEntry>& order_links() { return links_; }

  uint64_t sequence_ = 0;
  Links<MatchEntry> links_;  // among equals in its mask class, or in the generic list
  Place place_ = Place::none;
  uint8_t index_ = 0;  // of its lane in front, or of its mask class
};

class MatchList {
 public:
  static constexpr unsigned kFront = 8;
  static constexpr unsigned kMaskClasses = 32;

  MatchList();
  ~MatchList();
  MatchList(const MatchList&) = delete;
  MatchList& operator=(const MatchList&) = delete;

  void append(MatchEntry& entry) noexcept {
    assert(!entry.linked());
    entry.sequence_ = next_sequence_++;
    ++size_;
    if (behind_size_ == 0 && span_ < kFront) put_in_front(entry);
    else if (!put_behind_alike(entry)) put_elsewhere(entry);
    assert(entry.linked() && size_ >= behind_size_);
  }
  void unlink(MatchEntry& entry) noexcept {
    assert(entry.linked());
    assert(size_ > 0 && size_ >= behind_size_);
    --size_;
    if (entry.place_ == MatchEntry::Place::front) take_from_front(entry);
    else take_from_behind(entry);
    if (behind_size_ != 0 && size_ <= kPullAt) [[unlikely]]
      pull_to_front();
  }

  // The first entry in order of appending that matches and for which fits(entry) is true; it stays linked.
  // fits must be a pure question: it may also be asked about younger entries than the one returned.
  template <class Fits>
  MatchEntry* find(const Incoming& in, Fits&& fits) const {
    for (uint32_t left = by_age(); left != 0; left &= left - 1) {
      const Lane& lane = front_[at_age(std::countr_zero(left))];
      if (lane.matches(in) && fits(*lane.entry)) return lane.entry;
      assert(lane.entry->place_ == MatchEntry::Place::front && &front_[lane.entry->index_] == &lane);
    }
    if (behind_size_ == 0) return nullptr;
    const uint32_t active = tuples_ ? tuples_->active : 0;
    if ((active & (active - 1)) != 0 || active == 0 || generic_.first()) [[unlikely]]
      return find_behind(in, fits);
    const KeyIndex<MatchEntry>& keys = tuples_->classes[std::countr_zero(active)].keys;  // entries alike but for their keys
    MatchEntry* e = keys.first(in.match_bits, in.source);
    while (e && !fits(*e)) e = keys.next(*e);
    return e;
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // All entries in order of appending: a copy, so that the caller may unlink while walking. O(n log n), allocates.
  std::vector<MatchEntry*> in_order() const;

 private:
  struct Lane {
    uint64_t match_bits, care_bits, source, source_mask;
    MatchEntry* entry;

    bool matches(const Incoming& in) const {
      return (((in.match_bits ^ match_bits) & care_bits) | ((in.source ^ source) & source_mask)) == 0;
    }
  };
  struct MaskClass {
    KeyIndex<MatchEntry> keys;
    uint64_t since = 0;  // when it was last empty, as a sequence number: no entry in it is older
  };
  struct TupleSpace {
    uint32_t active = 0;  // bit i: classes[i] holds entries
    unsigned used = 0;    // classes[0..used) have been given masks
    unsigned recent = 0;  // where the last entry went, if any
    MaskClass classes[kMaskClasses];
  };

  // Pulling in at half the front's size leaves room for as many appends before anything goes behind again, so the
  // moves are paid for by the appends between them.
  static constexpr size_t kPullAt = kFront / 2;
  static constexpr size_t kCellsPerEntry = 8;

  // The lanes with entries: bit 0 stands for the oldest place of the ring, and so on.
  uint8_t by_age() const { return std::rotr(live_, static_cast<int>(oldest_)); }
  unsigned at_age(unsigned place) const { return (oldest_ + place) % kFront; }

  template <class Fits>
  [[gnu::noinline]] MatchEntry* find_behind(const Incoming& in, Fits& fits) const {
    MatchEntry* best = nullptr;
    uint64_t best_sequence = ~uint64_t{0};
    const auto older = [&](const MatchEntry* e) { return e && e->sequence_ < best_sequence; };
    const auto take = [&](MatchEntry* e) { best = e, best_sequence = e->sequence_; };

    const uint32_t active = tuples_ ? tuples_->active : 0;
    if ((active & (active - 1)) != 0)  // several long lists: their cache misses one beside the other
      for (uint32_t left = active; left != 0; left &= left - 1)
        tuples_->classes[std::countr_zero(left)].keys.prefetch(in.match_bits, in.source);
    for (uint32_t left = active; left != 0; left &= left - 1) {
      const MaskClass& c = tuples_->classes[std::countr_zero(left)];
      if (c.since > best_sequence) continue;
      MatchEntry* e = c.keys.first(in.match_bits, in.source);
      assert(!e || (e->sequence_ >= c.since && e->place_ == MatchEntry::Place::mask_class));
      while (older(e) && !fits(*e)) e = c.keys.next(*e);
      if (older(e)) take(e);
    }
    MatchEntry* e = generic_.first();
    while (older(e) && !(e->matches(in) && fits(*e))) e = generic_.next(*e);
    if (older(e)) take(e);
    return best;
  }

  void put_in_front(MatchEntry& entry) {
    const unsigned i = at_age(span_++);
    assert(span_ <= kFront && !(live_ & 1u << i));
    front_[i] = {entry.match_bits, ~entry.ignore_bits, entry.source, entry.source_mask, &entry};
    live_ = static_cast<uint8_t>(live_ | 1u << i);
    entry.place_ = MatchEntry::Place::front;
    entry.index_ = static_cast<uint8_t>(i);
  }
  void take_from_front(MatchEntry& entry) {
    assert(front_[entry.index_].entry == &entry);
    assert(live_ & 1u << entry.index_);
    live_ = static_cast<uint8_t>(live_ & ~(1u << entry.index_));
    entry.place_ = MatchEntry::Place::none;
    const uint8_t left = by_age();
    const unsigned gone = left ? static_cast<unsigned>(std::countr_zero(left)) : 0;
    oldest_ = at_age(gone);
    span_ = static_cast<unsigned>(std::bit_width(static_cast<uint8_t>(left >> gone)));
    assert(span_ <= kFront && (span_ == 0) == (live_ == 0));
  }
  // The short way behind: the last entry put there had the same masks, and the last that was put or found there the same key.
  bool put_behind_alike(MatchEntry& entry) {
    if (behind_size_ == 0 || !tuples_) return false;
    MaskClass& recent = tuples_->classes[tuples_->recent];
    if (!recent.keys.has_masks(entry.ignore_bits, entry.source_mask) || !recent.keys.insert_alike(entry)) return false;
    assert(tuples_->active & 1u << tuples_->recent);
    ++behind_size_;
    credit_ += kCellsPerEntry;
    entry.place_ = MatchEntry::Place::mask_class;
    entry.index_ = static_cast<uint8_t>(tuples_->recent);
    return true;
  }
  void take_from_behind(MatchEntry& entry) {
    assert(behind_size_ > 0);
    --behind_size_;
    const bool classed = entry.place_ == MatchEntry::Place::mask_class;
    assert(classed ? tuples_->active & 1u << entry.index_ : entry.place_ == MatchEntry::Place::generic);
    entry.place_ = MatchEntry::Place::none;
    if (!classed || !tuples_->classes[entry.index_].keys.remove_alike(entry)) take_from_elsewhere(entry, classed);
  }
  void put_elsewhere(MatchEntry& entry);
  void put_behind(MatchEntry& entry);
  void take_from_elsewhere(MatchEntry& entry, bool classed);
  void close_ranks();
  void pull_to_front();
  unsigned class_for(const MatchEntry& entry);
  [[gnu::noinline]] unsigned other_class_for(const MatchEntry& entry);

  Lane front_[kFront];
  uint8_t live_ = 0;     // bit i: front_[i] holds an entry
  unsigned oldest_ = 0;  // where the ring begins, and how many lanes it has, some of which may be empty again; never the first or last
  unsigned span_ = 0;
  size_t size_ = 0;
  size_t behind_size_ = 0;
  size_t credit_ = 0;  // cells that pulling to the front may look at: some for each entry put behind
  uint64_t next_sequence_ = 0;
  OrderList<MatchEntry> generic_;
  std::unique_ptr<TupleSpace> tuples_;  // made when first an entry goes behind
};

}  // namespace portunus
