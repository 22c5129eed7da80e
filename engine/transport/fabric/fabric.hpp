// fabric.hpp: the transport over libfabric: reliable datagrams to every process that has an address.
//
// Eager messages go from bounce buffers (or by fi_inject) into receive buffers of one send each; bulk is fi_read and fi_write.
// Buffers for many sends (FI_MULTI_RECV) will not do: the tcp provider of libfabric 1.17 gives one back while a message from
// another connection is still on its way into it, and the next message overwrites that one.
// A peer is found, and its end noticed, by the guard (guard.hpp). `pid` is the guard's TCP port.
//
// Thread: the holder of the baton; the sink is called from `poll` alone.
// Invariants: see transport.hpp. Beyond that: `introduced` precedes the first `arrived` of a process we did not ask for;
// after `lost` nothing arrives from that link, and each of its pulls and pushes has been told as moved(context, false).
// A process that starts anew with the address of a lost one gets a new Link.
// Trust: keys and addresses from the wire go to fi_read/fi_write only, where the *owner's* provider checks them (shm
// with cross-memory attach leaves that to the kernel: processes of one user may read each other anyway).
// Source: fi_endpoint(3), fi_msg(3), fi_rma(3), fi_cq(3).
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/transport/fabric/endpoint.hpp"
#include "engine/transport/fabric/guard.hpp"
#include "engine/transport/fabric/link.hpp"
#include "engine/transport/fabric/memory.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

namespace fabric {
struct GrantMessage;
}

struct FabricOptions {
  std::string provider;     // PTL_FABRIC_PROVIDER; empty: the best that fi_getinfo offers
  std::string interface;    // PTL_FABRIC_INTERFACE: see choose_nid (host/address.hpp)
  uint32_t pid = 0;         // the port wanted, or 0 for any
  uint32_t uid = 0;         // what we say we run as
  uint32_t timeout_s = 30;  // PTL_PEER_TIMEOUT: for how long a connection may be silent when it should not
};

class FabricTransport final : public Transport, public Bundling, private fabric::GuardClient {
 public:
  // Throws std::system_error or std::runtime_error: cause and remedy in one sentence.
  FabricTransport(Sink& sink, const FabricOptions& options);
  // Lets what was sent leave, for a bounded time.
  ~FabricTransport() override;

  ProcessId self() const { return guard_.self(); }
  // Messages dropped because they were not ours, or not whole.
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
  void housekeeping(bool) override { guard_.look(*this); }
  bool needs_housekeeping() override { return guard_.needs_look(); }
  // -1 with providers that have no FI_WAIT_FD (shm): then somebody must poll.
  int wait_fd() const override { return wait_; }

 private:
  enum class Kind : uint8_t { receive, send, move, data };  // data: written for a put that travels whole
  struct Operation {
    fi_context2 context;  // first: FI_CONTEXT modes lend it to the provider, and op_context leads back here
    Kind kind;
    bool active = false;                 // the provider has it
    fabric::FabricLink* link = nullptr;  // null: not active, or its link was lost
    fabric::Move* move = nullptr;        // of which this is a piece
    size_t bytes = 0;                    // of that piece, or of the data
    uint64_t begun_ns = 0;
    std::byte* buffer = nullptr;
    void* descriptor = nullptr;
  };
  struct Buffers {  // mapped memory, released after the endpoint that uses it
    explicit Buffers(size_t bytes);
    Buffers(Buffers&& other) noexcept : memory(other.memory), size(other.size) { other.memory = nullptr; }
    ~Buffers();
    std::byte* memory;
    size_t size;
  };
  static constexpr int kBatch = 16;
  static constexpr size_t kFrame = 4096;  // messages are collected up to so many bytes: how long a receiver works on one send

