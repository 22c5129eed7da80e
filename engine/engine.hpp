// engine.hpp: the communication processor of one process: it matches, moves, counts and triggers.
//
// Thread: every member is called by the holder of the baton only (client.hpp takes it), except what is marked [any].
// Invariants: step() never blocks, recurses at most two calls deep and does a bounded amount of work; a counter that reaches a
// threshold moves its commands to the ready queue, which the same step drains.
// Source: Portals 4.3; PEACE (communication processor); ESPGOAL (offloaded schedules).
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/host/options.hpp"
#include "engine/interface.hpp"
#include "engine/local_work.hpp"
#include "engine/peer.hpp"
#include "engine/shared/baton.hpp"
#include "engine/shared/command_queue.hpp"
#include "engine/shared/objects.hpp"
#include "engine/shared/stats.hpp"
#include "engine/transport/transport.hpp"
#include "engine/target.hpp"
#include "engine/initiator.hpp"
#include "engine/trigger.hpp"
#include "engine/withdraw.hpp"

namespace portunus {

constexpr uint64_t kLocalBytesPerStep = 128 * 1024;

// The source of a volatile descriptor must be copied before the call returns, where it is not sent at once.
void own_volatile(Command& command);

class Engine final : public Sink {
 public:
  // Transports are added in order of preference, `self` first: the first that connects to a process carries its messages.
  // What it counts about itself goes to `stats`, if that is given.
  Engine(Objects& objects, uint32_t uid, Stats* stats = nullptr);
  ~Engine();
  void add_transport(std::unique_ptr<Transport> transport, bool costly_to_poll = false);

  // One duty cycle: commands, arrivals, ripe triggers, bulk transfers, messages held back. Returns the work done.
  int step(uint64_t now_ns);
  // Runs one command now: fresh, queued or triggered.
  void execute(Command& command);
  // A put that needs no record beyond the call: small, from one piece of memory, without acknowledgement. `header` is complete but for
  // payload_size. False: something is in the way, nothing was done, it takes a Command.
  bool put_at_once(wire::Header& header, ptl_process_t to, const Local& source, void* user_ptr);
  // After a command from outside: triggers it ripened and messages to this very process, a bounded number.
  void settle() {
    if (ready_ || (!carriers_.empty() && carriers_.front().transport->state.may_deliver)) settle_now();
  }
  bool has_delays() const { return !delays_.empty() || !new_delays_.empty(); }
  // Nothing that step() would do at once, or soon without a message from outside. Asked after arming the doorbell.
  bool idle();
  bool restless() const { return restless_; }  // false: not busy, either
  // True when somebody must go on stepping although no message arrives (bulk moves, back-pressure, delays).
  bool busy() {
    if (!restless_) return false;
    restless_ = moves_go_on() || stalled_go_on() || has_delays() || ready_ != nullptr || !works_.empty();
    return restless_;
  }
  // Is there nothing to do, now or at a time that somebody must keep in mind?
  bool quiet() {
    for (const Carrier& carrier : carriers_)
      if (carrier.transport->state.holding) return false;
    return idle() && !busy();
  }
  // How long whoever sleeps may leave the engine alone although nothing rings: peers that are waited for may die without a
  // word, and arrivals be held until their time. -1: as long as it likes.
  int64_t patience_ns();
  // Peers that have died are noticed about twice as late as this at most (on the node; the fabric has a bound of its own).
  void look_every(uint64_t interval_ns) { look_interval_ns_ = interval_ns; }
  // Everything issued has left this process (what a peer may depend on before we go).
  bool flushed() const { return stalled_.empty() && operations_ == 0 && transfers_.empty() && !ready_; }

  // Sends what was kept back to travel together (bundles, PTLX_MD_LAZY). Every step ends so.
  void flush() {
    if (bundler_ && bundler_->state.keeps_back) bundler_->can().bundling->flush();
  }

  CommandQueue& commands() { return commands_; }  // [any] push
  Stats& stats() { return stats_; }               // [any] read
  Interface& interface(uint32_t ni) { return interfaces_[ni]; }
  ProcessId self() const { return self_; }
  void set_self(ProcessId self) { self_ = self; }
  // Set by whatever changed something that an application thread may wait for; the client clears it.
  bool posted = false;

