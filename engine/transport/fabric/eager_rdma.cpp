// eager_rdma.cpp: puts of up to 64 KiB that travel whole: header and data, all at once and unasked. Otherwise a target would ask for the
// data, and on a stream that wakes the owner's engine for nothing but to write what could have gone at once.
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

constexpr size_t kMostOffers = 64;  // 32 MiB
constexpr size_t kRdmaSlotsSize = fabric::kRdmaSlots * fabric::kEagerRdmaMost;

size_t place(uint32_t number) { return number % fabric::kRdmaSlots * fabric::kEagerRdmaMost; }

}  // namespace

// If the data alone can go now, they are written once more, to the same place, when the engine tries again.
bool FabricTransport::write_data(FabricLink& link, const wire::Header& header, std::span<const iovec> payload) {
  if (!link.has_rdma_slots || !fabric::begins_eager_rdma(header)) return false;
  Operation* const operation = claim(Kind::data);
  if (operation == nullptr) return false;
  assert(header.rlength <= buffer_size(Kind::data));
  operation->bytes = 0;
  for (const iovec& piece : payload) {
    if (piece.iov_len == 0) continue;
    std::memcpy(operation->buffer + operation->bytes, piece.iov_base, piece.iov_len);
    operation->bytes += piece.iov_len;
  }
  assert(operation->bytes == header.rlength);
  const wire::Region there{link.rdma_slots.address + place(link.slots_written), link.rdma_slots.key};
  const ssize_t status = start(*operation, link, {operation->buffer, operation->bytes}, there, true, 0);
  if (status == 0) {
    taken(link, *operation);
    return true;
  }
  pool_of(Kind::data).push_back(operation);
  if (status != -FI_EAGAIN) disconnect(link);
  return false;
}

void FabricTransport::offer(FabricLink& link) {
  if (!link.here) {
    if (offers_ == kMostOffers) return;
    ++offers_;
    fabric::Registration* registration = nullptr;
    std::byte* const memory = allocate(kRdmaSlotsSize, FI_REMOTE_WRITE, registration);
    if (memory == nullptr) return;
    link.here = std::make_unique<fabric::RdmaSlots>(fabric::RdmaSlots{memory, registrations_.region_of(*registration)});
  }
  fabric::Word word{prefix_to(link, fabric::kOfferMagic), {}};
  word.region = link.here->region;
  link.offered = link.state == LinkState::ready && put_word(link, word);
}

// Where the data lie whose header has come; null: no place was offered for them.
const std::byte* FabricTransport::take_data(FabricLink& link) {
  return link.offered ? link.here->memory + place(link.here->slots_read++) : nullptr;
}

}  // namespace portunus
