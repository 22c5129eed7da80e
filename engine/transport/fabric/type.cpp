// type.cpp: how the network is opened. Its endpoint decides who this process is.
#include "engine/transport/fabric/fabric.hpp"
#include "engine/transport/table.hpp"

namespace portunus {
namespace {

constexpr TransportType::Variant kVariants[] = {{"tcp", [](Options& options) { options.provider = "tcp"; }},
                                                {"rxm", [](Options& options) { options.provider = "tcp;ofi_rxm"; }},
                                                {"shm", [](Options& options) { options.provider = "shm"; }}};

std::unique_ptr<Transport> open_fabric(TransportOpening& opening) {
  const Options& options = opening.options;
  auto fabric = std::make_unique<FabricTransport>(opening.sink, FabricOptions{options.provider, options.interface, opening.pid, opening.uid,
                                                                              options.peer_timeout_s, opening.local_rank});
  opening.self = fabric->self();
  return fabric;
}

}  // namespace

extern const TransportType fabric_transport{
    .name = "fabric",
    .gives_address = true,
    .costly = true,
    .wanted = [](const TransportOpening& opening) { return opening.options.fabric && !(opening.options.node && opening.one_node); },
    .open = open_fabric,
    .variants = kVariants};

}  // namespace portunus
