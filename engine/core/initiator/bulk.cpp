// bulk.cpp: one transfer after the other, a piece at a time.
#include "engine/core/initiator/bulk.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace portunus {
namespace {

constexpr uint64_t kBytesPerStep = 4 << 20;  // moved synchronously in one step, over all transfers
constexpr uint64_t kPiece = kBytesPerStep;   // one pull or push
constexpr size_t kSpareBounces = 2;

// The facts that the header tells of the way that the initiator chose, and those of the entry.
uint16_t facts_of(const Delivery& delivery) {
  const uint8_t flags = delivery.header.flags;
  if (flags & wire::kStaged) return fact::kStaging | fact::kInPieces;
  uint16_t facts = 0;
  if (!(flags & wire::kNoRegion) && delivery.peer->transport->limits().pull) facts |= fact::kRemoteAccess;
  if (delivery.entry->memory.has_layout()) facts |= fact::kEntryLaidOut;
  return facts;
}

}  // namespace

void Bulk::start(const Delivery& delivery, const wire::Region& region) {
  auto transfer = std::make_unique<Transfer>();
  transfer->delivery = delivery;
  transfer->region = region;
  transfer->way = choose_way(facts_of(delivery));
  transfer->outward = delivery.header.kind == wire::Kind::get;
  transfer->id = next_id_++;
  if (transfer->way == Way::bounced) transfer->bounce = new_bounce();
  if (delivery.header.kind != wire::Kind::put && !transfer->outward)
    transfer->operands = std::make_unique_for_overwrite<std::byte[]>(delivery.mlength);
  transfers_.push_back(std::move(transfer));
  core_.maybe_busy = true;
}

int Bulk::advance(std::vector<std::unique_ptr<Transfer>>& ended) {
  int work = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < transfers_.size();) {
    Transfer& transfer = *transfers_[i];
    assert(transfer.moved <= transfer.delivery.mlength && transfer.delivery.entry->moving > 0);
    const uint64_t before = transfer.moved;
    while (bytes < kBytesPerStep && transfer.fine() && transfer.wait != Transfer::Wait::transport && !transfer.over()) {
      const uint64_t at = transfer.moved;
      if (!advance(transfer)) break;
      assert(transfer.moved >= at && transfer.moved <= transfer.delivery.mlength);
      bytes += transfer.moved - at;
    }
    if (transfer.moved == transfer.delivery.mlength && !transfer.outward && is_fetch(transfer.delivery.header.kind) && transfer.fine()) {
      turn_round(transfer);
      ++work;
      continue;
    }
    if (transfer.moved != before || transfer.over()) ++work;
    if (!transfer.over()) {
      ++i;
      continue;
    }
    if (transfer.operands && !transfer.old && transfer.fine()) apply_to_entry(transfer.delivery, transfer.operands.get(), nullptr, nullptr);
    if (transfer.bounce && spare_bounces_.size() < kSpareBounces) spare_bounces_.push_back(std::move(transfer.bounce));
    ended.push_back(std::move(transfers_[i]));
    transfers_.erase(transfers_.begin() + static_cast<ptrdiff_t>(i));
  }
  return work;
}

// One piece. False: nothing more to do now.
bool Bulk::advance(Transfer& transfer) {
  if (transfer.delivery.peer->failed) {  // a header kept from before its end, taken now
    transfer.fate = Transfer::Fate::undeliverable;
    return false;
  }
  if (transfer.delivery.entry->may_fault && !transfer.operands && !next_accessible(transfer)) [[unlikely]] {
    transfer.fate = Transfer::Fate::inaccessible;
    return false;
  }
  if (goes_through_staging(transfer.way)) return advance_staged(transfer);
  if (transfer.way == Way::streamed) return advance_streamed(transfer);
  return advance_pulled(transfer);
}

// Whether the memory of the next piece, or window, is there.
bool Bulk::next_accessible(const Transfer& transfer) {
  if (transfer.wait == Transfer::Wait::window && transfer.moved < transfer.part) return true;
  const Delivery& delivery = transfer.delivery;
  return is_accessible(*delivery.entry, delivery.offset + transfer.moved, std::min(delivery.mlength - transfer.moved, kPiece),
                       !transfer.outward);
}

