// flow_control.hpp: how a process that keeps unexpected messages for others asks their senders for less, and sends less when
// asked.
//
// The bytes that held messages (PTLX_ME_HOLD) of a portal table entry occupy are counted. From `headers_only_from` bytes on their
// senders are asked, each when its next message is kept, to send headers alone and to keep the data until they are asked for;
// from `most` on to send nothing more. When enough has been taken, all who were asked are told. Messages that were on their way when
// their sender was asked still come: as far as transports bound these, `most` is less by so much than what a user has asked for.
//
// Thread: the baton holder. Callers: Unexpected (the target's side), Initiator and Engine (the sender's side).
// Invariants: of one sender's puts to a throttled portal table entry none overtakes another: while some are paused, the next
// ones queue behind them; those that were held back before, for want of room, are paused in front of them. Messages to other entries,
// answers and everything else go on. Source: the flow control that Portals 4.3 leaves to its users; Cray's MPI on the XT3 for what happens
// without it.
#pragma once

#include <atomic>

#include "engine/core/core.hpp"
#include "engine/core/peers.hpp"

namespace portunus {

class FlowControl {
 public:
  FlowControl(Core& core, Peers& peers) : core_(core), peers_(peers) {}

  // ---- the target ----
  // PTL_ARG_INVALID: no such portal; PTL_PT_IN_USE: it keeps messages already.
  int limit_held(uint32_t ni, uint32_t pt_index, uint64_t headers_only_from, uint64_t most);
  // A message that occupies so much has been kept, or taken.
  void account(PortalEntry& portal, Peer& sender, const wire::Header& header, uint64_t bytes);
  void release(PortalEntry& portal, const wire::Header& header, uint64_t bytes);

  // ---- the sender ----
  // Applies the throttle of a peer to a put. True: the command was put aside and is sent later. False: it may go, maybe as one that sends
  // its header alone.
  bool pause(Peer& peer, Command& command);
  // A target asks for less, or for more again: puts that may go now, in order.
  [[nodiscard]] PausedPuts told(Peer& peer, const wire::Header& header);
  // The peer is gone, or (ni >= 0) the interface is: what was paused for it will not be sent.
  [[nodiscard]] PausedPuts drop(Peer& peer, int ni);
  // Takes paused puts out for which `which` is true.
  template <class Which>
  void take_paused(Which&& which, PausedPuts& out) {
    if (paused_ == 0) return;
    peers_.for_each([&](Peer& peer) {
      for (Throttled& each : peer.throttles)
        paused_ -= std::erase_if(each.paused, [&](std::unique_ptr<Command>& command) {
          if (!which(*command)) return false;
          out.push_back(std::move(command));
          return true;
        });
    });
  }
  bool any_paused() const { return paused_ != 0; }

 private:
  void tell(Peer& peer, const wire::Header& about, Throttle level);
  void pause_held_back(Peer& peer, Throttled& throttled);
  void lift(Peer& peer, std::list<Throttled>::iterator which);

  Core& core_;
  Peers& peers_;
  uint64_t paused_ = 0;  // puts that wait because their targets have asked for less
};

}  // namespace portunus
