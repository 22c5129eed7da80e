// connection_manager.cpp: connections between processes: calling, answering, noticing their end.
//
// Thread: the holder of the baton.
// Source: tcp(7), epoll(7).
#include "engine/transport/fabric/connection_manager.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <rdma/fi_errno.h>
#include "engine/host/keep_alive.hpp"
#include "engine/transport/fabric/link.hpp"

namespace portunus::fabric {
namespace {

constexpr int kBacklog = 4096;
constexpr int kEvents = 64;
constexpr uint32_t kNoPid = 0xffff;  // PTL_PID_ANY of some implementations; a port we never take

sockaddr_in address_of(uint32_t nid, uint32_t pid) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(nid);
  address.sin_port = htons(static_cast<uint16_t>(pid));
  return address;
}

std::string text_of(uint32_t nid) {
  char text[INET_ADDRSTRLEN] = "";
  const in_addr address{htonl(nid)};
  inet_ntop(AF_INET, &address, text, sizeof text);
  return text;
}

// Returns the address that a call comes from; its port is not that on which the caller is called.
ProcessId caller_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return {ntohl(address.sin_addr.s_addr), 0};
}

void set_option(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

[[noreturn]] void refuse(int error, const std::string& sentence) { throw std::system_error(error, std::generic_category(), sentence); }

}  // namespace

bool watch_descriptor(int epoll, int fd, uint32_t events, int change) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  return epoll_ctl(epoll, change, fd, &event) == 0;
}

bool no_way(int error) { return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN || error == EHOSTDOWN; }

ConnectionManager::ConnectionManager(uint32_t nid, uint32_t pid, uint32_t timeout_s) : timeout_(std::max(1u, timeout_s)) {
  if (pid >= kNoPid) refuse(EINVAL, "pid " + std::to_string(pid) + " is not a port; ask for 1 to 65534, or 0 for any");
  epoll_ = own_.add(epoll_create1(EPOLL_CLOEXEC));
  if (epoll_ < 0) refuse(errno, "the fabric needs an epoll descriptor (see ulimit -n)");
  while (self_.pid == 0 || self_.pid == kNoPid) listen_on(nid, pid);
  if (!watch_descriptor(epoll_, listener_)) refuse(errno, "cannot watch the fabric's socket");
  keep_spare();
  if (spare_ < 0) refuse(errno, "the fabric needs a descriptor to spare (see ulimit -n)");
}

ConnectionManager::~ConnectionManager() {
  // shutdown ends connections even where a forked child of the application holds copies of their descriptors.
  for (const auto& one : connections_) shutdown(one.first, SHUT_RDWR);
  shutdown(listener_, SHUT_RDWR);
  if (spare_ >= 0) close(spare_);
}

// Makes the socket that others call. A socket whose port is none of ours is kept open, so that the next one gets another port.
void ConnectionManager::listen_on(uint32_t nid, uint32_t pid) {
  const std::string where = text_of(nid) + ":" + std::to_string(pid);
  listener_ = own_.add(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (listener_ < 0) refuse(errno, "cannot make a socket for the fabric (see ulimit -n)");
  set_option(listener_, SOL_SOCKET, SO_REUSEADDR, 1);  // a restarted server gets its pid back at once
  sockaddr_in address = address_of(nid, pid);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, kBacklog) != 0)
    refuse(errno, "cannot take " + where + " for the fabric; ask for another pid, or check PTL_FABRIC_INTERFACE");
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  self_ = {nid, ntohs(address.sin_port)};
}

void ConnectionManager::keep_spare() {
  if (spare_ < 0) spare_ = fcntl(epoll_, F_DUPFD_CLOEXEC, 0);
}

void ConnectionManager::explain(ProcessId process, const char* what, int error) {
  if (!std::exchange(explained_, true))
    std::fprintf(stderr, "portals: process %s:%u cannot be reached: %s (%s)%s\n", text_of(process.nid).c_str(), process.pid, what,
                 error < FI_ERRNO_OFFSET ? std::strerror(error) : fi_strerror(error), error == EMFILE ? "; raise ulimit -n" : "");
}

