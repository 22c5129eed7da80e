// node.cpp: see node.hpp.
#include "engine/transport/node/node.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "engine/host/bell_socket.hpp"
#include "engine/transport/copy.hpp"

namespace portunus {
namespace {

uint64_t lines_for(size_t payload) { return payload <= wire::kInlinePayload ? 1 : 1 + (payload + kLine - 1) / kLine; }

// In units of Attention: an application that left its engine so lately is likely to come again before a thread could be woken.
constexpr uint32_t kAwayForSmall = 48, kAwayForLarge = 8;

// Whether a record of so many lines may begin so.
bool fits(const wire::Header& header, uint32_t lines) {
  if (header.payload_size != wire::kWhole) return lines_for(header.payload_size) == lines;
  return wire::may_be_whole(header, NodeTransport::kEager, NodeTransport::kWhole) && lines_for(header.rlength) == lines;
}

}  // namespace

void wake_process(uint32_t* door, Sleeper who, bool by_socket, ProcessId process, uint32_t uid) {
  if (by_socket) BellSocket::ring(process, uid, who);
  else futex_wake(door, who);
}

bool wake_watchers(SegmentHeader& peer) {
  if (!peer.watch.take()) return false;
  peer.passive_word.add(1);
  futex_wake(peer.passive_word.address(), Sleeper::waiter);
  peer.door.ring_only(Sleeper::waiter, [&](Sleeper who, bool by_socket) {
    wake_process(peer.door.word().address(), who, by_socket, peer.process, peer.uid);
  });
  return true;
}

NodeTransport::NodeTransport(Sink& sink, Stats& stats, ProcessId self, uint32_t uid, size_t ring_bytes, bool cma, size_t others)
    : Transport({.in_place = this, .staging = this, .notify = this}),
      sink_(sink),
      stats_(stats),
      self_(self),
      uid_(uid),
      cma_(cma),
      segment_(Segment::create(self, uid, ring_bytes, others)),
      box_count_(segment_->boxes()),
      lines_(ring_bytes / kLine) {
  for (uint32_t i = 0; i < box_count_; ++i) boxes_[i] = segment_->box<SenderRingReader>(i);
}

// The dead cannot say that they have gone; who leaves in good order does, in the places that it has with others.
NodeTransport::~NodeTransport() {
  for (auto& [process, link] : links_) {
    uint32_t there = SegmentHeader::kThere;
    // Release: what was written before is there for whoever finds that we have left. A place that is another's by now is no longer kThere
    // with our incarnation.
    if (link->segment && link->entry && link->entry->place.incarnation == segment_->header().place.incarnation)
      link->entry->ready.compare_exchange_strong(there, SegmentHeader::kLeft, std::memory_order_release, std::memory_order_relaxed);
  }
}

NodeTransport::NodeLink* NodeTransport::link_of(ProcessId process) {
  std::unique_ptr<NodeLink>& link = links_[{process.nid, process.pid}];
  if (link && link->lost) replaced_.push_back(std::move(link));
  if (!link) {
    link = std::make_unique<NodeLink>();
    link->process = process;
    link->uid = uid_;  // the segment's mode and owner admit nobody else
  }
  return link.get();
}

Link* NodeTransport::connect(ProcessId process) {
  if (process.nid != self_.nid) return nullptr;
  auto known = links_.find({process.nid, process.pid});
  if (known != links_.end() && !known->second->lost && (known->second->segment || known->second->peer)) {
    if (!known->second->segment && !introduce(*known->second)) return nullptr;
    return known->second.get();
  }
  std::unique_ptr<Segment> segment = Segment::attach(process, uid_);
  if (!segment || has_ended_with(process, segment->header().place.incarnation))
    return known != links_.end() && known->second->lost ? known->second.get() : nullptr;
  NodeLink* link = link_of(process);
  link->segment = std::move(segment);
  return introduce(*link) ? link : nullptr;
}

// A process that is known under this address and is another has ended, or this one has.
Acquaintance NodeTransport::acquaint(ProcessId process, const SegmentPlace& place) {
  if (process.nid != self_.nid) return Acquaintance::none;
  const auto known = links_.find({process.nid, process.pid});
  if (known != links_.end() && !known->second->lost) {
    NodeLink& link = *known->second;
    if (link.dead) return Acquaintance::later;
    const uint32_t there = link.segment                   ? link.segment->header().place.incarnation
                           : link.sends_as != kMaxSenders ? segment_->header().sender[link.sends_as].place.incarnation
                                                          : place.incarnation;
    if (there == place.incarnation && link.segment) return Acquaintance::made;
    if (there == place.incarnation && link.sends_as != kMaxSenders) return introduce(link) ? Acquaintance::made : Acquaintance::none;
    if (there != place.incarnation) {
      if (alive(link)) return Acquaintance::none;
      note_death(link);
      return Acquaintance::later;
    }
  }
  std::unique_ptr<Segment> segment = Segment::attach(process, uid_, &place);
  if (!segment || has_ended_with(process, place.incarnation)) return Acquaintance::none;
  NodeLink* link = link_of(process);
  link->segment = std::move(segment);
  return introduce(*link) ? Acquaintance::made : Acquaintance::none;
}

// A place in a table of senders: one that somebody has left, if there is one, or a new one; kMaxSenders and above: none.
uint32_t NodeTransport::claim_place(SegmentHeader& header) {
  if (header.vacant.load(std::memory_order_relaxed) != 0) {
    const uint32_t given = std::min(header.senders.load(std::memory_order_relaxed), kMaxSenders);
    for (uint32_t i = 0; i < given; ++i) {
      uint32_t vacant = SegmentHeader::kVacant;
      // Acquire pairs with vacate: the box is as if new.
      if (!header.sender[i].ready.compare_exchange_strong(vacant, SegmentHeader::kTaken, std::memory_order_acquire,
                                                          std::memory_order_relaxed))
        continue;
      header.vacant.fetch_sub(1, std::memory_order_relaxed);
      return i;
    }
  }
  uint32_t next = header.senders.load(std::memory_order_relaxed);
  assert(next <= kMaxSenders);
  while (next < kMaxSenders && !header.senders.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) {
  }
  return next;
}

// Maps the peer's segment if need be and enters us in its table of senders.
bool NodeTransport::introduce(NodeLink& link) {
  if (!link.segment) {  // it has spoken: where it lies is known
    const bool known = link.sends_as != kMaxSenders;
    link.segment = Segment::attach(link.process, uid_, known ? &segment_->header().sender[link.sends_as].place : nullptr);
  }
  if (!link.segment) return false;
  SegmentHeader& header = link.segment->header();
  link.index = claim_place(header);
  if (link.index >= kMaxSenders) {
    link.segment.reset();
    return false;
  }
  SegmentHeader::Sender& entry = header.sender[link.index];
  entry.nid = self_.nid;
  entry.pid = self_.pid;
  entry.place = segment_->header().place;
  entry.ready.store(SegmentHeader::kThere, std::memory_order_release);
  link.entry = &entry;
  link.cma = link.segment->pid_is_ours();
  if (link.index < link.segment->boxes()) link.box = link.segment->box<SenderRingWriter>(link.index);
  return true;
}

NodeTransport::NodeLink* NodeTransport::new_sender(uint32_t index) {
  if (index >= kMaxSenders) return nullptr;
  SegmentHeader::Sender& entry = segment_->header().sender[index];
  const uint32_t ready = entry.ready.load(std::memory_order_acquire);  // pairs with introduce
  if (ready != SegmentHeader::kThere && ready != SegmentHeader::kLeft) return nullptr;
  if (has_ended_with({entry.nid, entry.pid}, entry.place.incarnation)) {
    entry.ready.store(SegmentHeader::kRefused, std::memory_order_release);
    return nullptr;
  }
  if (senders_.size() <= index) senders_.resize(index + 1);
  NodeLink* link = link_of({entry.nid, entry.pid});
  if (link->sends_as != kMaxSenders || (link->segment && link->segment->header().place.incarnation != entry.place.incarnation)) {
    // Somebody else has the address of a process that we knew, which is therefore gone.
    note_death(*link);
    link->last_words = head_;
    if (link->sends_as < box_count_) boxes_[link->sends_as].broken = true;  // what it left there comes too late
    reap();
    link = link_of({entry.nid, entry.pid});
  }
  assert(link->sends_as == kMaxSenders || (link->sends_as == index && senders_[index] == link));
  link->sends_as = index;
  senders_[index] = link;
  if (!link->peer) sink_.introduced(*link, *this);
  return link;
}

namespace {

// All of a record's first line but the first word, which publishes the record afterwards, and the data.
[[gnu::always_inline]] inline void fill_header(std::byte* record, const wire::Header& header, uint32_t source) {
  auto* line = reinterpret_cast<wire::Header*>(record);
  // The reader looks at this line all the time: the fewer stores it takes, the seldomer it is taken away between two of them.
  const uint32_t first =
      static_cast<uint32_t>(header.kind) | uint32_t{header.flags} << 8 | uint32_t{header.op} << 16 | uint32_t{header.datatype} << 24;
  const uint64_t second = source | uint64_t{header.pt_index} << 32 | uint64_t{header.payload_size} << 48;
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&line->kind, &first, sizeof first);
  std::memcpy(&line->source, &second, sizeof second);
  // One word at a time, as they were just written: wider loads would wait until those stores have left the core's buffer.
  const auto copy = [&](uint64_t wire::Header::*word) {
    std::atomic_ref<uint64_t>(line->*word).store(header.*word, std::memory_order_relaxed);
  };
  copy(&wire::Header::match_bits);
  copy(&wire::Header::hdr_data);
  copy(&wire::Header::rlength);
  copy(&wire::Header::remote_offset);
  copy(&wire::Header::token);
}

// The place of a record's data.
std::byte* data_of(std::byte* record, uint64_t lines) {
  return lines == 1 ? reinterpret_cast<wire::Header*>(record)->inline_payload : record + kLine;
}

void fill_data(std::byte* to, std::span<const iovec> payload) {
  for (const iovec& part : payload) {
    if (part.iov_len == 0) continue;  // its address may be null
    copy_data(to, part.iov_base, part.iov_len);
    to += part.iov_len;
  }
}

}  // namespace

