// fabric.cpp: the data path: messages out and in, pulls and pushes, completions.
//
// Thread: the holder of the baton.
// Invariants: an Operation is in its pool, or active (the provider has its pointer until the completion), or an orphan.
// Source: fi_msg(3), fi_rma(3), fi_cq(3), fi_poll(3) for fi_trywait.
#include "engine/transport/fabric/fabric.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/host/clock.hpp"
#include "engine/transport/fabric/message.hpp"

namespace portunus {

using fabric::FabricLink;
using fabric::LinkState;

namespace {

// One peer that does not read must not take the buffers of all others.
constexpr uint32_t kSendsPerLink = 64;
// How seldom a poll looks for Hellos and ends while it waits for none: that costs a system call.
constexpr uint32_t kGuardTurns = 64;

FabricLink& own(Link& link) { return static_cast<FabricLink&>(link); }

}  // namespace

// An operation from its pool, or null. Orphans are replaced once their absence is felt.
FabricTransport::Operation* FabricTransport::claim(std::vector<Operation*>& pool, Kind kind) {
  size_t& orphans = orphans_[static_cast<size_t>(kind)];
  if (pool.empty() && orphans > 0 && add_operations(kind, orphans)) orphans = 0;
  if (pool.empty()) return nullptr;
  Operation* operation = pool.back();
  pool.pop_back();
  return operation;
}

// Where the next message to `link` is to be written, or null when no buffer is free. `dispatch` follows.
std::byte* FabricTransport::draft(FabricLink& link, size_t size) {
  if (size <= inject_size_) return inject_buffer_.data();
  drafted_ = link.in_flight < kSendsPerLink ? claim(free_sends_, Kind::send) : nullptr;
  return drafted_ != nullptr ? drafted_->buffer : nullptr;
}

ssize_t FabricTransport::dispatch(FabricLink& link, size_t size) {
  if (size <= inject_size_) return inject(link, inject_buffer_.data(), size);
  Operation& operation = *drafted_;
  const ssize_t status = asked(fi_send(endpoint_.ep.get(), operation.buffer, size, operation.descriptor, link.address, &operation));
  if (status != 0) {
    free_sends_.push_back(&operation);
    return status;
  }
  hand_to_provider(operation, link);
  return 0;
}

// Of what goes so nobody is told when it has gone.
ssize_t FabricTransport::inject(FabricLink& link, const void* bytes, size_t size) {
  const ssize_t status = fi_inject(endpoint_.ep.get(), bytes, size, link.address);
  if (status != 0) return asked(status);
  link.unconfirmed = true;
  return 0;
}

// A send or write that tells of its end, and with it of all that went to that link before.
void FabricTransport::hand_to_provider(Operation& operation, FabricLink& link) {
  operation.active = true;
  operation.link = &link;
  link.unconfirmed = false;
  ++link.in_flight;
  ++sends_in_flight_;
}

Sent FabricTransport::send(Link& to, const wire::Header& header, std::span<const iovec> payload) {
  FabricLink& link = own(to);
  const Sent sent = header.payload_size == wire::kWhole ? send_whole(link, header, payload) : send_on_credit(link, header, payload);
  if (header.kind == wire::Kind::throttle) link.throttle_waits = sent == Sent::again;
  return sent;
}

Sent FabricTransport::send_on_credit(FabricLink& link, const wire::Header& header, std::span<const iovec> payload) {
  if (link.state != LinkState::ready) return link.state == LinkState::failed ? Sent::failed : Sent::again;
  assert(header.payload_size <= limits_.eager);
  const uint64_t cost = fabric::cost_of(header);
  if (!link.credit.covers(cost)) return Sent::again;
  const Sent sent = put_message(link, header, payload, fabric::kMessageMagic);
  if (sent == Sent::done) link.credit.spend(cost);
  return sent;
}

Sent FabricTransport::put_message(FabricLink& link, const wire::Header& header, std::span<const iovec> payload, uint32_t magic) {
  const fabric::Prefix prefix{magic, link.remote_slot, self().pid, options_.uid};
  const size_t size = fabric::encoded_size(header), both = sizeof(fabric::GrantMessage) + size;
  // What can be injected stays so, and a grant does not overtake a throttle.
  const bool with_grant = link.has_more && both <= buffer_size(Kind::send) && (size > inject_size_ || both <= inject_size_) &&
                          header.kind != wire::Kind::throttle && !link.throttle_waits;
  if (!with_grant) [[likely]]
    return put_out(link, size, [&](std::byte* out) { fabric::encode(prefix, header, payload, out); });
  const fabric::GrantMessage more = next_grant(link);
  const Sent sent = put_out(link, both, [&](std::byte* out) {
    std::memcpy(out, &more, sizeof more);
    fabric::encode(prefix, header, payload, out + sizeof more);
  });
  if (sent == Sent::done) granted(link, more.total);
  return sent;
}

// Alone, or with what travels with it.
template <class Write>
Sent FabricTransport::put_out(FabricLink& link, size_t size, Write&& write) {
  if (state.bundling == 0 && link.frame == nullptr) return send_alone(link, size, write);
  if (link.frame != nullptr && link.filled + size > kFrame && !send_frame(link)) return Sent::again;
  if (link.frame == nullptr && !begin_frame(link)) return Sent::again;
  write(static_cast<Operation*>(link.frame)->buffer + link.filled);
  link.filled += static_cast<uint32_t>(size);
  if (state.bundling == 0) send_frame(link);  // if the provider refuses, the next flush tries again
  return Sent::done;
}

template <class Write>
Sent FabricTransport::send_alone(FabricLink& link, size_t size, Write&& write) {
  std::byte* out = draft(link, size);
  if (out == nullptr) return Sent::again;
  write(out);
  const ssize_t status = dispatch(link, size);
  if (status == 0) return Sent::done;
  if (status != -FI_EAGAIN) disconnect(link);
  return Sent::again;  // after Sink::lost: failed
}

// From this transport to the other end's.
bool FabricTransport::put_word(FabricLink& link, const void* word, size_t size) {
  return put_out(link, size, [&](std::byte* out) { std::memcpy(out, word, size); }) == Sent::done;
}

fabric::GrantMessage FabricTransport::next_grant(const FabricLink& link) const {
  return {{fabric::kGrantMagic, link.remote_slot, self().pid, options_.uid}, lender_.next_total(link.grant, state.lends)};
}

// The other end has been told.
void FabricTransport::granted(FabricLink& link, uint64_t total) {
  lender_.tell(link.grant, total);
  link.has_more = false;
}

// Tells the other end how much it may send, now or as soon as the provider takes it.
void FabricTransport::grant(FabricLink& link) {
  const fabric::GrantMessage message = next_grant(link);
  const bool goes = link.state == LinkState::ready && !link.throttle_waits && put_word(link, &message, sizeof message);
  if (goes) granted(link, message.total);
  else if (!link.owed) owed_.push_back(&link);
  link.owed = !goes;
}

// Returns how many were told.
int FabricTransport::grant_owed() {
  int told = 0;
  for (FabricLink* const link : std::exchange(owed_, {})) {
    link->owed = false;
    if (link->state > LinkState::ready) continue;
    grant(*link);
    if (!link->owed) ++told;
  }
  return told;
}

bool FabricTransport::begin_frame(FabricLink& link) {
  link.frame = link.in_flight < kSendsPerLink ? claim(free_sends_, Kind::send) : nullptr;
  link.filled = 0;
  if (link.frame == nullptr) return false;
  if (!link.framed) framed_.push_back(&link);
  link.framed = state.keeps_back = true;
  return true;
}

// False when the provider takes nothing now.
bool FabricTransport::send_frame(FabricLink& link) {
  Operation& operation = *static_cast<Operation*>(link.frame);
  const bool injected = link.filled <= inject_size_;
  const ssize_t status =
      injected ? inject(link, operation.buffer, link.filled)
               : asked(fi_send(endpoint_.ep.get(), operation.buffer, link.filled, operation.descriptor, link.address, &operation));
  if (status == -FI_EAGAIN) return false;
  if (status != 0) {
    drop_frame(link);
    disconnect(link);
  } else if (injected) {
    drop_frame(link);
  } else {
    link.frame = nullptr;
    hand_to_provider(operation, link);
  }
  return true;
}

void FabricTransport::drop_frame(FabricLink& link) { free_sends_.push_back(static_cast<Operation*>(std::exchange(link.frame, nullptr))); }

void FabricTransport::flush() {
  for (size_t i = 0; i < framed_.size();) {
    FabricLink& link = *framed_[i];
    if (link.frame != nullptr && link.state != LinkState::ready) drop_frame(link);
    if (link.frame != nullptr && !send_frame(link)) {
      ++i;
      continue;
    }
    link.framed = false;
    framed_[i] = framed_.back();
    framed_.pop_back();
  }
  state.keeps_back = !framed_.empty();
}

bool FabricTransport::expose(Link&, const void* start, size_t size, bool peer_writes, Exposed& out) {
  if (size == 0) return false;
  fabric::Registration* registration = registrations_.acquire(start, size, peer_writes ? FI_REMOTE_WRITE : FI_REMOTE_READ);
  if (registration == nullptr) return false;
  out.registration = registration;
  out.region.key = registration->key;
  // Without FI_MR_VIRT_ADDR a peer counts from the start of the registration, which is `start` (ranges are exact).
  out.region.address = endpoint_.needs(FI_MR_VIRT_ADDR) ? registration->range.start : 0;
  return true;
}

void FabricTransport::withdraw(Exposed& exposed) {
  registrations_.release(static_cast<fabric::Registration*>(std::exchange(exposed.registration, nullptr)));
}

void FabricTransport::receive_more() {
  // Where the provider has had no buffer, one may be filled at once.
  if (unposted_.size() == receives_) unread_ = true;
  while (!unposted_.empty()) {
    Operation& operation = *unposted_.back();
    iovec piece{operation.buffer, buffer_size(Kind::receive)};
    fi_msg message{};
    message.msg_iov = &piece;
    message.desc = &operation.descriptor;
    message.iov_count = 1;
    message.addr = FI_ADDR_UNSPEC;
    message.context = &operation;
    if (fi_recvmsg(endpoint_.ep.get(), &message, FI_COMPLETION) != 0) return;  // the next poll tries again
    unposted_.pop_back();
  }
}

int FabricTransport::poll(int budget) {
  int done = std::exchange(news_, 0);
  if (calling_ > 0 || guard_due_ || ++turn_ % kGuardTurns == 0) {
    guard_due_ = false;
    done += guard_.poll(*this);
  }
  if (!state.has_links) return done;  // who sends has called before
  bool empty = false;
  fi_cq_data_entry entries[kBatch];
  for (int left = budget; left > 0 && !empty;) {
    const int most = std::min(kBatch, left);
    const int n = fetch(entries, most);
    for (int i = 0; i < n; ++i) completed(entries[i]);
    served_ |= n > 0;
    empty = n >= 0 && n < most;
    left -= std::abs(n);
    done += std::abs(n);
  }
  if (!unposted_.empty()) receive_more();
  if (!opening_.empty()) done += probe();
  if (!refused_.empty()) done += retry_moves();
  if (!owed_.empty()) done += grant_owed();
  if (empty && !disconnected_.empty()) done += reap();
  return done;
}

// Completions into `entries`; -1 after an error entry, which is dealt with here.
int FabricTransport::fetch(fi_cq_data_entry* entries, int most) {
  if (stashed_ > 0) {
    const int n = std::min(most, stashed_);
    std::copy_n(stash_, n, entries);
    std::copy(stash_ + n, stash_ + stashed_, stash_);
    stashed_ -= n;
    return n;
  }
  const ssize_t n = fi_cq_read(endpoint_.cq.get(), entries, static_cast<size_t>(most));
  unread_ = n == most || (n < 0 && n != -FI_EAGAIN);
  if (n > 0) return static_cast<int>(n);
  if (n == 0 || n == -FI_EAGAIN) return 0;
  if (n == -FI_EAVAIL) {
    take_error();
    return -1;
  }
  for (const auto& link : links_) disconnect(*link);  // the device itself is gone
  return 0;
}

void FabricTransport::take_error() {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(endpoint_.cq.get(), &error, 0) < 1 || error.op_context == nullptr) return;
  auto& operation = *static_cast<Operation*>(error.op_context);
  if (operation.kind != Kind::receive) {
    if (operation.link != nullptr && operation.link->state == LinkState::opening)
      guard_.explain(operation.link->process, fabric::kNoConnection, error.err);
    finish(operation, false);
    return;
  }
  ++malformed_;
  unposted_.push_back(&operation);
}

