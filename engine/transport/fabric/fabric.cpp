// fabric.cpp: the data path: messages out and in, pulls and pushes, completions.
//
// Thread: the holder of the baton.
// Invariants: an Operation is in its pool, or the provider has its pointer until the completion: then it has a link, unless that was lost.
// Source: fi_msg(3), fi_rma(3), fi_cq(3), fi_poll(3) for fi_trywait.
#include "engine/transport/fabric/fabric.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "engine/transport/fabric/message.hpp"

namespace portunus {

using fabric::FabricLink;
using fabric::LinkState;
using fabric::Operation;

namespace {

// Buffers that one link may hold at most, so that a peer which does not read leaves some to the others.
constexpr uint32_t kSendsPerLink = 64;
// Polls of the completion queue between two polls of the connections, which cost a system call.
constexpr uint32_t kConnectionTurns = 64;

}  // namespace

// Takes a free operation, or returns null. Operations that lost links still hold are replaced by new ones when the pool is empty.
Operation* FabricTransport::claim(Kind kind) {
  std::vector<Operation*>& pool = pool_of(kind);
  if (size_t& missing = missing_of(kind); pool.empty() && missing > 0 && add_operations(kind, missing)) missing = 0;
  if (pool.empty()) return nullptr;
  Operation* const operation = pool.back();
  assert(operation->kind == kind && operation->link == nullptr && operation->move == nullptr);
  pool.pop_back();
  return operation;
}

fabric::Prefix FabricTransport::prefix_to(const FabricLink& link, uint16_t magic) const {
  return {magic, 0, link.remote_slot, self().pid, options_.uid};
}

// Sends the first bytes of an operation's buffer. Short messages go by fi_inject, unless their end is to be confirmed, and leave the
// operation free. A result other than 0 leaves the operation with the caller.
ssize_t FabricTransport::hand_to_provider(FabricLink& link, Operation& operation, size_t size, bool confirmed) {
  assert(operation.kind == Kind::send && operation.link == nullptr && size > 0 && size <= buffer_size(Kind::send));
  std::memcpy(operation.buffer + offsetof(fabric::Prefix, number), &link.sends, sizeof link.sends);
  const bool injected = size <= inject_size_ && !confirmed;
  const ssize_t status = injected ? fi_inject(endpoint_.ep.get(), operation.buffer, size, link.address)
                                  : fi_send(endpoint_.ep.get(), operation.buffer, size, operation.descriptor, link.address, &operation);
  if (!injected || status != 0) asked(status);
  // A sender that was refused for now is woken by a completion of ours, if one is to come, and else by nothing.
  held_back_ = status == -FI_EAGAIN && sends_in_flight_ == 0;
  if (status != 0) return status;
  ++link.sends;
  if (injected) {
    link.unconfirmed = true;
    pool_of(Kind::send).push_back(&operation);
  } else {
    taken(link, operation);
  }
  return 0;
}

// Notes that the provider has a send or write, whose completion says that all sent to this link before has gone, too.
void FabricTransport::taken(FabricLink& link, Operation& operation) {
  assert(operation.link == nullptr && link.state >= LinkState::opening && link.state < LinkState::failed);
  operation.link = &link;
  link.unconfirmed = false;
  ++link.in_flight;
  ++sends_in_flight_;
}

// Sends an empty word by a buffer of its own.
ssize_t FabricTransport::send_probe(FabricLink& link, bool confirmed) {
  Operation* const operation = claim(Kind::send);
  if (operation == nullptr) return -FI_EAGAIN;
  const fabric::Prefix prefix = prefix_to(link, fabric::kProbeMagic);
  std::memcpy(operation->buffer, &prefix, sizeof prefix);
  const ssize_t status = hand_to_provider(link, *operation, sizeof prefix, confirmed);
  if (status != 0) pool_of(Kind::send).push_back(operation);
  return status;
}

// Sends `size` bytes that `write` produces: at once, or in the link's frame while the engine bundles messages.
template <class Write>
Sent FabricTransport::put_out(FabricLink& link, size_t size, Write&& write) {
  if (link.frame != nullptr && link.filled + size > kFrame && !send_frame(link)) return Sent::again;
  if (link.frame == nullptr) {
    link.frame = link.in_flight < kSendsPerLink ? claim(Kind::send) : nullptr;
    link.filled = 0;
    if (link.frame == nullptr) return Sent::again;
  }
  assert(link.filled + size <= buffer_size(Kind::send) && link.state <= LinkState::ending);
  write(link.frame->buffer + link.filled);
  link.filled += static_cast<uint32_t>(size);
  if (state.bundling != 0) {
    if (!std::exchange(link.framed, true)) framed_.push_back(&link);
    state.keeps_back = true;  // the next flush sends it
  } else if (!send_frame(link)) {
    if (link.framed) return Sent::done;  // the next flush tries again
    drop_frame(link);
    return Sent::again;
  }
  return link.state == LinkState::ready ? Sent::done : Sent::again;  // after Sink::lost: failed
}

Sent FabricTransport::send(Link& to, const wire::Header& header, std::span<const iovec> payload) {
  auto& link = static_cast<FabricLink&>(to);
  const Sent sent = send_on_credit(link, header, payload);
  if (header.kind == wire::Kind::throttle) link.throttle_waits = sent == Sent::again;
  return sent;
}

Sent FabricTransport::send_on_credit(FabricLink& link, const wire::Header& header, std::span<const iovec> payload) {
  if (link.state != LinkState::ready) return link.state == LinkState::failed ? Sent::failed : Sent::again;
  const bool eager_rdma = header.payload_size == wire::kWhole;
  assert(eager_rdma || header.payload_size <= limits_.eager);
  const uint64_t cost = fabric::cost_of(header);
  if (!link.credit.covers(cost) || (eager_rdma && !write_data(link, header, payload))) return Sent::again;
  const Sent sent = put_out(link, fabric::encoded_size(header), [&](std::byte* out) {
    fabric::encode(prefix_to(link, fabric::kMessageMagic), header, eager_rdma ? std::span<const iovec>{} : payload, out);
  });
  if (sent != Sent::done) return sent;
  link.credit.spend(cost);
  link.slots_written += eager_rdma;
  return Sent::done;
}

// Sends a word to the transport at the other end.
bool FabricTransport::put_word(FabricLink& link, const fabric::Word& word) {
  const size_t size = fabric::word_size(word.prefix.magic);
  return put_out(link, size, [&](std::byte* out) { std::memcpy(out, &word, size); }) == Sent::done;
}

// Returns false when the provider takes nothing now.
bool FabricTransport::send_frame(FabricLink& link) {
  assert(link.frame != nullptr && link.filled > 0);
  const ssize_t status = hand_to_provider(link, *link.frame, link.filled, false);
  if (status == -FI_EAGAIN) return false;
  if (status == 0) {
    link.frame = nullptr;
    return true;
  }
  drop_frame(link);
  disconnect(link);
  return true;
}

void FabricTransport::drop_frame(FabricLink& link) { pool_of(Kind::send).push_back(std::exchange(link.frame, nullptr)); }

// Grants the other end more credit, now or as soon as the provider takes the word.
void FabricTransport::grant(FabricLink& link) {
  const uint64_t total = credit_pool_.next_total(link.grant, state.lends);
  const bool goes =
      link.state == LinkState::ready && !link.throttle_waits && put_word(link, {prefix_to(link, fabric::kGrantMagic), {total}});
  if (goes) credit_pool_.tell(link.grant, total);
  else if (!link.owed) owed_.push_back(&link);
  link.owed = !goes;
}

// Returns how many links were granted credit.
int FabricTransport::grant_owed() {
  int done = 0;
  for (FabricLink* const link : std::exchange(owed_, {})) {
    assert(link->owed);
    link->owed = false;
    if (link->state > LinkState::ready) continue;
    grant(*link);
    if (!link->owed) ++done;
  }
  return done;
}

void FabricTransport::flush() {
  std::erase_if(framed_, [this](FabricLink* link) {
    if (link->frame != nullptr && link->state != LinkState::ready) drop_frame(*link);
    link->framed = link->frame != nullptr && !send_frame(*link);
    return !link->framed;
  });
  state.keeps_back = !framed_.empty();
}

bool FabricTransport::expose(Link&, const void* start, size_t size, bool peer_writes, Exposed& out) {
  if (size == 0) return false;
  fabric::Registration* registration = registrations_.acquire(start, size, peer_writes ? FI_REMOTE_WRITE : FI_REMOTE_READ);
  if (registration == nullptr) return false;
  out.registration = registration;
  out.region = registration->region;
  return true;
}

void FabricTransport::withdraw(Exposed& exposed) {
  registrations_.release(static_cast<fabric::Registration*>(std::exchange(exposed.registration, nullptr)));
}

void FabricTransport::receive_more() {
  std::vector<Operation*>& unposted = pool_of(Kind::receive);
  assert(unposted.size() <= receives_);
  // A provider that had no buffer may fill one at once, without a signal.
  if (unposted.size() == receives_) unread_ = true;
  while (!unposted.empty()) {
    Operation& operation = *unposted.back();
    const size_t size = buffer_size(Kind::receive);
    if (fi_recv(endpoint_.ep.get(), operation.buffer, size, operation.descriptor, FI_ADDR_UNSPEC, &operation) != 0)
      return;  // the next poll tries again
    unposted.pop_back();
  }
}

int FabricTransport::poll(int budget) {
  int done = 0;
  if (unsettled_ > 0 || connections_due_ || ++turn_ % kConnectionTurns == 0) {
    connections_due_ = false;
    done += connections_.poll(*this);
  }
  if (!state.has_links) return done;  // every sender has called before
  bool empty = false;
  fi_cq_data_entry entries[kBatch];
  for (int left = budget; left > 0 && !empty;) {
    const int most = std::min(kBatch, left);
    const int n = fetch(entries, most);
    for (int i = 0; i < n; ++i) completed(entries[i].op_context, entries[i].len, 0);
    served_ |= n > 0;
    empty = n >= 0 && n < most;
    left -= std::abs(n);
    done += std::abs(n);
  }
  if (!pool_of(Kind::receive).empty()) receive_more();
  if (!opening_.empty()) done += probe();
  if (!refused_.empty()) done += retry_moves();
  if (!owed_.empty()) done += grant_owed();
  if (empty && !disconnected_.empty()) done += reap();
  return done;
}

// Reads completions into `entries`. An entry of an error is dealt with here, and the result is -1.
int FabricTransport::fetch(fi_cq_data_entry* entries, int most) {
  const ssize_t n = fi_cq_read(endpoint_.cq.get(), entries, static_cast<size_t>(most));
  unread_ = n == most || (n < 0 && n != -FI_EAGAIN);
  if (n > 0) return static_cast<int>(n);
  if (n == 0 || n == -FI_EAGAIN) return 0;
  if (n == -FI_EAVAIL) {
    if (fi_cq_err_entry error{}; fi_cq_readerr(endpoint_.cq.get(), &error, 0) == 1) completed(error.op_context, 0, error.err);
    return -1;
  }
  for (const auto& link : links_) disconnect(*link);  // the device itself is gone
  return 0;
}

// Takes back the operation of a completion. `error`: of errno or libfabric, then there are no bytes; 0: none.
void FabricTransport::completed(void* context, size_t bytes, int error) {
  if (context == nullptr) return;
  auto& operation = *static_cast<Operation*>(context);
  if (operation.kind == Kind::receive) {
    operation.bytes = bytes;
    return received(operation);
  }
  if (error != 0 && operation.link != nullptr && operation.link->state == LinkState::opening)
    connections_.explain(operation.link->process, fabric::kNoConnection, error);
  finish(operation, error == 0);
}

// Takes in what was received, and what has waited for it. A message that is to come behind others stays in its buffer until these have
// come, which are in buffers, too: messages are matched in the order in which they were sent.
void FabricTransport::received(Operation& operation) {
  fabric::Prefix prefix{};
  std::memcpy(&prefix, operation.buffer, std::min(operation.bytes, sizeof prefix));
  FabricLink* const link = operation.bytes < sizeof prefix ? nullptr : sender_of(prefix);
  const uint16_t ahead = link != nullptr ? prefix.number - link->received : 0;
  if (link == nullptr || ahead >= receives_ || link->state == LinkState::failed) {
    // One that is farther ahead than there are buffers says that the next one was dropped: it would be waited for for ever. A number of
    // the other half was there already.
    if (ahead >= receives_ && ahead <= UINT16_MAX / 2 && link->state < LinkState::ending) {
      connections_.explain(link->process, "a message of it was dropped", EPROTO);
      disconnect(*link);
    }
    if (link == nullptr || ahead != 0) ++malformed_;
    pool_of(Kind::receive).push_back(&operation);
    return;
  }
  if (ahead != 0) {
    link->early[prefix.number] = &operation;
    return;
  }
  take_in(*link, operation);
  for (auto next = link->early.begin(); (next = link->early.find(link->received)) != link->early.end();) {
    take_in(*link, *next->second);
    link->early.erase(next);
  }
}

// Delivers the messages of one send.
void FabricTransport::take_in(FabricLink& link, Operation& operation) {
  ++link.received;
  std::span<const std::byte> bytes(operation.buffer, operation.bytes);
  while (!bytes.empty()) {
    const size_t taken = take_first(link, bytes);
    if (taken == 0) break;
    bytes = bytes.subspan(taken);
  }
  pool_of(Kind::receive).push_back(&operation);
}

// Returns the link that a message names, or null when its sender may not use that link.
FabricLink* FabricTransport::sender_of(const fabric::Prefix& prefix) {
  if (prefix.slot >= links_.size()) return nullptr;
  FabricLink& link = *links_[prefix.slot];
  if (link.process.pid != (prefix.pid & fabric::kPidMask)) return nullptr;
  if (link.state == LinkState::calling) link.uid = prefix.uid, link.spoke = true;  // it knows us; its Hello is still on the way
  return link.uid == prefix.uid || link.state == LinkState::failed ? &link : nullptr;
}

// Delivers the first message of `bytes` and returns its length, or 0 when the rest of them is to be dropped.
size_t FabricTransport::take_first(FabricLink& link, std::span<const std::byte> bytes) {
  fabric::Message message;
  const size_t size = fabric::decode_first(bytes, message);
  const bool word = size != 0 && fabric::word_size(message.prefix.magic) != 0;
  const bool eager_rdma = !word && size != 0 && message.header.payload_size == wire::kWhole;
  const bool fits = size != 0 && (word || eager_rdma || message.header.payload_size <= limits_.eager);
  if (!fits || sender_of(message.prefix) != &link) return ++malformed_, 0;
  if (link.state == LinkState::opening) begin(link);
  const bool allowed = word ? take_word(link, message) : credit_pool_.take(link.grant, fabric::cost_of(message.header));
  const std::byte* const payload = allowed && eager_rdma ? take_data(link) : message.payload;
  if (!allowed || (eager_rdma && payload == nullptr)) ++malformed_;
  else if (!word) hand_over(link, message.header, payload);
  return size;
}

// Returns false when no peer of ours would say this.
bool FabricTransport::take_word(FabricLink& link, const fabric::Word& word) {
  if (word.prefix.magic == fabric::kGrantMagic) return link.credit.granted(word.total);
  if (word.prefix.magic == fabric::kProbeMagic) return true;
  if (word.prefix.magic == fabric::kAnswerMagic) return link.answered = true;
  if (word.prefix.magic == fabric::kQuestionMagic) return put_word(link, {prefix_to(link, fabric::kAnswerMagic), {}}), true;
  if (link.rdma_slots) return false;
  link.rdma_slots = word.region;
  return true;
}

void FabricTransport::hand_over(FabricLink& link, const wire::Header& header, const std::byte* payload) {
  assert(link.state < LinkState::failed);
  if (!link.known) {
    link.known = true;
    sink_.introduced(link, *this);
  }
  sink_.arrived(link, header, payload);
  if (limits_.whole != 0 && !link.offered && fabric::could_be_eager_rdma(header)) offer(link);
  if (!link.owed && credit_pool_.is_due(link.grant, state.lends)) grant(link);
}

// The provider has returned a send or a move.
void FabricTransport::finish(Operation& operation, bool ok) {
  FabricLink* link = std::exchange(operation.link, nullptr);
  if (size_t& missing = missing_of(operation.kind); link == nullptr && missing > 0) --missing;
  if (operation.kind == Kind::send || operation.kind == Kind::data) {
    pool_of(operation.kind).push_back(&operation);
    if (link == nullptr) return;
    assert(link->in_flight > 0 && sends_in_flight_ > 0);
    --link->in_flight;
    --sends_in_flight_;
    if (!ok) disconnect(*link);  // a message is missing: what follows would be out of order
    return;
  }
  returned(operation, ok);
}

bool FabricTransport::idle() {
  if (state.keeps_back) flush();
  if (state.keeps_back) return false;
  // Connections may have woken this thread, too. A descriptor that still has events is looked at in the next poll.
  if (!std::exchange(served_, false) && connections_.pending()) connections_due_ = state.has_links = true;
  if (!state.has_links) return true;
  // Two probes are tried, since the first may do no more than notice that the connection stands.
  for (int i = 0; i < 2 && !opening_.empty(); ++i)
    if (probe() > 0) return false;
  if (held_back_ || connections_due_ || !disconnected_.empty() || !pool_of(Kind::receive).empty() || !refused_.empty()) return false;
  // The descriptor tells only of messages that come without a call of ours: the queue is read before anybody sleeps on it.
  if (endpoint_.cq_fd < 0 || endpoint_.is_net()) return !unread_;
  fid* queue = &endpoint_.cq->fid;
  return fi_trywait(endpoint_.fabric.get(), &queue, 1) == FI_SUCCESS;
}

}  // namespace portunus
