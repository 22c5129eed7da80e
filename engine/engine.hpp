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
#include "engine/peer.hpp"
#include "engine/shared/baton.hpp"
#include "engine/shared/command_queue.hpp"
#include "engine/shared/objects.hpp"
#include "engine/shared/stats.hpp"
#include "engine/transport/transport.hpp"
#include "engine/trigger.hpp"

namespace portunus {

struct Operation;  // initiator.hpp: a request whose answer is awaited
struct Transfer;   // target.hpp: bulk data on its way into or out of an entry
struct KeptHeader; // target.hpp: an unexpected header

constexpr uint32_t kInterfaces = 4;

class Engine final : public Sink {
 public:
  // The transports in order of preference: the first that connects to a process carries its messages.
  Engine(Objects& objects, ProcessId self, uint32_t uid);
  ~Engine();
  void add_transport(std::unique_ptr<Transport> transport);

  // One duty cycle: commands, arrivals, ripe triggers, bulk transfers, messages held back. Returns the work done.
  int step(uint64_t now_ns);
  // Runs one command now: fresh, queued or triggered.
  void execute(Command& command);
  // Nothing that step() would do at once, or soon without a message from outside. Asked after arming the doorbell.
  bool idle();
  // True when somebody must go on stepping although no message arrives (bulk moves, back-pressure, delays).
  bool busy() const { return !transfers_.empty() || !stalled_.empty() || !delays_.empty() || ready_ != nullptr; }
  // Everything issued has left this process (what a peer may depend on before we go).
  bool flushed() const { return stalled_.empty() && operations_ == 0 && transfers_.empty(); }

  CommandQueue& commands() { return commands_; }  // [any] push
  Stats& stats() { return stats_; }               // [any] read
  Interface& interface(uint32_t ni) { return interfaces_[ni]; }
  ProcessId self() const { return self_; }
  // Set by whatever changed something that an application thread may wait for; the client clears it.
  bool posted = false;

  Peer* peer(ProcessId process);
  Peer* target(uint32_t ni, ptl_process_t id);
  const char* transport_name(const Peer& peer) const { return peer.transport ? peer.transport->name() : "none"; }
  std::vector<int> wait_fds() const;
  void fail_peer(Peer& peer);

  // Sink
  void arrived(Link& from, const wire::Header& header, const std::byte* payload) override;
  void moved(void* context, bool ok) override;
  void lost(Link& link) override;
  void introduced(Link& link) override;

 private:
  // engine.cpp
  int run_ready();
  int run_delays(uint64_t now_ns);
  int run_stalled();
  void answer(Command& command, int code, uint64_t value = 0);
  // initiator.cpp
  void start_message(Command& command);
  bool transmit(Peer& peer, Command& command);
  Sent transmit_put(Peer& peer, Command& command);
  Sent transmit_get(Peer& peer, Command& command);
  Sent transmit_fetch(Peer& peer, Command& command);
  void undeliverable(Command& command);
  void sent_event(const Local& local, uint64_t length, void* user_ptr, ptl_ni_fail_t fail);
  void answered(Link& from, const wire::Header& header, const std::byte* payload);
  void stream_out(Link& from, const wire::Header& header);
  void stream_in(Link& from, const wire::Header& header, const std::byte* payload);
  void finish(Operation& operation, const wire::Header& header);
  Operation* operation(uint64_t token, const Peer* peer);
  Operation& new_operation(Peer& peer, const Command& command);
  void end_operation(Operation& operation);
  // Sends an engine message, or keeps it until the transport takes it.
  void send(Peer& peer, wire::Header header, const void* payload, size_t size);
  void stall(Peer& peer);
  // target.cpp
  void request(Link& from, const wire::Header& header, const std::byte* payload);
  ListEntry* match(PortalEntry& portal, Interface& ni, const wire::Header& header, uint64_t source, bool& overflow);
  void refuse(Peer& peer, const wire::Header& header, ptl_ni_fail_t why);
  void deliver(Peer& peer, const wire::Header& header, const std::byte* payload, ListEntry& entry, uint64_t source, bool overflow);
  void deliver_data(Delivery& delivery, const std::byte* payload);
  void start_transfer(Delivery& delivery, const std::byte* payload);
  bool advance(Transfer& transfer);
  void end_transfer(Transfer& transfer, bool ok);
  int run_transfers();
  void complete(Delivery& delivery, ptl_ni_fail_t fail);
  void acknowledge(const Delivery& delivery, ptl_ni_fail_t fail);
  // unexpected.cpp
  void keep(Peer& peer, const wire::Header& header, const std::byte* payload, ListEntry& entry, uint64_t source);
  void remember(Delivery& delivery);
  bool consume(KeptHeader& kept, ListEntry& entry);
  bool satisfy_from_unexpected(ListEntry& entry, PortalEntry& portal);
  void settle_unexpected(KeptHeader& kept);
  void forget(KeptHeader& kept);
  // entries.cpp
  void append(Command& command);
  void unlink(Command& command);
  void search(Command& command);
  void release_entry(ListEntry& entry);
  void take_off_list(ListEntry& entry);
  void entry_idle(ListEntry& entry);
  void portal_command(Command& command);
  void close_interface(uint32_t ni);
  // events.cpp
  void post(uint32_t eq, const ptl_event_t& event);
  void count(uint32_t ct, uint64_t success, uint64_t failure);
  void entry_event(const ListEntry& entry, ptl_event_kind_t type, ptl_ni_fail_t fail);
  // trigger.cpp
  void arm(Command& command);
  void add_to_counter(Counter& counter, uint64_t success, uint64_t failure);
  void ripen(Counter& counter);
  void drop_triggers(Counter& counter);
  void run_local(Command& command);

  friend struct EngineProbe;  // the tests' window

  Objects& objects_;
  ProcessId self_;
  uint32_t uid_;
  CommandQueue commands_;
  Stats stats_;
  std::array<Interface, kInterfaces> interfaces_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::unordered_map<uint64_t, std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> stalled_;          // peers with messages held back
  std::deque<Operation> operation_pool_;
  Operation* free_operation_ = nullptr;
  uint64_t operations_ = 0;             // in flight
  std::vector<Transfer*> transfers_;    // in flight, as target
  Trigger* ready_ = nullptr;            // ripe commands, first in first out
  Trigger* ready_tail_ = nullptr;
  struct Delay { uint64_t due_ns; uint32_t ct; };
  std::vector<Delay> delays_;           // heap by due time
  uint64_t now_ns_ = 0;
};

}  // namespace portunus
