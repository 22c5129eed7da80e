// target.cpp: a request arrives: check, match, place, move, report, answer.
//
// Order (Portals 4.3): the entry leaves its list when it is matched, before the data moves; data, then count, then event are
// visible before the acknowledgement leaves. Whatever a header claims is checked here against the entry.
#include "engine/atomic_ops.hpp"
#include "engine/engine.hpp"

#include <algorithm>

namespace portunus {
namespace {

// Do kind, operation, type, lengths and payload of a request fit together?
bool well_formed(const wire::Header& header) {
  const bool bulk = header.flags & wire::kBulk;
  const size_t region = bulk && !(header.flags & wire::kNoRegion) ? sizeof(wire::Region) : 0;
  switch (header.kind) {
    case wire::Kind::put:
      return header.payload_size == (bulk ? region : header.rlength);
    case wire::Kind::get:
      return header.payload_size == region && header.token != 0;
    case wire::Kind::atomic:
      return atomic_allowed(header.op, header.datatype) && header.payload_size == (bulk ? region : header.rlength);
    case wire::Kind::fetch_atomic:
      return !bulk && atomic_allowed(header.op, header.datatype) && header.payload_size == header.rlength && header.token != 0;
    case wire::Kind::swap:
      return !bulk && swap_allowed(header.op, header.datatype) && header.token != 0 &&
             (header.op == PTL_SWAP || header.rlength <= datatype_size(header.datatype)) &&
             header.payload_size == header.rlength + datatype_size(header.datatype);
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

bool is_reply_kind(wire::Kind kind) {
  return kind == wire::Kind::get || kind == wire::Kind::fetch_atomic || kind == wire::Kind::swap;
}

}  // namespace

void Engine::apply_gathered(Delivery& delivery, const std::byte* data) {
  delivery.mlength = apply_to_entry(delivery.entry->memory, delivery.offset, delivery.mlength, delivery.header, data, nullptr, nullptr);
}

void Engine::request(Link& from, const wire::Header& header, const std::byte* payload) {
  Peer& peer = *from.peer;
  if (!well_formed(header)) {
    ++stats_.malformed;
    return;
  }
  Interface& ni = interfaces_[header.flags & wire::kNiMask];
  PortalEntry* portal = header.pt_index < kMaxPortals ? ni.portals[header.pt_index].get() : nullptr;
  uint64_t source = packed(peer.id);
  if (ni.logical() && ni.open.load(std::memory_order_relaxed)) {
    uint32_t& rank = peer.rank[ni.index];
    if (rank == kRankUnknown) {
      auto found = ni.rank_of.find(packed(peer.id));
      // Not in the map yet: ask again next time, the map may be set later.
      rank = found != ni.rank_of.end() ? found->second : kRankUnknown;
      if (rank == kRankUnknown) portal = nullptr;
    }
    source = rank;
  }
  if (!ni.open.load(std::memory_order_relaxed) || !portal) {
    ni.status[PTL_SR_DROP_COUNT].fetch_add(1, std::memory_order_relaxed);
    ++stats_.dropped;
    refuse(peer, header, PTL_NI_DROPPED);
    return;
  }
  if (!portal->enabled) {
    ni.status[PTL_SR_DROP_COUNT].fetch_add(1, std::memory_order_relaxed);
    refuse(peer, header, PTL_NI_PT_DISABLED);
    return;
  }
  ListEntry* entry = match(*portal, header, source);
  if (!entry) {
    no_match(ni, *portal, peer, header);
    return;
  }
  ++stats_.matches;
  if (entry->uid != PTL_UID_ANY && entry->uid != from.uid) {
    ni.status[PTL_SR_PERMISSION_VIOLATIONS].fetch_add(1, std::memory_order_relaxed);
    refuse(peer, header, PTL_NI_PERM_VIOLATION);
    return;
  }
  const uint32_t needed = needed_permission(header.kind);
  if ((entry->options & needed) != needed) {
    ni.status[PTL_SR_OPERATION_VIOLATIONS].fetch_add(1, std::memory_order_relaxed);
    refuse(peer, header, PTL_NI_OP_VIOLATION);
    return;
  }
  const bool overflow = entry->list == PTL_OVERFLOW_LIST;
  if (overflow && !(entry->options & PTL_ME_UNEXPECTED_HDR_DISABLE)) {
    if (ni.unexpected_headers >= static_cast<uint32_t>(ni.limits.max_unexpected_headers)) {
      no_match(ni, *portal, peer, header);
      return;
    }
    if (entry->options & PTLX_ME_HOLD) {
      keep(peer, header, payload, *portal, source);
      if (entry->options & PTL_ME_EVENT_CT_COMM) count(entry->ct, 1, 0);
      return;
    }
  }
  Delivery delivery{&peer, header, entry, source, 0, 0, overflow, false, nullptr};
  place(delivery);
  if (overflow && !(entry->options & PTL_ME_UNEXPECTED_HDR_DISABLE)) delivery.remembered = remember(delivery, *portal);
  deliver(delivery, payload);
}

ListEntry* Engine::match(PortalEntry& portal, const wire::Header& header, uint64_t source) {
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

void Engine::no_match(Interface& ni, PortalEntry& portal, Peer& peer, const wire::Header& header) {
  ni.status[PTL_SR_DROP_COUNT].fetch_add(1, std::memory_order_relaxed);
  ++stats_.dropped;
  if (!(portal.options & PTL_PT_FLOWCTRL)) {
    refuse(peer, header, PTL_NI_DROPPED);
    return;
  }
  portal.enabled = false;
  portal.disabling = true;
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

void Engine::deliver(Delivery& delivery, const std::byte* payload) {
  const wire::Header& header = delivery.header;
  const bool put_like = header.kind == wire::Kind::put || header.kind == wire::Kind::atomic;
  const size_t eager = delivery.peer->transport->limits().eager;
  if ((header.flags & wire::kBulk) && delivery.mlength > 0 && (put_like || delivery.mlength > eager)) {
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
    // What move_data read or fetched lies in the scratch buffer; a bulk get's data has gone before.
    const bool moved = (header.flags & wire::kBulk) && delivery.mlength > delivery.peer->transport->limits().eager;
    size = moved || fail != PTL_NI_OK ? 0 : delivery.mlength;
  } else if ((header.flags & wire::kAckMask) == 0) {
    answer.flags |= wire::kSourceRead;
  }
  send(*delivery.peer, answer, scratch_.data(), size);
}

}  // namespace portunus
