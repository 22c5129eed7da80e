// peers.hpp: the processes we talk to and the transports that reach them: routing, back-pressure, loss.
//
// Owns the transports and the records of all peers. A message that its transport will not take yet waits in the peer's
// queue; so does every further one, and Initiator::send_held lets them go as room appears. Many that wait restrain those who would
// send copies (Core::restraints), and later let all who would send more wait (Core::full_backlogs): so what this process holds for peers
// that do not read stays bounded. A peer that fails takes no more messages from that moment on; what has to end with it is ended by
// Engine::step(), which drains the list of lost peers. So sending never reports, and nothing recurses.
//
// Thread: the baton holder. Callers: Engine (polling, Sink), Initiator, Target's parts (answers), FlowControl.
// Invariants: while a peer holds messages back every further one queues behind them, so the order of issue is the order on
// the wire. A peer on the lost list is not made whole again before it has been taken from there.
#pragma once

#include <cassert>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/core/core.hpp"
#include "engine/core/peer.hpp"

namespace portunus {

class Peers {
 public:
  static constexpr int kArrivalsPerPoll = 16;
  static constexpr uint64_t kManyHeldBack = 1024;  // messages, from which on copies are to be avoided
  static constexpr uint32_t kCostlyInterval = 32;  // busy steps between two looks at a transport whose poll is costly

  explicit Peers(Core& core) : core_(core) {}

  // ---- routing ----
  // In order of preference, `self` first. Costly: polling it takes a system call or a lock.
  void add_transport(std::unique_ptr<Transport> transport, bool costly_to_poll = false);
  // The record of a process, made if need be; `failed` where no transport reaches it.
  Peer* find(ProcessId process) {
    if (latest_ && latest_->id == process) return latest_;
    return find_or_reach(process);
  }
  // The peer that a call names; nullptr for a rank that is not in the interface's map.
  Peer* target(uint32_t ni, ptl_process_t id) {
    Interface& interface = core_.interfaces[ni];
    if (!interface.logical()) return find({id.phys.nid, id.phys.pid});
    if (id.rank >= interface.peer_of_rank.size()) return nullptr;
    Peer*& known = interface.peer_of_rank[id.rank];
    if (!known) known = find(interface.map[id.rank]);
    return known;
  }
  // The address of a failed process may be another's by now. False: still lost.
  bool revive(Peer& peer);
  // A process we never addressed speaks by this link.
  void introduced(Link& link, Transport& by);
  // The interface's map has changed, or the interface is closed: ranks are looked up anew.
  void forget_ranks(uint32_t ni);

  // ---- sending ----
  // A message of the engine's own (answers, streamed data, requests for it): sent, held back, or dropped with its peer.
  void send(Peer& peer, wire::Header header, const void* payload, size_t size);
  // A throttle: ahead of all that is held back but its like, and without a payload.
  void send_throttle(Peer& peer, const wire::Header& header);
  void hold(Peer& peer, HeldMessage message);
  // So many were held back and are not any more.
  void let_go(uint64_t messages);
  // The peers that hold messages back: the i-th or nullptr, and its end once it holds none.
  Peer* stalled(size_t i) const { return i < stalled_.size() ? stalled_[i] : nullptr; }
  void release_stalled(size_t i);
  bool any_stalled() const { return !stalled_.empty(); }
  // Whether what is held back needs steps although nobody rings: a transport with a descriptor wakes who sleeps when it takes
  // more.
  bool stalled_go_on() const;
  // While anybody bundles, messages to one process may travel together; flush sends what was kept back.
  bool bundles() const { return bundler_ != nullptr; }
  void begin_bundle() { ++bundler_->state.bundling; }
  void end_bundle() {
    assert(bundler_->state.bundling > 0);
    --bundler_->state.bundling;
  }
  void flush() {
    if (bundler_ && bundler_->state.keeps_back) bundler_->can().bundling->flush();
  }

  // ---- loss ----
  void fail(Peer& peer);
  bool any_lost() const { return !lost_.empty(); }
  Peer* take_lost();
  // A peer's end is to be a failure on the counter; the peer has not failed.
  void watch(uint32_t ct, Peer& peer);
  void unwatch(uint32_t ct);
  std::vector<uint32_t> take_watchers(Peer& peer);
  bool any_watched() const { return watches_ != 0; }

  // ---- the transports, all together ----
  // Limits the bytes that all peers may have on their way here, beyond one message from each, to half of `most` where transports can be
  // told so; returns the limit.
  uint64_t bound_pending(uint64_t most);
  // Delivers what has arrived, some of each; returns how many. `work_so_far`: in this step.
  int poll(int work_so_far) {
    int work = 0;
    for (Carrier& carrier : carriers_) {
      if (!carrier.transport->state.may_deliver) continue;
      const bool seldom = work_so_far + work > 0 || !carrier.transport->state.has_links;
      if (carrier.costly && seldom && ++carrier.passed_over % kCostlyInterval != 0) continue;
      work += carrier.transport->poll(kArrivalsPerPoll);
    }
    return work;
  }
  // Whether each look at what has arrived takes a system call.
  bool poll_is_costly() const {
    return std::ranges::any_of(carriers_, [](const Carrier& carrier) {
      return carrier.costly && carrier.transport->state.may_deliver && carrier.transport->state.has_links;
    });
  }
  bool self_may_deliver() const { return !carriers_.empty() && carriers_.front().transport->state.may_deliver; }
  void poll_self();
  bool idle();  // false: something is pending that poll would deliver
  // The longest that whoever sleeps may leave arrivals alone that are held until their time; -1: there are none.
  int64_t due_in_ns();
  void do_housekeeping(bool waiting);
  bool needs_housekeeping();
  std::string transport_names() const;
  std::vector<int> wait_fds() const;

  // Every peer there is, in no order.
  template <class Each>
  void for_each(Each&& each) {
    for (auto& [id, peer] : peers_) each(*peer);
  }

 private:
  struct Carrier {
    std::unique_ptr<Transport> transport;
    bool costly = false;  // not polled in steps that found other work, or while nobody is there, but for one in kCostlyInterval
    uint32_t passed_over = 0;
  };
  Peer& record(ProcessId process);
  Peer* find_or_reach(ProcessId process);
  static void reach(Peer& peer, Link& link, Transport& by);
  void stall(Peer& peer);

  Core& core_;
  std::vector<Carrier> carriers_;
  Transport* bundler_ = nullptr;  // the carrier whose messages are sent together where that may be, if there is one
  std::unordered_map<uint64_t, std::unique_ptr<Peer>> peers_;
  Peer* latest_ = nullptr;  // the last that was found; a record stays, and is reached once for all or has failed
  std::vector<Peer*> stalled_;
  std::vector<Peer*> lost_;
  Backlog held_back_;       // messages, of all peers
  bool restrains_ = false;  // because of these
  uint64_t watches_ = 0;    // live watchers of all peers
};

}  // namespace portunus
