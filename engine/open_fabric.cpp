// open_fabric.cpp: the only place outside the transport that knows which network library it stands on.
#include "engine/open_fabric.hpp"

#include "engine/transport/fabric/fabric.hpp"

namespace portunus {

std::unique_ptr<Transport> open_fabric(Sink& sink, const Options& options, uint32_t pid, uint32_t uid, ProcessId& self) {
  auto fabric = std::make_unique<FabricTransport>(sink, FabricOptions{options.provider, options.interface, pid, uid, options.peer_timeout_s});
  self = fabric->self();
  return fabric;
}

}  // namespace portunus
