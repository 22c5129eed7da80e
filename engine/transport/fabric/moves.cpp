// moves.cpp: pulls and pushes, a piece at a time (moves.hpp).
//
// Thread: the holder of the baton.
// Invariants: a Move is in moves_ until its last piece has come back. It is in its link's list while something of it is to be asked for.
// Source: fi_rma(3).
#include "engine/transport/fabric/moves.hpp"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/host/clock.hpp"
#include "engine/transport/fabric/fabric.hpp"

namespace portunus {

using fabric::FabricLink;
using fabric::LinkState;

namespace {

void note_move(FabricLink& link) {
  link.last_move_ns = now_ns();
  link.answered = false;
}

}  // namespace

Moved FabricTransport::pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) {
  return move(static_cast<FabricLink&>(link), from, to, size, context, false);
}

Moved FabricTransport::push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) {
  return move(static_cast<FabricLink&>(link), to, const_cast<void*>(from), size, context, true);
}

Moved FabricTransport::move(FabricLink& link, const wire::Region& remote, void* local, size_t size, void* context, bool out) {
  if (link.state != LinkState::ready) return link.state == LinkState::failed ? Moved::failed : Moved::again;
  if (size == 0) return Moved::done;
  assert(size <= limits_.pull);
  fabric::Registration* registration = nullptr;
  if (endpoint_.needs(FI_MR_LOCAL)) {
    registration = registrations_.acquire(local, size, out ? FI_WRITE : FI_READ);
    if (registration == nullptr) return Moved::failed;
  }
  fabric::Move& move = moves_.emplace_back(fabric::Move{&link, remote, static_cast<std::byte*>(local), size, out, context, registration});
  link.moves.push_back(&move);
  const ssize_t status = ask_for_more(link);
  if (status == 0 || link.asked > 0 || link.moves.front() != &move) return Moved::started;
  // A refused first piece is not kept: nothing would make us try again.
  link.moves.pop_back();
  registrations_.release(registration);
  moves_.pop_back();
  return status == -FI_EAGAIN ? Moved::again : Moved::failed;
}

// Asks for pieces until the window is full. Not 0: the provider would not take the next piece.
ssize_t FabricTransport::ask_for_more(FabricLink& link) {
  ssize_t status = 0;
  while (status == 0 && !link.moves.empty() && link.asked < link.window.size()) status = ask_for_piece(link);
  return status;
}

ssize_t FabricTransport::ask_for_piece(FabricLink& link) {
  fabric::Move& move = *link.moves.front();
  Operation* const operation = claim(Kind::move);
  if (operation == nullptr) return -FI_EAGAIN;
  const size_t size = std::min(move.left, link.window.piece());
  assert(size > 0 && move.link == &link);
  operation->descriptor = move.registration != nullptr ? move.registration->descriptor : nullptr;
  // A push counts as moved when it lies in the peer's memory, since the message that tells so may take another way. In a stream none
  // overtakes the last piece, and the peer's word would wait behind all data that go the other way, and wake this process once more. The
  // pieces before it complete when they have arrived, so that the stream does not fill.
  const bool is_last_word = move.out && move.left == size && endpoint_.by_streams();
  const uint64_t flags = move.out && !is_last_word ? FI_DELIVERY_COMPLETE : 0;
  const ssize_t status = start(*operation, link, {move.local, size}, move.remote, move.out, flags);
  if (status != 0) {
    pool_of(Kind::move).push_back(operation);
    return status;
  }
  operation->link = &link;
  operation->move = &move;
  operation->bytes = size;
  operation->begun_ns = is_last_word ? 0 : now_ns();
  if (link.asked == 0) note_move(link);
  link.asked += size;
  ++move.pieces;
  move.left -= size;
  move.local += size;
  move.remote.address += size;
  if (move.left == 0) link.moves.pop_front();
  return 0;
}

