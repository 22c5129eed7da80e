// departures.cpp: processes of the node that have ended without a word, and what they leave behind. See node.hpp.
#include <algorithm>
#include <cassert>

#include "engine/transport/node/node.hpp"

namespace portunus {
namespace {

constexpr uint32_t kLooks = 16;       // at senders that may have gone, each time
constexpr size_t kLooksAtPeers = 32;  // each time, as one takes several system calls; the next time at others

}  // namespace

// Acquire pairs with refuse: it writes nothing more to us.
bool NodeTransport::refuses_us(const NodeLink& link) const {
  return link.entry && link.entry->ready.load(std::memory_order_acquire) == SegmentHeader::kRefused &&
         link.entry->place.incarnation == segment_->header().place.incarnation;
}

bool NodeTransport::has_ended_with(ProcessId process, uint32_t incarnation) const {
  const auto known = links_.find({process.nid, process.pid});
  return known != links_.end() && known->second->lost && known->second->ended_with == incarnation;
}

bool NodeTransport::alive(const NodeLink& link) const {
  if (link.lost || link.dead) return false;
  if (link.segment) return link.segment->owner_alive();
  if (link.sends_as == kMaxSenders) return true;  // nothing but its address is known
  const SegmentHeader::Sender& entry = segment_->header().sender[link.sends_as];
  if (entry.ready.load(std::memory_order_acquire) == SegmentHeader::kLeft) return false;  // pairs with the sender's destructor
  return Segment::may_live(link.process, uid_, entry.place);
}

void NodeTransport::note_death(NodeLink& link) {
  if (link.dead || link.lost) return;
  link.dead = true;
  link.last_words = segment_->header().tail.load(std::memory_order_acquire);
  dead_.push_back(&link);
  // It may have sent from a box that was not looked into yet. One that has its address by now ends it here.
  for (uint32_t i = 0; i < std::min(segment_->header().senders.load(std::memory_order_acquire), box_count_); ++i) sender(i);
}

// A sender that lives and writes what no sender of ours would: from now on as good as dead, for it, too.
void NodeTransport::refuse(uint32_t index) {
  NodeLink* link = sender(index);
  if (!link || link->lost) return;
  SegmentHeader::Sender& entry = segment_->header().sender[index];
  note_death(*link);
  link->last_words = head_;
  link->ended_with = entry.place.incarnation;
  if (index < box_count_) boxes_[index].broken = true;
  reap();  // after which nothing is written to it
  entry.ready.store(SegmentHeader::kRefused, std::memory_order_release);
}

// Those whose last words have been delivered.
int NodeTransport::reap() {
  int told = 0;
  for (size_t i = 0; i < dead_.size();) {
    NodeLink& link = *dead_[i];
    if ((head_ < link.last_words && !broken_) || (link.sends_as < box_count_ && !boxes_[link.sends_as].empty())) {
      ++i;
      continue;
    }
    dead_[i] = dead_.back();
    dead_.pop_back();
    assert(link.dead && !link.lost);
    link.dead = false;
    link.lost = true;
    if (link.segment && link.segment->lends_memory()) link.kept_segment = std::move(link.segment);
    link.segment.reset();
    if (link.sends_as != kMaxSenders && !link.ended_with)
      vacating_.push_back({link.sends_as, segment_->header().tail.load(std::memory_order_acquire)});
    sink_.lost(link);
    ++told;
  }
  vacate();
  return told;
}

// Makes the places of the lost as if new. Nobody writes there any more, and what they wrote has been read.
void NodeTransport::vacate() {
  SegmentHeader& own = segment_->header();
  std::erase_if(vacating_, [&](const Vacating& place) {
    if (head_ < place.last_words && !broken_) return false;
    if (place.index < box_count_) {
      SenderRingReader& box = boxes_[place.index];
      box = segment_->box<SenderRingReader>(place.index);
      box.head->store(0, std::memory_order_relaxed);
      SenderRing::first_word(box.at(0)).store(0, std::memory_order_relaxed);
    }
    SegmentHeader::Sender& entry = own.sender[place.index];
    entry.claim.store(0, std::memory_order_relaxed);
    senders_[place.index]->sends_as = kMaxSenders;
    senders_[place.index] = nullptr;
    entry.ready.store(SegmentHeader::kVacant, std::memory_order_release);
    own.vacant.fetch_add(1, std::memory_order_relaxed);
    return true;
  });
}

// Nobody is told of those that leave. Whoever only heard of them need not know, unless their places are wanted.
void NodeTransport::look_for_departed() {
  const uint32_t given = std::min(segment_->header().senders.load(std::memory_order_relaxed), kMaxSenders);
  if (given <= box_count_) return;
  for (uint32_t looks = given > kMaxSenders / 2 ? given : std::min(kLooks, given); looks > 0; --looks) {
    next_look_ = (next_look_ + 1) % given;
    NodeLink* link = sender(next_look_);
    if (link && !link->lost && !link->dead && !alive(*link)) note_death(*link);
  }
}

void NodeTransport::housekeeping(bool waiting) {
  if (needs_housekeeping()) step_over_dead_record();
  if (waiting) look_at_peers();
  look_for_departed();
  if (!dead_.empty()) reap();
  if (!vacating_.empty()) vacate();
}

void NodeTransport::look_at_peers() {
  const size_t turns = (links_.size() + kLooksAtPeers - 1) / kLooksAtPeers;
  size_t turn = next_turn_++;
  for (auto& [process, link] : links_)
    if (turn++ % turns == 0 && link->segment && !link->dead) {
      if (refuses_us(*link)) link->ended_with = link->segment->header().place.incarnation;
      if (link->ended_with || !link->segment->owner_alive()) note_death(*link);
    }
}

bool NodeTransport::needs_housekeeping() {
  return !dead_.empty() || (!broken_ && segment_->header().tail.load(std::memory_order_acquire) != head_ && ring_idle());
}

// The record at the head is reserved and not published. Whoever reserved it claims this position; others may, too, who lost
// the race for it and have not claimed anew. If the only claimant is dead, nobody will ever publish it.
void NodeTransport::step_over_dead_record() {
  SegmentHeader& own = segment_->header();
  const uint32_t known = std::min(own.senders.load(std::memory_order_acquire), kMaxSenders);
  uint64_t lines = 0;
  for (uint32_t i = 0; i < known; ++i) {
    const uint64_t claim = own.sender[i].claim.load(std::memory_order_relaxed);
    if (claim / kClaimLines != head_ || claim == 0) continue;
    const NodeLink* from = sender(i);
    if (lines != 0 || !from || alive(*from)) return;
    lines = claim % kClaimLines;
  }
  if (lines == 0 || lines > kMaxRecordLines || lines > lines_ || !ring_idle()) return;
  std::byte* record = segment_->ring() + (head_ & (lines_ - 1)) * kLine;
  for (uint64_t i = 0; i < lines; ++i) SenderRing::first_word(record + i * kLine).store(0, std::memory_order_relaxed);
  head_ += lines;
  own.head.store(head_, std::memory_order_release);
  ++stats_.abandoned;
}

}  // namespace portunus