  Peer* peer(ProcessId process);
  bool revive(Peer& peer);  // false: still lost
  Peer* target(uint32_t ni, ptl_process_t id);
  std::string transport_names() const;  // of all that are open
  TransportName transport_name(const Peer& peer) const { return peer.transport ? peer.transport->name() : TransportName{}; }
  std::vector<int> wait_fds() const;
  void fail_peer(Peer& peer);

  // Control verbs, run at once for a caller that waits for the outcome (PTL_* codes).
  int portal_alloc(uint32_t ni, unsigned options, uint32_t eq, uint32_t wanted, uint32_t& index);
  int portal_free(uint32_t ni, uint32_t index);
  int portal_enable(uint32_t ni, uint32_t index);
  int portal_disable(uint32_t ni, uint32_t index);  // PTL_IN_USE: messages are still being moved, step and ask again
  // Links a claimed entry, or lets an unexpected message have it. `match_bits`: of this round, for entries that recur.
  void append(uint32_t handle, uint64_t match_bits = 0);
  // The same for an entry that its caller has just claimed, under the baton, for a portal that is allocated.
  void append_now(ListEntry& entry, PortalEntry& portal) {
    const bool priority = entry.list == PTL_PRIORITY_LIST;
    if (priority && !portal.unexpected.empty() && satisfy_from_unexpected(entry, portal)) return;
    entry.on_list = true;
    (priority ? portal.priority : portal.overflow).append(entry);
    if (!(entry.options & PTL_ME_EVENT_LINK_DISABLE)) entry_event(entry, PTL_EVENT_LINK);
  }
  int unlink(uint32_t handle);
  int discard_entry(uint32_t handle);  // claimed, but its append was refused
  // PTL_IN_USE: the data of a header to be deleted is still arriving, nothing was done; step and ask again
  int search(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern, const ListEntry& like, ptl_search_op_t op);
  int limit_held(uint32_t ni, uint32_t pt_index, uint64_t headers_only_from, uint64_t most);
  // [any] How many peers have asked this process for less.
  const std::atomic<uint32_t>& restrained_peers() const { return restrained_peers_; }
  int set_aside(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern, const ListEntry& like, uint64_t label);
  // E10. Ends the puts of `like` that have not matched: those that have not left at once, the others by their targets.
  void withdraw_puts(const PutsOf& like);
  // Headers held of the portal that the pattern matches end as dropped.
  int refuse_held(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern);
  // Takes back what is parked on the counter or waits, ripe, for its turn.
  void drop_triggers(Counter& counter, uint32_t handle);
  // The same for a user, who need not know what has had its turn: what is ripe runs first, what recurs for the last time.
  void cancel_triggers(Counter& counter, uint32_t handle);
  unsigned counts_on(uint32_t ct) const;
  void guard(Counter& counter, uint32_t errors);
  int watch(uint32_t ct, Peer& peer);
  void unwatch(uint32_t ct);
  int set_map(uint32_t ni, const ptl_process_t* mapping, size_t size);
  void close_interface(uint32_t ni);

  // Sink
  void arrived(Link& from, const wire::Header& header, const std::byte* payload) override;
  void moved(void* context, bool ok) override;
  void lost(Link& link) override;
  void introduced(Link& link, Transport& by) override;

