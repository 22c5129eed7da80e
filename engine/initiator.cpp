// initiator.cpp: from a command to a message, and holding messages back while a transport is full.
//
// Eager: header and data together; the source is free at once (SEND). Bulk: header and the place of the data; the
// target matches first and then moves the data itself.
// Source: Portals 4.3, data movement; PEACE (request, match, then the receiver's processor moves the data).
#include "engine/atomic_ops.hpp"
#include "engine/engine.hpp"

#include <cstdlib>

namespace portunus {
namespace {

constexpr size_t kGatherParts = 16;  // iovec elements handed to a transport without copying them together first

wire::Header request_header(const Command& command, wire::Kind kind) {
  wire::Header header{};
  header.kind = kind;
  header.flags = static_cast<uint8_t>(command.ni | command.ack << wire::kAckShift);
  header.op = command.op;
  header.datatype = command.datatype;
  header.pt_index = command.pt_index;
  header.match_bits = command.match_bits;
  header.hdr_data = command.hdr_data;
  header.rlength = command.length;
  header.remote_offset = command.remote_offset;
  return header;
}

void free_payload(Command& command) {
  if (command.owns_payload) std::free(command.source.base);
  command.owns_payload = false;
}

// From then on the source is one piece of memory. Without memory for that it is read later, as it lies.
void own_copy(Command& command) {
  void* copy = std::malloc(command.length);
  if (!copy) return;
  Memory{command.source.base, command.source.iov_count}.copy_out(command.source.offset, copy, command.length);
  command.source.base = copy;
  command.source.offset = 0;
  command.source.iov_count = 0;
  command.owns_payload = true;
}

}  // namespace

void own_volatile(Command& command) {
  if (!(command.source.options & PTL_MD_VOLATILE) || command.owns_payload || command.length == 0 || command.verb == Verb::get) return;
  own_copy(command);
}

void Engine::start_message(Command& command) {
  Peer* peer = target(command.ni, command.target);
  if (!peer || (peer->failed && !revive(*peer))) {
    undeliverable(command);
    return;
  }
  if (peer->restrained && restrain(*peer, command)) [[unlikely]]
    return;
  if (!peer->held || peer->held->empty()) {
    Sent result = transmit(*peer, command);
    if (result == Sent::done) return;
    if (result == Sent::failed) {
      fail_peer(*peer);
      undeliverable(command);
      return;
    }
  }
  own_volatile(command);
  HeldMessage held;
  held.command = std::make_unique<Command>(command);
  hold(*peer, std::move(held));
}

bool Engine::put_at_once(wire::Header& header, ptl_process_t to, const Local& source, void* user_ptr) {
  const uint64_t length = header.rlength;
  Peer* peer = target(header.flags & wire::kNiMask, to);
  if (!peer || peer->failed || peer->restrained || (peer->held && !peer->held->empty()) || length > peer->transport->limits().eager) return false;
  header.payload_size = static_cast<uint16_t>(length);
  iovec all{source.base, static_cast<size_t>(length)};
  if (peer->transport->send(*peer->link, header, {&all, length ? 1u : 0u}) != Sent::done) return false;
  ++stats_.sends;
  if (source.eq != PTL_EQ_NONE || source.ct != PTL_CT_NONE) send_event(source, length, user_ptr, PTL_NI_OK);
  return true;
}

void Engine::hold(Peer& peer, HeldMessage message) {
  ++stats_.back_pressure;
  if (!peer.held) peer.held = std::make_unique<std::deque<HeldMessage>>();
  peer.held->push_back(std::move(message));
  if (!peer.stalled) {
    peer.stalled = true;
    stalled_.push_back(&peer);
    restless_ = true;
  }
}

void Engine::send(Peer& peer, wire::Header header, const void* payload, size_t size) {
  if (peer.failed) return;
  header.payload_size = static_cast<uint16_t>(size);
  if (!peer.held || peer.held->empty()) {
    iovec part{const_cast<void*>(payload), size};
    Sent result = peer.transport->send(*peer.link, header, {&part, size ? 1u : 0u});
    if (result == Sent::done) ++stats_.sends;
    if (result == Sent::failed) fail_peer(peer);
    if (result != Sent::again) return;
  }
  HeldMessage held;
  held.header = header;
  const auto* bytes = static_cast<const std::byte*>(payload);
  held.payload.assign(bytes, bytes + size);
  hold(peer, std::move(held));
}

Sent Engine::transmit(Peer& peer, Command& command) {
  Sent result;
  switch (command.verb) {
    case Verb::get:
      result = transmit_get(peer, command);
      break;
    case Verb::fetch_atomic:
    case Verb::swap:
      result = transmit_fetch(peer, command);
      break;
    default:
      result = transmit_put(peer, command);
  }
  if (result == Sent::done) ++stats_.sends;
  return result;
}

// Sends `front` and then `size` bytes of `source`, copying an iovec of many elements together first.
Sent Engine::send_gathered(Peer& peer, const wire::Header& header, const Local& source, uint64_t size, const void* front, size_t front_size) {
  if (source.iov_count == 0 && front_size == 0) {
    iovec all{source.base, static_cast<size_t>(size)};
    return peer.transport->send(*peer.link, header, {&all, size ? 1u : 0u});
  }
  const Memory memory{source.base, source.iov_count};
  if (source.iov_count != 0 && front_size == 0 && size > 0) {
    InPlace* const place = peer.transport->can().in_place;
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
    memory.copy_out(source.offset, scratch_.data(), size);
    parts[used++] = {scratch_.data(), static_cast<size_t>(size)};
  }
  return peer.transport->send(*peer.link, header, {parts, used});
}

Sent Engine::transmit_put(Peer& peer, Command& command) {
  wire::Header header = request_header(command, command.verb == Verb::put ? wire::Kind::put : wire::Kind::atomic);
  if (command.length <= peer.transport->limits().eager && !(command.source.options & PTLX_MD_HEADER_FIRST)) {
    header.payload_size = static_cast<uint16_t>(command.length);
    Operation* pending = nullptr;
    if (command.ack != PTL_NO_ACK_REQ) {
      pending = &new_operation(peer, command);
      pending->source_read = true;
      header.token = pending->token();
    }
    Sent result = send_gathered(peer, header, command.source, command.length, nullptr, 0);
    if (result != Sent::done) {
      if (pending) end_operation(*pending);
      return result;
    }
    free_payload(command);
    send_event(command.source, command.length, command.user_ptr, PTL_NI_OK);
    return result;
  }
  own_volatile(command);  // its header alone goes first, so the data stays here
  Operation& pending = new_operation(peer, command);
  pending.bulk = true;
  return send_bulk(peer, header, command, pending, Opened::for_reading);
}

// The header alone: the target moves the data, directly where memory can be opened for it, from staging, or else by messages.
Sent Engine::send_bulk(Peer& peer, wire::Header& header, Command& command, Operation& pending, Opened how) {
  header.token = pending.token();
  header.flags |= wire::kBulk;
  iovec part{&pending.exposed.region, sizeof(wire::Region)};
  const bool staged = how == Opened::for_reading && stage(peer, command, pending);
  if (!staged && how == Opened::for_reading && command.source.iov_count == Memory::kLayout && peer.transport->limits().pull) {
    own_copy(command);
    pending.source = command.source;
  }
  pending.is_exposed = !staged && how != Opened::not_at_all && command.source.iov_count == 0 && peer.transport->limits().pull &&
                       peer.transport->expose(*peer.link, command.source.base, command.length, how == Opened::for_writing, pending.exposed);
  if (staged) header.flags |= wire::kStaged;
  const bool region = staged || pending.is_exposed;
  if (region)
    header.payload_size = sizeof(wire::Region);
  else
    header.flags |= wire::kNoRegion;
  const Sent result = peer.transport->send(*peer.link, header, {&part, region ? 1u : 0u});
  if (result != Sent::done) {
    end_operation(pending);
    return result;
  }
  if (command.owns_payload) pending.owned_payload = command.source.base;
  command.owns_payload = false;
  if (staged) begin_fill(pending);
  return result;
}

Sent Engine::transmit_get(Peer& peer, Command& command) {
  wire::Header header = request_header(command, wire::Kind::get);
  Operation& pending = new_operation(peer, command);
  pending.result = command.source;
  pending.source_read = true;
  if (command.length > peer.transport->limits().eager) return send_bulk(peer, header, command, pending, Opened::for_writing);
  header.token = pending.token();
  const Sent result = peer.transport->send(*peer.link, header, {});
  if (result != Sent::done) end_operation(pending);
  return result;
}

// Eager: operand and data together, and the old data comes with the reply. Bulk: the target asks for the data, and sends
// the old data back, by messages (so that no operation needs memory opened for reading and for writing at once).
Sent Engine::transmit_fetch(Peer& peer, Command& command) {
  const bool swap = command.verb == Verb::swap;
  wire::Header header = request_header(command, swap ? wire::Kind::swap : wire::Kind::fetch_atomic);
  const size_t operand = swap ? datatype_size(command.datatype) : 0;
  if (command.length + operand > peer.transport->limits().eager) {
    own_volatile(command);
    Operation& pending = new_operation(peer, command);
    pending.bulk = true;
    return send_bulk(peer, header, command, pending, Opened::not_at_all);
  }
  header.payload_size = static_cast<uint16_t>(command.length + operand);
  Operation& pending = new_operation(peer, command);
  pending.source_read = true;
  header.token = pending.token();
  Sent result = send_gathered(peer, header, command.source, command.length, command.extra.operand, operand);
  if (result != Sent::done) {
    end_operation(pending);
    return result;
  }
  free_payload(command);
  send_event(command.source, command.length, command.user_ptr, PTL_NI_OK);
  return result;
}

// The command cannot leave: its reports say so.
void Engine::undeliverable(Command& command) {
  posted = true;
  Operation lost;
  lost.verb = command.verb;
  lost.ack = command.ack;
  lost.source = command.source;
  lost.result = command.verb == Verb::get ? command.source : command.result;
  lost.length = command.length;
  lost.user_ptr = command.user_ptr;
  lost.source_read = command.verb == Verb::get;
  free_payload(command);
  finish(lost, 0, 0, PTL_NI_UNDELIVERABLE, PTL_PRIORITY_LIST);
}

}  // namespace portunus
