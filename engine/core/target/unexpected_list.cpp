// UnexpectedList: upkeep of the indexes.
#include "engine/core/target/unexpected_list.hpp"

#include <cassert>
#include <new>
#include <span>

namespace portunus {

namespace {
// An index not searched for so long may be replaced; building one costs as much as a few scans.
constexpr uint64_t kIdleSearches = 64;
}  // namespace

UnexpectedList::UnexpectedList() = default;
UnexpectedList::~UnexpectedList() = default;

void UnexpectedList::add_to_indexes(UnexpectedHeader& header) noexcept {
  for (Index& index : std::span(indexes_.get(), kIndexes))
    if (index.active && !index.keys.insert(header)) drop(index, &header);
}

void UnexpectedList::remove_from_indexes(UnexpectedHeader& header) noexcept {
  for (Index& index : std::span(indexes_.get(), kIndexes))
    if (index.active) index.keys.remove(header);
}

// The index to search with, built if worth it; null means scan.
const UnexpectedList::Keys* UnexpectedList::choose_index(const MatchPattern& pattern) {
  if (!indexes_) indexes_.reset(new (std::nothrow) Index[kIndexes]);
  if (!indexes_) return nullptr;
  if (size_ < kDropBelow) {
    drop_all();
    return nullptr;
  }
  ++searches_;
  unsigned lane = 0;  // a free one, else the one idle longest
  for (unsigned i = 0; i < kIndexes; ++i) {
    Index& index = indexes_[i];
    if (index.active && index.keys.has_masks(pattern.ignore_bits, pattern.source_mask)) {
      index.last_search = searches_;
      return &index.keys;
    }
    const Index& best = indexes_[lane];
    if (best.active && (!index.active || index.last_search < best.last_search)) lane = i;
  }
  if (size_ < kIndexFrom) return nullptr;
  if (indexes_[lane].active) {
    if (searches_ - indexes_[lane].last_search < kIdleSearches) return nullptr;
    drop(indexes_[lane], nullptr);
  }
  return build(lane, pattern);
}

const UnexpectedList::Keys* UnexpectedList::index_with_masks_of(const MatchPattern& pattern) const {
  if (active_ == 0) return nullptr;
  for (const Index& index : std::span(indexes_.get(), kIndexes))
    if (index.active && index.keys.has_masks(pattern.ignore_bits, pattern.source_mask)) return &index.keys;
  return nullptr;
}

const UnexpectedList::Keys* UnexpectedList::build(unsigned lane, const MatchPattern& pattern) {
  Index& index = indexes_[lane];
  assert(!index.active && active_ < kIndexes);
  index.keys.set_masks(pattern.ignore_bits, pattern.source_mask, lane);
  index.active = true;
  index.last_search = searches_;
  ++active_;
  for (UnexpectedHeader* h = order_.first(); h; h = next(*h)) {
    if (index.keys.insert(*h)) continue;
    drop(index, h);
    return nullptr;
  }
  return &index.keys;
}

// Deactivates an index that holds the headers before `end` (null: all).
void UnexpectedList::drop(Index& index, const UnexpectedHeader* end) {
  assert(index.active && active_ > 0);
  for (UnexpectedHeader* h = order_.first(); h != end; h = next(*h)) index.keys.remove(*h);
  assert(index.keys.empty());
  index.active = false;
  --active_;
}

void UnexpectedList::drop_all() {
  for (Index& index : std::span(indexes_.get(), kIndexes))
    if (index.active) drop(index, nullptr);
}

}  // namespace portunus
