// initiator.hpp: from a command to a message.
//
// Inlined data go with the header, and their source is free at once (SEND). For all else the header goes first, the target
// matches, and then moves the data one of the ways of way.hpp. What awaits an answer is in PendingOperations, owned here.
//
// Thread: the baton holder. Callers: Engine.
// Invariants: every command that was started ends with the reports it asked for, once each, whatever becomes of its peer.
// Source: Portals 4.3, data movement; PEACE (request, match, then the receiver's processor moves the data); extension E10.
#pragma once

#include <vector>

#include "engine/core/core.hpp"
#include "engine/core/initiator/payload.hpp"
#include "engine/core/initiator/pending_operations.hpp"
#include "engine/core/initiator/way.hpp"
#include "engine/core/peers.hpp"
#include "engine/core/reports.hpp"
#include "engine/core/target/flow_control.hpp"

namespace portunus {

class Initiator {
 public:
  Initiator(Core& core, Reports& reports, Peers& peers, FlowControl& flow);

  // ---- commands ----
  // Sends the message, or puts it where it is sent from later.
  void start(Command& command);
  // A small put from one piece of memory, without acknowledgement or with a full one. `header` is complete but for payload_size
  // and token. False: something is in the way, nothing was done, it takes a Command.
  bool put_at_once(wire::Header& header, ptl_process_t to, const Local& source, void* user_ptr);
  // Puts that were paused may go.
  void start(PausedPuts puts);
  // They will not go any more, and whoever waits is told; or, unreported, the interface closes.
  void fail(PausedPuts puts);
  static void discard(PausedPuts puts);
  // Messages that transports refused go out in the order they came, as far as the transports take them now.
  int send_held();
  // E10: ends the puts of `like` that have not matched, those that have not left at once, the others by their targets.
  void withdraw(const PutsOf& like);

  PendingOperations& pending() { return pending_; }
  const PendingOperations& pending() const { return pending_; }
  // Whether the end of an operation counts there, or of a command that is held back.
  bool will_count(uint32_t ct) const;

 private:
  enum class Access : uint8_t { none, read, write };  // the command's memory, by the target

  Sent transmit(Peer& peer, Command& command);
  Sent transmit_put(Peer& peer, Command& command);
  Sent transmit_with_data(Peer& peer, wire::Header header, Command& command, uint16_t payload_size, size_t operand = 0);
  template <class Send>
  Sent send_with_data(Peer& peer, Verb verb, wire::Header& header, const Local& source, const Local& result, void* user_ptr, Send&& send);
  Operation& claim(Peer& peer, const wire::Header& header, const Command& command);
  Sent transmit_get(Peer& peer, Command& command);
  Sent transmit_fetch(Peer& peer, Command& command);
  Sent send_bulk(Peer& peer, wire::Header& header, Command& command, Operation& pending, Access access);
  Way open_way(Peer& peer, Command& command, Operation& pending, Access access);
  Sent send_gathered(Peer& peer, const wire::Header& header, const Local& source, uint64_t size, const void* front, size_t front_size);
  void end_unsent(Command& command, ptl_ni_fail_t why);

  Core& core_;
  Reports& reports_;
  Peers& peers_;
  FlowControl& flow_;
  PendingOperations pending_;
  std::vector<std::byte> scratch_;  // data of one message that lie in many pieces
};

}  // namespace portunus