void NodeTransport::call(SegmentHeader& peer, bool urgent) {
  const bool rung = peer.door.ring(
      registered_, [&] { return urgent && peer.attention.is_away(kAwayForSmall); },
      [&](Sleeper who, bool by_socket) { wake_process(peer.door.word().address(), who, by_socket, peer.process, peer.uid); });
  if (rung) ++stats_.rings;
}

bool NodeTransport::ring(NodeLink& link, Urgency urgency) {
  link.said_full = false;
  SegmentHeader& peer = link.segment->header();
  // Looking takes the line from the peer, which writes there next. Who has just been seen there is not looked for again at once.
  const auto is_away = [&] {
    if (urgency == Urgency::none) return false;
    if (urgency == Urgency::large) return peer.attention.is_away(kAwayForLarge);
    const uint32_t now = HardwareMemory::stamp();
    if (now - link.attended_at < kAwayForSmall / 2) return false;
    const bool away = peer.attention.is_away(kAwayForSmall, now);
    if (!away) link.attended_at = now;
    return away;
  };
  const bool rung = peer.door.ring(registered_, is_away, [&](Sleeper who, bool by_socket) {
    wake_process(peer.door.word().address(), who, by_socket, link.process, uid_);
  });
  if (rung) ++stats_.rings;
  return rung;
}

