// transfer.cpp: bulk data, moved by the target after it has matched.
//
// With a Region the target pulls (put) or pushes (get) in pieces, a bounded number of bytes per step; without one the data
// is asked for, or sent, as eager messages in windows. What the initiator copies together (fill.cpp) is taken as it comes.
#include "engine/engine.hpp"

#include <algorithm>

namespace portunus {
namespace {

constexpr uint64_t kBytesPerStep = 4 << 20;   // moved synchronously in one step, over all transfers
constexpr uint64_t kPiece = kBytesPerStep;    // one pull or push

bool is_fetch(wire::Kind kind) { return kind == wire::Kind::fetch_atomic || kind == wire::Kind::swap; }

}  // namespace

void Engine::start_transfer(const Delivery& delivery, const wire::Region& region) {
  auto transfer = std::make_unique<Transfer>();
  transfer->delivery = delivery;
  transfer->region = region;
  transfer->push = delivery.header.kind == wire::Kind::get;
  transfer->stream = (delivery.header.flags & wire::kNoRegion) || delivery.peer->transport->limits().pull == 0;
  transfer->id = next_transfer_++;
  transfer->staged = delivery.header.flags & wire::kStaged;
  if (delivery.entry->memory.has_layout() && !transfer->staged && !transfer->stream) transfer->bounce = new_bounce();
  if (delivery.header.kind != wire::Kind::put && !transfer->push) transfer->scratch = std::make_unique_for_overwrite<std::byte[]>(delivery.mlength);
  ++delivery.entry->moving;
  if (PortalEntry* portal = interfaces_[delivery.entry->ni].portals[delivery.entry->pt_index].get()) {
    ++portal->moving;
    if (delivery.events)
      if (EventQueue* queue = limiting_queue(*portal)) queue->promise(delivery.events);
  }
  if (delivery.remembered) delivery.remembered->arriving = true;
  transfers_.push_back(std::move(transfer));
  restless_ = true;
}

int Engine::run_transfers() {
  int work = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < transfers_.size();) {
    Transfer& transfer = *transfers_[i];
    const uint64_t before = transfer.moved;
    while (bytes < kBytesPerStep && !transfer.failed && !transfer.in_flight && transfer.moved < transfer.delivery.mlength) {
      const uint64_t at = transfer.moved;
      if (!advance(transfer)) break;
      bytes += transfer.moved - at;
    }
    if (transfer.moved == transfer.delivery.mlength && !transfer.push && is_fetch(transfer.delivery.header.kind) && !transfer.failed) {
      turn_round(transfer);
      ++work;
      continue;
    }
    const bool over = transfer.moved == transfer.delivery.mlength || (transfer.failed && !transfer.in_flight);
    if (transfer.moved != before || over) ++work;
    if (!over) {
      ++i;
      continue;
    }
    std::unique_ptr<Transfer> ended = std::move(transfers_[i]);
    transfers_.erase(transfers_.begin() + static_cast<ptrdiff_t>(i));
    end_transfer(*ended);
  }
  return work;
}

// Whether the memory of the next piece, or window, is there.
bool Engine::next_touchable(const Transfer& transfer) {
  const Delivery& delivery = transfer.delivery;
  const bool window_runs = transfer.stream && transfer.asked && transfer.moved < transfer.part;
  return window_runs || touchable(*delivery.entry, delivery.offset + transfer.moved, std::min(delivery.mlength - transfer.moved, kPiece), !transfer.push);
}

// One piece. False: nothing more to do now.
bool Engine::advance(Transfer& transfer) {
  if (transfer.delivery.peer->failed) {  // a header kept from before its end, taken now
    transfer.failed = true;
    return false;
  }
  Delivery& delivery = transfer.delivery;
  Peer& peer = *delivery.peer;
  if (delivery.entry->looked_at && !transfer.scratch && !next_touchable(transfer)) [[unlikely]] {
    transfer.failed = transfer.inaccessible = true;
    return false;
  }
  if (transfer.staged) return advance_staged(transfer);
  if (transfer.stream) return advance_stream(transfer);
  uint64_t size = std::min({delivery.mlength - transfer.moved, kPiece, uint64_t{peer.transport->limits().pull}});
  iovec part{transfer.bounce ? transfer.bounce.get() : transfer.scratch.get() + transfer.moved, static_cast<size_t>(size)};
  if (!transfer.scratch && !transfer.bounce) part = delivery.entry->memory.first_part(delivery.offset + transfer.moved, size);
  const wire::Region remote{transfer.region.address + transfer.moved, transfer.region.key};
  transfer.part = part.iov_len;
  const Moved result = part.iov_len == 0 ? Moved::failed
                       : transfer.push   ? peer.transport->push(*peer.link, remote, part.iov_base, part.iov_len, &transfer)
                                         : peer.transport->pull(*peer.link, remote, part.iov_base, part.iov_len, &transfer);
  switch (result) {
    case Moved::done:
      land(transfer);
      return true;
    case Moved::started:
      transfer.in_flight = true;
      return false;
    case Moved::again:
      return false;
    default:
      // No remote access after all (another user's process, a restricted kernel): the data can still be streamed.
      if (!peer.failed && part.iov_len != 0) {
        transfer.stream = true;
        return true;
      }
      transfer.failed = true;
      return false;
  }
}

