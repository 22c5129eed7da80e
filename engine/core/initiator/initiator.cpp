// initiator.cpp: see initiator.hpp.
#include "engine/core/initiator/initiator.hpp"

#include <algorithm>
#include <cassert>

#include "engine/core/initiator/way.hpp"
#include "engine/core/memory.hpp"
#include "engine/core/triggered/atomic_ops.hpp"

namespace portunus {
namespace {

constexpr int kHeldPerStep = 32;     // messages to one peer
constexpr Local kNothing;            // of a put: no data come back
constexpr size_t kGatherParts = 16;  // iovec elements handed to a transport without copying them together first

wire::Header request_header(const Core& core, const Command& command, wire::Kind kind) {
  wire::Header header{};
  header.kind = kind;
  header.flags = static_cast<uint8_t>(command.ni | command.ack << wire::kAckShift | (core.scheduled ? wire::kScheduled : 0));
  header.op = command.op;
  header.datatype = command.datatype;
  header.pt_index = command.pt_index;
  header.match_bits = command.match_bits;
  header.hdr_data = command.hdr_data;
  header.rlength = command.length;
  header.remote_offset = command.remote_offset;
  return header;
}

}  // namespace

Initiator::Initiator(Core& core, Reports& reports, Peers& peers, FlowControl& flow)
    : core_(core), reports_(reports), peers_(peers), flow_(flow), pending_(core, reports, peers), scratch_(64 * 1024) {}

void Initiator::start(Command& command) {
  Peer* peer = peers_.target(command.ni, command.target);
  if (!peer || (peer->failed && !peers_.revive(*peer))) {
    end_unsent(command, PTL_NI_UNDELIVERABLE);
    return;
  }
  if (peer->throttled && flow_.pause(*peer, command)) [[unlikely]]
    return;
  if (!peer->holds_back()) {
    Sent result = transmit(*peer, command);
    if (result == Sent::done) return;
    if (result == Sent::failed) {
      peers_.fail(*peer);
      end_unsent(command, PTL_NI_UNDELIVERABLE);
      return;
    }
  }
  own_volatile(command);
  try {
    HeldMessage held;
    held.command = std::make_unique<Command>(command);
    peers_.hold(*peer, std::move(held));
  } catch (...) {
    free_payload(command);
    throw;
  }
}

// Sends a message whose data go with its header, and claims what its answer ends, if it asks for one.
template <class Send>
[[gnu::always_inline]] inline Sent Initiator::send_with_data(Peer& peer, Verb verb, wire::Header& header, const Local& source,
                                                             const Local& result, void* user_ptr, Send&& send) {
  Operation* pending = nullptr;
  if (verb > Verb::atomic || (header.flags & wire::kAckMask)) {
    pending = &pending_.claim(peer, verb, header, source, result, user_ptr);
    pending->source_read = true;
    header.token = pending->token();
  }
  const Sent sent = send();
  if (sent == Sent::done) reports_.sent(source, header.rlength, user_ptr, PTL_NI_OK);
  else if (pending) pending_.drop(*pending);
  return sent;
}

bool Initiator::put_at_once(wire::Header& header, ptl_process_t to, const Local& source, void* user_ptr) {
  const uint64_t length = header.rlength;
  Peer* peer = peers_.target(header.flags & wire::kNiMask, to);
  if (!peer || peer->failed || peer->throttled || peer->holds_back() || length > peer->eager) return false;
  header.payload_size = static_cast<uint16_t>(length);
  iovec all{source.base, static_cast<size_t>(length)};
  const auto send = [&] { return peer->transport->send(*peer->link, header, {&all, length ? 1u : 0u}); };
  if (send_with_data(*peer, Verb::put, header, source, kNothing, user_ptr, send) != Sent::done) return false;
  ++core_.stats.sends;
  return true;
}

int Initiator::send_held() {
  int sent = 0;
  size_t i = 0;
  while (Peer* const peer = peers_.stalled(i)) {
    auto& held = *peer->held;
    const int sent_before = sent;
    for (int burst = 0; !held.empty() && burst < kHeldPerStep; ++burst) {
      HeldMessage& first = held.front();
      if (!peer->failed) {
        Sent result;
        if (first.command) {
          result = transmit(*peer, *first.command);
        } else {
          const iovec part{first.payload.data(), first.payload.size()};
          result = peer->transport->send(*peer->link, first.header, {&part, first.payload.empty() ? 0u : 1u});
          if (result == Sent::done) ++core_.stats.sends;
        }
        if (result == Sent::again) break;
        if (result == Sent::failed) peers_.fail(*peer);
      }
      if (peer->failed && first.command) end_unsent(*first.command, PTL_NI_UNDELIVERABLE);
      held.pop_front();
      ++sent;
    }
    assert(sent >= sent_before && sent - sent_before <= kHeldPerStep);
    peers_.let_go(static_cast<uint64_t>(sent - sent_before));
    if (held.empty()) peers_.release_stalled(i);
    else ++i;
  }
  return sent;
}

Sent Initiator::transmit(Peer& peer, Command& command) {
  Sent result;
  switch (command.verb) {
    case Verb::get: result = transmit_get(peer, command); break;
    case Verb::fetch_atomic:
    case Verb::swap: result = transmit_fetch(peer, command); break;
    default: result = transmit_put(peer, command);
  }
  if (result == Sent::done) ++core_.stats.sends;
  return result;
}

// Sends `front` and then `size` bytes of `source`, copying an iovec of many elements together first.
Sent Initiator::send_gathered(Peer& peer, const wire::Header& header, const Local& source, uint64_t size, const void* front,
                              size_t front_size) {
  if (source.iov_count == 0 && front_size == 0) {
    iovec all{source.base, static_cast<size_t>(size)};
    return peer.transport->send(*peer.link, header, {&all, size ? 1u : 0u});
  }
  const Memory memory{source.base, source.iov_count};
  if (source.iov_count != 0 && front_size == 0 && size > 0) {
    InPlace* const place = header.payload_size == wire::kWhole ? nullptr : peer.transport->can().in_place;
    if (std::byte* payload = place ? place->begin(*peer.link, header) : nullptr) {
      memory.copy_out(source.offset, payload, size);
      place->commit(*peer.link);
      return Sent::done;
    }
  }
  iovec parts[kGatherParts];
  size_t used = 0;
  if (front_size) parts[used++] = {const_cast<void*>(front), front_size};
  if (source.iov_count == 0) {
    if (size) parts[used++] = {source.base, static_cast<size_t>(size)};
    return peer.transport->send(*peer.link, header, {parts, used});
  }
  bool fits = !memory.has_layout();
  memory.for_parts(source.offset, size, [&](std::byte* at, uint64_t n) {
    if (used == kGatherParts) return fits = false;
    parts[used++] = {at, static_cast<size_t>(n)};
    return true;
  });
  if (!fits) {
    used = front_size ? 1 : 0;
    assert(size <= scratch_.size() && used < kGatherParts);
    memory.copy_out(source.offset, scratch_.data(), size);
    parts[used++] = {scratch_.data(), static_cast<size_t>(size)};
  }
  return peer.transport->send(*peer.link, header, {parts, used});
}

Sent Initiator::transmit_put(Peer& peer, Command& command) {
  wire::Header header = request_header(core_, command, command.verb == Verb::put ? wire::Kind::put : wire::Kind::atomic);
  if (!(command.source.options & PTLX_MD_HEADER_FIRST)) {
    if (command.length <= peer.eager) return transmit_with_data(peer, header, command, static_cast<uint16_t>(command.length));
    if (command.verb == Verb::put && command.length <= peer.transport->limits().whole) {
      const Sent result = transmit_with_data(peer, header, command, wire::kWhole);
      if (result != Sent::again) return result;
    }
  }
  own_volatile(command);  // its header alone goes first, so the data stays here
  Operation& pending = claim(peer, header, command);
  pending.bulk = true;
  return send_bulk(peer, header, command, pending, Access::read);
}

// `operand`: the bytes of a swap's that go before the data.
Sent Initiator::transmit_with_data(Peer& peer, wire::Header header, Command& command, uint16_t payload_size, size_t operand) {
  assert(command.length <= (payload_size == wire::kWhole ? peer.transport->limits().whole : peer.eager));
  header.payload_size = payload_size;
  const auto send = [&] { return send_gathered(peer, header, command.source, command.length, command.extra.operand, operand); };
  const Sent sent = send_with_data(peer, command.verb, header, command.source, command.result, command.user_ptr, send);
  if (sent == Sent::done) free_payload(command);
  return sent;
}

Operation& Initiator::claim(Peer& peer, const wire::Header& header, const Command& command) {
  const Local& result = command.verb == Verb::get ? command.source : command.result;
  return pending_.claim(peer, command.verb, header, command.source, result, command.user_ptr);
}

// Prepares the way that the table chooses; where it turns out to be closed, the table is asked again without the fact it
// needs.
Way Initiator::open_way(Peer& peer, Command& command, Operation& pending, Access access) {
  uint16_t facts = 0;
  if (access == Access::read) facts = Packing::facts(command);
  if (command.source.iov_count != 0) facts |= fact::kInPieces;
  if (access == Access::read && command.source.iov_count == Memory::kLayout) facts |= fact::kSourceLaidOut;
  if (access != Access::none && peer.transport->limits().pull) facts |= fact::kRemoteAccess;
  for (;;) {
    const Way way = choose_way(facts);
    if (goes_through_staging(way)) {
      if (Packing::open(pending)) return way;
      facts &= ~fact::kStaging;
    } else if (way == Way::packed) {
      own_copy(command);
      if (command.owns_payload) {
        pending.source = command.source;
        facts &= ~(fact::kInPieces | fact::kSourceLaidOut);  // one piece, to be pulled
      } else {
        facts &= ~fact::kRemoteAccess;
      }
    } else if (way == Way::pulled) {
      pending.is_exposed =
          peer.transport->expose(*peer.link, command.source.base, command.length, access == Access::write, pending.exposed);
      if (pending.is_exposed) return way;
      facts &= ~fact::kRemoteAccess;
    } else {
      return way;
    }
  }
}

// The header alone, and where the data lie.
Sent Initiator::send_bulk(Peer& peer, wire::Header& header, Command& command, Operation& pending, Access access) {
  header.token = pending.token();
  header.flags |= wire::kBulk;
  const Way way = open_way(peer, command, pending, access);
  const bool staged = goes_through_staging(way);
  const bool region = staged || pending.is_exposed;
  if (staged) header.flags |= wire::kStaged;
  if (region) header.payload_size = sizeof(wire::Region);
  else header.flags |= wire::kNoRegion;
  const iovec part{&pending.exposed.region, sizeof(wire::Region)};
  const Sent result = peer.transport->send(*peer.link, header, {&part, region ? 1u : 0u});
  if (result != Sent::done) {
    pending_.drop(pending);
    return result;
  }
  assert(pending.owned_payload == nullptr && pending.peer == &peer);
  if (command.owns_payload) pending.owned_payload = command.source.base;
  command.owns_payload = false;
  if (staged) pending_.begin_packing(pending);
  return result;
}

Sent Initiator::transmit_get(Peer& peer, Command& command) {
  wire::Header header = request_header(core_, command, wire::Kind::get);
  Operation& pending = claim(peer, header, command);
  pending.source_read = true;
  if (command.length > peer.eager) return send_bulk(peer, header, command, pending, Access::write);
  header.token = pending.token();
  const Sent result = peer.transport->send(*peer.link, header, {});
  if (result != Sent::done) pending_.drop(pending);
  return result;
}

// Eager: operand and data together, and the old data comes with the reply. Bulk: the target asks for the data, and sends
// the old data back, by messages (so that no operation needs memory opened for reading and for writing at once).
Sent Initiator::transmit_fetch(Peer& peer, Command& command) {
  const bool swap = command.verb == Verb::swap;
  wire::Header header = request_header(core_, command, swap ? wire::Kind::swap : wire::Kind::fetch_atomic);
  const size_t operand = swap ? datatype_size(command.datatype) : 0;
  if (command.length + operand > peer.eager) {
    own_volatile(command);
    Operation& pending = claim(peer, header, command);
    pending.bulk = true;
    return send_bulk(peer, header, command, pending, Access::none);
  }
  return transmit_with_data(peer, header, command, static_cast<uint16_t>(command.length + operand), operand);
}

void Initiator::start(PausedPuts puts) {
  for (std::unique_ptr<Command>& command : puts) start(*command);
}

void Initiator::fail(PausedPuts puts) {
  for (std::unique_ptr<Command>& command : puts) end_unsent(*command, PTL_NI_UNDELIVERABLE);
}

void Initiator::discard(PausedPuts puts) {
  for (std::unique_ptr<Command>& command : puts) free_payload(*command);
}

// The command never leaves, or not any more: its reports say so.
void Initiator::end_unsent(Command& command, ptl_ni_fail_t why) {
  free_payload(command);
  pending_.end_unsent(command, why);
}

void Initiator::withdraw(const PutsOf& like) {
  PausedPuts unsent;
  for (size_t i = 0; Peer* peer = peers_.stalled(i); ++i)
    std::erase_if(*peer->held, [&](HeldMessage& message) {
      if (!message.command || !like.include(*message.command)) return false;
      unsent.push_back(std::move(message.command));
      return true;
    });
  flow_.take_paused([&](const Command& command) { return like.include(command); }, unsent);
  for (std::unique_ptr<Command>& command : unsent) end_unsent(*command, PTLX_NI_WITHDRAWN);
  pending_.withdraw(like);
}

bool Initiator::will_count(uint32_t ct) const {
  if (pending_.will_count(ct)) return true;
  for (size_t i = 0; const Peer* peer = peers_.stalled(i); ++i)
    for (const HeldMessage& held : *peer->held)
      if (held.command && counts_on(*held.command, ct)) return true;
  return false;
}

}  // namespace portunus
