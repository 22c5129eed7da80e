// engine.hpp: the communication processor of one process: it matches, moves, counts and triggers.
//
// The duty cycle alone: step(), execute(), and who gets what arrives. What is done there is the verbs' business, each a
// class of its own below; calls go down that list only. README.md draws it.
//
// Thread: every member is called by the holder of the baton only (progress/ takes it; Clang checks it), except what is marked [any].
// Invariants: step() never blocks, does not recurse and does a bounded amount of work; a counter that reaches a threshold
// moves its commands to the ready queue, which the same step drains. A peer that is lost ends with the step that learns of
// it. Source: Portals 4.3; PEACE (communication processor); ESPGOAL (offloaded schedules).
#pragma once

#include "engine/core/core.hpp"
#include "engine/core/initiator/initiator.hpp"
#include "engine/core/peers.hpp"
#include "engine/core/portal_table.hpp"
#include "engine/core/reports.hpp"
#include "engine/core/target/flow_control.hpp"
#include "engine/core/target/target.hpp"
#include "engine/core/triggered/awaited_words.hpp"
#include "engine/core/triggered/local_operations.hpp"
#include "engine/core/triggered/triggers.hpp"
#include "engine/progress/under_baton.hpp"
#include "engine/shared/command_queue.hpp"

namespace portunus {

class Engine final : public Sink, private Core {
 public:
  // The engine counts in `stats`, if that is given.
  Engine(Objects& objects, uint32_t uid, Stats* stats = nullptr);
  ~Engine();

  // ---- the duty cycle ----
  // Commands, arrivals, ripe triggers, bulk transfers, messages held back. Returns the work done.
  int step(uint64_t now_ns) UNDER_BATON;
  // Runs one command now: fresh, queued or triggered.
  void execute(Command& command) UNDER_BATON;
  void execute_queued(Command& command) UNDER_BATON;  // of a call that cannot be told any more that there was no memory for it
  // After a command from outside: triggers it ripened and messages to this very process, a bounded number.
  void settle() UNDER_BATON {
    if (triggers_.ready() || peers_.self_may_deliver()) settle_now();
  }
  CommandQueue& commands() { return commands_; }  // [any] push

  // E11: what a layer above does in each step, one of it at a time. False: another one is there.
  bool use_stepper(const ptlx_stepper_t& stepper) UNDER_BATON {
    if (stepper_ == nullptr) stepper_ = &stepper;
    return stepper_ == &stepper;
  }
  int run_stepper(void* item) UNDER_BATON {
    const int done = stepper_->step(stepper_->arg, item);
    posted = posted || done > 1;
    is_news = is_news || (item != nullptr && stepper_pending());
    return done;
  }

  // ---- for who sleeps ----
  using Core::posted;  // set by whatever an application thread may wait for; who steps clears it
  bool has_delays() const UNDER_BATON { return local_.has_delays(); }
  // Nothing that step() would do at once, or soon without a message from outside. Asked after arming the doorbell.
  bool idle() UNDER_BATON;
  bool may_be_busy() const UNDER_BATON { return maybe_busy; }  // false: not busy, either
  // Nothing is under way here, but what waits for other processes.
  bool all_quiet() UNDER_BATON { return idle() && !anything_begun(); }
  // True when somebody must go on stepping although no message arrives (bulk moves, back-pressure, delays).
  bool busy() UNDER_BATON { return maybe_busy && (maybe_busy = anything_begun()) && goes_on_unrung(); }
  // There is something to do that a few steps bring to its end, and no data to be moved.
  bool ends_soon() const UNDER_BATON { return maybe_busy && (triggers_.ready() || local_.working()) && !target_.moving(); }
  // How long whoever sleeps may leave the engine alone although nothing rings: peers that are waited for may die without a
  // word, and arrivals be held until their time. -1: as long as it likes.
  int64_t max_idle_ns() UNDER_BATON;
  // A step that finds nothing takes as long as several elsewhere.
  bool step_is_costly() const UNDER_BATON { return peers_.poll_is_costly(); }
  // A triggered operation, something of a layer's stepper or who waits for a word is there that was not when this was asked last.
  bool take_news() UNDER_BATON { return is_news && std::exchange(Core::is_news, false); }
  // The bits of the process's watch that stand for memory which a step looks at.
  uint32_t watched() const UNDER_BATON { return awaited_.watched(); }
  // Peers that have died are noticed about twice as late as this at most (on the node; the fabric has a bound of its own).
  void keep_house_every(uint64_t interval_ns) UNDER_BATON { look_interval_ns_ = interval_ns; }
  // Everything issued has left this process (what a peer may depend on before we go).
  bool flushed() const UNDER_BATON {
    return !peers_.any_stalled() && initiator_.pending().empty() && !target_.moving() && !triggers_.ready();
  }

