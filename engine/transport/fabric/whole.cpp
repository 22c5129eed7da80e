// whole.cpp: puts of up to 64 KiB that travel whole: header and data, all at once and unasked. Otherwise a target would ask for the data,
// and on a stream that wakes the owner's engine for nothing but to write what could have gone at once.
//
// Of long data the header comes first, so that who is woken by it knows what follows, and leaves the descriptor alone until that should be
// there (flow.hpp); behind the data comes a word that they are there. Below that, and where data come too soon for a rest, the header
// itself comes behind the data, perhaps together with other messages: two sends and one completion in place of three and two.
//
// The data are written to memory that the receiver has offered, and copied from there once it is known where they go: in messages they
// would be copied more often, a few KiB at a time. A receiver makes an offer, once, to who has sent the header of such a put alone. There
// is a place for each that credit allows, and they are used in turn; a put for which there is no credit is refused here, and the engine
// sends its header alone.
//
// Thread: the holder of the baton.
// Invariants: from a header until the provider has taken the data and the word behind it nothing else goes to that link. A place holds data
// of one put at a time: the header spends the credit for it, and until it has gone no other data are written elsewhere.
// Source: fi_rma(3).
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cassert>
#include <cstring>
#include <utility>

#include "engine/host/clock.hpp"
#include "engine/transport/fabric/fabric.hpp"
#include "engine/transport/fabric/message.hpp"

