// open_fabric.hpp: opening the network, whose endpoint decides who this process is.
#pragma once

#include <memory>

#include "engine/host/options.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

// `pid` 0 = any. `self` becomes the endpoint's (nid, pid). Throws with one sentence (no such provider or interface, port taken).
std::unique_ptr<Transport> open_fabric(Sink& sink, const Options& options, uint32_t pid, uint32_t uid, ProcessId& self);

}  // namespace portunus
