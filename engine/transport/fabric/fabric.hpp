// fabric.hpp: the transport over libfabric: reliable datagrams to every process that has an address.
//
// Eager messages go from bounce buffers (or by fi_inject) into receive buffers of one send each; bulk is fi_read and fi_write.
// Buffers for many sends (FI_MULTI_RECV) will not do: the tcp provider of libfabric 1.17 gives one back while a message from
// another connection is still on its way into it, and the next message overwrites that one.
// The connection manager finds peers and notices their end (connection_manager.hpp). `pid` is its TCP port.
//
// Thread: the holder of the baton; the sink is called from `poll` alone.
// Invariants: see transport.hpp. Beyond that: `introduced` precedes the first `arrived` of a process we did not ask for;
// after `lost` nothing arrives from that link, and each of its pulls and pushes has been told as moved(context, false).
// A process that starts anew with the address of a lost one gets a new Link.
// Trust: keys and addresses from the wire go to fi_read/fi_write only, where the *owner's* provider checks them (shm
// with cross-memory attach leaves that to the kernel: processes of one user may read each other anyway).
// Source: fi_endpoint(3), fi_msg(3), fi_rma(3), fi_cq(3).
#pragma once

#include <cstdlib>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/transport/fabric/connection_manager.hpp"
#include "engine/transport/fabric/endpoint.hpp"
#include "engine/transport/fabric/link.hpp"
#include "engine/transport/fabric/memory.hpp"
#include "engine/transport/fabric/message.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

struct FabricOptions {
  std::string provider;     // PTL_FABRIC_PROVIDER; empty: the best that fi_getinfo offers
  std::string interface;    // PTL_FABRIC_INTERFACE: see choose_nid (host/address.hpp)
  uint32_t pid = 0;         // the port wanted, or 0 for any
  uint32_t uid = 0;         // what we say we run as
  uint32_t timeout_s = 30;  // PTL_PEER_TIMEOUT: for how long a connection may be silent when it should not
  size_t local_rank = 0;    // where processes of a node take turns in using its devices
};

class FabricTransport final : public Transport, public Bundling, private fabric::ConnectionClient {
 public:
  // Throws std::system_error or std::runtime_error: cause and remedy in one sentence.
  FabricTransport(Sink& sink, const FabricOptions& options);
  // Lets what was sent leave, for a bounded time.
  ~FabricTransport() override;

  ProcessId self() const { return connections_.self(); }
  // Messages dropped because they were not ours, or not complete.
  uint64_t malformed() const { return malformed_; }

