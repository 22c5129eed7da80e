// engine.hpp: the communication processor of one process: it matches, moves, counts and triggers.
//
// The duty cycle alone: step(), execute(), and who gets what arrives. What is done there is the verbs' business, each a
// class of its own below; calls go down that list only. README.md draws it.
//
// Thread: every member is called by the holder of the baton only (progress/ takes it), except what is marked [any].
// Invariants: step() never blocks, does not recurse and does a bounded amount of work; a counter that reaches a threshold
// moves its commands to the ready queue, which the same step drains. A peer that is lost ends with the step that learns of
// it. Source: Portals 4.3; PEACE (communication processor); ESPGOAL (offloaded schedules).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/core.hpp"
#include "engine/flow_control.hpp"
#include "engine/initiator.hpp"
#include "engine/local_operations.hpp"
#include "engine/peers.hpp"
#include "engine/portal_table.hpp"
#include "engine/reports.hpp"
#include "engine/shared/command_queue.hpp"
#include "engine/target.hpp"
#include "engine/triggers.hpp"

namespace portunus {

class Engine final : public Sink, private Core {
 public:
  // What it counts about itself goes to `stats`, if that is given.
  Engine(Objects& objects, uint32_t uid, Stats* stats = nullptr);
  ~Engine();
  // In order of preference, `self` first: the first that connects to a process carries its messages.
  void add_transport(std::unique_ptr<Transport> transport, bool costly_to_poll = false) {
    peers_.add_transport(std::move(transport), costly_to_poll);
  }

  // ---- the duty cycle ----
  // Commands, arrivals, ripe triggers, bulk transfers, messages held back. Returns the work done.
  int step(uint64_t now_ns);
  // Runs one command now: fresh, queued or triggered.
  void execute(Command& command);
  // The shortest ways of a put and of an append; see Initiator and Target.
  bool put_at_once(wire::Header& header, ptl_process_t to, const Local& source, void* user_ptr) {
    return initiator_.put_at_once(header, to, source, user_ptr);
  }
  void append_now(ListEntry& entry, PortalEntry& portal) { target_.append_now(entry, portal); }
  // After a command from outside: triggers it ripened and messages to this very process, a bounded number.
  void settle() {
    if (triggers_.ready() || peers_.self_may_deliver()) settle_now();
  }
  // Sends what was kept back to travel together (bundles, PTLX_MD_LAZY). Every step ends so.
  void flush() { peers_.flush(); }
  CommandQueue& commands() { return commands_; }  // [any] push

  // ---- for who sleeps ----
  using Core::posted;  // set by whatever an application thread may wait for; who steps clears it
  bool has_delays() const { return local_.has_delays(); }
  // Nothing that step() would do at once, or soon without a message from outside. Asked after arming the doorbell.
  bool idle();
  bool may_be_busy() const { return maybe_busy; }  // false: not busy, either
  // True when somebody must go on stepping although no message arrives (bulk moves, back-pressure, delays).
  bool busy() { return maybe_busy && (maybe_busy = anything_begun()) && goes_on_unrung(); }
  // Is there nothing to do, now or at a time that somebody must keep in mind?
  bool quiet() { return !peers_.holding() && idle() && !busy(); }
  // How long whoever sleeps may leave the engine alone although nothing rings: peers that are waited for may die without a
  // word, and arrivals be held until their time. -1: as long as it likes.
  int64_t max_idle_ns();
  // Peers that have died are noticed about twice as late as this at most (on the node; the fabric has a bound of its own).
  void keep_house_every(uint64_t interval_ns) { look_interval_ns_ = interval_ns; }
  // Everything issued has left this process (what a peer may depend on before we go).
  bool flushed() const { return !peers_.any_stalled() && initiator_.pending().empty() && !target_.moving() && !triggers_.ready(); }