// Tells whether descriptors are left for the connections that the provider has yet to make.
bool ConnectionManager::has_descriptors(size_t unsettled) const {
  constexpr size_t kMost = 32;
  std::array<int, kMost> taken;
  const size_t wanted = std::min(unsettled, kMost);
  size_t had = 0;
  while (had < wanted && (taken[had] = fcntl(epoll_, F_DUPFD_CLOEXEC, 0)) >= 0) ++had;
  const int error = errno;
  for (size_t i = 0; i < had; ++i) close(taken[i]);
  errno = error;
  return had == wanted;
}

// Watches a connection's socket. False: errno says why not.
bool ConnectionManager::watch(const Connection& connection, uint32_t events) {
  set_option(connection.fd, SOL_SOCKET, SO_RCVLOWAT, sizeof(Hello));  // so it is read at once
  return watch_descriptor(epoll_, connection.fd, events);
}

bool ConnectionManager::call(const Call& call, size_t unsettled) {
  const ProcessId process = call.link->process;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  auto connection = std::make_unique<Connection>(call, fd);
  if (fd < 0 || !has_descriptors(unsettled)) {
    explain(process, "no socket can be made for it", errno);
    return false;
  }
  connection->ours = connection->connecting = true;
  keep_alive(fd, static_cast<int>(timeout_.count()));
  // The call comes from our nid, so that the called process can compare it with the Hello.
  set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  const sockaddr_in here = address_of(self_.nid, 0);
  const sockaddr_in there = address_of(process.nid, process.pid);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      (connect(fd, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 && errno != EINPROGRESS) ||
      !watch(*connection, EPOLLOUT)) {
    const int error = errno;
    if (call_later(call, error)) return true;
    if (is_lack(error)) explain(process, "no connection can be made to it", error);
    return false;
  }
  connections_[fd] = std::move(connection);
  return true;
}

bool ConnectionManager::is_over(const Call& call) const { return std::chrono::steady_clock::now() - call.since >= timeout_; }

// Notes a call to be made again; false: it is given up.
bool ConnectionManager::call_later(const Call& call, int error) {
  if (!no_way(error) || is_over(call)) return false;
  again_.push_back(call);
  return true;
}

void ConnectionManager::look(ConnectionClient& client) {
  // A link that is no longer calling was called by its peer meanwhile.
  for (const Call& waiting : std::exchange(again_, {}))
    if (waiting.link->state == LinkState::calling && !call(waiting, client.unsettled())) client.disconnected(*waiting.link, false);
  if (!std::exchange(strangers_, false)) return;
  std::erase_if(connections_, [this](const auto& one) {
    const bool is_stranger = !one.second->ours && !one.second->heard;
    strangers_ |= is_stranger;
    return is_stranger && is_over(*one.second);
  });
  keep_spare();
}

int ConnectionManager::accept_one() {
  int fd;
  do fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
  return fd;
}

void ConnectionManager::accept_all(const ConnectionClient& client) {
  for (size_t accepted = 1;; ++accepted) {
    int fd = accept_one();
    bool refused = fd >= 0 && !has_descriptors(client.unsettled() + accepted);
    if (fd < 0 && errno != EAGAIN && spare_ >= 0) {
      close(std::exchange(spare_, -1));
      fd = accept_one();
      refused = fd >= 0;
      if (fd < 0) keep_spare();
    }
    if (fd < 0) return;  // none left; or no descriptors, and the callers wait in the backlog until one that is refused has gone
    keep_alive(fd, static_cast<int>(timeout_.count()));
    auto connection = std::make_unique<Connection>(Call{}, fd);
    connection->refused = refused;
    if (watch(*connection, EPOLLIN)) {
      connections_[fd] = std::move(connection);
      strangers_ = true;
      continue;
    }
    explain(caller_of(fd), "its connection cannot be watched", errno);
    speak(*connection, kNoRoomMagic);
    connection.reset();
    keep_spare();
  }
}