namespace portunus {

using fabric::FabricLink;
using fabric::LinkState;

namespace {

constexpr size_t kDataAtATime = 16;  // buffers for data, of all links; there are none before the first is sent
constexpr size_t kMostOffers = 64;   // 32 MiB
constexpr size_t kLandingSize = fabric::kLandings * fabric::kWholeMost;

size_t place(uint32_t number) { return number % fabric::kLandings * fabric::kWholeMost; }

}  // namespace

Sent FabricTransport::send_whole(FabricLink& link, const wire::Header& header, std::span<const iovec> payload) {
  if (link.state != LinkState::ready) return link.state == LinkState::failed ? Sent::failed : Sent::again;
  const uint64_t cost = fabric::cost_of(header);
  if (!link.may_land || link.unsent != nullptr || !link.credit.covers(cost) || !fabric::begins_whole(header)) return Sent::again;
  if (!has_data_ && !(has_data_ = add_operations(Kind::data, kDataAtATime))) return Sent::again;
  Operation* const operation = claim(free_data_, Kind::data);
  if (operation == nullptr) return Sent::again;
  operation->bytes = 0;
  for (const iovec& piece : payload) {
    if (piece.iov_len == 0) continue;
    std::memcpy(operation->buffer + operation->bytes, piece.iov_base, piece.iov_len);
    operation->bytes += piece.iov_len;
  }
  assert(operation->bytes == header.rlength);
  if (!heralds(header)) return send_behind(link, header, *operation);
  const Sent sent = put_message(link, header, {}, fabric::kHeraldMagic);
  if (sent != Sent::done) {
    free_data_.push_back(operation);
    return sent;
  }
  link.credit.spend(cost);
  link.unsent = operation;
  operation->link = &link;
  send_data(link);
  if (link.unsent != nullptr) unsent_.push_back(&link);
  return Sent::done;
}

// The data, and then the header. If the data alone can go now, they are written once more, to the same place, when the engine tries again.
Sent FabricTransport::send_behind(FabricLink& link, const wire::Header& header, Operation& operation) {
  operation.link = &link;
  if (const ssize_t status = write_data(operation); status != 0) {
    operation.link = nullptr;
    free_data_.push_back(&operation);
    if (status != -FI_EAGAIN) disconnect(link);
    return Sent::again;  // after Sink::lost: failed
  }
  hand_to_provider(operation, link);
  const Sent sent = put_message(link, header, {}, fabric::kMessageMagic);
  if (sent != Sent::done) return sent;
  link.credit.spend(fabric::cost_of(header));
  ++link.landed_there;
  return Sent::done;
}

// If the provider refuses, the next poll tries again.
void FabricTransport::send_data(FabricLink& link) {
  auto& operation = *static_cast<Operation*>(link.unsent);
  if (link.frame != nullptr && !send_frame(link)) return;
  ssize_t status = link.state == LinkState::ready ? 0 : -FI_ENOTCONN;
  if (status == 0 && !link.written && (status = write_data(operation)) == 0) {
    hand_to_provider(operation, link);
    link.written = true;
    ++link.landed_there;
  }
  if (status == 0) {
    const fabric::Prefix word{fabric::kLandedMagic, link.remote_slot, self().pid, options_.uid};
    status = inject(link, &word, sizeof word);
  }
  if (status == -FI_EAGAIN) return;
  if (!link.written) drop_data(link);
  link.unsent = nullptr;
  link.written = false;
  if (status != 0) disconnect(link);
}

ssize_t FabricTransport::write_data(Operation& operation) {
  const FabricLink& link = *operation.link;
  iovec piece{operation.buffer, operation.bytes};
  fi_rma_iov region{link.landing.address + place(link.landed_there), operation.bytes, link.landing.key};
  fi_msg_rma message{};
  message.msg_iov = &piece;
  message.desc = &operation.descriptor;
  message.iov_count = 1;
  message.addr = link.address;
  message.rma_iov = &region;
  message.rma_iov_count = 1;
  message.context = &operation;
  return asked(fi_writemsg(endpoint_.ep.get(), &message, FI_COMPLETION));
}

// Returns of how many links the data have gone, or need not go any more.
int FabricTransport::send_unsent() {
  return static_cast<int>(std::erase_if(unsent_, [this](FabricLink* link) {
    if (link->unsent != nullptr) send_data(*link);
    return link->unsent == nullptr;
  }));
}

// What the provider has not taken.
void FabricTransport::drop_data(FabricLink& link) {
  auto* const operation = static_cast<Operation*>(std::exchange(link.unsent, nullptr));
  if (operation == nullptr || link.written) return;
  operation->link = nullptr;
  free_data_.push_back(operation);
}

void FabricTransport::offer(FabricLink& link) {
  if (!link.here) {
    if (offers_ == kMostOffers) return;
    std::byte* const memory = buffers_.emplace_back(kLandingSize).memory;
    fabric::Registration* const registration = memory == nullptr ? nullptr : registrations_.acquire(memory, kLandingSize, FI_REMOTE_WRITE);
    ++offers_;
    if (registration == nullptr) return;
    link.here = std::make_unique<fabric::Landing>();
    link.here->memory = memory;
    link.here->registration = registration;
  }
  const fabric::Registration& there = *link.here->registration;
  // As in expose(): without FI_MR_VIRT_ADDR a peer counts from the start of the registration.
  const wire::Region region{endpoint_.needs(FI_MR_VIRT_ADDR) ? there.range.start : 0, there.key};
  const fabric::OfferMessage message{{fabric::kOfferMagic, link.remote_slot, self().pid, options_.uid}, region};
  link.offered = link.state == LinkState::ready && put_word(link, &message, sizeof message);
}

// Whether a receiver who is told first could rest. Where data have come too soon for that it is told so seldom, which keeps this known.
bool FabricTransport::heralds(const wire::Header& header) {
  constexpr uint32_t kSeldom = 64;
  return fabric::may_herald(header) && !(in_.is_fast() && ++unheralded_ % kSeldom != 0);
}

// The header has come, its data are behind it, or there already.
void FabricTransport::begin_whole(FabricLink& link, const wire::Header& header, bool heralded) {
  if (!link.offered) {
    ++malformed_;
    return;
  }
  link.here->header = header;
  if (!heralded) {
    end_whole(link);
    return;
  }
  link.begun = true;
  in_.begin(header.rlength);
  in_.asked(now_ns());
}

// The data are there, or will not come.
void FabricTransport::end_whole(FabricLink& link) {
  fabric::Landing& here = *link.here;
  if (std::exchange(link.begun, false)) in_.ended(here.header.rlength, now_ns());
  if (link.state <= LinkState::ending) hand_over(link, here.header, here.memory + place(here.landed++));
}

}  // namespace portunus