void FabricTransport::completed(const fi_cq_data_entry& entry) {
  if (entry.op_context == nullptr) return;
  auto& operation = *static_cast<Operation*>(entry.op_context);
  if (operation.kind != Kind::receive) {
    finish(operation, true);
    return;
  }
  std::span<const std::byte> bytes(operation.buffer, entry.len);
  while (!bytes.empty()) {
    const size_t taken = take_in(bytes);
    if (taken == 0) break;
    bytes = bytes.subspan(taken);
  }
  unposted_.push_back(&operation);
}

// Delivers the first message of `bytes` and returns its length; 0 when nothing of them is worth a look any more.
size_t FabricTransport::take_in(std::span<const std::byte> bytes) {
  fabric::Message message;
  fabric::GrantMessage granted{};
  fabric::OfferMessage offered{};
  const bool grants = fabric::is_grant(bytes, granted), offers = !grants && fabric::is_offer(bytes, offered);
  const bool probed = fabric::is_probe(bytes, message.prefix);
  if (grants) message.prefix = granted.prefix;
  if (offers) message.prefix = offered.prefix;
  const bool word = probed || grants || offers;  // to the transport
  const size_t size = grants ? sizeof granted : offers ? sizeof offered : word ? bytes.size() : fabric::decode_first(bytes, message);
  const bool whole = word || (size != 0 && (message.header.payload_size <= limits_.eager || message.header.payload_size == wire::kWhole));
  if (!whole || message.prefix.slot >= links_.size() || links_[message.prefix.slot]->process.pid != message.prefix.pid) {
    ++malformed_;
    return 0;
  }
  FabricLink& link = *links_[message.prefix.slot];
  if (link.state == LinkState::failed) return 0;
  if (link.state == LinkState::calling) link.uid = message.prefix.uid, link.spoke = true;  // it knows us; its Hello is still on the way
  if (link.uid != message.prefix.uid) {
    ++malformed_;
    return 0;
  }
  if (link.state == LinkState::opening) begin(link);
  if (probed) return size;
  if (offers) {
    if (link.may_land) ++malformed_;
    else link.landing = offered.region, link.may_land = true;
    return size;
  }
  if (grants || !lender_.take(link.grant, fabric::cost_of(message.header))) {
    if (!grants || !link.credit.granted(granted.total)) ++malformed_;
    return size;
  }
  if (message.header.payload_size == wire::kWhole) take_whole(link, message.header);
  else hand_over(link, message.header, message.payload);
  return size;
}

