// Groups whose short calls go through a place in the memory of another group, from the first call on: see GOAL_Place_take.
//
// Thread: as collectives.hpp says; places of one group are taken and left by any thread.
#include <algorithm>
#include <utility>

#include "engine/goal/node/collectives.hpp"
#include "engine/goal/node/sizes.hpp"

namespace portunus::goal::node {

namespace {

int rank_in_job(const GOAL_Group& part, int member) { return part.ranks ? part.ranks[member] : member; }

// Differs for parts that differ in their key, their ranks or the order of these, but for one chance in 2^63.
uint64_t tag_of(const GOAL_Group& part, uint64_t key) {
  uint64_t tag = key;
  const auto mix = [&](uint64_t word) {  // the finalizer of MurmurHash3
    tag ^= word;
    tag = (tag ^ tag >> 33) * 0xff51afd7ed558ccdu;
    tag = (tag ^ tag >> 33) * 0xc4ceb9fe1a85ec53u;
    tag = tag ^ tag >> 33;
  };
  mix(static_cast<uint64_t>(part.size));
  for (int i = 0; i < part.size; ++i) mix(uint64_t{static_cast<uint32_t>(rank_in_job(part, i))} + 0x9e3779b97f4a7c15u);
  return tag | 1;
}

void lay(std::byte* start, Slots& shorts, Slots& middles) {
  shorts.lie_at(start, kPart);
  middles.lie_at(start + kShortPart, kPart);
}

}  // namespace

bool Collectives::includes(const GOAL_Group& part) const {
  for (int i = 0; i < part.size; ++i)
    if (std::ranges::find(ranks_, rank_in_job(part, i)) == ranks_.end()) return false;
  return true;
}

bool Collectives::may_place(const GOAL_Group& part) const {
  return places_.made() && part.size > 1 && part.size <= static_cast<int>(size_) && includes(part);
}

int Collectives::take_place(const GOAL_Group& part, uint64_t key) {
  if (!may_place(part)) return Arena::kNone;
  return places_.take(static_cast<size_t>(part.size) * kPart, tag_of(part, key));
}

int Collectives::find_place(const GOAL_Group& part, uint64_t key) const {
  return may_place(part) ? places_.find(tag_of(part, key)) : Arena::kNone;
}

void Collectives::leave_place(const GOAL_Group& part, int place) {
  const auto size = static_cast<size_t>(part.size);
  if (!places_.leave(place, size)) return;
  const Arena::Counts counts = places_.counts(place);
  Slots shorts(0, size, kShortBuffer, kShortSlots), middles(0, size, kMiddle, kMiddleSlotsOfPart);
  lay(places_.at(place), shorts, middles);
  shorts.clear(counts[0]);
  middles.clear(counts[1]);
  if (counts[2] != Arena::kNone) buffer_places_.free(static_cast<int>(counts[2]), size * ExchangeBuffers::bytes_each(size));
  places_.free(place, size * kPart);
}

void Collectives::return_place(const GOAL_Group& part, int place) { places_.free(place, static_cast<size_t>(part.size) * kPart); }

int Collectives::find_place_for_buffers(Agreement& agreement) {
  if (buffer_place_ != Arena::kNone) return GOAL_SUCCESS;
  int place = Arena::kNone;
  if (rank_ == 0) place = whole_->buffer_places_.take(size_ * buffers_.bytes_each(), 1, Pipes::bytes(size_));
  if (place != Arena::kNone) Pipes::clear(whole_->buffer_places_.at(place), size_);
  if (const int code = agreement.tell({.well = 1, .memory = place}); code != GOAL_SUCCESS) return code;
  buffer_place_ = static_cast<int>(agreement.all[0].memory);
  if (buffer_place_ != Arena::kNone) buffers_.pipes().lie_at(whole_->buffer_places_.at(buffer_place_));
  return GOAL_SUCCESS;
}

int Collectives::find_memory(Pipes&, Agreement& agreement) { return find_place_for_buffers(agreement); }

int Collectives::find_memory(ExchangeBuffers& buffers, Agreement& agreement) {
  if (const int code = find_place_for_buffers(agreement); code != GOAL_SUCCESS || buffer_place_ == Arena::kNone) return code;
  const bool is_there = rank_ != 0 || whole_->buffer_places_.complete(buffer_place_, size_ * buffers.bytes_each());
  if (rank_ == 0 && is_there) {
    buffers.lie_at(whole_->buffer_places_.at(buffer_place_));
    buffers.clear();
  }
  if (const int code = agreement.tell({.well = is_there}); code != GOAL_SUCCESS) return code;
  if (rank_ != 0 && agreement.all_well()) buffers.lie_at(whole_->buffer_places_.at(buffer_place_));
  return GOAL_SUCCESS;
}

int Collectives::lie_at(Collectives& whole, int place) {
  if (short_.standing.state != Standing::early || place == Arena::kNone) return GOAL_SUCCESS;
  std::vector<size_t> members;
  for (const int rank : ranks_) members.push_back(static_cast<size_t>(std::ranges::find(whole.ranks_, rank) - whole.ranks_.begin()));
  if (!waiting_.prepare(group_) || !PendingRuns::instance().attend()) return GOAL_ERR_NO_SPACE;
  others_.open_as(whole.others_, members);
  prepared_ = able_ = true;
  crowded_ = whole.crowded_;
  has_engine_ = whole.has_engine_;
  middle_.slots.resize(kMiddle, kMiddleSlotsOfPart);
  lay(whole.places_.at(place), short_.slots, middle_.slots);
  short_.standing.state = middle_.standing.state = Standing::here;
  whole_ = &whole;
  place_ = place;
  return GOAL_SUCCESS;
}

}  // namespace portunus::goal::node
