// write_order.hpp: long writes that what comes behind them must not overtake, and what waits behind them.
//
// Short data are in place before the next message is looked at. Where an interface was asked for more (max_waw_ordered_size), requests of
// a peer that come while such a write of that peer still moves wait here. While any moves, no portal of the interface admits, so that
// all other messages have nothing to ask. What waits is bounded by what a peer can send while at most 2^20 bytes move.
//
// Thread: the baton holder. Callers: Target.
// Invariants: requests are taken in the order in which they came, whatever becomes of the write they waited for; the one that was taken
// last does not wait again. Source: Portals 4.3, ordering.
#pragma once

#include <deque>
#include <list>

#include "engine/core/core.hpp"

namespace portunus {

class WriteOrder {
 public:
  explicit WriteOrder(Core& core) : core_(core) {}

  // Whether others must not overtake this one, whose data follow their header.
  static bool is_ordered(const Interface& ni, const wire::Header& header) {
    const ptl_size_t most = ni.limits.max_waw_ordered_size;
    return most > kOrderedAnyway && header.rlength <= most && header.kind != wire::Kind::get;
  }
  void begin(uint32_t ni, Peer& peer);
  void end(uint32_t ni, const Peer& peer);
  // Nothing of the peer's moves any more.
  void end_all(uint32_t ni, const Peer& peer);

  // Whether a request that comes now must wait; then it is kept.
  bool waits(uint32_t ni, const Peer& peer);
  void keep(uint32_t ni, const Peer& peer, const wire::Header& header, const std::byte* payload);
  // The next request that need not wait any longer. False: there is none.
  bool take(uint32_t ni, const Peer& peer, HeldMessage& next);
  // The interface closes: one request after the other, and its sender; nullptr: there is none.
  Peer* take_any(uint32_t ni, HeldMessage& next);

 private:
  struct Order {
    uint32_t ni;
    Peer* peer;
    uint32_t moving = 0;
    bool taken = false;  // a request, just now
    std::deque<HeldMessage> behind;
  };
  Order* find(uint32_t ni, const Peer& peer);
  void drop(const Order& order);
  void set_kept(uint32_t ni, bool kept);

  Core& core_;
  std::list<Order> orders_;
};

}  // namespace portunus