void FabricTransport::hand_over(FabricLink& link, const wire::Header& header, const std::byte* payload) {
  if (!link.known) {
    link.known = true;
    sink_.introduced(link, *this);
  }
  sink_.arrived(link, header, payload);
  if (limits_.whole != 0 && !link.offered && fabric::could_be_whole(header)) offer(link);
  if (link.owed || !lender_.may_go_along(link.grant, state.lends)) return;
  link.has_more = true;
  if (lender_.is_due(link.grant, state.lends)) grant(link);
}

// The provider has returned a send or a move.
void FabricTransport::finish(Operation& operation, bool ok) {
  FabricLink* link = std::exchange(operation.link, nullptr);
  operation.active = false;
  if (link == nullptr) {
    size_t& orphans = orphans_[static_cast<size_t>(operation.kind)];
    if (orphans > 0) --orphans;
  }
  if (operation.kind == Kind::send || operation.kind == Kind::data) {
    pool_of(operation.kind).push_back(&operation);
    if (link == nullptr) return;
    --link->in_flight;
    --sends_in_flight_;
    if (!ok) disconnect(*link);  // a message is missing: what follows would be out of order
    return;
  }
  returned(operation, ok);
}

// What is known has been dealt with; what may have come besides is another question.
bool FabricTransport::all_taken_up() const {
  return !guard_due_ && news_ == 0 && stashed_ == 0 && disconnected_.empty() && unposted_.empty() && refused_.empty();
}

bool FabricTransport::idle() {
  if (state.keeps_back) flush();
  if (state.keeps_back) return false;
  // What came may have been all that woke this thread; who asks for a look at the guard is still readable at the next one.
  if (!std::exchange(served_, false) && guard_.pending()) guard_due_ = state.has_links = true;
  if (!state.has_links) return news_ == 0;
  // Twice: the first may do no more than notice that the connection stands.
  for (int i = 0; i < 2 && !opening_.empty(); ++i) news_ += probe();
  if (!all_taken_up()) return false;
  if (endpoint_.cq_fd < 0) {
    if (!owed_.empty()) return false;
  } else if (!endpoint_.must_be_read()) {
    fid* queue = &endpoint_.cq->fid;
    return fi_trywait(endpoint_.fabric.get(), &queue, 1) == FI_SUCCESS;
  } else if (!unread_) {
    return true;
  }
  // There is no other way to ask than to read.
  const int n = fetch(stash_, kBatch);
  stashed_ = std::max(n, 0);
  return n == 0;
}

}  // namespace portunus
