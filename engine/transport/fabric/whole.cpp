// whole.cpp: puts of up to 64 KiB that travel whole: header and data, all at once and unasked. Otherwise a target would ask for the data,
// and on a stream that wakes the owner's engine for nothing but to write what could have gone at once.
//
// The data go first, and the header behind them, perhaps together with other messages: two sends, and one completion at the receiver. The
// data are written to memory that the receiver has offered, and copied from there once it is known where they go: in messages they
// would be copied more often, a few KiB at a time. A receiver makes an offer, once, to who has sent the header of such a put alone. There
// is a place for each that credit allows, and they are used in turn; a put for which there is no credit is refused here, and the engine
// sends its header alone.
//
// Thread: the holder of the baton.
// Invariants: a place holds data of one put at a time: the header spends the credit for it, and until it has gone no other data are written
// elsewhere.
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

// If the data alone can go now, they are written once more, to the same place, when the engine tries again.
Sent FabricTransport::send_whole(FabricLink& link, const wire::Header& header, std::span<const iovec> payload) {
  if (link.state != LinkState::ready) return link.state == LinkState::failed ? Sent::failed : Sent::again;
  const uint64_t cost = fabric::cost_of(header);
  if (!link.may_land || !link.credit.covers(cost) || !fabric::begins_whole(header)) return Sent::again;
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
  operation->link = &link;
  if (const ssize_t status = write_data(*operation); status != 0) {
    operation->link = nullptr;
    free_data_.push_back(operation);
    if (status != -FI_EAGAIN) disconnect(link);
    return Sent::again;  // after Sink::lost: failed
  }
  hand_to_provider(*operation, link);
  const Sent sent = put_message(link, header, {}, fabric::kMessageMagic);
  if (sent != Sent::done) return sent;
  link.credit.spend(cost);
  ++link.landed_there;
  return Sent::done;
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

// The header has come; its data are there.
void FabricTransport::take_whole(FabricLink& link, const wire::Header& header) {
  if (!link.offered) {
    ++malformed_;
    return;
  }
  fabric::Landing& here = *link.here;
  hand_over(link, header, here.memory + place(here.landed++));
}

}  // namespace portunus