// After publishing a message: rings where somebody may sleep.
[[gnu::always_inline]] inline Sent NodeTransport::published(NodeLink& link, Urgency urgency) {
  uint32_t word;
  if (urgency == Urgency::none && registered_ && link.segment->header().door.nobody_sleeps(word)) link.said_full = false;
  else ring(link, urgency);
  return Sent::done;
}

// Expects another message of as many lines to the same peer, if they are several: while nothing comes, the lines for it are fetched.
inline void NodeTransport::expect(NodeLink& link, uint64_t lines) {
  if (lines == 1) return;
  ahead_ = &link;
  ahead_lines_ = lines;
}

void NodeTransport::prefault_next() {
  if (!ahead_->segment || ahead_->dead || !ahead_->box.prefault_next(ahead_lines_)) ahead_ = nullptr;
}

// The room for a record in our box, with its header; nullptr: there is none now. `lines` is known at compile time for most messages.
[[gnu::always_inline]] inline std::byte* NodeTransport::begin_in_box(NodeLink& link, const wire::Header& header, uint64_t lines) {
  std::byte* const record = link.box.reserve(lines);
  if (record) [[likely]]
    fill_header(record, header, link.index);
  return record;
}

// The end of what begin_in_box has begun: its data are there.
[[gnu::always_inline]] inline Sent NodeTransport::commit_in_box(NodeLink& link, std::byte* record, uint64_t lines, Urgency urgency) {
  link.box.publish(record, lines);
  expect(link, lines);
  return published(link, urgency);
}

