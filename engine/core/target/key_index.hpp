// A hash from (match_bits & ~ignore_bits, source & source_mask), for one pair of masks, to a FIFO of nodes.
//
// Open addressing with linear probing; a cell is 16 bytes, the full hash and the head of the FIFO. No two cells have
// the same hash, so searching compares hashes alone; the key is then verified at the head. A key whose hash is taken
// by another key is refused (one in 2^63). A cell whose FIFO runs empty is kept, for its key will often come again;
// cells of keys that never do (bits tagged with an epoch) are swept a few at a time as new ones are taken.
//
// Thread: whoever holds the baton; no synchronisation inside.
// Invariants: within a FIFO, head.prev is the tail and tail.next is null. At most half the cells have a FIFO and
// at most three quarters are taken. insert() is the only caller of the allocator and does so only when the number of
// distinct keys with a FIFO reaches a new high.
// Node has match_bits and source, and grants access to `Links<Node>& key_links(unsigned lane)`: a node may be in
// several indexes, each with a lane of its own.
// Source: tuple space search (Srinivasan, Suri, Varghese, SIGCOMM 1999); hashed matching with sequence
// numbers (Flajslik, Dinan, Underwood, ISC 2016).
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "engine/core/target/match_pattern.hpp"
#include "engine/core/target/order_list.hpp"

namespace portunus {

template <class Node>
class KeyIndex {
 public:
  // Requires an empty index. The table of an earlier use is kept.
  void set_masks(uint64_t ignore_bits, uint64_t source_mask, unsigned lane = 0) {
    assert(empty());
    care_bits_ = ~ignore_bits;
    source_mask_ = source_mask;
    lane_ = lane;
  }
  bool has_masks(uint64_t ignore_bits, uint64_t source_mask) const { return care_bits_ == ~ignore_bits && source_mask_ == source_mask; }
  bool empty() const { return keys_ == 0; }

  // The oldest node whose key equals that of the given bits and source, or null.
  Node* first(uint64_t match_bits, uint64_t source) const {
    if (keys_ == 0) return nullptr;
    Node* head = cells_[found_].head;
    if (head && same_key(*head, match_bits, source)) return head;  // one message of many alike
    found_ = locate(hash_of(match_bits, source));
    head = cells_[found_].head;
    return head && same_key(*head, match_bits, source) ? head : nullptr;
  }
  // Begins to bring here what `first` will read, where that is likely not in the cache.
  void prefetch(uint64_t match_bits, uint64_t source) const {
    if (capacity_ >= kManyCells) __builtin_prefetch(&cells_[home(hash_of(match_bits, source))]);
  }
  // The next younger node of the same key, or null.
  Node* next(Node& node) const { return links(node).next; }

  // Calls action(node) with each node, in no order; it must not change the index. Costs a look at each of `cells()`.
  template <class Action>
  void for_each(Action&& action) const {
    for (size_t at = 0; at < capacity_; ++at)
      for (Node* node = cells_[at].head; node; node = links(*node).next) action(*node);
  }
  size_t cells() const { return capacity_; }

  // Puts the node behind all of its key. False, with no node moved, when memory for a larger table is missing or
  // another key has the hash.
  [[nodiscard]] bool insert(Node& node) noexcept {
    if (capacity_ == 0 && !grow()) return false;
    if (insert_alike(node)) return true;
    const uint64_t hash = hash_of(node.match_bits, node.source);
    size_t at = locate(hash);
    if (Node* head = cells_[at].head) {
      if (!same_key(*head, node.match_bits, node.source)) return false;
      found_ = at;
      push_back(*head, node);
      return true;
    }
    if ((keys_ + 1) * 2 > capacity_) {
      if (!grow()) return false;
      at = locate(hash);
    }
    if (cells_[at].hash == kFree) {
      make_room();
      at = locate(hash);
      ++taken_;
    }
    links(node) = {&node, nullptr};
    cells_[at] = {hash, &node};
    ++keys_;
    assert(keys_ * 2 <= capacity_ && keys_ <= taken_ && taken_ <= capacity_);
    return true;
  }

  // The short ways of many nodes alike. False, and nothing changed, unless the node's key is the one that was looked at last and
  // another node has it, too.
  bool insert_alike(Node& node) noexcept {
    Node* head = capacity_ ? cells_[found_].head : nullptr;
    if (!head || !same_key(*head, node.match_bits, node.source)) return false;
    push_back(*head, node);
    return true;
  }
  bool remove_alike(Node& node) noexcept {
    Node* next = links(node).next;
    if (!next || cells_[found_].head != &node) return false;
    assert(links(*next).prev == &node && same_key(*next, node.match_bits, node.source));
    links(*next).prev = links(node).prev;
    cells_[found_].head = next;
    links(node) = {};
    return true;
  }