// Ends the set-up of a connection that we called; returns 0 or what went wrong.
int ConnectionManager::connected(Connection& connection) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(connection.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error != 0) return error;
  connection.connecting = false;
  watch_descriptor(epoll_, connection.fd, EPOLLIN, EPOLL_CTL_MOD);
  return speak(connection) ? 0 : EPIPE;
}

bool ConnectionManager::speak(const Connection& connection, uint32_t magic) {
  Hello hello = hello_;
  hello.magic = magic;
  hello.slot = connection.link != nullptr ? connection.link->slot : 0;
  // A Hello fits into the buffer of a fresh connection.
  return ::send(connection.fd, &hello, sizeof hello, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof hello);
}

// Reads the Hello, and later the end of the connection: nothing else is said on it.
int ConnectionManager::listen(Connection& connection, ConnectionClient& client) {
  Hello beyond;
  ssize_t n;
  do n = recv(connection.fd, connection.heard ? &beyond : &connection.hello, sizeof beyond, 0);
  while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  connection.is_silent = n < 0 && errno != ECONNRESET;
  return n == static_cast<ssize_t>(sizeof beyond) && !connection.heard && understood(connection, client) ? 1 : -1;
}

// Acts on a Hello that has come. False ends the connection: it is not one of ours, or not acceptable.
bool ConnectionManager::understood(Connection& connection, ConnectionClient& client) {
  connection.heard = true;
  const Hello& hello = connection.hello;
  if (connection.ours && hello.magic == kNoRoomMagic) explain(connection.link->process, "it has no descriptors left", EMFILE);
  if (hello.magic == kHelloMagic && connection.refused) {
    explain({hello.nid, hello.pid}, "there are no descriptors left", EMFILE);
    speak(connection, kNoRoomMagic);
    return false;
  }
  if (hello.magic != kHelloMagic || hello.name_size == 0 || hello.name_size >= kMaxName) return false;
  if (hello.pid == 0 || hello.pid >= kNoPid || caller_of(connection.fd).nid != hello.nid) return false;
  FabricLink* link = client.hello_received(connection.link, hello);
  if (link == nullptr) return false;
  connection.link = link;
  return connection.ours || speak(connection);
}

int ConnectionManager::serve(Connection& connection, ConnectionClient& client) {
  const bool connects = connection.connecting;
  const int error = connects ? connected(connection) : 0;
  const int heard = error != 0 ? -1 : connects ? 0 : listen(connection, client);
  if (heard >= 0) return heard;
  FabricLink* const link = connection.link;
  const bool is_silent = connection.is_silent, later = error != 0 && call_later(connection, error);
  connections_.erase(connection.fd);
  keep_spare();
  if (link != nullptr && !later) client.disconnected(*link, is_silent);
  return later ? 0 : 1;
}

void ConnectionManager::hang_up(const FabricLink& link) {
  std::erase_if(connections_, [&link](const auto& one) { return one.second->link == &link; });
  keep_spare();
}

int ConnectionManager::poll(ConnectionClient& client) {
  std::array<epoll_event, kEvents> events;
  int done = 0;
  bool called = false;
  const int n = epoll_wait(epoll_, events.data(), kEvents, 0);
  for (int i = 0; i < n; ++i) {
    const int ready = events[static_cast<size_t>(i)].data.fd;
    called = called || ready == listener_;
    const auto found = connections_.find(ready);
    if (found != connections_.end()) done += serve(*found->second, client);
  }
  // Ends are handled before calls: a process that got the port of a dead one must not find the dead one's link standing.
  if (called && n < kEvents) accept_all(client);
  return done;
}

bool ConnectionManager::pending() const {
  epoll_event event;
  return epoll_wait(epoll_, &event, 1, 0) > 0;
}

}  // namespace portunus::fabric
