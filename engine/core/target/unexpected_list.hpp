// UnexpectedList: headers of messages that landed in the overflow list, in order of arrival, searched by appends
// and PtlMESearch.
//
// A short list is scanned. Once kIndexFrom headers are pending, the masks of each search that does not find what it wants among the
// first kLooks get a KeyIndex over all headers, built at the first search with them; searching is then one probe. There are at most
// kIndexes of them (MPI asks with four pairs of masks); searches with further masks scan, until an index falls out of use.
//
// Thread: whoever holds the baton.
// Invariants: every active index holds every header, so any way of searching finds the same one. unlink() never
// adds or drops an index. Memory is allocated only when an index is built or its keys reach a new high; when there
// is none the list scans.
// Source: Portals 4, PtlMEAppend and PtlMESearch on unexpected headers.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/core/target/key_index.hpp"
#include "engine/core/target/match_pattern.hpp"
#include "engine/core/target/order_list.hpp"

namespace portunus {

// Base of whatever is kept in an UnexpectedList. Owned by the caller; must neither move nor change while linked.
struct UnexpectedHeader : Incoming {
  UnexpectedHeader() = default;
  explicit UnexpectedHeader(const Incoming& in) : Incoming(in) {}

  bool linked() const { return linked_; }

 private:
  friend class UnexpectedList;
  friend class KeyIndex<UnexpectedHeader>;
  friend class OrderList<UnexpectedHeader>;
  friend struct Inside;  // tells debuggers where it lies
  static constexpr unsigned kLanes = 4;

  Links<UnexpectedHeader>& key_links(unsigned lane) { return key_links_[lane]; }
  Links<UnexpectedHeader>& order_links() { return order_links_; }

  Links<UnexpectedHeader> order_links_;
  Links<UnexpectedHeader> key_links_[kLanes];
  bool linked_ = false;
};

class UnexpectedList {
 public:
  static constexpr size_t kIndexFrom = 32;
  static constexpr unsigned kIndexes = UnexpectedHeader::kLanes;
  static constexpr unsigned kLooks = 4;

  UnexpectedList();
  ~UnexpectedList();
  UnexpectedList(const UnexpectedList&) = delete;
  UnexpectedList& operator=(const UnexpectedList&) = delete;

  void append(UnexpectedHeader& header) noexcept {
    assert(!header.linked_);
    header.linked_ = true;
    order_.push_back(header);
    ++size_;
    if (active_ != 0) add_to_indexes(header);
    assert(active_ <= kIndexes && (active_ == 0 || indexes_));
  }
  void unlink(UnexpectedHeader& header) noexcept {
    assert(header.linked_);
    assert(size_ > 0);
    if (active_ != 0) remove_from_indexes(header);
    order_.remove(header);
    header.linked_ = false;
    --size_;
    assert((size_ == 0) == (order_.first() == nullptr));
  }

  // The earliest header that the pattern matches and for which fits(header) is true; it stays linked.
  template <class Fits>
  UnexpectedHeader* find(const MatchPattern& pattern, Fits&& fits) {
    // Messages are mostly received as they came: then no index is worth its upkeep.
    UnexpectedHeader* header = order_.first();
    for (unsigned looks = kLooks; header && looks > 0; --looks, header = next(*header))
      if (pattern.matches(*header) && fits(*header)) {
        if (active_ != 0 && size_ < kDropBelow) drop_all();
        return header;
      }
    if (!header) return nullptr;
    if (const Keys* keys = index_for_search(pattern)) return walk(*keys, keys->first(pattern.match_bits, pattern.source), fits);
    return scan(header, pattern, fits);
  }

  // The same, among the headers that arrived after a linked one which the pattern matches. To consume on the way,
  // take the next before unlinking the present:
  //   for (auto* h = list.find(p, all); h; h = next) { next = list.find_next(*h, p, all); if (..) list.unlink(*h); }
  template <class Fits>
  UnexpectedHeader* find_next(UnexpectedHeader& after, const MatchPattern& pattern, Fits&& fits) const {
    assert(after.linked_ && pattern.matches(after));
    if (const Keys* keys = index_with_masks_of(pattern)) return walk(*keys, keys->next(after), fits);
    return scan(order_.next(after), pattern, fits);
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // All headers in order of arrival.
  UnexpectedHeader* first() const { return order_.first(); }
  static UnexpectedHeader* next(UnexpectedHeader& header) { return OrderList<UnexpectedHeader>::next(header); }

 private:
  friend struct Inside;
  // Below this the indexes cost more in upkeep than they save; well below kIndexFrom, lest they be built and dropped in turn.
  static constexpr size_t kDropBelow = kIndexFrom / 4;

  using Keys = KeyIndex<UnexpectedHeader>;
  struct Index {
    Keys keys;
    bool active = false;
    uint64_t last_search = 0;
  };

  template <class Fits>
  static UnexpectedHeader* walk(const Keys& keys, UnexpectedHeader* h, Fits& fits) {
    while (h && !fits(*h)) h = keys.next(*h);
    return h;
  }
  template <class Fits>
  static UnexpectedHeader* scan(UnexpectedHeader* h, const MatchPattern& pattern, Fits& fits) {
    while (h && !(pattern.matches(*h) && fits(*h))) h = next(*h);
    return h;
  }

  const Keys* index_for_search(const MatchPattern& pattern) {
    if (active_ == 0 && size_ < kIndexFrom) return nullptr;
    return choose_index(pattern);
  }
  void add_to_indexes(UnexpectedHeader& header) noexcept;
  void remove_from_indexes(UnexpectedHeader& header) noexcept;
  const Keys* choose_index(const MatchPattern& pattern);
  const Keys* index_with_masks_of(const MatchPattern& pattern) const;
  const Keys* build(unsigned lane, const MatchPattern& pattern);
  void drop(Index& index, const UnexpectedHeader* end);
  void drop_all();

  OrderList<UnexpectedHeader> order_;
  size_t size_ = 0;
  unsigned active_ = 0;               // how many indexes are active
  uint64_t searches_ = 0;             // those that looked for an index
  std::unique_ptr<Index[]> indexes_;  // kIndexes of them, made when first needed
};

}  // namespace portunus
