// guard.cpp: lines between processes: calling, answering, noticing their end.
//
// Thread: the holder of the baton.
// Source: tcp(7), epoll(7).
#include "engine/transport/fabric/guard.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

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

void set_option(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

[[noreturn]] void refuse(int error, const std::string& sentence) {
  throw std::system_error(error, std::generic_category(), sentence);
}

}  // namespace

Guard::Guard(uint32_t nid, uint32_t pid, uint32_t timeout_s) : timeout_s_(static_cast<int>(timeout_s)) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) refuse(errno, "the fabric needs an epoll descriptor (see ulimit -n)");
  try {
    listen_on(nid, pid);
  } catch (...) {
    if (listener_ >= 0) close(listener_);
    close(epoll_);
    throw;
  }
}

Guard::~Guard() {
  // shutdown, not only close: a forked child of the application may hold copies of these descriptors.
  for (auto& [fd, line] : lines_) {
    shutdown(fd, SHUT_RDWR);
    close(fd);
  }
  shutdown(listener_, SHUT_RDWR);
  close(listener_);
  close(epoll_);
}

void Guard::listen_on(uint32_t nid, uint32_t pid) {
  const std::string where = text_of(nid) + ":" + std::to_string(pid);
  if (pid >= kNoPid) refuse(EINVAL, "pid " + std::to_string(pid) + " is not a port; ask for 1 to 65534, or 0 for any");
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener_ < 0) refuse(errno, "cannot make a socket for the fabric (see ulimit -n)");
  set_option(listener_, SOL_SOCKET, SO_REUSEADDR, 1);  // a restarted server gets its pid back at once
  sockaddr_in address = address_of(nid, pid);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, kBacklog) != 0)
    refuse(errno, "cannot take " + where + " for the fabric; ask for another pid, or check PTL_FABRIC_INTERFACE");
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  self_ = {nid, ntohs(address.sin_port)};
  if (self_.pid == kNoPid) {
    const int unwanted = listener_;  // kept until its replacement has another port
    try {
      listen_on(nid, 0);
    } catch (...) {
      close(unwanted);
      throw;
    }
    close(unwanted);
    return;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener_;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event) != 0) refuse(errno, "cannot watch the fabric's socket");
}

bool Guard::watch(std::unique_ptr<Line> line, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = line->fd;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, line->fd, &event) != 0) {
    close(line->fd);
    return false;
  }
  const int fd = line->fd;
  lines_[fd] = std::move(line);
  return true;
}

bool Guard::call(FabricLink& link, uint32_t slot) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  keep_alive(fd, timeout_s_);
  // Call from our nid, so that the called can compare it with the Hello.
  set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  const sockaddr_in here = address_of(self_.nid, 0);
  const sockaddr_in there = address_of(link.process.nid, link.process.pid);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      (connect(fd, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 && errno != EINPROGRESS)) {
    close(fd);
    return false;
  }
  auto line = std::make_unique<Line>();
  line->fd = fd;
  line->link = &link;
  line->ours = true;
  line->connecting = true;
  line->slot = slot;
  return watch(std::move(line), EPOLLOUT);
}

void Guard::accept_all() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0) return;  // none left; or no descriptors, and the callers wait in the backlog
    keep_alive(fd, timeout_s_);
    auto line = std::make_unique<Line>();
    line->fd = fd;
    watch(std::move(line), EPOLLIN);
  }
}

bool Guard::connected(Line& line) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(line.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) return false;
  line.connecting = false;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = line.fd;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, line.fd, &event);
  return speak(line, line.slot);
}

bool Guard::speak(Line& line, uint32_t slot) {
  Hello hello = hello_;
  hello.slot = slot;
  // The buffer of a fresh connection takes 256 bytes, always.
  return ::send(line.fd, &hello, sizeof hello, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof hello);
}

int Guard::listen(Line& line) {
  std::byte beyond[64];  // nothing is said after the Hello; to read is how the end is noticed
  for (;;) {
    std::byte* into = reinterpret_cast<std::byte*>(&line.hello) + line.received;
    size_t room = sizeof line.hello - line.received;
    if (line.greeted) {
      into = beyond;
      room = sizeof beyond;
    }
    const ssize_t n = recv(line.fd, into, room, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    if (n == 0 || line.greeted) return -1;
    line.received += static_cast<size_t>(n);
    if (line.received == sizeof line.hello) return 1;
  }
}

bool Guard::comes_from(const Line& line, uint32_t nid) const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  return getpeername(line.fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 && ntohl(address.sin_addr.s_addr) == nid;
}

// False ends the line: not one of ours, or not acceptable.
bool Guard::understood(Line& line, GuardClient& client) {
  line.greeted = true;
  const Hello& hello = line.hello;
  if (hello.magic != kHelloMagic || hello.name_size == 0 || hello.name_size >= kMaxName) return false;
  if (hello.pid == 0 || hello.pid >= kNoPid || !comes_from(line, hello.nid)) return false;
  FabricLink* link = client.greeted(line.link, hello);
  if (link == nullptr) return false;
  line.link = link;
  return line.ours || speak(line, client.slot_of(*link));
}

int Guard::serve(Line& line, GuardClient& client) {
  bool alive = true;
  int done = 0;
  if (line.connecting) {
    alive = connected(line);
  } else {
    const int heard = listen(line);
    alive = heard >= 0;
    if (heard == 1) {
      done = 1;
      alive = understood(line, client);
    }
  }
  if (alive) return done;
  FabricLink* link = line.link;
  drop(line.fd);
  if (link != nullptr) client.gone(*link);
  return 1;
}

void Guard::drop(int fd) {
  lines_.erase(fd);
  close(fd);
}

int Guard::poll(GuardClient& client) {
  std::array<epoll_event, kEvents> events;
  int done = 0;
  bool called = false;
  int n;
  // Ends first, calls last: a new process that got the port of a dead one must not find its link still standing.
  do {
    n = epoll_wait(epoll_, events.data(), kEvents, 0);
    called = false;
    for (int i = 0; i < n; ++i) {
      if (events[static_cast<size_t>(i)].data.fd == listener_) {
        called = true;
        continue;
      }
      const auto found = lines_.find(events[static_cast<size_t>(i)].data.fd);
      if (found != lines_.end()) done += serve(*found->second, client);
    }
  } while (n == kEvents);
  if (called) accept_all();
  return done;
}

bool Guard::pending() const {
  epoll_event event;
  return epoll_wait(epoll_, &event, 1, 0) > 0;
}

}  // namespace portunus::fabric