 private:
  // engine.cpp
  void settle_now();
  int run_commands();
  int run_ready();
  void run_first_ready();
  int run_delays(uint64_t now_ns);
  int run_stalled();
  bool waiting() const { return operations_ != 0 || !transfers_.empty() || !stalled_.empty() || watches_ != 0 || paused_ != 0; }
  void housekeeping(uint64_t now_ns);
  // initiator.cpp
  void start_message(Command& command);
  Sent transmit(Peer& peer, Command& command);
  Sent transmit_put(Peer& peer, Command& command);
  Sent transmit_get(Peer& peer, Command& command);
  Sent transmit_fetch(Peer& peer, Command& command);
  enum class Opened : uint8_t { not_at_all, for_reading, for_writing };  // the command's memory, to the target
  Sent send_bulk(Peer& peer, wire::Header& header, Command& command, Operation& pending, Opened how);
  Sent send_gathered(Peer& peer, const wire::Header& header, const Local& source, uint64_t size, const void* front, size_t front_size);
  void hold(Peer& peer, HeldMessage message);
  void send(Peer& peer, wire::Header header, const void* payload, size_t size);
  // operations.cpp
  Operation& new_operation(Peer& peer, const Command& command);
  Operation* operation(uint64_t token, const Peer* peer);
  void end_operation(Operation& operation);
  void answered(Link& from, const wire::Header& header, const std::byte* payload);
  void finish(Operation& operation, uint64_t mlength, uint64_t offset, ptl_ni_fail_t fail, ptl_list_t list);
  void stream_out(Link& from, const wire::Header& header);
  void stream_in(Link& from, const wire::Header& header, const std::byte* payload);
  void undeliverable(Command& command);
  void send_event(const Local& local, uint64_t length, void* user_ptr, ptl_ni_fail_t fail);
  // target.cpp
  void request(Link& from, const wire::Header& header, const std::byte* payload);
  void put_whole(Link& from, const wire::Header& header, const std::byte* payload, PortalEntry& portal, ListEntry& entry, uint64_t source,
                 EventQueue* queue);
  [[gnu::noinline]] void receive(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, ListEntry& entry,
                                 uint64_t source, uint32_t events);
  ListEntry* match(PortalEntry& portal, const wire::Header& header, uint64_t source);
  void refuse(Peer& peer, const wire::Header& header, ptl_ni_fail_t why);
  void no_match(Interface& ni, PortalEntry& portal, Peer& peer, const wire::Header& header, const ListEntry* cause = nullptr);
  // The queue that flow control goes by; nullptr when its user has freed it: nothing can be lost there.
  EventQueue* limiting_queue(const PortalEntry& portal) { return objects_.queues.find(portal.eq); }
  void place(Delivery& delivery);
  static bool touchable(const ListEntry& entry, uint64_t offset, uint64_t size, bool write);
  void deliver(Delivery& delivery, const std::byte* payload);
  void apply_gathered(Delivery& delivery, const std::byte* data, std::byte* old);
  void move_data(Delivery& delivery, const std::byte* payload);
  void complete(Delivery& delivery, ptl_ni_fail_t fail);
  void acknowledge(const Delivery& delivery, ptl_ni_fail_t fail);
  // transfer.cpp
  void start_transfer(const Delivery& delivery, const wire::Region& region);
  bool advance(Transfer& transfer);
  static bool next_touchable(const Transfer& transfer);
  bool advance_stream(Transfer& transfer);
  void land(Transfer& transfer);
  std::unique_ptr<std::byte[]> new_bounce();
  void turn_round(Transfer& transfer);
  void end_transfer(Transfer& transfer);
  int run_transfers();
  // fill.cpp
  static bool stage(Peer& peer, Command& command, Operation& pending);
  void begin_fill(Operation& operation);
  bool fill(Operation& operation, uint64_t& budget);
  int run_fills();
  void end_fill(Operation& operation);
  void drop_fills(uint32_t ni);
  bool advance_staged(Transfer& transfer);
  bool staging_ready() const;
  bool moves_go_on() const;
  bool stalled_go_on() const;
  // unexpected.cpp
  void keep(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, uint64_t source);
  KeptHeader* remember(const Delivery& delivery, PortalEntry& portal);
  static bool header_fits(const ListEntry& entry, const KeptHeader& kept);
  void nothing_found(const PortalEntry& portal, uint32_t pt_index, const ListEntry& like);
  void count_overflow(const KeptHeader& kept, const ListEntry& entry);
  bool satisfy_from_unexpected(ListEntry& entry, PortalEntry& portal);
  void consume(KeptHeader& kept, ListEntry& entry);
  KeptHeader* new_header();
  void forget(KeptHeader& kept);
  void abandon(KeptHeader& kept);
  void overflow_event(const KeptHeader& kept, uint32_t eq, void* user_ptr, ptl_event_kind_t type);
  // restraint.cpp
  static uint64_t held_bytes(const KeptHeader& kept);
  void account_held(PortalEntry& portal, const KeptHeader& kept);
  void release_held(PortalEntry& portal, const KeptHeader& kept);
  void tell(Peer& peer, const wire::Header& about, Restraint level);
  static Restrained* restraint_on(Peer& peer, const Command& command);
  bool restrain(Peer& peer, Command& command);
  void restrained(Link& from, const wire::Header& header);
  void lift(Peer& peer, std::list<Restrained>::iterator which);
  void drop_paused(Peer& peer, int ni, bool report);
  // withdraw.cpp
  void withdraw_kept(Link& from, const wire::Header& header);
  void withdrawn(Command& command);
  // entries.cpp, entry_life.hpp
  void take_off_list(ListEntry& entry);
  void auto_unlink(ListEntry& entry);
  void entry_idle(ListEntry& entry);
  void release_entry(ListEntry& entry) { release_entry(interfaces_[entry.ni], entry); }
  void release_entry(Interface& ni, ListEntry& entry);
  void release_live_entry(Interface& ni, ListEntry& entry);
  void give_entry_back(Interface& ni, ListEntry& entry, uint32_t index);
  void portal_idle(uint32_t ni, PortalEntry& portal, uint16_t pt_index);
  // events.cpp
  void post(uint32_t eq, const ptl_event_t& event);
  void post_inline(uint32_t eq, const ptl_event_t& event);
  void count(uint32_t ct, uint64_t success, uint64_t failure);
  void entry_event(const ListEntry& entry, ptl_event_kind_t type);
  void delivery_event(const Delivery& delivery, ptl_ni_fail_t fail);
  // trigger.cpp
  void arm(Command& command);
  void add_to_counter(Counter& counter, uint64_t success, uint64_t failure);
  void ripen(Counter& counter);
  void park(Counter& counter, Trigger& trigger);
  void make_ready(Trigger* first, Trigger* last);
  void run_again(Trigger& trigger);
  void drop(Trigger& trigger);
  void run_local(const Command& command);
  bool run_segment(LocalWork& work);
  int run_works();
  void begin_delays(uint64_t now_ns);