  // ---- what others see of it ----
  Stats& stats() { return Core::stats; }  // [any] read
  Interface& interface(uint32_t ni) { return interfaces[ni]; }
  const std::atomic<uint32_t>& restraints() const { return Core::restraints; }                // [any]
  bool overfull() const { return Core::full_backlogs.load(std::memory_order_relaxed) != 0; }  // [any]
  ProcessId self() const { return Core::self; }
  void set_self(ProcessId self) UNDER_BATON { Core::self = self; }
  Peer* peer(ProcessId process) UNDER_BATON { return peers_.find(process); }

  // ---- verbs that a caller runs and waits for (PTL_* codes): each class says what it offers ----
  Peers& peers() UNDER_BATON { return peers_; }
  FlowControl& flow() UNDER_BATON { return flow_; }
  PortalTable& table() UNDER_BATON { return table_; }
  Initiator& initiator() UNDER_BATON { return initiator_; }
  Target& target() UNDER_BATON { return target_; }
  Triggers& triggers() UNDER_BATON { return triggers_; }
  using Core::discard;
  // triggers().drop for a user, who need not know what has had its turn: what is ripe runs first, what recurs for the last time.
  void cancel_triggers(Counter& counter, uint32_t handle) UNDER_BATON;
  // The kinds of pending work that will count there, a bit each: 1 messages whose data a peer has yet to take, 2 anything else.
  unsigned counts_on(uint32_t ct) const UNDER_BATON;
  // E6: thresholds are compared with successes from now on, so nothing ripens by it.
  void guard(Counter& counter, uint32_t errors) UNDER_BATON;
  // The end of this peer will be a failure on the counter; also if it has come already.
  int watch(uint32_t ct, Peer& peer) UNDER_BATON;
  int set_map(uint32_t ni, const ptl_process_t* mapping, size_t size) UNDER_BATON;
  // The rank of a process that can be reached, a new one unless it has one. PTL_FAIL: it cannot; kNotYet: another that had its address is
  // being buried.
  static constexpr int kNotYet = -1;
  int extend_map(uint32_t ni, ProcessId process, uint32_t incarnation, ptl_rank_t& rank) UNDER_BATON;
  void close_interface(uint32_t ni) UNDER_BATON;

  // ---- Sink: what transports deliver ----
  void arrived(Link& from, const wire::Header& header, const std::byte* payload) UNDER_BATON override;
  void moved(void* context, bool ok) UNDER_BATON override { target_.landed(context, ok); }
  void lost(Link& link) UNDER_BATON override;
  void introduced(Link& link, Transport& by) UNDER_BATON override;

 private:
  void settle_now() UNDER_BATON;
  int go_on(uint64_t now_ns) UNDER_BATON;
  int run_commands() UNDER_BATON;
  int run_ready() UNDER_BATON;
  void run_first_ready() UNDER_BATON;
  bool all_taken_up() UNDER_BATON;
  bool stepper_pending() const {
    return stepper_ != nullptr && std::atomic_ref<const uint32_t>(*stepper_->pending).load(std::memory_order_relaxed) != 0;
  }
  bool anything_begun() const UNDER_BATON;
  bool goes_on_unrung() const UNDER_BATON;
  bool waiting() const;
  void end_lost_peers() UNDER_BATON;
  [[gnu::noinline]] void throttled(Peer& by, const wire::Header& header);

  Stats own_stats_;
  CommandQueue commands_;
  const ptlx_stepper_t* stepper_ = nullptr;
  uint64_t look_interval_ns_ = 250'000'000;
  uint64_t look_due_ns_ = 0;  // when to look for dead peers again
  // Each may call those above it.
  Triggers triggers_;
  Reports reports_;
  AwaitedWords awaited_;
  LocalOperations local_;
  Peers peers_;
  FlowControl flow_;
  PortalTable table_;
  Initiator initiator_;
  Target target_;
};

}  // namespace portunus