Sent NodeTransport::send(Link& to, const wire::Header& header, std::span<const iovec> payload) {
  auto& link = static_cast<NodeLink&>(to);
  // Most messages are one word, or an answer without data, to somebody whose box is ours.
  const bool word = payload.size() == 1 && payload[0].iov_len == wire::kInlinePayload;
  if (!(word || payload.empty()) || header.payload_size > wire::kInlinePayload || !link.box.capacity || !link.segment) [[unlikely]]
    return send_any(link, header, payload);
  std::byte* const record = begin_in_box(link, header, 1);
  if (!record) [[unlikely]]
    return no_room(link);
  if (word) std::memcpy(data_of(record, 1), payload[0].iov_base, wire::kInlinePayload);
  return commit_in_box(link, record, 1, wire::urgency_of(header));
}

Sent NodeTransport::send_any(NodeLink& link, const wire::Header& header, std::span<const iovec> payload) {
  if (!link.segment) [[unlikely]]
    return Sent::failed;
  if (header.payload_size == wire::kWhole && !takes_whole(link.box)) return Sent::again;
  const uint64_t lines = lines_for(wire::payload_of(header));
  if (link.box.capacity) {
    std::byte* const record = begin_in_box(link, header, lines);
    if (!record) return no_room(link);
    fill_data(data_of(record, lines), payload);
    return commit_in_box(link, record, lines, wire::urgency_of(header));
  }
  std::byte* const record = reserve_in_ring(link, lines);
  if (!record) return no_room(link);
  fill_header(record, header, link.index);
  fill_data(data_of(record, lines), payload);
  SenderRing::first_word(record).store(static_cast<uint32_t>(lines), std::memory_order_release);
  return published(link, wire::urgency_of(header));
}

// Rings the peer, since messages that were not urgent are now. One ring is enough: a thread that goes to sleep looks for messages first.
Sent NodeTransport::no_room(NodeLink& link) {
  if (!link.said_full) link.said_full = ring(link);
  return Sent::again;
}

std::byte* NodeTransport::begin(Link& to, const wire::Header& header) {
  auto& link = static_cast<NodeLink&>(to);
  if (!link.segment || !link.box.capacity) return nullptr;
  link.begun_lines = lines_for(header.payload_size);
  link.begun = begin_in_box(link, header, link.begun_lines);
  if (!link.begun) return no_room(link), nullptr;
  link.begun_urgency = wire::urgency_of(header);
  return data_of(link.begun, link.begun_lines);
}

void NodeTransport::commit(Link& to) {
  auto& link = static_cast<NodeLink&>(to);
  assert(link.begun && link.begun_lines > 0);
  commit_in_box(link, link.begun, link.begun_lines, link.begun_urgency);
}

std::byte* NodeTransport::reserve_in_ring(NodeLink& link, uint64_t lines) {
  SegmentHeader& remote = link.segment->header();
  const uint64_t capacity = remote.ring_bytes / kLine;
  uint64_t position = remote.tail.load(std::memory_order_relaxed);
  assert(lines <= kMaxRecordLines);
  do {
    if (position + lines - link.head_seen > capacity) {
      // Acquire pairs with the owner's release of head: the lines are cleared and ours to write.
      link.head_seen = remote.head.load(std::memory_order_acquire);
      if (position + lines - link.head_seen > capacity) {
        link.entry->claim.store(0, std::memory_order_relaxed);
        return nullptr;
      }
    }
    link.entry->claim.store(claim_of(position, lines), std::memory_order_relaxed);  // seen by whoever sees the tail moved
  } while (!remote.tail.compare_exchange_weak(position, position + lines, std::memory_order_acq_rel, std::memory_order_relaxed));
  return link.segment->ring() + (position & (capacity - 1)) * kLine;
}

