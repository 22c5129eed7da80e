// eager_rdma.cpp: puts of up to 64 KiB whose data are written to the target at once, unasked. If the target read them instead, a stream
// would wake the owner's engine only to write what could have gone with the header.
//
// The data go first, and the header behind them, perhaps together with other messages: two sends, and one completion at the receiver. They
// are written to slots that the receiver has offered, and copied from there to their place; messages would copy them more often, a few KiB
// at a time. A receiver offers its slots once, to a peer that has sent the header of such a put alone. Each put that credit allows has a
// slot, and slots are used in turn; a put without credit is refused here, and the engine sends its header alone.
//
// Thread: the holder of the baton. Invariants: a slot holds data of one put at a time: the header spends the credit for it, and no other
// data are written elsewhere before the header has gone. Source: fi_rma(3).
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cassert>
#include <cstring>

#include "engine/transport/fabric/fabric.hpp"
#include "engine/transport/fabric/message.hpp"

namespace portunus {

using fabric::FabricLink;
using fabric::LinkState;

namespace {

constexpr size_t kMostOffers = 64;  // 32 MiB together
constexpr size_t kRdmaSlotsSize = fabric::kRdmaSlots * fabric::kEagerRdmaMost;

size_t place(uint32_t number) { return number % fabric::kRdmaSlots * fabric::kEagerRdmaMost; }

}  // namespace

// Writes the data. When their header cannot follow, the engine tries again, and they are written once more to the same slot.
bool FabricTransport::write_data(FabricLink& link, const wire::Header& header, std::span<const iovec> payload) {
  if (!link.rdma_slots || !fabric::begins_eager_rdma(header)) return false;
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
  const wire::Region there{link.rdma_slots->address + place(link.slots_written), link.rdma_slots->key};
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
  if (link.here == nullptr) {
    if (offers_ == kMostOffers) return;
    ++offers_;
    link.here = allocate(kRdmaSlotsSize, FI_REMOTE_WRITE, link.here_registration);
    if (link.here == nullptr) return;
  }
  const fabric::Word word{.prefix = prefix_to(link, fabric::kOfferMagic), .region = link.here_registration->region};
  link.offered = link.state == LinkState::ready && put_word(link, word);
}

// Returns the slot of the data whose header has come, or null when none was offered.
const std::byte* FabricTransport::take_data(FabricLink& link) { return link.offered ? link.here + place(link.slots_read++) : nullptr; }

}  // namespace portunus
