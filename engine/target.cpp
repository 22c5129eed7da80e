// target.cpp: a request arrives: check, match, place, move, report, answer.
//
// Order (Portals 4.3): the entry leaves its list when it is matched, before the data moves; data, then count, then event are
// visible before the acknowledgement leaves. Whatever a header claims is checked here against the entry.
#include "engine/arrival_event.hpp"
#include "engine/atomic_ops.hpp"
#include "engine/entry_life.hpp"
#include "engine/host/accessible.hpp"

#include <algorithm>

namespace portunus {
namespace {

constexpr uint64_t kMostAtomic = 16 << 20;  // no limit of an interface exceeds this: bulk operands are gathered in memory first

// Do kind, operation, type, lengths and payload of a request fit together? What is not bulk is answered in one message.
bool well_formed(const wire::Header& header, const Peer& peer) {
  const bool bulk = header.flags & wire::kBulk;
  const size_t region = bulk && !(header.flags & wire::kNoRegion) ? sizeof(wire::Region) : 0;
  if ((header.flags & wire::kStaged) && (!region || header.kind == wire::Kind::get)) return false;
  const bool streamed = bulk && region == 0 && header.payload_size == 0 && header.rlength <= kMostAtomic;
  switch (header.kind) {
    case wire::Kind::put:
      return header.payload_size == (bulk ? region : header.rlength);
    case wire::Kind::get:
      return header.payload_size == region && header.token != 0 && (bulk || header.rlength <= peer.transport->limits().eager);
    case wire::Kind::atomic:
      return atomic_allowed(header.op, header.datatype) && header.payload_size == (bulk ? region : header.rlength) &&
             header.rlength <= kMostAtomic;
    case wire::Kind::fetch_atomic:
      return atomic_allowed(header.op, header.datatype) && header.token != 0 && (bulk ? streamed : header.payload_size == header.rlength);
    case wire::Kind::swap:
      return swap_allowed(header.op, header.datatype) && header.token != 0 &&
             (header.op == PTL_SWAP || (header.rlength <= datatype_size(header.datatype) && !bulk)) &&
             (bulk ? streamed : header.payload_size == header.rlength + datatype_size(header.datatype));
    default:
      return false;
  }
}

uint32_t needed_permission(wire::Kind kind) {
  switch (kind) {
    case wire::Kind::get: return PTL_ME_OP_GET;
    case wire::Kind::fetch_atomic:
    case wire::Kind::swap: return PTL_ME_OP_GET | PTL_ME_OP_PUT;
    default: return PTL_ME_OP_PUT;
  }
}

// Applies an atomic to an entry's memory, whole data only; returns the bytes changed. A datum that straddles two
// elements of an iovec has no address of its own: it is worked on in a copy.
uint64_t apply_to_entry(const Memory& memory, uint64_t offset, uint64_t size, const wire::Header& header, const std::byte* data,
                        std::byte* old, const std::byte* operand) {
  const size_t width = datatype_size(header.datatype);
  size -= size % width;
  for (uint64_t done = 0; done < size;) {
    const iovec part = memory.first_part(offset + done, size - done);
    const size_t whole = part.iov_len - part.iov_len % width;
    const size_t step = whole ? whole : width;
    std::byte* into = old ? old + done : nullptr;
    if (whole) {
      apply_atomic(header.op, header.datatype, part.iov_base, data + done, whole, into, operand);
    } else {
      alignas(16) std::byte datum[kMaxOperand];
      memory.copy_out(offset + done, datum, width);
      apply_atomic(header.op, header.datatype, datum, data + done, width, into, operand);
      memory.copy_in(offset + done, datum, width);
    }
    done += step;
  }
  return size;
}

// A put with its data at hand: nobody waits for an answer, and it goes into one piece of memory of which the entry keeps no account.
bool needs_no_account(const wire::Header& header, const ListEntry& entry) {
  return header.token == 0 && entry.list == PTL_PRIORITY_LIST &&
         !(entry.options & (PTL_ME_MANAGE_LOCAL | PTL_IOVEC | PTLX_ME_LAYOUT)) && !entry.looked_at;
}

// The most events that a message posts where it matched: its own, then AUTO_UNLINK and AUTO_FREE if it is the entry's last.
uint32_t events_of(const ListEntry& entry, uint64_t rlength) {
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

bool is_reply_kind(wire::Kind kind) {
  return kind == wire::Kind::get || kind == wire::Kind::fetch_atomic || kind == wire::Kind::swap;
}

}  // namespace

void Engine::apply_gathered(Delivery& delivery, const std::byte* data, std::byte* old) {
  delivery.mlength = apply_to_entry(delivery.entry->memory, delivery.offset, delivery.mlength, delivery.header, data, old, nullptr);
}

// The whole way of most messages at once: place, move, count, report, as place(), deliver() and complete() do for all others.
[[gnu::always_inline]] inline void Engine::put_whole(Link& from, const wire::Header& header, const std::byte* payload, PortalEntry& portal,
                                                     ListEntry& entry, uint64_t source, EventQueue* queue) {
  const uint64_t offset = std::min(header.remote_offset, entry.length);
  const uint64_t mlength = std::min(header.rlength, entry.length - offset);
  const uint32_t options = entry.options;
  Interface& ni = interfaces_[entry.ni];
  if (options & PTL_ME_USE_ONCE) {
    portal.priority.unlink(entry);
    entry.on_list = false;
  }
  std::byte* const start = static_cast<std::byte*>(entry.memory.base) + offset;
  if (mlength) copy_data(start, payload, mlength);
  posted = true;
  if (options & PTL_ME_EVENT_CT_COMM) {
    note_length(entry, header.rlength);
    count(entry.ct, options & PTL_ME_EVENT_CT_BYTES ? mlength : 1, 0);
  }
  if (options & PTLX_ME_RECORD) {
    write_record(ni, entry, header, mlength, PTL_NI_OK);
  } else if (!(options & (PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE))) {
    if (queue) {
      ptl_event_t event = arrival_event(ni, header, source, start, mlength);
      event.user_ptr = entry.user_ptr;
      event.uid = from.uid;
      event.type = PTL_EVENT_PUT;
      event.ptl_list = PTL_PRIORITY_LIST;
      event.ni_fail_type = PTL_NI_OK;
      queue->post(event);
    } else if (portal.eq != PTL_EQ_NONE) {
      ++stats_.stale_events;
    }
  }
  if (!(options & PTL_ME_USE_ONCE)) return;
  if (!(options & PTL_ME_EVENT_UNLINK_DISABLE)) entry_event(entry, PTL_EVENT_AUTO_UNLINK);
  if (entry.recurs) entry.parked = true;
  else release_live_entry(ni, entry);
}

[[gnu::always_inline]] inline ListEntry* Engine::match(PortalEntry& portal, const wire::Header& header, uint64_t source) {
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

void Engine::request(Link& from, const wire::Header& header, const std::byte* payload) {
  Peer& peer = *from.peer;
  // Of most messages that is all that there is to check.
  const bool small_put = header.kind == wire::Kind::put && !(header.flags & wire::kBulk);
  if (small_put ? header.payload_size != header.rlength : !well_formed(header, peer)) [[unlikely]] {
    ++stats_.malformed;
    return;
  }
  Interface& ni = interfaces_[header.flags & wire::kNiMask];
  const bool open = ni.open.load(std::memory_order_relaxed);
  PortalEntry* portal = open && header.pt_index < kMaxPortals ? ni.portals[header.pt_index].get() : nullptr;
  const uint64_t source = open && ni.logical() ? rank_of(peer, ni) : packed(peer.id);
  if (!portal || (source == kRankUnknown && ni.logical())) [[unlikely]] {
    ni.status[PTL_SR_DROP_COUNT].fetch_add(1, std::memory_order_relaxed);
    ++stats_.dropped;
    refuse(peer, header, PTL_NI_DROPPED);
    return;
  }
  if (!portal->enabled) [[unlikely]] {
    ni.status[PTL_SR_DROP_COUNT].fetch_add(1, std::memory_order_relaxed);
    refuse(peer, header, PTL_NI_PT_DISABLED);
    return;
  }
  ListEntry* entry = match(*portal, header, source);
  if (!entry) [[unlikely]] {
    no_match(ni, *portal, peer, header);
    return;
  }
  ++stats_.matches;
  if (entry->uid != PTL_UID_ANY && entry->uid != from.uid) [[unlikely]] {
    ni.status[PTL_SR_PERMISSION_VIOLATIONS].fetch_add(1, std::memory_order_relaxed);
    refuse(peer, header, PTL_NI_PERM_VIOLATION);
    return;
  }
  const uint32_t needed = small_put ? uint32_t{PTL_ME_OP_PUT} : needed_permission(header.kind);
  if ((entry->options & needed) != needed || (header.kind != wire::Kind::put && entry->memory.has_layout())) [[unlikely]] {
    ni.status[PTL_SR_OPERATION_VIOLATIONS].fetch_add(1, std::memory_order_relaxed);
    refuse(peer, header, PTL_NI_OP_VIOLATION);
    return;
  }
  uint32_t events = 0;
  EventQueue* queue = nullptr;
  if (!(entry->options & PTLX_ME_RECORD)) {  // which posts none
    queue = limiting_queue(*portal);
    if (portal->options & PTL_PT_FLOWCTRL) {
      events = events_of(*entry, header.rlength);
      if (queue && queue->room() < events) [[unlikely]] {
        no_match(ni, *portal, peer, header, entry);
        return;
      }
    }
  }
  if (small_put && needs_no_account(header, *entry)) [[likely]]
    put_whole(from, header, payload, *portal, *entry, source, queue);
  else
    receive(peer, header, payload, *portal, *entry, source, events);
}

// Matched, and every permission given. `events`: the most that it will post here, where flow control asks.
void Engine::receive(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, ListEntry& entry,
                     uint64_t source, uint32_t events) {
  Interface& ni = interfaces_[entry.ni];
  const bool overflow = entry.list == PTL_OVERFLOW_LIST;
  const bool remembers = overflow && !(entry.options & PTL_ME_UNEXPECTED_HDR_DISABLE);
  if (remembers) {
    if (ni.unexpected_headers >= static_cast<uint32_t>(ni.limits.max_unexpected_headers)) {
      no_match(ni, portal, peer, header, &entry);
      return;
    }
    if (entry.options & PTLX_ME_HOLD) {
      keep(peer, header, payload, portal, source);
      if (entry.options & PTL_ME_EVENT_CT_COMM) count(entry.ct, 1, 0);
      return;
    }
  }
  Delivery delivery(&peer, header, &entry, source, overflow);
  delivery.events = events;
  place(delivery);
  if (remembers) delivery.remembered = remember(delivery, portal);
  deliver(delivery, payload);
}

// Nothing matches; or an entry does, the `cause`, and there is no room for what would have to be remembered or reported.
void Engine::no_match(Interface& ni, PortalEntry& portal, Peer& peer, const wire::Header& header, const ListEntry* cause) {
  ni.status[PTL_SR_DROP_COUNT].fetch_add(1, std::memory_order_relaxed);
  ++stats_.dropped;
  if (!(portal.options & PTL_PT_FLOWCTRL)) {
    refuse(peer, header, PTL_NI_DROPPED);
    return;
  }
  portal.enabled = false;
  portal.disabling = !cause || !(cause->options & PTL_ME_EVENT_FLOWCTRL_DISABLE);
  refuse(peer, header, PTL_NI_PT_DISABLED);
  portal_idle(ni.index, portal, header.pt_index);
}

// The initiator learns the fate of its request, if it asked to.
void Engine::refuse(Peer& peer, const wire::Header& header, ptl_ni_fail_t why) {
  if (header.token == 0) return;
  const bool reply = is_reply_kind(header.kind);
  wire::Header answer{};
  answer.kind = reply ? wire::Kind::reply : wire::Kind::ack;
  answer.op = why;
  answer.token = header.token;
  if (!reply && (header.flags & wire::kAckMask) == 0) {  // a bulk put without acknowledgement: only its source is freed
    answer.flags = wire::kSourceRead;
    answer.op = PTL_NI_OK;
  }
  send(peer, answer, nullptr, 0);
}

// Offset and length in the entry; consumes the entry if this message does.
void Engine::place(Delivery& delivery) {
  ListEntry& entry = *delivery.entry;
  const bool managed = entry.options & PTL_ME_MANAGE_LOCAL;
  delivery.offset = managed ? entry.local_offset : delivery.header.remote_offset;
  if (delivery.offset > entry.length) delivery.offset = entry.length;
  delivery.mlength = std::min<uint64_t>(delivery.header.rlength, entry.length - delivery.offset);
  if (managed) entry.local_offset += delivery.mlength;
  if ((entry.options & PTL_ME_USE_ONCE) ||
      (managed && entry.min_free != 0 && entry.length - entry.local_offset < entry.min_free))
    auto_unlink(entry);
}

// Asked before memory is touched that need not be there (PTL_TARGET_BIND_INACCESSIBLE).
bool Engine::touchable(const ListEntry& entry, uint64_t offset, uint64_t size, bool write) {
  bool all = true;
  entry.memory.for_parts(offset, size, [&](const std::byte* part, uint64_t bytes) { return all = all && accessible(part, bytes, write); });
  return all;
}

void Engine::deliver(Delivery& delivery, const std::byte* payload) {
  const wire::Header& header = delivery.header;
  const bool bulk = (header.flags & wire::kBulk) && delivery.mlength > 0 &&
                    (header.kind != wire::Kind::get || delivery.mlength > delivery.peer->transport->limits().eager);
  // Of bulk puts and gets each piece is looked at when its turn comes; atomics are applied all at once.
  if (delivery.entry->looked_at && (!bulk || header.kind > wire::Kind::get) &&
      !touchable(*delivery.entry, delivery.offset, delivery.mlength, header.kind != wire::Kind::get)) [[unlikely]] {
    delivery.mlength = 0;
    complete(delivery, PTL_NI_SEGV);
    return;
  }
  if (bulk) {
    wire::Region region{};
    if (!(header.flags & wire::kNoRegion)) std::memcpy(&region, payload, sizeof region);
    start_transfer(delivery, region);
    return;
  }
  move_data(delivery, payload);
  complete(delivery, PTL_NI_OK);
}

// Everything whose data is here already.
void Engine::move_data(Delivery& delivery, const std::byte* payload) {
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
      delivery.mlength = apply_to_entry(memory, delivery.offset, size, header, data, old, operand);
    }
  }
}

// Data is in place: count and event at the target, then unlink events, then the answer.
void Engine::complete(Delivery& delivery, ptl_ni_fail_t fail) {
  ListEntry& entry = *delivery.entry;
  posted = true;
  delivery_event(delivery, fail);
  acknowledge(delivery, fail);
  if (delivery.remembered) {
    KeptHeader& kept = *delivery.remembered;
    kept.arriving = false;
    kept.mlength = delivery.mlength;  // an atomic changes whole data only
    kept.fail = fail;
    if (ListEntry* taker = kept.taker) {
      ++entry.moving;  // consume may forget the last header of this entry; it ends below, once
      --taker->moving;
      consume(kept, *taker);
      entry_idle(*taker);
      --entry.moving;
    }
  }
  entry_idle(entry);
}

void Engine::acknowledge(const Delivery& delivery, ptl_ni_fail_t fail) {
  const wire::Header& header = delivery.header;
  if (header.token == 0) return;
  const bool reply = is_reply_kind(header.kind);
  wire::Header answer{};
  answer.kind = reply ? wire::Kind::reply : wire::Kind::ack;
  answer.flags = delivery.overflow ? wire::kOverflow : 0;
  answer.op = fail;
  answer.token = header.token;
  answer.rlength = delivery.mlength;
  answer.remote_offset = delivery.offset;
  size_t size = 0;
  if (reply) {
    // What move_data read or fetched lies in the scratch buffer; bulk data has gone before.
    const bool moved = (header.flags & wire::kBulk) && (header.kind != wire::Kind::get || delivery.mlength > delivery.peer->transport->limits().eager);
    size = moved || fail != PTL_NI_OK ? 0 : delivery.mlength;
  } else if ((header.flags & wire::kAckMask) == 0) {
    answer.flags |= wire::kSourceRead;
    if (fail == PTL_NI_SEGV) answer.op = PTL_NI_OK;  // the source is free; what became of the message was not asked
  }
  send(*delivery.peer, answer, scratch_.data(), size);
}

}  // namespace portunus
