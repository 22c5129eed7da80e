// pending_operations.hpp: what this process has asked of others: until the answer, or the end of who was asked.
//
// Owns the operations and, of those whose data go through staging, the copying. Initiator begins them; here they get their
// answers and end.
//
// Thread: the baton holder. Callers: Initiator; Engine hands on what arrives.
// Invariants: an answer is believed only if its token names a live operation towards the peer that sent it; lengths in it
// never exceed what was asked. An operation that ends has reported all it was asked to, once, and its memory is its user's
// again. Source: Portals 4.3, SEND, ACK and REPLY events; ack requests; extension E10.
#pragma once

#include <vector>

#include "engine/core/core.hpp"
#include "engine/core/initiator/operation.hpp"
#include "engine/core/initiator/packing.hpp"
#include "engine/core/peers.hpp"
#include "engine/core/reports.hpp"
#include "engine/core/target/withdraw.hpp"

namespace portunus {

class PendingOperations {
 public:
  PendingOperations(Core& core, Reports& reports, Peers& peers);

  // ---- for Initiator ----
  Operation& claim(Peer& peer, Verb verb, const wire::Header& request, const Local& source, const Local& result, void* user_ptr) {
    Operation& operation = operations_.claim(peer, verb, request, source, result, user_ptr);
    if (operation.answered_soon()) core_.grow(unanswered_);
    return operation;
  }
  // Unreported: its message could not be sent (now).
  void drop(Operation& operation);
  // The header of an operation whose data go through staging has gone.
  void begin_packing(Operation& operation);
  // A command that never became an operation ends like one.
  void end_unsent(const Command& command, ptl_ni_fail_t why);
  // E10: asks the targets of the puts of `like` to end those that have not matched.
  void withdraw(const PutsOf& like);

  // ---- what arrives ----
  void answered(Link& from, const wire::Header& header, const std::byte* payload);
  // The target asks for a part of the source, or sends one of the result.
  void stream_out(Peer& target, const wire::Header& header);
  void stream_in(Peer& target, const wire::Header& header, const std::byte* payload);
  void peer_lost(Peer& peer);

  // Goes on with copying; returns how many operations made progress.
  int advance();
  bool packing() const { return !packing_.empty(); }
  bool has_room() const { return packing_.has_room(); }  // to go on with copying, now
  bool empty() const { return !operations_.any(); }
  // The address of the operation that was made last, for debuggers.
  Operation* const& newest() const { return operations_.newest(); }
  // Whether the end of one counts there.
  bool will_count(uint32_t ct) const;
  // The interface closes: the memory of what is not copied yet is its user's again.
  void close(uint32_t ni);

 private:
  void packed(Operation& operation);
  void finish(Operation& operation, uint64_t mlength, uint64_t offset, ptl_ni_fail_t fail, ptl_list_t list);

  Core& core_;
  Reports& reports_;
  Peers& peers_;
  Operations operations_;
  Backlog unanswered_;  // those that are answered soon
  Packing packing_;
  std::vector<Operation*> packed_;
  std::vector<std::byte> scratch_;  // streamed data that lie in many pieces
};

}  // namespace portunus
