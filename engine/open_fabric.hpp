// open_fabric.hpp: opening the network, whose endpoint decides who this process is.
#pragma once

#include <memory>
#include <string>

#include "engine/host/options.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

// Where PTL_FABRIC_PROVIDER is `asked` (may be empty), does a process with this address use TCP by sockets of its own, and not libfabric? So
// it does where libfabric has nothing better than TCP. Costs milliseconds.
bool takes_sockets(const std::string& asked, uint32_t nid);

// `pid` 0 = any. `self` becomes the endpoint's (nid, pid). Throws with one sentence (no such provider or interface, port taken).
std::unique_ptr<Transport> open_fabric(Sink& sink, const Options& options, uint32_t pid, uint32_t uid, ProcessId& self);

}  // namespace portunus