// Begins to read or write a peer's memory.
ssize_t FabricTransport::start(Operation& operation, const FabricLink& link, const iovec& piece, const wire::Region& remote, bool out,
                               uint64_t flags) {
  const fi_rma_iov region{remote.address, piece.iov_len, remote.key};
  const fi_msg_rma message{&piece, &operation.descriptor, 1, link.address, &region, 1, &operation, 0};
  return asked(out ? fi_writemsg(endpoint_.ep.get(), &message, FI_COMPLETION | flags)
                   : fi_readmsg(endpoint_.ep.get(), &message, FI_COMPLETION));
}

// Notes that the provider has returned a piece.
void FabricTransport::returned(Operation& operation, bool ok) {
  fabric::Move& move = *std::exchange(operation.move, nullptr);
  assert(operation.kind == Kind::move && move.pieces > 0);
  pool_of(Kind::move).push_back(&operation);
  --move.pieces;
  if (FabricLink* const link = move.link) {
    assert(link->asked >= operation.bytes);
    link->asked -= operation.bytes;
    note_move(*link);
    if (operation.begun_ns != 0) link->window.took(now_ns() - operation.begun_ns);
    if (!ok) give_up(move);
    go_on(*link);
  }
  settle(move);
}

// Asks for more pieces of a link, from `poll`. Moves that the provider refuses for good fail; those it refuses for now are tried again.
void FabricTransport::go_on(FabricLink& link) {
  ssize_t status;
  while ((status = ask_for_more(link)) != 0 && status != -FI_EAGAIN) {
    fabric::Move& move = *link.moves.front();
    give_up(move);
    settle(move);
  }
  assert(status != 0 || link.moves.empty() || link.asked >= link.window.size());
  if (status != 0 && link.asked == 0) refused_.push_back(&link);
}

int FabricTransport::retry_moves() {
  int begun = 0;
  for (FabricLink* link : std::exchange(refused_, {})) {
    go_on(*link);
    begun += link->asked > 0;
  }
  return begun;
}

// Finds moves that the provider has dropped and tells nobody of, as tcp does with data that cannot be read there. The peer's answer says
// that it reads its queue: one that computes for long has dropped nothing.
void FabricTransport::look_for_dropped_moves() {
  const uint64_t most = uint64_t{options_.timeout_s} * 1'000'000'000, now = now_ns();
  for (const fabric::Move& move : moves_) {
    FabricLink* const link = move.link;
    if (link == nullptr || link->state != LinkState::ready || link->asked == 0 || now - link->last_move_ns < most / 2) continue;
    if (!link->answered) {
      if (now - link->last_question_ns >= most / 8 && put_word(*link, {prefix_to(*link, fabric::kQuestionMagic), {}}))
        link->last_question_ns = now;
    } else if (now - link->last_move_ns >= most) {
      connections_.explain(link->process, "what was to be read from it, or written to it, never came", EFAULT);
      disconnect(*link);
    }
  }
}

// Fails a move: no more of its pieces are asked for.
void FabricTransport::give_up(fabric::Move& move) {
  move.fine = false;
  move.left = 0;
  std::erase(move.link->moves, &move);
}

// Tells the engine of a move and forgets it, once none of its pieces is left.
void FabricTransport::settle(fabric::Move& move) {
  if (move.left > 0 || move.pieces > 0) return;
  const fabric::Move ended = move;
  moves_.remove_if([&move](const fabric::Move& one) { return &one == &move; });
  registrations_.release(ended.registration);
  if (ended.link != nullptr) sink_.moved(ended.context, ended.fine);
}

// Ends the moves of a lost link, without waiting for pieces that the provider still has.
void FabricTransport::abandon_moves(FabricLink& link) {
  link.moves.clear();
  link.asked = 0;
  std::erase(refused_, &link);
  for (auto at = moves_.begin(); at != moves_.end();) {
    fabric::Move& move = *at++;
    if (move.link != &link) continue;
    void* const context = move.context;
    assert(move.left > 0 || move.pieces > 0);
    move.link = nullptr;
    move.left = 0;
    settle(move);
    sink_.moved(context, false);
  }
}

}  // namespace portunus