bool Bulk::advance_staged(Transfer& transfer) {
  Peer& peer = *transfer.delivery.peer;
  StagingAreas* const areas = peer.transport->can().staging;  // none: the peer asks for what we cannot
  bool over = !transfer.staging.open() && !(areas && areas->open_stage(*peer.link, transfer.region, transfer.staging));
  iovec piece{};
  if (!over) piece = transfer.staging.piece(transfer.delivery.mlength - transfer.moved, over);
  const bool empty = !over && piece.iov_len == 0;
  transfer.wait = empty ? Transfer::Wait::filling : Transfer::Wait::nothing;
  if (empty) return false;
  bool waited = false;
  if (!over) {
    store(transfer, static_cast<const std::byte*>(piece.iov_base), piece.iov_len);
    over = !transfer.staging.took(piece.iov_len, waited);
  }
  if (over) {  // the initiator has given the message up
    transfer.fate = Transfer::Fate::undeliverable;
    return false;
  }
  transfer.moved += piece.iov_len;
  core_.stats.bulk_bytes.add(piece.iov_len);
  if (waited) peer.transport->can().notify->notify(*peer.link);
  return true;
}

bool Bulk::advance_pulled(Transfer& transfer) {
  Delivery& delivery = transfer.delivery;
  Peer& peer = *delivery.peer;
  const uint64_t size = std::min({delivery.mlength - transfer.moved, kPiece, uint64_t{peer.transport->limits().pull}});
  iovec part;
  if (transfer.bounce) part = {transfer.bounce.get(), static_cast<size_t>(size)};
  else if (transfer.operands) part = {transfer.operands.get() + transfer.moved, static_cast<size_t>(size)};
  else part = delivery.entry->memory.first_part(delivery.offset + transfer.moved, size);
  if (part.iov_len == 0) {
    transfer.fate = Transfer::Fate::undeliverable;
    return false;
  }
  const wire::Region remote{transfer.region.address + transfer.moved, transfer.region.key};
  transfer.part = part.iov_len;
  const Moved result = transfer.outward ? peer.transport->push(*peer.link, remote, part.iov_base, part.iov_len, &transfer)
                                        : peer.transport->pull(*peer.link, remote, part.iov_base, part.iov_len, &transfer);
  switch (result) {
    case Moved::done: land(transfer); return true;
    case Moved::started: transfer.wait = Transfer::Wait::transport; return false;
    case Moved::again: return false;
    default:
      // No remote access after all (another user's process, a restricted kernel): the data can still be streamed.
      if (!peer.failed) {
        transfer.way = Way::streamed;
        return true;
      }
      transfer.fate = Transfer::Fate::undeliverable;
      return false;
  }
}

bool Bulk::advance_streamed(Transfer& transfer) {
  Delivery& delivery = transfer.delivery;
  Peer& peer = *delivery.peer;
  const uint64_t most = peer.transport->limits().eager;
  wire::Header header{};
  header.token = delivery.header.token;
  if (!transfer.outward) {  // the next window is asked for once the last one is complete
    if (transfer.wait == Transfer::Wait::window && transfer.moved < transfer.part) return false;
    const uint64_t window = std::min(delivery.mlength - transfer.moved, wire::kWindowMessages * most);
    header.kind = wire::Kind::stream_request;
    header.transfer = transfer.id;
    header.remote_offset = transfer.moved;
    header.rlength = window;
    transfer.part = transfer.moved + window;
    transfer.wait = Transfer::Wait::window;
    peers_.send(peer, header, nullptr, 0);
    return false;
  }
  if (peer.holds_back()) return false;
  const uint64_t size = std::min(delivery.mlength - transfer.moved, most);
  const iovec part = transfer.old ? iovec{transfer.old.get() + transfer.moved, static_cast<size_t>(size)}
                                  : delivery.entry->memory.first_part(delivery.offset + transfer.moved, size);
  if (!part.iov_len) {
    transfer.fate = Transfer::Fate::undeliverable;
    return false;
  }
  header.kind = wire::Kind::stream_data;
  header.op = wire::kToOperation;
  header.remote_offset = transfer.moved;
  peers_.send(peer, header, part.iov_base, part.iov_len);
  transfer.moved += part.iov_len;
  return true;
}

bool Bulk::stream_in(const Peer& from, const wire::Header& header, const std::byte* payload) {
  for (auto& transfer : transfers_) {
    if (transfer->id != header.token || transfer->delivery.peer != &from) continue;
    if (transfer->way != Way::streamed || transfer->outward || header.remote_offset != transfer->moved || header.payload_size == 0 ||
        header.payload_size > transfer->delivery.mlength - transfer->moved)
      return false;
    store(*transfer, payload, header.payload_size);
    transfer->moved += header.payload_size;
    return true;
  }
  return false;
}

