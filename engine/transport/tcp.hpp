// tcp.hpp: the transport over TCP itself, where the network is no better than that.
//
// libfabric's provider for TCP does the same by more system calls: an event written and read for each completion, headers and
// acknowledgements of its own. Here a message is one send and one receive; what is kept back leaves together with it.
// A peer is found, and its end noticed, by the guard (fabric_guard.hpp); `pid` is the guard's TCP port. The name that a Hello
// tells is the port of a second socket: of two processes that have greeted one another the one with the smaller address
// connects there, and all they say goes over that connection, as a stream of
//
//     wire::Header 64 B | payload of more than kInlinePayload bytes, or bulk data
//
// where Header::ready says what it is (Frame). Bulk data is read from the memory exposed when the socket takes it, and written
// where it belongs as it is received. That of a put is sent with its header, up to kEarlyMost bytes: the receiver's engine has one
// step to ask for it (pull), which then takes no message; else it is kept, up to kKeptMost bytes of all processes, of which the oldest
// go first: what is gone when it is wanted is asked for.
//
// Thread: the holder of the baton; the sink is called from `poll` alone.
// Invariants: see transport.hpp. Beyond that: after `lost` nothing arrives from that link, and each of its pulls and pushes has been
// told as moved(context, false). A process that starts anew with the address of a lost one gets a new Link.
// Trust: a key opens the memory exposed under it to the process it was exposed to, within its bounds.
// Source: tcp(7), epoll(7).
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/transport/fabric_guard.hpp"
#include "engine/transport/fabric_message.hpp"
#include "engine/transport/tcp_link.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

struct TcpOptions {
  std::string interface;    // PTL_FABRIC_INTERFACE: see choose_nid (host/address.hpp)
  uint32_t pid = 0;         // the port wanted, or 0 for any
  uint32_t uid = 0;         // what we say we run as
  uint32_t timeout_s = 30;  // PTL_PEER_TIMEOUT
};

class TcpTransport final : public Transport, private fabric::GuardClient {
 public:
  // Throws std::system_error or std::runtime_error: cause and remedy in one sentence.
  TcpTransport(Sink& sink, const TcpOptions& options);
  // Lets what was sent leave, for a bounded time.
  ~TcpTransport() override;

  ProcessId self() const { return guard_.self(); }
  // Frames that made no sense; each ends its connection.
  uint64_t malformed() const { return malformed_; }

  const char* name() const override { return "tcp"; }
  TransportLimits limits() const override { return {kEager, kPullMost}; }
  Link* connect(ProcessId process) override;
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override;
  bool expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) override;
  void withdraw(Exposed& exposed) override;
  Moved pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) override;
  Moved push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) override;
  int poll(int budget) override;
  void flush() override;
  bool idle() override;
  int wait_fd() const override { return epoll_; }

 private:
  static constexpr size_t kEager = 32 * 1024;
  static constexpr size_t kPullMost = size_t{4} << 20;
  static constexpr size_t kEarlyMost = size_t{1} << 20;
  static constexpr size_t kKeptMost = size_t{8} << 20;
  struct Move {
    tcp::TcpLink* link;
    std::byte* to;  // of a pull
    size_t size;
    void* context;
  };
  struct Guest {  // a connection that has not said whose it is
    fabric::Prefix prefix{};
    size_t received = 0;
  };

  // tcp_links.cpp
  void open_sockets();
  bool watch(int fd, uint64_t tag, uint32_t events, bool anew);
  tcp::TcpLink* make_link(ProcessId process);
  fabric::GuardedLink* greeted(fabric::GuardedLink* link, const fabric::Hello& hello) override;
  void gone(fabric::GuardedLink& link) override { condemn(static_cast<tcp::TcpLink&>(link)); }
  bool dial(tcp::TcpLink& link, uint16_t port);
  int connected(tcp::TcpLink& link);
  int accept_guests();
  int receive_guest(int fd);
  bool admit(int fd, const fabric::Prefix& prefix);
  void condemn(tcp::TcpLink& link);
  void hang_up(tcp::TcpLink& link);
  int bury();
  void abandon(tcp::TcpLink& link);
  void linger();
  // tcp.cpp
  Sent post(tcp::TcpLink& link, std::span<const iovec> parts, size_t size);
  Moved start(tcp::TcpLink& link, tcp::Frame frame, const wire::Region& remote, const Move& move, const std::byte* from);
  void mark(tcp::TcpLink& link);
  void write(tcp::TcpLink& link);
  int read(tcp::TcpLink& link, int budget);
  ssize_t receive(tcp::TcpLink& link, size_t& offered);
  int deliver(tcp::TcpLink& link, int budget);
  // tcp_bulk.cpp
  tcp::Exposure* data_of(tcp::TcpLink& link, const wire::Header& header, std::span<const iovec> payload);
  static bool announces_data(tcp::TcpLink& link, const wire::Header& header, const std::byte* payload);
  void take_early(tcp::TcpLink& link);
  void keep(tcp::Kept kept);
  bool fetch_early(tcp::TcpLink& link, const wire::Region& from, std::byte* into, size_t size, void* context);
  bool fetch_kept(const tcp::TcpLink& link, const wire::Region& from, std::byte* into, size_t size);
  bool bulk_frame(tcp::TcpLink& link, const wire::Header& header);
  void answer(tcp::TcpLink& link, tcp::Frame frame, uint64_t token, const std::byte* data, size_t size, tcp::Exposure* exposure);
  tcp::Exposure* opened(const tcp::TcpLink& link, const wire::Header& header, bool writes);
  void land(tcp::TcpLink& link, size_t size);
  void landed(tcp::TcpLink& link);
  void end_move(uint64_t token, bool ok);

  Sink& sink_;
  TcpOptions options_;
  fabric::Guard guard_;
  int epoll_ = -1;
  int door_ = -1;  // where data connections are made to
  tcp::Outbox::Spares spares_;  // before the links
  std::vector<std::unique_ptr<tcp::TcpLink>> links_;  // by slot
  std::unordered_map<uint64_t, tcp::TcpLink*> by_process_;
  std::unordered_map<int, Guest> guests_;
  std::vector<tcp::TcpLink*> dirty_, backlog_, condemned_;
  std::vector<std::unique_ptr<std::byte[]>> inputs_;  // that no link uses
  std::unordered_map<uint64_t, tcp::Exposure> exposures_;  // by key
  std::unordered_map<uint64_t, Move> moves_;               // by token
  std::deque<tcp::Kept> kept_;                             // the oldest first
  size_t kept_bytes_ = 0;
  uint64_t next_token_ = 1;
  std::mt19937_64 keys_;
  uint64_t malformed_ = 0;
};

}  // namespace portunus