  // ---- what others see of it ----
  Stats& stats() { return Core::stats; }  // [any] read
  Interface& interface(uint32_t ni) { return interfaces[ni]; }
  ProcessId self() const { return Core::self; }
  void set_self(ProcessId self) { Core::self = self; }
  Peer* peer(ProcessId process) { return peers_.find(process); }
  Peer* target(uint32_t ni, ptl_process_t id) { return peers_.target(ni, id); }
  std::string transport_names() const { return peers_.transport_names(); }
  TransportName transport_name(const Peer& peer) const { return peer.transport ? peer.transport->name() : TransportName{}; }
  std::vector<int> wait_fds() const { return peers_.wait_fds(); }
  const std::atomic<uint32_t>& throttled_peers() const { return flow_.throttled_peers(); }  // [any]

  // ---- control verbs, run at once for a caller that waits for the outcome (PTL_* codes); see the classes ----
  int portal_alloc(uint32_t ni, unsigned options, uint32_t eq, uint32_t wanted, uint32_t& index) {
    return table_.alloc(ni, options, eq, wanted, index);
  }
  int portal_free(uint32_t ni, uint32_t index) { return target_.free_portal(ni, index); }
  int portal_enable(uint32_t ni, uint32_t index) { return table_.enable(ni, index); }
  int portal_disable(uint32_t ni, uint32_t index) { return table_.disable(ni, index); }
  int unlink(uint32_t handle) { return table_.unlink(handle); }
  int discard_entry(uint32_t handle) { return discard(handle), PTL_OK; }
  int search(uint32_t ni, uint32_t pt, const MatchPattern& pattern, const ListEntry& like, ptl_search_op_t op) {
    return target_.unexpected().search(ni, pt, pattern, like, op);
  }
  int set_aside(uint32_t ni, uint32_t pt, const MatchPattern& pattern, const ListEntry& like, uint64_t label) {
    return target_.unexpected().set_aside(ni, pt, pattern, like, label);
  }
  int limit_held(uint32_t ni, uint32_t pt, uint64_t headers_only_from, uint64_t most) {
    return flow_.limit_held(ni, pt, headers_only_from, most);
  }
  void withdraw_puts(const PutsOf& like) { initiator_.withdraw(like); }
  int refuse_held(uint32_t ni, uint32_t pt, const MatchPattern& pattern) { return target_.refuse_held(ni, pt, pattern); }
  void drop_triggers(Counter& counter, uint32_t handle) { triggers_.drop(counter, handle); }
  // The same for a user, who need not know what has had its turn: what is ripe runs first, what recurs for the last time.
  void cancel_triggers(Counter& counter, uint32_t handle);
  // What is under way that will count there: 1 messages whose data a peer has yet to take, 2 anything else.
  unsigned counts_on(uint32_t ct) const;
  // E6: thresholds are compared with successes from now on, so nothing ripens by it.
  void guard(Counter& counter, uint32_t errors);
  // The end of this peer will be a failure on the counter; also if it has come already.
  int watch(uint32_t ct, Peer& peer);
  void unwatch(uint32_t ct) { peers_.unwatch(ct); }
  int set_map(uint32_t ni, const ptl_process_t* mapping, size_t size);
  void close_interface(uint32_t ni);

  // ---- Sink: what transports deliver ----
  void arrived(Link& from, const wire::Header& header, const std::byte* payload) override;
  void moved(void* context, bool ok) override { target_.landed(context, ok); }
  void lost(Link& link) override;
  void introduced(Link& link, Transport& by) override;

 private:
  void settle_now();
  int go_on(uint64_t now_ns);
  int run_commands();
  int run_ready();
  void run_first_ready();
  bool anything_begun() const;
  bool goes_on_unrung() const;
  bool waiting() const;
  void end_lost_peers();
  [[gnu::noinline]] void throttled(Peer& by, const wire::Header& header);

  Stats own_stats_;
  CommandQueue commands_;
  uint64_t look_interval_ns_ = 250'000'000;
  uint64_t look_due_ns_ = 0;  // when to look for dead peers again
  // Each may call those above it.
  Triggers triggers_;
  Reports reports_;
  LocalOperations local_;
  Peers peers_;
  FlowControl flow_;
  PortalTable table_;
  Initiator initiator_;
  Target target_;
};

}  // namespace portunus