// The next bytes of the message go where they belong.
void Bulk::store(Transfer& transfer, const std::byte* data, uint64_t size) {
  const Delivery& delivery = transfer.delivery;
  assert(size <= delivery.mlength - transfer.moved);
  if (transfer.operands) std::memcpy(transfer.operands.get() + transfer.moved, data, size);
  else delivery.entry->memory.copy_in(delivery.offset + transfer.moved, data, size);
}

// The piece has come, or gone.
void Bulk::land(Transfer& transfer) {
  const Delivery& delivery = transfer.delivery;
  if (transfer.bounce) delivery.entry->memory.copy_in(delivery.offset + transfer.moved, transfer.bounce.get(), transfer.part);
  assert(transfer.part > 0 && transfer.part <= delivery.mlength - transfer.moved);
  transfer.moved += transfer.part;
  core_.stats.bulk_bytes.add(transfer.part);
}

void Bulk::landed(const void* context, bool ok) {
  for (auto& transfer : transfers_) {
    if (transfer.get() != context) continue;
    assert(transfer->wait == Transfer::Wait::transport);
    transfer->wait = Transfer::Wait::nothing;
    if (ok) land(*transfer);
    else if (transfer->delivery.peer->failed) transfer->fate = Transfer::Fate::undeliverable;
    else transfer->way = Way::streamed;  // the remote access failed, not the peer: the rest goes by messages
    return;
  }
}

// The operands of a fetch or swap are complete: they are applied, and what was there before goes back.
void Bulk::turn_round(Transfer& transfer) {
  assert(transfer.operands && !transfer.old && !transfer.outward);
  transfer.old = std::make_unique_for_overwrite<std::byte[]>(transfer.delivery.mlength);
  apply_to_entry(transfer.delivery, transfer.operands.get(), transfer.old.get(), nullptr);
  transfer.moved = 0;
  transfer.outward = true;
  transfer.wait = Transfer::Wait::nothing;
}

void Bulk::peer_lost(const Peer& peer) {
  for (auto& transfer : transfers_)
    if (transfer->delivery.peer == &peer && transfer->fine()) transfer->fate = Transfer::Fate::undeliverable;
}

void Bulk::close(uint32_t ni) {
  std::erase_if(transfers_, [ni](const std::unique_ptr<Transfer>& transfer) {
    if (transfer->delivery.entry->ni != ni || transfer->wait == Transfer::Wait::transport) return false;
    assert(transfer->delivery.entry->moving > 0);
    --transfer->delivery.entry->moving;
    return true;
  });
}

bool Bulk::staging_ready() const {
  return std::any_of(transfers_.begin(), transfers_.end(), [](const std::unique_ptr<Transfer>& transfer) {
    bool over = false;
    return transfer->wait == Transfer::Wait::filling && transfer->fine() &&
           (transfer->staging.piece(transfer->delivery.mlength - transfer->moved, over).iov_len > 0 || over);
  });
}

// True: a transfer goes on by steps alone. One that waits for its transport, or for data that its peer was asked for, goes on by an
// arrival; where arrivals wake a sleeper, looking meanwhile would only take the processor from the application.
bool Bulk::goes_on() const {
  const auto rests = [](const Transfer& transfer) {
    const bool asked = transfer.wait == Transfer::Wait::window && transfer.moved < transfer.part;
    const bool awaited = transfer.wait == Transfer::Wait::transport || asked;
    return transfer.wait == Transfer::Wait::filling || (awaited && transfer.delivery.peer->transport->wait_fd() >= 0);
  };
  return std::any_of(transfers_.begin(), transfers_.end(),
                     [&](const std::unique_ptr<Transfer>& transfer) { return !transfer->fine() || !rests(*transfer); });
}

bool Bulk::will_count(uint32_t ct) const {
  return std::any_of(transfers_.begin(), transfers_.end(),
                     [ct](const std::unique_ptr<Transfer>& transfer) { return transfer->delivery.entry->ct == ct; });
}

// Room for one piece, which takes no page faults where one was used before.
std::unique_ptr<std::byte[]> Bulk::new_bounce() {
  if (spare_bounces_.empty()) return std::make_unique_for_overwrite<std::byte[]>(kPiece);
  std::unique_ptr<std::byte[]> bounce = std::move(spare_bounces_.back());
  spare_bounces_.pop_back();
  return bounce;
}

}  // namespace portunus
