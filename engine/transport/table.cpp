// table.cpp: see table.hpp. The list itself is made by engine/meson.build.
#include "engine/transport/table.hpp"

namespace portunus {

std::vector<OpenedTransport> open_transports(TransportOpening& opening) {
  std::vector<OpenedTransport> opened;
  for (const TransportType* type : transport_types())
    if (type->wanted(opening)) opened.push_back({type, nullptr});
  bool addressed = false;
  for (OpenedTransport& one : opened) {
    if (!one.type->gives_address) continue;
    one.transport = one.type->open(opening);
    addressed = true;
  }
  if (!addressed) {
    const uint32_t nid = choose_nid(opening.options.interface);
    opening.port = std::make_unique<HeldPort>(nid, opening.pid);
    opening.self = {nid, opening.port->port()};
  }
  for (OpenedTransport& one : opened)
    if (!one.transport) one.transport = one.type->open(opening);
  return opened;
}

}  // namespace portunus