  // setup.cpp
  void size_messages();
  bool add_operations(Kind kind, size_t count);
  void open_wait();
  fabric::Hello hello() const;
  void linger();
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
  void disconnected(fabric::FabricLink& link) override { disconnect(link); }
  // fabric.cpp
  std::byte* draft(fabric::FabricLink& link, size_t size);
  ssize_t dispatch(fabric::FabricLink& link, size_t size);
  ssize_t inject(fabric::FabricLink& link, const void* bytes, size_t size);
  void hand_to_provider(Operation& operation, fabric::FabricLink& link);
  Sent send_on_credit(fabric::FabricLink& link, const wire::Header& header, std::span<const iovec> payload);
  bool put_word(fabric::FabricLink& link, const void* word, size_t size);
  Sent put_message(fabric::FabricLink& link, const wire::Header& header, std::span<const iovec> payload, uint32_t magic);
  template <class Write>
  Sent put_out(fabric::FabricLink& link, size_t size, Write&& write);
  template <class Write>
  Sent send_alone(fabric::FabricLink& link, size_t size, Write&& write);
  fabric::GrantMessage next_grant(const fabric::FabricLink& link) const;
  void granted(fabric::FabricLink& link, uint64_t total);
  void grant(fabric::FabricLink& link);
  int grant_owed();
  bool begin_frame(fabric::FabricLink& link);
  bool send_frame(fabric::FabricLink& link);
  void drop_frame(fabric::FabricLink& link);
  Operation* claim(std::vector<Operation*>& pool, Kind kind);
  [[nodiscard]] static size_t buffer_size(Kind kind);
  std::vector<Operation*>& pool_of(Kind kind) {
    return kind == Kind::send ? free_sends_ : kind == Kind::move ? free_moves_ : kind == Kind::data ? free_data_ : unposted_;
  }
  void hand_over(fabric::FabricLink& link, const wire::Header& header, const std::byte* payload);
  void receive_more();
  bool all_taken_up() const;
  int fetch(fi_cq_data_entry* entries, int most);
  void completed(const fi_cq_data_entry& entry);
  size_t take_in(std::span<const std::byte> bytes);
  void finish(Operation& operation, bool ok);
  void take_error();
  // whole.cpp
  Sent send_whole(fabric::FabricLink& link, const wire::Header& header, std::span<const iovec> payload);
  ssize_t write_data(Operation& operation);
  void offer(fabric::FabricLink& link);
  void take_whole(fabric::FabricLink& link, const wire::Header& header);
  // moves.cpp
  Moved move(fabric::FabricLink& link, const wire::Region& remote, void* local, size_t size, void* context, bool out);
  ssize_t start(Operation& operation, const fabric::Move& move, size_t size);
  bool is_last_word(const fabric::Move& move, size_t size) const;
  ssize_t ask_for_piece(fabric::FabricLink& link);
  ssize_t ask_for_more(fabric::FabricLink& link);
  void returned(Operation& operation, bool ok);
  void go_on(fabric::FabricLink& link);
  int retry_moves();
  static void give_up(fabric::Move& move);
  void settle(fabric::Move& move);
  void abandon_moves(fabric::FabricLink& link);
  // What the provider was asked to do may have completed something that its descriptor does not tell of.
  ssize_t asked(ssize_t status) {
    unread_ = true;
    return status;
  }

  Sink& sink_;
  FabricOptions options_;
  std::vector<Buffers> buffers_;      // these two before the endpoint, which holds pointers to them
  std::deque<Operation> operations_;  // never moves its elements
  fabric::Guard guard_;
  fabric::Endpoint endpoint_;
  fabric::Registrations registrations_;
  std::vector<fabric::Registration*> buffer_registrations_;
  std::string name_;
  TransportLimits limits_;
  size_t inject_size_ = 0;
  std::vector<std::byte> inject_buffer_;
  Operation* drafted_ = nullptr;
  std::vector<Operation*> free_sends_;
  std::vector<Operation*> free_moves_;
  std::vector<Operation*> free_data_;
  std::list<fabric::Move> moves_;
  size_t receives_ = 0;                                     // how many there are
  std::vector<Operation*> unposted_;                        // those that the provider did not take back yet
  std::vector<std::unique_ptr<fabric::FabricLink>> links_;  // by slot
  std::unordered_map<uint64_t, fabric::FabricLink*> by_process_;
  std::vector<fabric::FabricLink*> disconnected_;
  std::vector<fabric::FabricLink*> opening_;  // those that we probe
  size_t calling_ = 0;                        // links whose peer has not answered yet
  size_t unsettled_ = 0;                      // links that have never been ready
  fi_cq_data_entry stash_[kBatch];            // what `idle` found
  int stashed_ = 0;
  uint32_t turn_ = 0;
  bool guard_due_ = false;
  bool served_ = false;     // something was completed since `idle` was asked
  bool unread_ = true;      // the completion queue may hold something, whatever its descriptor says
  bool has_data_ = false;   // operations for data were added
  size_t offers_ = 0;       // landings, also those of peers that are gone
  int news_ = 0;            // links that became ready while `idle` was asked
  size_t orphans_[4] = {};  // by Kind: active operations of lost links, which the provider may never return
  size_t sends_in_flight_ = 0;
  std::vector<fabric::FabricLink*> refused_;  // whose next piece the provider would not take, with none of them on its way
  std::vector<fabric::FabricLink*> framed_;   // those that collect messages, or did since the last flush
  fabric::Lender lender_;
  std::vector<fabric::FabricLink*> owed_;  // who is to hear of more credit when the provider takes it
  uint64_t malformed_ = 0;
  int wait_ = -1;
};

}  // namespace portunus
