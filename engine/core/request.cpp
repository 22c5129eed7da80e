// request.cpp: see request.hpp.
#include "engine/core/request.hpp"

#include "engine/core/triggered/atomic_ops.hpp"

namespace portunus {
namespace {

constexpr uint64_t kMostAtomic = 16 << 20;  // no limit of an interface exceeds this: bulk operands are gathered in memory first

}  // namespace

bool well_formed(const wire::Header& header, const Peer& peer) {
  const bool bulk = header.flags & wire::kBulk;
  const size_t region = bulk && !(header.flags & wire::kNoRegion) ? sizeof(wire::Region) : 0;
  if ((header.flags & wire::kStaged) && (!region || header.kind == wire::Kind::get)) return false;
  const bool streamed = bulk && region == 0 && header.payload_size == 0 && header.rlength <= kMostAtomic;
  switch (header.kind) {
    case wire::Kind::put: return header.payload_size == (bulk ? region : header.rlength);
    case wire::Kind::get:
      return header.payload_size == region && header.token != 0 && (bulk || header.rlength <= peer.transport->limits().eager);
    case wire::Kind::atomic:
      return atomic_allowed(header.op, header.datatype) && header.payload_size == (bulk ? region : header.rlength) &&
             header.rlength <= kMostAtomic;
    case wire::Kind::fetch_atomic:
      return atomic_allowed(header.op, header.datatype) && header.token != 0 && (bulk ? streamed : header.payload_size == header.rlength);
    case wire::Kind::swap:
      return swap_allowed(header.op, header.datatype) && header.token != 0 &&
             (header.op == PTL_SWAP || (header.rlength <= datatype_size(header.datatype) && !bulk)) &&
             (bulk ? streamed : header.payload_size == header.rlength + datatype_size(header.datatype));
    default: return false;
  }
}

uint32_t needed_permission(wire::Kind kind) {
  switch (kind) {
    case wire::Kind::get: return PTL_ME_OP_GET;
    case wire::Kind::fetch_atomic:
    case wire::Kind::swap: return PTL_ME_OP_GET | PTL_ME_OP_PUT;
    default: return PTL_ME_OP_PUT;
  }
}

}  // namespace portunus
