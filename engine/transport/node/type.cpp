// type.cpp: how the node's transport is opened.
#include "engine/transport/node/node.hpp"
#include "engine/transport/table.hpp"

namespace portunus {
namespace {

std::unique_ptr<Transport> open_node(TransportOpening& opening) {
  const Options& options = opening.options;
  auto node = std::make_unique<NodeTransport>(opening.sink, opening.stats, opening.self, opening.uid, options.ring_bytes, options.cma,
                                              opening.others);
  opening.node = node.get();
  return node;
}

}  // namespace

extern const TransportType node_transport{
    .name = "node",
    .wanted = [](const TransportOpening& opening) { return opening.options.node && opening.options.node_wire.bytes_per_us == 0; },
    .open = open_node};

}  // namespace portunus
