// request.hpp: what a request must be like before it is matched. Thread: any.
#pragma once

#include "engine/core/peer.hpp"
#include "engine/transport/wire.hpp"

namespace portunus {

// Whether kind, operation, type, lengths and payload fit together. What is not bulk is answered in one message.
bool well_formed(const wire::Header& header, const Peer& from);

// The permissions that an entry must give: PTL_ME_OP_PUT, PTL_ME_OP_GET, or both.
uint32_t needed_permission(wire::Kind kind);

}  // namespace portunus
