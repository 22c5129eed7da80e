// target.cpp: see target.hpp.
#include "engine/core/target/target.hpp"

#include <algorithm>
#include <cassert>

#include "engine/core/request.hpp"
#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/transport/copy.hpp"

namespace portunus {
namespace {

// A put with its data at hand goes into one piece of memory of which the entry keeps no account.
bool needs_no_account(const ListEntry& entry) {
  return entry.list == PTL_PRIORITY_LIST && !(entry.options & (PTL_ME_MANAGE_LOCAL | PTL_IOVEC | PTLX_ME_LAYOUT)) && !entry.may_fault;
}

// The options of an entry that is recorded at once, as far as put_at_once looks at them.
constexpr uint32_t kRecorded = PTLX_ME_RECORD | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE;

// The entry posts and counts nothing, takes one message and has memory in one piece.
bool is_recorded_at_once(const ListEntry& entry) {
  constexpr uint32_t kMore = PTL_ME_EVENT_CT_COMM | PTL_ME_MANAGE_LOCAL | PTL_IOVEC | PTLX_ME_LAYOUT;
  return (entry.options & (kRecorded | kMore)) == kRecorded && !entry.may_fault;
}

// It keeps what comes early and, but for a count, says nothing of it: no queue need have room.
bool holds_silently(const ListEntry& entry) {
  constexpr uint32_t kAsked = PTLX_ME_HOLD | PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;
  return entry.list == PTL_OVERFLOW_LIST && (entry.options & (kAsked | PTL_ME_UNEXPECTED_HDR_DISABLE)) == kAsked;
}

// The bytes of the entry's memory that the message gets.
struct Range {
  uint64_t offset, mlength;
};
Range range_in(const ListEntry& entry, uint64_t offset, uint64_t rlength) {
  offset = std::min(offset, entry.length);
  return {offset, std::min(rlength, entry.length - offset)};
}

// The acknowledgement of a message that was delivered so.
wire::Header acknowledgement(const wire::Header& header, Range range, bool overflow) {
  wire::Header answer{};
  const unsigned flags = (overflow ? wire::kOverflow : 0u) | wire::scheduled_answer(header);
  answer.set_kind(wire::Kind::ack, header.flags & wire::kAckMask ? flags : flags | wire::kSourceRead);
  answer.token = header.token;
  answer.rlength = range.mlength;
  answer.remote_offset = range.offset;
  return answer;
}

// The most events that a message posts where it matched: its own, then AUTO_UNLINK and AUTO_FREE if it is the entry's last. A ring of
// records takes their place.
uint32_t events_of(const ListEntry& entry, uint64_t rlength) {
  if (entry.options & PTLX_ME_RECORD) return 0;
  uint32_t events = entry.options & (PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE) ? 0 : 1;
  if (entry.options & PTL_ME_EVENT_UNLINK_DISABLE) return events;
  const bool last = (entry.options & PTL_ME_USE_ONCE) ||
                    ((entry.options & PTL_ME_MANAGE_LOCAL) && entry.min_free != 0 &&
                     (rlength > entry.length - entry.local_offset || entry.length - entry.local_offset - rlength < entry.min_free));
  if (last) events += entry.list == PTL_OVERFLOW_LIST ? 2 : 1;
  return events;
}

// kRankUnknown: the sender is not in the map, or not yet: it may be set later.
uint32_t rank_of(Peer& peer, const Interface& ni) {
  uint32_t& rank = peer.rank[ni.index];
  if (rank == kRankUnknown) [[unlikely]] {
    auto found = ni.rank_of.find(packed(peer.id));
    if (found != ni.rank_of.end()) rank = found->second;
  }
  return rank;
}

// In the priority list, else in the overflow list; nullptr.
[[gnu::always_inline]] inline ListEntry* match(const PortalEntry& portal, const wire::Header& header, uint64_t source) {
  const Incoming in{header.match_bits, source};
  auto fits = [&](const MatchEntry& candidate) {
    const auto& entry = static_cast<const ListEntry&>(candidate);
    if (!(entry.options & PTL_ME_NO_TRUNCATE)) return true;
    uint64_t offset = entry.options & PTL_ME_MANAGE_LOCAL ? entry.local_offset : header.remote_offset;
    return offset <= entry.length && header.rlength <= entry.length - offset;
  };
  MatchEntry* found = portal.priority.find(in, fits);
  if (!found && !portal.overflow.empty()) found = portal.overflow.find(in, fits);
  return static_cast<ListEntry*>(found);
}

}  // namespace

Target::Target(Core& core, Reports& reports, Peers& peers, FlowControl& flow, PortalTable& table)
    : core_(core),
      reports_(reports),
      peers_(peers),
      table_(table),
      bulk_(core, peers),
      order_(core),
      unexpected_(core, reports, flow, table) {
  scratch_.resize(64 * 1024);
}

// The way of most messages at once: moved, counted, reported and answered as place(), deliver() and complete() do for all others. An
// entry that takes one message is off its list. `early`: the message came before it. `recorded`: is_recorded_at_once, and no answer.
template <bool recorded>
[[gnu::always_inline]] inline void Target::put_at_once(Peer& peer, ptl_uid_t uid, const wire::Header& header, const std::byte* payload,
                                                       ListEntry& entry, uint64_t source, EventQueue* queue, bool early) {
  const uint32_t options = recorded ? kRecorded : entry.options;
  const Range range = range_in(entry, header.remote_offset, header.rlength);
  std::byte* const start = Memory::beyond(entry.memory.base, range.offset);
  if (range.mlength) copy_data(start, payload, range.mlength);
  core_.posted = true;
  reports_.tell_delivered({header, entry, options, source, start, range.mlength, uid, PTL_EVENT_PUT, early, PTL_NI_OK}, queue);
  if (options & PTL_ME_USE_ONCE) {
    assert(!entry.on_list && !entry.linked() && entry.moving == 0);
    if (!(options & PTL_ME_EVENT_UNLINK_DISABLE)) reports_.entry_event(entry, PTL_EVENT_AUTO_UNLINK);
    if (entry.recurs) entry.parked = true;
    else core_.release(entry);
  }
  if (!recorded && header.token != 0) peers_.send(peer, acknowledgement(header, range, early), nullptr, 0);
}

void Target::request(Link& from, const wire::Header& header, const std::byte* payload) {
  Peer& peer = *from.peer;
  // Most messages are small puts, of which nothing else need be checked.
  const bool small_put = wire::is_put_with_data(header);
  if (small_put ? wire::payload_of(header) != header.rlength : !well_formed(header, peer)) [[unlikely]] {
    ++core_.stats.malformed;
    return;
  }
  Interface& ni = core_.interfaces[header.flags & wire::kNiMask];
  const bool open = ni.open.load(std::memory_order_relaxed);
  PortalEntry* portal = open && header.pt_index < kMaxPortals ? ni.portals[header.pt_index].get() : nullptr;
  const uint64_t source = open && ni.logical() ? rank_of(peer, ni) : packed(peer.id);
  if (!portal || (source == kRankUnknown && ni.logical())) [[unlikely]] {
    ++core_.stats.dropped;
    drop(ni, peer, header, PTL_SR_DROP_COUNT, PTL_NI_DROPPED);
    return;
  }
  if (!portal->admits) [[unlikely]] {
    if (order_.waits(ni.index, peer)) return order_.keep(ni.index, peer, header, payload);
    if (!portal->enabled) return drop(ni, peer, header, PTL_SR_DROP_COUNT, PTL_NI_PT_DISABLED);
  }
  ListEntry* entry = match(*portal, header, source);
  if (!entry) [[unlikely]] {
    no_match(ni, *portal, peer, header, nullptr);
    return;
  }
  ++core_.stats.matches;
  const bool simple = small_put && (entry->uid == PTL_UID_ANY || entry->uid == from.uid);
  if (simple && header.token == 0 && is_recorded_at_once(*entry)) [[likely]] {
    portal->priority.unlink(*entry);
    entry->on_list = false;
    put_at_once<true>(peer, from.uid, header, payload, *entry, source, nullptr, false);
  } else if (simple && holds_silently(*entry) && !is_full(ni)) {
    hold(peer, header, payload, *portal, *entry, source);
  } else {
    matched(from, header, payload, *entry, source);
  }
}

bool Target::is_full(const Interface& ni) { return ni.unexpected_headers >= static_cast<uint32_t>(ni.limits.max_unexpected_headers); }

void Target::hold(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, const ListEntry& entry,
                  uint64_t source) {
  unexpected_.keep(peer, header, payload, portal, source);
  if (entry.options & PTL_ME_EVENT_CT_COMM) reports_.count(entry.ct, 1, 0);
}

// May the message have the entry?
void Target::matched(Link& from, const wire::Header& header, const std::byte* payload, ListEntry& entry, uint64_t source) {
  Peer& peer = *from.peer;
  Interface& ni = core_.interface_of(entry);
  PortalEntry& portal = *core_.portal_of(entry);
  const bool small_put = wire::is_put_with_data(header);
  if (entry.uid != PTL_UID_ANY && entry.uid != from.uid) [[unlikely]] {
    drop(ni, peer, header, PTL_SR_PERMISSION_VIOLATIONS, PTL_NI_PERM_VIOLATION);
    return;
  }
  const uint32_t needed = small_put ? uint32_t{PTL_ME_OP_PUT} : needed_permission(header.kind);
  if ((entry.options & needed) != needed || (header.kind != wire::Kind::put && entry.memory.has_layout())) [[unlikely]] {
    drop(ni, peer, header, PTL_SR_OPERATION_VIOLATIONS, PTL_NI_OP_VIOLATION);
    return;
  }
  uint32_t events = 0;
  EventQueue* queue = nullptr;
  if (!(entry.options & PTLX_ME_RECORD)) {  // which posts none
    queue = table_.limiting_queue(portal);
    if (portal.options & PTL_PT_FLOWCTRL) {
      events = events_of(entry, header.rlength);
      if (queue && queue->room() < events) [[unlikely]] {
        no_match(ni, portal, peer, header, &entry);
        return;
      }
    }
  }
  if (!small_put || !needs_no_account(entry)) [[unlikely]] {
    receive(peer, header, payload, portal, entry, source, events);
    return;
  }
  if (entry.options & PTL_ME_USE_ONCE) {
    portal.priority.unlink(entry);
    entry.on_list = false;
  }
  put_at_once<false>(peer, from.uid, header, payload, entry, source, queue, false);
}

// Matched, and every permission given. `events`: the most that it will post here, where flow control asks.
void Target::receive(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, ListEntry& entry,
                     uint64_t source, uint32_t events) {
  Interface& ni = core_.interface_of(entry);
  const bool overflow = entry.list == PTL_OVERFLOW_LIST;
  const bool remembers = overflow && !(entry.options & PTL_ME_UNEXPECTED_HDR_DISABLE);
  if (remembers) {
    if (is_full(ni)) {
      no_match(ni, portal, peer, header, &entry);
      return;
    }
    if (entry.options & PTLX_ME_HOLD) return hold(peer, header, payload, portal, entry, source);
  }
  Delivery delivery(&peer, header, &entry, source, overflow);
  delivery.events = events;
  place(delivery);
  if (remembers) delivery.remembered = unexpected_.remember(delivery, portal);
  deliver(delivery, payload);
}

// Counted in the interface's status, and refused.
void Target::drop(Interface& ni, Peer& peer, const wire::Header& header, ptl_sr_index_t status, ptl_ni_fail_t why) {
  ni.status[status].fetch_add(1, std::memory_order_relaxed);
  refuse(peer, header, why);
}

// Nothing matches; or an entry does, the `cause`, and there is no room for what would have to be remembered or reported.
void Target::no_match(Interface& ni, PortalEntry& portal, Peer& peer, const wire::Header& header, const ListEntry* cause) {
  ++core_.stats.dropped;
  const bool closes = portal.options & PTL_PT_FLOWCTRL;
  drop(ni, peer, header, PTL_SR_DROP_COUNT, closes ? PTL_NI_PT_DISABLED : PTL_NI_DROPPED);
  if (closes) table_.close_for_flow_control(portal, header.pt_index, cause);
}

// The initiator learns the fate of its request, if it asked to.
void Target::refuse(Peer& peer, const wire::Header& header, ptl_ni_fail_t why) {
  if (header.token == 0) return;
  const bool reply = is_answered_by_reply(header.kind);
  wire::Header answer{};
  answer.kind = reply ? wire::Kind::reply : wire::Kind::ack;
  answer.op = why;
  answer.token = header.token;
  answer.flags = wire::scheduled_answer(header);
  if (!reply && (header.flags & wire::kAckMask) == 0) {  // a bulk put without acknowledgement: only its source is freed
    answer.flags |= wire::kSourceRead;
    answer.op = PTL_NI_OK;
  }
  peers_.send(peer, answer, nullptr, 0);
}

// Offset and length in the entry; consumes the entry if this message does.
void Target::place(Delivery& delivery) {
  ListEntry& entry = *delivery.entry;
  const bool managed = entry.options & PTL_ME_MANAGE_LOCAL;
  const Range range = range_in(entry, managed ? entry.local_offset : delivery.header.remote_offset, delivery.header.rlength);
  delivery.offset = range.offset;
  delivery.mlength = range.mlength;
  if (managed) entry.local_offset += delivery.mlength;
  assert(delivery.offset <= entry.length && delivery.mlength <= entry.length - delivery.offset && entry.local_offset <= entry.length);
  if ((entry.options & PTL_ME_USE_ONCE) || (managed && entry.min_free != 0 && entry.length - entry.local_offset < entry.min_free))
    table_.auto_unlink(entry);
}

void Target::deliver(Delivery& delivery, const std::byte* payload) {
  const wire::Header& header = delivery.header;
  const bool bulk = (header.flags & wire::kBulk) && delivery.mlength > 0 &&
                    (header.kind != wire::Kind::get || delivery.mlength > delivery.peer->transport->limits().eager);
  // Bulk puts and gets check each piece when its turn comes; atomics are applied all at once.
  if (delivery.entry->may_fault && (!bulk || header.kind > wire::Kind::get) &&
      !is_accessible(*delivery.entry, delivery.offset, delivery.mlength, header.kind != wire::Kind::get)) [[unlikely]] {
    delivery.mlength = 0;
    complete(delivery, PTL_NI_SEGV);
    return;
  }
  if (bulk) {
    wire::Region region{};
    if (!(header.flags & wire::kNoRegion)) std::memcpy(&region, payload, sizeof region);
    start_bulk(delivery, region);
    return;
  }
  move_data(delivery, payload);
  complete(delivery, PTL_NI_OK);
}

// The entry, its portal and its queue know of it until advance() ends it.
void Target::start_bulk(Delivery& delivery, const wire::Region& region) {
  const Interface& ni = core_.interface_of(*delivery.entry);
  delivery.ordered = WriteOrder::is_ordered(ni, delivery.header);
  if (delivery.ordered) order_.begin(ni.index, *delivery.peer);
  table_.begin_move(delivery);
  assert(delivery.mlength > 0 && (!delivery.remembered || !delivery.remembered->arriving));
  if (delivery.remembered) delivery.remembered->arriving = true;
  bulk_.start(delivery, region);
}

int Target::advance() {
  const int work = bulk_.advance(ended_);
  for (size_t i = 0; i < ended_.size(); ++i) {
    const std::unique_ptr<Transfer> transfer = std::move(ended_[i]);
    Delivery& delivery = transfer->delivery;
    assert(!transfer->fine() || transfer->moved >= delivery.mlength);  // more: an atomic has changed whole data only
    const uint32_t ni = delivery.entry->ni;
    const uint16_t pt_index = delivery.entry->pt_index;
    table_.end_move(delivery);
    if (!transfer->fine()) delivery.mlength = 0;
    complete(delivery, transfer->fate == Transfer::Fate::inaccessible ? PTL_NI_SEGV : transfer->fine() ? PTL_NI_OK : PTL_NI_UNDELIVERABLE);
    table_.moved(ni, pt_index);
    if (!delivery.ordered) continue;
    order_.end(ni, *delivery.peer);
    take_waiting(ni, *delivery.peer);
  }
  ended_.clear();
  return work;
}

// Requests that have waited behind a long write of their sender.
void Target::take_waiting(uint32_t ni, Peer& from) {
  HeldMessage message;
  while (order_.take(ni, from, message)) {
    if (message.header.kind == wire::Kind::withdraw) withdraw(from, message.header);
    else request(*from.link, message.header, message.payload.data());
  }
}

void Target::peer_lost(Peer& peer) {
  bulk_.peer_lost(peer);
  for (uint32_t ni = 0; ni < kInterfaces; ++ni) {  // what it has said is still heard
    order_.end_all(ni, peer);
    take_waiting(ni, peer);
  }
}

void Target::stream_in(const Peer& from, const wire::Header& header, const std::byte* payload) {
  if (!bulk_.stream_in(from, header, payload)) ++core_.stats.malformed;
}

// Everything whose data is here already.
void Target::move_data(Delivery& delivery, const std::byte* payload) {
  const wire::Header& header = delivery.header;
  const Memory& memory = delivery.entry->memory;
  const uint64_t size = delivery.mlength;
  switch (header.kind) {
    case wire::Kind::put:
      if (size) memory.copy_in(delivery.offset, payload, size);
      break;
    case wire::Kind::get:
      if (scratch_.size() < size) scratch_.resize(size);
      memory.copy_out(delivery.offset, scratch_.data(), size);
      break;
    default: {
      const bool swap = header.kind == wire::Kind::swap;
      const std::byte* operand = payload;
      const std::byte* data = payload + (swap ? datatype_size(header.datatype) : 0);
      std::byte* old = header.kind == wire::Kind::atomic ? nullptr : scratch_.data();
      apply_to_entry(delivery, data, old, operand);
    }
  }
}

// Data is in place: count and event at the target, then unlink events, then the answer.
void Target::complete(Delivery& delivery, ptl_ni_fail_t fail) {
  ListEntry& entry = *delivery.entry;
  core_.posted = true;
  reports_.delivered(delivery, fail);
  acknowledge(delivery, fail);
  if (delivery.remembered) {
    KeptHeader& kept = *delivery.remembered;
    kept.arriving = false;
    kept.mlength = delivery.mlength;  // an atomic changes whole data only
    kept.fail = fail;
    if (ListEntry* taker = kept.taker) {
      ++entry.moving;  // consume may forget the last header of this entry; it ends below, once
      assert(taker->moving > 0 && !kept.linked());
      --taker->moving;
      consume(kept, *taker);
      table_.idle(*taker);
      --entry.moving;
    }
  }
  table_.idle(entry);
}

void Target::acknowledge(const Delivery& delivery, ptl_ni_fail_t fail) {
  const wire::Header& header = delivery.header;
  if (header.token == 0) return;
  const bool reply = is_answered_by_reply(header.kind);
  wire::Header answer = acknowledgement(header, {delivery.offset, delivery.mlength}, delivery.overflow);
  answer.op = fail;
  size_t size = 0;
  if (reply) {
    answer.kind = wire::Kind::reply;
    answer.flags &= static_cast<uint8_t>(~wire::kSourceRead);
    // The scratch buffer holds what move_data has read or fetched; bulk data has gone before.
    const bool moved =
        (header.flags & wire::kBulk) && (header.kind != wire::Kind::get || delivery.mlength > delivery.peer->transport->limits().eager);
    size = moved || fail != PTL_NI_OK ? 0 : delivery.mlength;
  } else if ((header.flags & wire::kAckMask) == 0 && fail == PTL_NI_SEGV) {
    answer.op = PTL_NI_OK;  // the source is free; what became of the message was not asked
  }
  assert(size <= scratch_.size());
  peers_.send(*delivery.peer, answer, scratch_.data(), size);
}

void Target::append(uint32_t handle, uint64_t match_bits) {
  ListEntry& entry = core_.objects.entries.at(handle_index(handle));  // ours until this has run, also when unlinked
  assert(entry.parked || entry.recurs);
  if (entry.recurs) {
    if (!entry.parked) return;  // still there from the last time
    entry.match_bits = match_bits;
  }
  entry.parked = false;
  PortalEntry* portal = core_.portal_of(entry);
  if (entry.cancelled || !portal) {
    core_.release(entry);
    return;
  }
  append_now(entry, *portal);
}

// There are unexpected headers. True: the entry was consumed and must not be linked.
bool Target::satisfy(ListEntry& entry, PortalEntry& portal) {
  const bool once = entry.options & PTL_ME_USE_ONCE;
  Unexpected::Cursor cursor;
  while (!entry.auto_unlinked) {
    KeptHeader* kept = unexpected_.take(entry, portal, cursor);
    if (!kept) return false;
    if (once && kept->held && wire::is_put_with_data(kept->header) && needs_no_account(entry)) [[likely]] {
      Peer& peer = *kept->peer;
      if (kept->header.token == 0 && is_recorded_at_once(entry))
        put_at_once<true>(peer, 0, kept->header, kept->data(), entry, kept->source, nullptr, true);
      else
        put_at_once<false>(peer, peer.link ? peer.link->uid : core_.uid, kept->header, kept->data(), entry, kept->source,
                           table_.limiting_queue(portal), true);
      unexpected_.forget(*kept);
      return true;
    }
    const uint64_t rlength = kept->header.rlength;
    if (once) table_.auto_unlink(entry);
    if (kept->arriving) {
      kept->taker = &entry;
      ++entry.moving;
    } else {
      consume(*kept, entry);
    }
    if (entry.options & PTL_ME_LOCAL_INC_UH_RLENGTH) {
      entry.local_offset = std::min(entry.length, entry.local_offset + rlength);
      if (entry.length - entry.local_offset < entry.min_free && !entry.auto_unlinked) table_.use_up(entry);
    }
  }
  table_.idle(entry);
  return true;
}

// One header, off the list already and its data complete, goes to `entry`.
void Target::consume(KeptHeader& kept, ListEntry& entry) {
  assert(!kept.linked() && !kept.arriving && kept.held == (kept.entry == nullptr));
  core_.posted = true;
  if (!(entry.options & PTLX_ME_COMPLETE_UNEXPECTED) || kept.header.kind != wire::Kind::put) {
    reports_.count_overflow(kept, entry);
    const PortalEntry* portal = core_.portal_of(entry);
    const bool silent =
        (entry.options & PTL_ME_EVENT_OVER_DISABLE) || (kept.fail == PTL_NI_OK && (entry.options & PTL_ME_EVENT_SUCCESS_DISABLE));
    if (entry.options & PTLX_ME_RECORD)
      Reports::write_record(core_.interface_of(entry), entry, kept.header, kept.source, 0, true, PTL_NI_OP_VIOLATION);
    else if (portal && !silent) reports_.overflow(kept, portal->eq, entry.user_ptr, PTL_EVENT_PUT_OVERFLOW);
    unexpected_.forget(kept);
    return;
  }
  Delivery delivery(kept.peer, kept.header, &entry, kept.source, true);
  const bool bulk = kept.held && (kept.header.flags & wire::kBulk);  // looked at piece by piece
  const PortalEntry* const portal = bulk ? core_.portal_of(entry) : nullptr;
  if (portal && (portal->options & PTL_PT_FLOWCTRL)) delivery.events = events_of(entry, kept.header.rlength);
  place(delivery);
  const uint64_t touched = kept.held ? delivery.mlength : std::min(delivery.mlength, kept.mlength);
  if (entry.may_fault && !bulk && !is_accessible(entry, delivery.offset, touched, true)) {
    delivery.mlength = 0;
    reports_.delivered(delivery, PTL_NI_SEGV);
    if (kept.held) acknowledge(delivery, PTL_NI_SEGV);
  } else if (!kept.held) {  // the data lies in the overflow entry; the message was acknowledged when it got there
    delivery.mlength = touched;
    uint64_t to = delivery.offset;
    kept.entry->memory.for_parts(kept.offset, delivery.mlength, [&](const std::byte* from, uint64_t size) {
      entry.memory.copy_in(to, from, size);
      to += size;
      return true;
    });
    reports_.delivered(delivery, kept.fail);
  } else if (bulk && delivery.mlength) {
    start_bulk(delivery, kept.region);
  } else {
    if (delivery.mlength) entry.memory.copy_in(delivery.offset, kept.data(), delivery.mlength);
    reports_.delivered(delivery, PTL_NI_OK);
    acknowledge(delivery, PTL_NI_OK);
  }
  unexpected_.forget(kept);
}

// Nobody will take it any more: who waits for an acknowledgement, or for its data to be read, learns so.
void Target::abandon(KeptHeader& kept) {
  if (kept.held) refuse(*kept.peer, kept.header, PTL_NI_DROPPED);
  unexpected_.forget(kept);
}

void Target::withdraw(Peer& from, const wire::Header& header) {
  if (header.pt_index >= kMaxPortals || header.payload_size != 0 || header.token == 0) {
    ++core_.stats.malformed;
    return;
  }
  const uint32_t ni = header.flags & wire::kNiMask;
  if (core_.interfaces[ni].keeps_order && order_.waits(ni, from)) return order_.keep(ni, from, header, nullptr);
  PortalEntry* portal = core_.portal(ni, header.pt_index);
  KeptHeader* kept = portal ? unexpected_.take_withdrawn(*portal, from, header.token) : nullptr;
  if (!kept) return;  // it has matched, or was refused: its answer says so
  wire::Header answer{};
  answer.kind = wire::Kind::ack;
  answer.op = PTLX_NI_WITHDRAWN;
  answer.flags = kept->header.flags & wire::kAckMask ? 0 : wire::kSourceRead;
  answer.token = header.token;
  unexpected_.forget(*kept);
  peers_.send(from, answer, nullptr, 0);
}

int Target::refuse_held(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern) {
  PortalEntry* portal = core_.portal(ni, pt_index);
  if (!portal) return PTL_ARG_INVALID;
  while (KeptHeader* kept = unexpected_.take_held(*portal, pattern)) abandon(*kept);
  return PTL_OK;
}

int Target::free_portal(uint32_t ni, uint32_t index) {
  if (const int code = table_.may_free(ni, index); code != PTL_OK) return code;
  PortalEntry& portal = *core_.portal(ni, index);
  while (KeptHeader* kept = unexpected_.take_any(portal)) abandon(*kept);
  table_.free(ni, index);
  return PTL_OK;
}

void Target::close(uint32_t ni) {
  bulk_.close(ni);
  HeldMessage message;
  while (Peer* const from = order_.take_any(ni, message))
    if (message.header.kind != wire::Kind::withdraw) refuse(*from, message.header, PTL_NI_DROPPED);
  table_.close_entries(ni);
  for (auto& portal : core_.interfaces[ni].portals) {
    if (!portal) continue;
    portal->eq = PTL_EQ_NONE;
    while (KeptHeader* kept = unexpected_.take_any(*portal)) abandon(*kept);
  }
  table_.close_portals(ni);
}

}  // namespace portunus
