// connection_manager.hpp: the TCP port that is a process's `pid`: it resolves addresses and notices death.
//
// (nid, pid) must be enough to reach a process, but only IP-addressed providers could be reached by it alone, and no provider reliably
// tells that a silent peer has died: ofi_rxm swallows a lost connection and tries again for ever, shm writes into the memory of the dead.
// So each pair of processes that talk keeps one TCP connection. Both sides say one Hello on it, which carries the libfabric endpoint name.
// After that it only stands, and its end is the end of the peer, told by the kernel even after SIGKILL. A host or a way that vanishes is
// found by the kernel's keep-alive, which ends a connection that has been silent for the time allowed. A process that is alive and does not
// step is not silent: its kernel answers.
//
// A caller that says no complete Hello within that time is a stranger, and is dropped. A process to which no way leads just now is called
// again until the time has passed: a link that is down for a moment while a job starts ends nothing. `look` sees to both, some times a
// second.
//
// Thread: the holder of the baton.
// Invariants: nothing blocks. The caller speaks first; the called answers after it has read a complete Hello. A process that sends us a
// message has greeted us before, or has read our Hello and answered, since it cannot know our endpoint name otherwise; we may not have read
// its Hello yet. A connection is made only where descriptors are left for the provider's, too: one that it cannot accept is told to nobody,
// and both sides would wait for ever. A caller for whom no descriptor is left is told so, by means of one that is kept for that.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/host/lack.hpp"
#include "engine/transport/transport.hpp"

namespace portunus::fabric {

constexpr uint32_t kHelloMagic = 0x50544802;   // "PTH", version 2
constexpr uint32_t kNoRoomMagic = 0x50544e01;  // "PTN": an answer that nothing follows; there are no descriptors left
constexpr size_t kMaxName = 220;
constexpr char kNoConnection[] = "the provider makes no connection";

struct Hello {
  uint32_t magic = kHelloMagic;
  uint32_t nid = 0;
  uint32_t pid = 0;
  uint32_t uid = 0;
  uint32_t slot = 0;            // the speaker's number for the listener, to be put in each message's Prefix
  uint32_t address_format = 0;  // of libfabric; unequal ones cannot talk
  uint32_t protocol = 0;
  uint32_t protocol_version = 0;
  uint32_t name_size = 0;
  std::byte name[kMaxName] = {};  // fi_getname
};
static_assert(sizeof(Hello) == 256);

struct FabricLink;

// False: errno says why not.
bool watch_descriptor(int epoll, int fd, uint32_t events = EPOLLIN, int change = EPOLL_CTL_ADD);

// Tells errors of the network's state, which may soon be another, from those of the called process.
bool no_way(int error);

// The transport, as ConnectionManager::poll and ConnectionManager::look call it.
class ConnectionClient {
 public:
  // A Hello has come. `link` is null when they called us: the answer is then the link the Hello belongs to, or null to refuse. For a
  // connection of our own the answer is `link`, or null when the Hello is not acceptable.
  virtual FabricLink* hello_received(FabricLink* link, const Hello& hello) = 0;
  virtual size_t unsettled() const { return 0; }  // links whose connection the provider has yet to make
  // `is_silent`: nothing comes from its host any more, as far as the kernel knows; else the peer has closed the connection.
  virtual void disconnected(FabricLink& link, bool is_silent) = 0;

 protected:
  ~ConnectionClient() = default;
};

class ConnectionManager {
 public:
  // Listens at port `pid` of address `nid`, or at any port when 0. A connection silent for `timeout_s` ends (at most two seconds later).
  // Throws std::system_error with the sentence.
  ConnectionManager(uint32_t nid, uint32_t pid, uint32_t timeout_s);
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  ProcessId self() const { return self_; }
  // Sets the answer to every call; called once, before the first `poll`.
  void introduce_as(const Hello& hello) { hello_ = hello; }
  // Starts a connection to a process; false when that is impossible at once (refused, no descriptors). `unsettled`: as of the client.
  bool call(FabricLink& link, size_t unsettled = 0) { return call({&link, std::chrono::steady_clock::now()}, unsettled); }
  // Ends the connection to a process that is not talked to any more, so that it hears of that.
  void hang_up(const FabricLink& link);
  // Handles events of all connections; returns how many Hellos were understood or connections lost.
  int poll(ConnectionClient& client);
  // Repeats calls to processes that no way led to, and drops strangers.
  void look(ConnectionClient& client);
  bool needs_look() const { return strangers_ || !again_.empty(); }
  // Prints, for the first such process, why it cannot be reached: it will look as if it had died.
  void explain(ProcessId process, const char* what, int error);
  bool pending() const;
  // A descriptor that is readable when `poll` has something to do.
  int fd() const { return epoll_; }

 private:
  // A call of ours, and when it began.
  struct Call {
    FabricLink* link = nullptr;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  };
  struct Connection : Call {
    Connection(const Call& call, int socket) : Call(call), fd(socket) {}
    Connection(const Connection&) = delete;
    ~Connection() { close(fd); }
    int fd;
    bool ours = false;  // we called
    bool connecting = false;
    bool heard = false;    // its Hello has come
    bool refused = false;  // its Hello is answered by kNoRoomMagic
    bool is_silent = false;
    Hello hello;
  };

  void listen_on(uint32_t nid, uint32_t pid);
  void accept_all(const ConnectionClient& client);
  int accept_one();
  bool has_descriptors(size_t unsettled) const;
  void keep_spare();
  bool watch(const Connection& connection, uint32_t events);
  bool call(const Call& call, size_t unsettled);
  bool is_over(const Call& call) const;
  bool call_later(const Call& call, int error);
  int connected(Connection& connection);
  bool speak(const Connection& connection, uint32_t magic = kHelloMagic);
  // Returns 1 when a Hello has come, 0 to wait, and -1 when the connection has ended or is to end.
  int listen(Connection& connection, ConnectionClient& client);
  bool understood(Connection& connection, ConnectionClient& client);
  int serve(Connection& connection, ConnectionClient& client);

  struct Descriptors {
    std::vector<int> all;
    int add(int fd) { return all.emplace_back(fd); }
    ~Descriptors() { std::for_each(all.begin(), all.end(), close); }
  };
  Descriptors own_;  // the two below, and sockets with unusable ports
  int epoll_ = -1;
  int listener_ = -1;
  int spare_ = -1;  // kept to accept and answer a caller for whom no descriptor is left
  std::vector<Call> again_;
  bool strangers_ = false;  // there may be callers that have not said Hello yet
  bool explained_ = false;
  std::chrono::seconds timeout_;
  ProcessId self_;
  Hello hello_;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
};

}  // namespace portunus::fabric