int NodeTransport::poll(int budget) {
  const uint32_t senders = segment_->header().senders.load(std::memory_order_relaxed);
  const uint32_t boxes = std::min(senders, box_count_);
  // The first message after a pause is somebody's answer: it is handed over before looking for a second one, whose line lies in
  // its writer's cache.
  if (quiet_) budget = 1;
  int delivered = 0;
  for (uint32_t i = 0; i < boxes && !(quiet_ && delivered); ++i) delivered += poll_box(i, budget);
  if (senders > box_count_) delivered += poll_ring(budget);
  if (!sharing_.empty()) [[unlikely]]
    delivered += settle_shared();
  if (!helping_.empty()) [[unlikely]]
    delivered += help();
  if (!dead_.empty()) [[unlikely]]
    delivered += reap();
  quiet_ = delivered == 0;
  if (quiet_ && ahead_) prefault_next();
  return delivered;
}

inline void NodeTransport::arrived(uint32_t source, std::byte* record, uint32_t lines) {
  const auto& header = *reinterpret_cast<const wire::Header*>(record);
  NodeLink* from = sender(source);
  if (from && header.source == source && fits(header, lines)) [[likely]]
    sink_.arrived(*from, header, data_of(record, lines));
  else ++stats_.malformed;
}

int NodeTransport::poll_box(uint32_t index, int budget) {
  SenderRingReader& box = boxes_[index];
  int delivered = 0;
  while (delivered < budget && !box.broken) {
    uint32_t lines;
    std::byte* const record = box.next(lines);
    if (!record) {
      if (box.broken) {
        ++stats_.malformed;
        refuse(index);
      }
      break;
    }
    if (delivered > 0) box.prefetch(lines);
    arrived(index, record, lines);
    box.done(lines);
    ++delivered;
  }
  return delivered;
}

int NodeTransport::poll_ring(int budget) {
  SegmentHeader& own = segment_->header();
  int delivered = 0;
  while (delivered < budget && !broken_) {
    std::byte* const record = segment_->ring() + (head_ & (lines_ - 1)) * kLine;
    const uint32_t lines = SenderRing::first_word(record).load(std::memory_order_acquire);  // pairs with the release in send
    if (lines == 0) break;
    if (lines > kMaxRecordLines || lines > lines_) {
      broken_ = true;
      ++stats_.malformed;
      const uint32_t given = std::min(own.senders.load(std::memory_order_acquire), kMaxSenders);
      for (uint32_t i = box_count_; i < given; ++i) refuse(i);
      break;
    }
    arrived(reinterpret_cast<const wire::Header*>(record)->source, record, lines);
    // Senders bring data into other first words than the record's own, so each line is cleared before it is handed back.
    for (uint32_t i = 0; i < lines; ++i) SenderRing::first_word(record + i * kLine).store(0, std::memory_order_relaxed);
    head_ += lines;
    own.head.store(head_, std::memory_order_release);
    ++delivered;
  }
  return delivered;
}

bool NodeTransport::idle() {
  const uint32_t senders = segment_->header().senders.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < std::min(senders, box_count_); ++i)
    if (!boxes_[i].empty()) return false;
  if (may_help()) return false;
  return senders <= box_count_ || ring_idle();
}

bool NodeTransport::ring_idle() {
  if (broken_) return true;
  std::byte* record = segment_->ring() + (head_ & (lines_ - 1)) * kLine;
  return SenderRing::first_word(record).load(std::memory_order_acquire) == 0;
}

void NodeTransport::take_back(const SegmentHeader* lent) {
  const auto try_with = [&](NodeLink& link) {
    Segment* segment = link.kept_segment ? link.kept_segment.get() : link.segment.get();
    if (!segment || &segment->header() != lent) return false;
    segment->take_header_back();
    if (link.kept_segment && !segment->lends_memory()) link.kept_segment.reset();
    return true;
  };
  const auto found = links_.find({lent->process.nid, lent->process.pid});
  if (found != links_.end() && try_with(*found->second)) return;
  for (const auto& link : replaced_)
    if (try_with(*link)) return;
}

Segment* NodeTransport::segment_of(ProcessId process) {
  if (process == self_) return segment_.get();
  auto* link = static_cast<NodeLink*>(connect(process));
  return link ? link->segment.get() : nullptr;
}

}  // namespace portunus
