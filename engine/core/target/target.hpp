// target.hpp: what becomes of a request that arrives: check, match, place, move, report, answer.
//
// Owns the data that move after the match (Bulk), what they must not be overtaken by (WriteOrder) and the headers that came before their
// entry (Unexpected), and joins them: each returns what it has, and what follows from it is done here.
//
// Thread: the baton holder. Callers: Engine.
// Invariants: the entry leaves its list when it is matched, before the data moves; data, then count, then event are visible
// before the acknowledgement leaves. Whatever a header claims is checked here against the entry. One request has one answer,
// if it asked for any. Source: Portals 4.3, matching, data movement, overflow list, flow control; extensions E1 and E10.
#pragma once

#include <memory>
#include <vector>

#include "engine/core/core.hpp"
#include "engine/core/initiator/bulk.hpp"
#include "engine/core/peers.hpp"
#include "engine/core/portal_table.hpp"
#include "engine/core/reports.hpp"
#include "engine/core/target/delivery.hpp"
#include "engine/core/target/unexpected.hpp"
#include "engine/core/target/write_order.hpp"

namespace portunus {

class Target {
 public:
  Target(Core& core, Reports& reports, Peers& peers, FlowControl& flow, PortalTable& table);

  // ---- what arrives ----
  void request(Link& from, const wire::Header& header, const std::byte* payload);
  // An initiator wants a put back (E10): it has it, if nothing has matched it.
  void withdraw(Peer& from, const wire::Header& header);
  // Data for a transfer, asked for as a stream.
  void stream_in(const Peer& from, const wire::Header& header, const std::byte* payload);
  void landed(const void* context, bool ok) { bulk_.landed(context, ok); }
  void peer_lost(Peer& peer);

  // ---- entries ----
  // Links a claimed entry, or lets unexpected messages have it. `match_bits`: of this round, for entries that recur.
  void append(uint32_t handle, uint64_t match_bits);
  // The same for an entry that its caller has just claimed, under the baton, for a portal that is allocated.
  void append_now(ListEntry& entry, PortalEntry& portal) {
    if (entry.list == PTL_PRIORITY_LIST && !portal.unexpected.empty() && satisfy(entry, portal)) return;
    table_.link(entry, portal);
  }
  int free_portal(uint32_t ni, uint32_t index);
  // Held headers that the pattern matches, and that are not set aside, end as dropped (E10).
  int refuse_held(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern);
  Unexpected& unexpected() { return unexpected_; }
  // Everything of the interface goes: transfers, entries, headers, portals.
  void close(uint32_t ni);

  // ---- bulk data ----
  bool moving() const { return !bulk_.empty(); }
  int advance();
  const Bulk& bulk() const { return bulk_; }

 private:
  static bool is_full(const Interface& ni);
  void hold(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, const ListEntry& entry, uint64_t source);
  [[gnu::noinline]] void matched(Link& from, const wire::Header& header, const std::byte* payload, ListEntry& entry, uint64_t source);
  template <bool recorded>
  void put_at_once(Peer& peer, ptl_uid_t uid, const wire::Header& header, const std::byte* payload, ListEntry& entry, uint64_t source,
                   EventQueue* queue, bool early);
  [[gnu::noinline]] void receive(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, ListEntry& entry,
                                 uint64_t source, uint32_t events);
  [[gnu::noinline]] void drop(Interface& ni, Peer& peer, const wire::Header& header, ptl_sr_index_t status, ptl_ni_fail_t why);
  [[gnu::noinline]] void no_match(Interface& ni, PortalEntry& portal, Peer& peer, const wire::Header& header, const ListEntry* cause);
  void refuse(Peer& peer, const wire::Header& header, ptl_ni_fail_t why);
  void place(Delivery& delivery);
  void deliver(Delivery& delivery, const std::byte* payload);
  void move_data(Delivery& delivery, const std::byte* payload);
  void start_bulk(Delivery& delivery, const wire::Region& region);
  void take_waiting(uint32_t ni, Peer& from);
  void complete(Delivery& delivery, ptl_ni_fail_t fail);
  void acknowledge(const Delivery& delivery, ptl_ni_fail_t fail);
  bool satisfy(ListEntry& entry, PortalEntry& portal);
  void consume(KeptHeader& kept, ListEntry& entry);
  void abandon(KeptHeader& kept);

  Core& core_;
  Reports& reports_;
  Peers& peers_;
  PortalTable& table_;
  Bulk bulk_;
  WriteOrder order_;
  Unexpected unexpected_;
  std::vector<std::byte> scratch_;  // data of a reply while events are posted
  std::vector<std::unique_ptr<Transfer>> ended_;
};

}  // namespace portunus
