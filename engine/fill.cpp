// fill.cpp: data that lie in pieces, copied together while the target takes them.
//
// Where the transport has memory that both ends map (staging), the header goes first and the pieces follow as there is room. The
// source is free when all of it is there. Data in one piece go the same way when their sender waits anyway (PTLX_MD_STAGE).
// Elsewhere a layout is copied as a whole, and an iovec streamed by messages.
#include "engine/engine.hpp"

#include <algorithm>
#include <cstdlib>

namespace portunus {
namespace {

constexpr uint64_t kFillPerStep = Staging::kBytes;  // copied together in one step, over all operations

// Of data that lie in one piece: shorter ones are pulled as fast, longer ones would make the initiator wait for room.
constexpr uint64_t kLeastPlain = 512 * 1024;

}  // namespace

// Opens staging for the data; the header then tells the target of it. False: there is none, nothing was done.
bool Engine::stage(Peer& peer, Command& command, Operation& pending) {
  const bool gains = (command.source.options & PTLX_MD_STAGE) && command.length >= kLeastPlain && command.length <= Staging::kBytes;
  if (command.source.iov_count == 0 && !gains) return false;
  if (command.length >= Staging::kMost || command.verb > Verb::atomic || command.verb == Verb::get) return false;
  StagingAreas* const areas = peer.transport->can().staging;
  if (!areas || !areas->stage(*peer.link, pending.staging, pending.exposed.region)) return false;
  pending.ni = command.ni;
  return true;
}

// The target knows of it: begins to fill.
void Engine::begin_fill(Operation& operation) {
  fills_.push_back(&operation);
  restless_ = true;
  uint64_t budget = kFillPerStep;
  fill(operation, budget);
}

// As much as there is room for. True: some work was done.
bool Engine::fill(Operation& operation, uint64_t& budget) {
  const Memory memory{operation.source.base, operation.source.iov_count};
  const uint64_t before = operation.staging.filled();
  while (budget > 0 && operation.staging.filled() < operation.length) {
    const uint64_t at = operation.staging.filled();
    const iovec room = operation.staging.room(operation.length - at);
    if (room.iov_len == 0) break;
    memory.copy_out(operation.source.offset + at, room.iov_base, room.iov_len);
    if (operation.staging.add(room.iov_len)) operation.peer->transport->can().notify->notify(*operation.peer->link);
    budget -= std::min<uint64_t>(budget, room.iov_len);
  }
  if (operation.staging.filled() == operation.length) {
    std::erase(fills_, &operation);
    operation.source_read = true;
    posted = true;
    send_event(operation.source, operation.length, operation.user_ptr, PTL_NI_OK);
    return true;
  }
  return operation.staging.filled() != before;
}

int Engine::run_fills() {
  int work = 0;
  uint64_t budget = kFillPerStep;
  for (size_t i = 0; i < fills_.size() && budget > 0;) {
    const size_t before = fills_.size();
    work += fill(*fills_[i], budget);
    if (fills_.size() == before) ++i;
  }
  return work;
}

void Engine::end_fill(Operation& operation) {
  std::erase(fills_, &operation);
  operation.peer->transport->can().staging->unstage(*operation.peer->link, operation.staging);
}

// The interface closes: the memory of what is not filled yet is its user's again.
void Engine::drop_fills(uint32_t ni) {
  for (size_t i = fills_.size(); i-- > 0;)
    if (fills_[i]->ni == ni) end_operation(*fills_[i]);
}

// One more piece of a message that its initiator copies together.
bool Engine::advance_staged(Transfer& transfer) {
  Delivery& delivery = transfer.delivery;
  Peer& peer = *delivery.peer;
  StagingAreas* const areas = peer.transport->can().staging;  // none: the peer asks for what we cannot
  bool waited = false;
  bool over = !transfer.staging.open() && !(areas && areas->open_stage(*peer.link, transfer.region, transfer.staging));
  iovec piece{};
  if (!over) piece = transfer.staging.piece(delivery.mlength - transfer.moved, over);
  transfer.starved = !over && piece.iov_len == 0;
  if (transfer.starved) return false;
  if (!over) {
    if (transfer.scratch)
      std::memcpy(transfer.scratch.get() + transfer.moved, piece.iov_base, piece.iov_len);
    else
      delivery.entry->memory.copy_in(delivery.offset + transfer.moved, piece.iov_base, piece.iov_len);
    over = !transfer.staging.took(piece.iov_len, waited);
  }
  if (over) {  // the initiator has given the message up
    transfer.failed = true;
    return false;
  }
  transfer.moved += piece.iov_len;
  stats_.bulk_bytes.add(piece.iov_len);
  if (waited) peer.transport->can().notify->notify(*peer.link);
  return true;
}

// Whether staged data can go on at this end, now. Asked before sleeping: each piece is announced by a notification.
bool Engine::staging_ready() const {
  const auto has_room = [](const Operation* operation) { return operation->staging.room(operation->length - operation->staging.filled()).iov_len > 0; };
  const auto has_data = [](const std::unique_ptr<Transfer>& transfer) {
    bool over = false;
    return transfer->starved && !transfer->failed &&
           (transfer->staging.piece(transfer->delivery.mlength - transfer->moved, over).iov_len > 0 || over);
  };
  return std::any_of(fills_.begin(), fills_.end(), has_room) || std::any_of(transfers_.begin(), transfers_.end(), has_data);
}

// Whether bulk data at this end need steps although nobody rings.
bool Engine::moves_go_on() const {
  // What the transport is at, or the peer was asked for, ends by an arrival. Where arrivals wake a sleeper, to look meanwhile would
  // only take the processor from the application.
  const auto rests = [](const Transfer& transfer) {
    const bool asked = transfer.stream && !transfer.push && transfer.asked && transfer.moved < transfer.part;
    return transfer.starved || ((transfer.in_flight || asked) && transfer.delivery.peer->transport->wait_fd() >= 0);
  };
  const auto goes_on = [&](const std::unique_ptr<Transfer>& transfer) { return transfer->failed || !rests(*transfer); };
  return std::any_of(transfers_.begin(), transfers_.end(), goes_on) || ((!fills_.empty() || !transfers_.empty()) && staging_ready());
}

}  // namespace portunus
