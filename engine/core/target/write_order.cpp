// write_order.cpp: see write_order.hpp.
#include "engine/core/target/write_order.hpp"

#include <algorithm>
#include <cassert>

namespace portunus {

WriteOrder::Order* WriteOrder::find(uint32_t ni, const Peer& peer) {
  const auto found =
      std::find_if(orders_.begin(), orders_.end(), [&](const Order& order) { return order.ni == ni && order.peer == &peer; });
  return found == orders_.end() ? nullptr : &*found;
}

void WriteOrder::set_kept(uint32_t ni, bool kept) {
  Interface& interface = core_.interfaces[ni];
  interface.keeps_order = kept;
  for (auto& portal : interface.portals)
    if (portal) portal->admits = portal->enabled && !kept;
}

void WriteOrder::drop(const Order& order) {
  const uint32_t ni = order.ni;
  assert(core_.interfaces[ni].keeps_order && order.moving == 0 && order.behind.empty());
  orders_.remove_if([&order](const Order& other) { return &other == &order; });
  if (std::none_of(orders_.begin(), orders_.end(), [ni](const Order& other) { return other.ni == ni; })) set_kept(ni, false);
}

void WriteOrder::begin(uint32_t ni, Peer& peer) {
  Order* order = find(ni, peer);
  if (!order) order = &orders_.emplace_back(Order{ni, &peer, 0, false, {}});
  ++order->moving;
  if (!core_.interfaces[ni].keeps_order) set_kept(ni, true);
}

void WriteOrder::end(uint32_t ni, const Peer& peer) {
  if (Order* order = find(ni, peer); order && order->moving > 0) --order->moving;
}

void WriteOrder::end_all(uint32_t ni, const Peer& peer) {
  if (Order* order = find(ni, peer)) order->moving = 0;
}

bool WriteOrder::waits(uint32_t ni, const Peer& peer) {
  const Order* order = find(ni, peer);
  return order && !order->taken && (order->moving > 0 || !order->behind.empty());
}

void WriteOrder::keep(uint32_t ni, const Peer& peer, const wire::Header& header, const std::byte* payload) {
  assert(core_.interfaces[ni].keeps_order && waits(ni, peer));
  HeldMessage message;
  message.header = header;
  message.payload.assign(payload, payload + wire::payload_of(header));
  find(ni, peer)->behind.push_back(std::move(message));
}

bool WriteOrder::take(uint32_t ni, const Peer& peer, HeldMessage& next) {
  Order* order = find(ni, peer);
  if (!order) return false;
  order->taken = order->moving == 0 && !order->behind.empty();
  if (order->taken) {
    next = std::move(order->behind.front());
    order->behind.pop_front();
    return true;
  }
  if (order->moving == 0) drop(*order);
  return false;
}

Peer* WriteOrder::take_any(uint32_t ni, HeldMessage& next) {
  for (Order& order : orders_) {
    if (order.ni != ni) continue;
    Peer* const from = order.peer;
    order.moving = 0;
    if (take(ni, *from, next)) return from;
    return take_any(ni, next);  // that one is gone
  }
  return nullptr;
}

}  // namespace portunus