  void remove(Node& node) noexcept {
    const Links<Node> own = links(node);
    const bool is_head = links(*own.prev).next != &node;
    assert(keys_ > 0 && (!own.next || links(*own.next).prev == &node));
    links(node) = {};
    if (!is_head && own.next) {  // in the middle: no cell knows it
      links(*own.prev).next = own.next;
      links(*own.next).prev = own.prev;
      return;
    }
    Cell& cell = cells_[is_head && cells_[found_].head == &node ? found_ : locate(hash_of(node.match_bits, node.source))];
    if (!is_head) {
      assert(links(*cell.head).prev == &node);
      links(*own.prev).next = nullptr;
      links(*cell.head).prev = own.prev;
    } else {
      assert(cell.head == &node);
      cell.head = own.next;
      if (own.next) links(*own.next).prev = own.prev;
      else --keys_;
    }
  }

 private:
  struct Cell {
    uint64_t hash;  // kFree: never taken, or swept
    Node* head;     // null: free, or taken by a key without nodes
  };
  static constexpr uint64_t kFree = 0;
  static constexpr size_t kFirstCapacity = 32;
  static constexpr size_t kManyCells = 1024;
  static constexpr unsigned kSweep = 4;  // cells looked at per cell taken

  Links<Node>& links(Node& node) const { return node.key_links(lane_); }

  void push_back(Node& head, Node& node) {
    Node* tail = links(head).prev;
    assert(!links(*tail).next);
    links(node) = {tail, nullptr};
    links(*tail).next = &node;
    links(head).prev = &node;
  }

  bool same_key(const Node& node, uint64_t match_bits, uint64_t source) const {
    return (((node.match_bits ^ match_bits) & care_bits_) | ((node.source ^ source) & source_mask_)) == 0;
  }

  uint64_t hash_of(uint64_t match_bits, uint64_t source) const {
    uint64_t h = (match_bits & care_bits_) * 0x9e3779b97f4a7c15u;
    h ^= std::rotl((source & source_mask_) * 0xc2b2ae3d27d4eb4fu, 32);
    h ^= h >> 32;
    return h * 0xd6e8feb86659fd93u | 1;  // never kFree; the upper bits, the best mixed ones, choose the cell
  }
  size_t home(uint64_t hash) const { return hash >> shift_; }

  // The cell taken by this hash, or the free cell where it belongs.
  size_t locate(uint64_t hash) const {
    size_t at = home(hash);
    while (cells_[at].hash != hash && cells_[at].hash != kFree) at = (at + 1) & (capacity_ - 1);
    return at;
  }

  // Sweeps a few cells, or as many as it takes to keep the probes short.
  void make_room() {
    for (unsigned i = 0; i < kSweep || taken_ * 4 >= capacity_ * 3; ++i) {
      if (cells_[hand_].hash != kFree && !cells_[hand_].head) close_gap(hand_);
      else hand_ = (hand_ + 1) & (capacity_ - 1);
    }
  }

  // Frees the cell and moves back those behind it that its occupant had pushed away from home.
  void close_gap(size_t gap) {
    const size_t wrap = capacity_ - 1;
    for (size_t at = (gap + 1) & wrap; cells_[at].hash != kFree; at = (at + 1) & wrap) {
      if (((at - home(cells_[at].hash)) & wrap) < ((at - gap) & wrap)) continue;
      cells_[gap] = cells_[at];
      gap = at;
    }
    cells_[gap] = {kFree, nullptr};
    --taken_;
    assert(taken_ >= keys_);
  }

  bool grow() {
    const size_t larger = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
    std::unique_ptr<Cell[]> old(new (std::nothrow) Cell[larger]());
    if (!old) return false;
    old.swap(cells_);
    const size_t old_capacity = capacity_;
    capacity_ = larger;
    shift_ = 64 - std::countr_zero(larger);
    for (size_t i = 0; i < old_capacity; ++i)
      if (old[i].head) cells_[locate(old[i].hash)] = old[i];
    taken_ = keys_;
    hand_ = 0;
    return true;
  }

  uint64_t care_bits_ = ~uint64_t{0};
  uint64_t source_mask_ = ~uint64_t{0};
  std::unique_ptr<Cell[]> cells_;
  mutable size_t found_ = 0;  // the cell looked at last: what was found is often removed next, and the next key is often the same
  size_t capacity_ = 0;       // zero or a power of two
  size_t keys_ = 0;           // cells with a FIFO
  size_t taken_ = 0;          // these, and those whose FIFO ran empty
  size_t hand_ = 0;           // of the sweep
  unsigned shift_ = 63;
  unsigned lane_ = 0;
};

}  // namespace portunus
