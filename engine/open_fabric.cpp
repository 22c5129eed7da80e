// open_fabric.cpp: the only place outside the transport that knows which network library it stands on.
#include "engine/open_fabric.hpp"

#include "engine/host/address.hpp"
#include "engine/transport/fabric.hpp"
#include "engine/transport/fabric_providers.hpp"
#include "engine/transport/tcp.hpp"

namespace portunus {

bool takes_sockets(const std::string& asked, uint32_t nid) {
  if (!asked.empty()) return asked == "tcp";  // libfabric calls its own "tcp;ofi_rxm"
  const std::string best = fabric_provider_for(asked, nid);
  return best.empty() || best.starts_with("tcp");
}

std::unique_ptr<Transport> open_fabric(Sink& sink, const Options& options, uint32_t pid, uint32_t uid, ProcessId& self) {
  if (takes_sockets(options.provider, choose_nid(options.interface))) {
    auto tcp = std::make_unique<TcpTransport>(sink, TcpOptions{options.interface, pid, uid, options.peer_timeout_s});
    self = tcp->self();
    return tcp;
  }
  auto fabric = std::make_unique<FabricTransport>(sink, FabricOptions{options.provider, options.interface, pid, uid, options.peer_timeout_s});
  self = fabric->self();
  return fabric;
}

}  // namespace portunus