  TransportName name() const override { return {PTLX_TRANSPORT_NETWORK, name_.c_str()}; }
  TransportLimits limits() const override { return limits_; }
  // Null for ourselves (the self transport does that) and for what is no address.
  Link* connect(ProcessId process) override;
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override;
  bool expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) override;
  void withdraw(Exposed& exposed) override;
  Moved pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) override;
  Moved push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) override;
  int poll(int budget) override;
  void flush() override;
  bool idle() override;
  void housekeeping(bool) override {
    connections_.look(*this);
    look_for_dropped_moves();
  }
  bool needs_housekeeping() override { return connections_.needs_look() || !moves_.empty(); }
  // -1 with providers that have no FI_WAIT_FD (shm): then somebody must poll.
  int wait_fd() const override { return wait_; }

 private:
  using Operation = fabric::Operation;
  using Kind = Operation::Kind;
  static constexpr size_t kKinds = 4;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  using Buffer = std::unique_ptr<std::byte, Free>;
  static constexpr int kBatch = 16;
  static constexpr size_t kFrame = 4096;  // bytes of messages collected into one send at most

  // setup.cpp
  void size_messages();
  std::byte* allocate(size_t size, uint64_t access, fabric::Registration*& registration);
  bool add_operations(Kind kind, size_t count);
  void open_wait();
  fabric::Hello hello() const;
  void drain_on_close();
  bool confirm();
  // links.cpp
  fabric::FabricLink* make_link(ProcessId process);
  void begin(fabric::FabricLink& link);
  void disconnect(fabric::FabricLink& link);
  int reap();
  void abandon(fabric::FabricLink& link);
  void abandon_sends(fabric::FabricLink& link);
  int probe();
  fabric::FabricLink* hello_received(fabric::FabricLink* link, const fabric::Hello& hello) override;
  size_t unsettled() const override { return unsettled_; }
  void disconnected(fabric::FabricLink& link, bool is_silent) override {
    link.is_silent = is_silent;
    disconnect(link);
  }
  // fabric.cpp
  std::vector<Operation*>& pool_of(Kind kind) { return free_[static_cast<size_t>(kind)]; }
  size_t& missing_of(Kind kind) { return missing_[static_cast<size_t>(kind)]; }
  Operation* claim(Kind kind);
  [[nodiscard]] static size_t buffer_size(Kind kind);
  fabric::Prefix prefix_to(const fabric::FabricLink& link, uint16_t magic) const;
  ssize_t hand_to_provider(fabric::FabricLink& link, Operation& operation, size_t size, bool confirmed);
  void taken(fabric::FabricLink& link, Operation& operation);
  ssize_t send_probe(fabric::FabricLink& link, bool confirmed);
  Sent send_on_credit(fabric::FabricLink& link, const wire::Header& header, std::span<const iovec> payload);
  bool put_word(fabric::FabricLink& link, const fabric::Word& word);
  template <class Write>
  Sent put_out(fabric::FabricLink& link, size_t size, Write&& write);
  bool send_frame(fabric::FabricLink& link);
  void drop_frame(fabric::FabricLink& link);
  void grant(fabric::FabricLink& link);
  int grant_owed();
  void hand_over(fabric::FabricLink& link, const wire::Header& header, const std::byte* payload);
  void receive_more();
  int fetch(fi_cq_data_entry* entries, int most);
  void completed(void* context, size_t bytes, int error);
  void received(Operation& operation);
  void take_in(fabric::FabricLink& link, Operation& operation);
  size_t take_first(fabric::FabricLink& link, std::span<const std::byte> bytes);
  bool take_word(fabric::FabricLink& link, const fabric::Word& word);
  fabric::FabricLink* sender_of(const fabric::Prefix& prefix);
  void finish(Operation& operation, bool ok);
  // eager_rdma.cpp
  bool write_data(fabric::FabricLink& link, const wire::Header& header, std::span<const iovec> payload);
  void offer(fabric::FabricLink& link);
  const std::byte* take_data(fabric::FabricLink& link);
  // moves.cpp
  Moved move(fabric::FabricLink& link, const wire::Region& remote, void* local, size_t size, void* context, bool out);
  ssize_t start(Operation& operation, const fabric::FabricLink& link, const iovec& piece, const wire::Region& remote, bool out,
                uint64_t flags);
  ssize_t ask_for_piece(fabric::FabricLink& link);
  ssize_t ask_for_more(fabric::FabricLink& link);
  void returned(Operation& operation, bool ok);
  void go_on(fabric::FabricLink& link);
  int retry_moves();
  void look_for_dropped_moves();
  static void give_up(fabric::Move& move);
  void settle(fabric::Move& move);
  void abandon_moves(fabric::FabricLink& link);
  // Notes that the completion queue may hold something that its descriptor does not tell of: the provider was called.
  ssize_t asked(ssize_t status) {
    unread_ = true;
    return status;
  }

  Sink& sink_;
  FabricOptions options_;
  std::vector<Buffer> buffers_;       // these two before the endpoint, which holds pointers to them
  std::deque<Operation> operations_;  // never moves its elements
  fabric::ConnectionManager connections_;
  fabric::Endpoint endpoint_;
  fabric::Registrations registrations_;
  std::string name_;
  TransportLimits limits_;
  size_t inject_size_ = 0;
  std::vector<Operation*> free_[kKinds];  // by Kind; receives: those that the provider did not take back yet
  size_t missing_[kKinds] = {};           // how many of them to add when none is free: not added yet, or of lost links
  std::list<fabric::Move> moves_;
  size_t receives_ = 0;                                     // how many there are
  std::vector<std::unique_ptr<fabric::FabricLink>> links_;  // by slot
  std::unordered_map<uint64_t, fabric::FabricLink*> by_process_;
  std::vector<fabric::FabricLink*> disconnected_;
  std::vector<fabric::FabricLink*> opening_;  // we probe these
  size_t unsettled_ = 0;                      // links that have never been ready
  uint32_t turn_ = 0;
  bool connections_due_ = false;
  bool served_ = false;     // something was completed since `idle` was asked
  bool unread_ = true;      // the completion queue may hold something, whatever its descriptor says
  bool held_back_ = false;  // the provider has refused the last send for now, with none in flight
  size_t offers_ = 0;       // peers that were offered slots, also those that are gone
  size_t sends_in_flight_ = 0;
  std::vector<fabric::FabricLink*> refused_;  // their next piece was refused, with none on its way
  std::vector<fabric::FabricLink*> framed_;   // they collect messages, or did since the last flush
  fabric::CreditPool credit_pool_;
  std::vector<fabric::FabricLink*> owed_;  // they are granted more credit when the provider takes it
  uint64_t malformed_ = 0;
  int wait_ = -1;
};

}  // namespace portunus