  friend struct EngineProbe;  // the tests' window

  Objects& objects_;
  ProcessId self_;
  uint32_t uid_;
  CommandQueue commands_;
  Stats own_stats_;
  Stats& stats_;
  std::array<Interface, kInterfaces> interfaces_;
  struct Carrier {
    std::unique_ptr<Transport> transport;
    bool costly = false;          // polling it takes a system call or a lock: not in steps that found other work
    uint32_t passed_over = 0;
  };
  std::vector<Carrier> carriers_;
  Transport* bundler_ = nullptr;        // the carrier whose messages are sent together where that may be, if there is one
  std::unordered_map<uint64_t, std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> stalled_;          // peers with messages held back
  std::deque<Operation> operation_pool_;
  Operation* free_operation_ = nullptr;
  uint64_t operations_ = 0;             // in flight
  uint64_t paused_ = 0;                 // puts that wait because their targets have asked for less
  std::atomic<uint32_t> restrained_peers_{0};
  uint64_t watches_ = 0;                // live watchers of all peers
  std::vector<Operation*> fills_;       // whose data are being copied together
  std::vector<std::unique_ptr<Transfer>> transfers_;  // in flight, as target
  uint64_t next_transfer_ = 1;
  std::vector<std::unique_ptr<std::byte[]>> spare_bounces_;
  // For reuse: unexpected messages that come again and again claim no memory, a few at a time not even the first time.
  static constexpr size_t kSpareHeaders = 1024, kFirstHeaders = 64;
  std::vector<std::unique_ptr<KeptHeader>> spare_headers_;
  std::vector<std::byte> scratch_;      // data of a reply while events are posted
  std::array<uint32_t, 64> spent_{};    // the last entries whose append unlinked them by LOCAL_INC_UH_RLENGTH
  uint32_t next_spent_ = 0;
  uint64_t look_interval_ns_ = 250'000'000;
  uint64_t look_due_ns_ = 0;            // when to look for dead peers again
  bool restless_ = false;               // set by all that puts something in the lists that busy() asks
  Trigger* ready_ = nullptr;            // ripe commands, first in first out
  Trigger* ready_tail_ = nullptr;
  std::deque<LocalWork> works_;         // local operations that take several steps
  uint64_t local_budget_ = kLocalBytesPerStep;  // bytes that local operations may still write in this step
  struct Delay { uint64_t due_ns; uint32_t ct; };
  std::vector<Delay> delays_;           // heap by due time
  std::vector<Delay> new_delays_;       // fired since the last step; due_ns is their length
};

}  // namespace portunus
