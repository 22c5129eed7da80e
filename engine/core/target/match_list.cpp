// MatchList: appending, unlinking and the traffic between front and tuple space.
#include "engine/core/target/match_list.hpp"

#include <algorithm>
#include <cassert>
#include <new>

namespace portunus {

MatchList::MatchList() = default;
MatchList::~MatchList() = default;

// The front is full, or something is behind already.
void MatchList::put_elsewhere(MatchEntry& entry) {
  // An entry that stays while others come and go leaves empty lanes between: worth closing when there are several.
  if (behind_size_ == 0 && std::popcount(live_) + 2 <= static_cast<int>(kFront)) {
    close_ranks();
    put_in_front(entry);
  } else {
    put_behind(entry);
  }
}

std::vector<MatchEntry*> MatchList::in_order() const {
  std::vector<MatchEntry*> all;
  all.reserve(size_);
  for (uint32_t left = live_; left != 0; left &= left - 1) all.push_back(front_[std::countr_zero(left)].entry);
  for (unsigned i = 0; tuples_ && i < tuples_->used; ++i) tuples_->classes[i].keys.for_each([&all](MatchEntry& e) { all.push_back(&e); });
  for (MatchEntry* e = generic_.first(); e; e = generic_.next(*e)) all.push_back(e);
  assert(all.size() == size_);
  std::sort(all.begin(), all.end(), [](const MatchEntry* a, const MatchEntry* b) { return a->sequence_ < b->sequence_; });
  return all;
}

// Afterwards no lane of the ring is empty.
void MatchList::close_ranks() {
  unsigned to = 0;
  for (uint32_t left = by_age(); left != 0; left &= left - 1) {
    const unsigned from = at_age(static_cast<unsigned>(std::countr_zero(left))), into = at_age(to++);
    assert(front_[from].entry->index_ == from);
    front_[into] = front_[from];
    front_[into].entry->index_ = static_cast<uint8_t>(into);
  }
  span_ = to;
  live_ = std::rotl(static_cast<uint8_t>((1u << to) - 1), static_cast<int>(oldest_));
  assert(static_cast<unsigned>(std::popcount(live_)) == span_);
}

// The class for the entry's masks, a new one or one that has run empty if need be; kMaskClasses when all are taken.
inline unsigned MatchList::class_for(const MatchEntry& entry) {
  if (tuples_ && tuples_->used != 0 && tuples_->classes[tuples_->recent].keys.has_masks(entry.ignore_bits, entry.source_mask))
    return tuples_->recent;
  const unsigned i = other_class_for(entry);
  if (i < kMaskClasses) tuples_->recent = i;
  return i;
}

void MatchList::put_behind(MatchEntry& entry) {
  ++behind_size_;
  credit_ += kCellsPerEntry;
  const unsigned i = class_for(entry);
  const bool first = i < kMaskClasses && tuples_->classes[i].keys.empty();
  if (i == kMaskClasses || !tuples_->classes[i].keys.insert(entry)) {
    generic_.push_back(entry);
    entry.place_ = MatchEntry::Place::generic;
    return;
  }
  if (first) {
    assert(!(tuples_->active & 1u << i));
    tuples_->classes[i].since = entry.sequence_;
    tuples_->active |= 1u << i;
  }
  entry.place_ = MatchEntry::Place::mask_class;
  entry.index_ = static_cast<uint8_t>(i);
}

void MatchList::take_from_elsewhere(MatchEntry& entry, bool classed) {
  if (!classed) {
    generic_.remove(entry);
    return;
  }
  MaskClass& c = tuples_->classes[entry.index_];
  c.keys.remove(entry);
  if (c.keys.empty()) tuples_->active &= ~(1u << entry.index_);
}

void MatchList::pull_to_front() {
  size_t cells = 0;
  for (uint32_t left = tuples_ ? tuples_->active : 0; left != 0; left &= left - 1)
    cells += tuples_->classes[std::countr_zero(left)].keys.cells();
  if (cells > credit_) return;
  credit_ = 0;
  MatchEntry* behind[kPullAt];
  size_t found = 0;
  const auto note = [&](MatchEntry& e) {  // in order of age
    size_t at = found++;
    assert(at < kPullAt);
    for (; at > 0 && behind[at - 1]->sequence_ > e.sequence_; --at) behind[at] = behind[at - 1];
    behind[at] = &e;
  };
  for (MatchEntry* e = generic_.first(); e; e = generic_.next(*e)) note(*e);
  for (uint32_t left = tuples_ ? tuples_->active : 0; left != 0; left &= left - 1)
    tuples_->classes[std::countr_zero(left)].keys.for_each(note);
  assert(found == behind_size_);
  close_ranks();
  for (size_t i = 0; i < found; ++i) {
    take_from_behind(*behind[i]);
    put_in_front(*behind[i]);
  }
  assert(behind_size_ == 0 && span_ == size_ && (!tuples_ || tuples_->active == 0) && !generic_.first());
}

unsigned MatchList::other_class_for(const MatchEntry& entry) {
  if (!tuples_) tuples_.reset(new (std::nothrow) TupleSpace);
  if (!tuples_) return kMaskClasses;
  for (unsigned i = 0; i < tuples_->used; ++i)
    if (tuples_->classes[i].keys.has_masks(entry.ignore_bits, entry.source_mask)) return i;
  // Preferring fresh classes to emptied ones keeps the masks of a class whose entries come and go.
  const unsigned i = tuples_->used < kMaskClasses ? tuples_->used++ : static_cast<unsigned>(std::countr_one(tuples_->active));
  if (i < kMaskClasses) tuples_->classes[i].keys.set_masks(entry.ignore_bits, entry.source_mask);
  return i;
}

}  // namespace portunus