bool Engine::advance_stream(Transfer& transfer) {
  Delivery& delivery = transfer.delivery;
  Peer& peer = *delivery.peer;
  const uint64_t most = peer.transport->limits().eager;
  wire::Header header{};
  header.token = delivery.header.token;
  if (!transfer.push) {  // ask for the next window once the last one is complete
    if (transfer.asked && transfer.moved < transfer.part) return false;
    const uint64_t window = std::min(delivery.mlength - transfer.moved, kWindowMessages * most);
    header.kind = wire::Kind::stream_request;
    header.match_bits = transfer.id;
    header.remote_offset = transfer.moved;
    header.rlength = window;
    transfer.part = transfer.moved + window;
    transfer.asked = true;
    send(peer, header, nullptr, 0);
    return false;
  }
  if (peer.held && !peer.held->empty()) return false;
  const uint64_t size = std::min(delivery.mlength - transfer.moved, most);
  const iovec part = transfer.old ? iovec{transfer.old.get() + transfer.moved, size} : delivery.entry->memory.first_part(delivery.offset + transfer.moved, size);
  if (!part.iov_len) {
    transfer.failed = true;
    return false;
  }
  header.kind = wire::Kind::stream_data;
  header.op = wire::kToOperation;
  header.remote_offset = transfer.moved;
  send(peer, header, part.iov_base, part.iov_len);
  transfer.moved += part.iov_len;
  return true;
}

// The piece has come, or gone.
void Engine::land(Transfer& transfer) {
  if (transfer.bounce) transfer.delivery.entry->memory.copy_in(transfer.delivery.offset + transfer.moved, transfer.bounce.get(), transfer.part);
  transfer.moved += transfer.part;
  stats_.bulk_bytes.add(transfer.part);
}

void Engine::moved(void* context, bool ok) {
  for (auto& transfer : transfers_) {
    if (transfer.get() != context) continue;
    transfer->in_flight = false;
    if (ok) {
      land(*transfer);
    } else if (transfer->delivery.peer->failed) {
      transfer->failed = true;
    } else {
      transfer->stream = true;  // the remote access failed, not the peer: the rest goes by messages
    }
    return;
  }
}

// The operands of a fetch or swap are complete: they are applied, and what was there before goes back.
void Engine::turn_round(Transfer& transfer) {
  transfer.old = std::make_unique_for_overwrite<std::byte[]>(transfer.delivery.mlength);
  apply_gathered(transfer.delivery, transfer.scratch.get(), transfer.old.get());
  transfer.moved = 0;
  transfer.push = true;
}

// Room for one piece, which takes no page faults where one was used before.
std::unique_ptr<std::byte[]> Engine::new_bounce() {
  if (spare_bounces_.empty()) return std::make_unique_for_overwrite<std::byte[]>(kPiece);
  std::unique_ptr<std::byte[]> bounce = std::move(spare_bounces_.back());
  spare_bounces_.pop_back();
  return bounce;
}

void Engine::end_transfer(Transfer& transfer) {
  constexpr size_t kSpareBounces = 2;
  if (transfer.bounce && spare_bounces_.size() < kSpareBounces) spare_bounces_.push_back(std::move(transfer.bounce));
  Delivery& delivery = transfer.delivery;
  ListEntry& entry = *delivery.entry;
  if (transfer.scratch && !transfer.old && !transfer.failed) apply_gathered(delivery, transfer.scratch.get(), nullptr);
  --entry.moving;
  PortalEntry* portal = interfaces_[entry.ni].portals[entry.pt_index].get();
  const uint16_t pt_index = entry.pt_index;
  const uint32_t ni = entry.ni;
  if (portal) {
    --portal->moving;
    if (delivery.events)
      if (EventQueue* queue = limiting_queue(*portal)) queue->keep_promise(delivery.events);
  }
  if (transfer.failed) delivery.mlength = 0;
  complete(delivery, transfer.inaccessible ? PTL_NI_SEGV : transfer.failed ? PTL_NI_UNDELIVERABLE : PTL_NI_OK);
  if (portal) portal_idle(ni, *portal, pt_index);
}

}  // namespace portunus
