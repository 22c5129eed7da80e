// tcp_links.cpp: how connections are made, and how they end.
//
// Thread: set-up and shut-down, and the holder of the baton.
// Invariants: a link is found by slot or by process. It is never removed: a Link lives as long as the transport.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/host/address.hpp"
#include "engine/transport/tcp.hpp"
#include "engine/transport/tcp_tags.hpp"

namespace portunus {

using fabric::LinkState;
using tcp::Tag;
using tcp::TcpLink;

namespace {

constexpr uint32_t kFormat = 0x50545431;  // "PTT1": in a Hello, where libfabric's kinds of addresses are small numbers
constexpr int kBacklog = 4096;
constexpr auto kGrace = std::chrono::milliseconds(100);  // the guard's line may end before the last words are read
constexpr auto kLinger = std::chrono::seconds(2);
constexpr size_t kLastWords = size_t{1} << 20;  // dropped at a time when we leave

uint64_t key_of(ProcessId process) { return uint64_t{process.nid} << 32 | process.pid; }

sockaddr_in address_of(uint32_t nid, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(nid);
  address.sin_port = htons(port);
  return address;
}

void set_option(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

}  // namespace

TcpTransport::TcpTransport(Sink& sink, const TcpOptions& options)
    : sink_(sink), options_(options), guard_(choose_nid(options.interface), options.pid, options.timeout_s), keys_(std::random_device{}()) {
  try {
    open_sockets();
  } catch (...) {  // the destructor does not run when a constructor throws
    if (door_ >= 0) close(door_);
    if (epoll_ >= 0) close(epoll_);
    throw;
  }
}

void TcpTransport::open_sockets() {
  const auto refuse = [](const char* sentence) { throw std::system_error(errno, std::generic_category(), sentence); };
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) refuse("the network needs an epoll descriptor (see ulimit -n)");
  door_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (door_ < 0) refuse("cannot make a socket for the network (see ulimit -n)");
  sockaddr_in address = address_of(self().nid, 0);
  socklen_t size = sizeof address;
  if (bind(door_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(door_, kBacklog) != 0 ||
      getsockname(door_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    refuse("cannot take a port for the network; check PTL_FABRIC_INTERFACE");
  if (!watch(guard_.fd(), tcp::tag_of(Tag::guard), EPOLLIN, true) || !watch(door_, tcp::tag_of(Tag::door), EPOLLIN, true))
    refuse("cannot watch the network's sockets");
  fabric::Hello hello;
  hello.nid = self().nid;
  hello.pid = self().pid;
  hello.uid = options_.uid;
  hello.address_format = kFormat;
  hello.name_size = sizeof address.sin_port;
  std::memcpy(hello.name, &address.sin_port, sizeof address.sin_port);
  guard_.introduce_as(hello);
}

TcpTransport::~TcpTransport() {
  linger();
  for (const auto& link : links_)
    if (link->fd >= 0) close(link->fd);
  for (const auto& [fd, guest] : guests_) close(fd);
  close(door_);
  close(epoll_);
}

bool TcpTransport::watch(int fd, uint64_t tag, uint32_t events, bool anew) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  return epoll_ctl(epoll_, anew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0;
}

TcpLink* TcpTransport::make_link(ProcessId process) {
  TcpLink* link = links_.emplace_back(std::make_unique<TcpLink>(spares_)).get();
  link->process = process;
  link->slot = static_cast<uint32_t>(links_.size() - 1);
  by_process_[key_of(process)] = link;
  return link;
}

Link* TcpTransport::connect(ProcessId process) {
  if (process.nid == 0 || process.pid == 0 || process.pid >= 0xffff || process == self()) return nullptr;
  const auto found = by_process_.find(key_of(process));
  TcpLink* link = found != by_process_.end() ? found->second : nullptr;
  if (link == nullptr) {
    link = make_link(process);
    if (!guard_.call(*link, link->slot)) condemn(*link);
  }
  link->known = true;
  return link;
}

fabric::GuardedLink* TcpTransport::greeted(fabric::GuardedLink* called, const fabric::Hello& hello) {
  auto* link = static_cast<TcpLink*>(called);
  uint16_t port;
  if (hello.address_format != kFormat || hello.name_size != sizeof port) return nullptr;
  std::memcpy(&port, hello.name, sizeof port);
  const ProcessId process{hello.nid, hello.pid};
  if (port == 0 || process == self() || (link != nullptr && !(link->process == process))) return nullptr;
  if (link == nullptr) {
    const auto found = by_process_.find(key_of(process));
    const bool stands = found != by_process_.end() && found->second->state <= LinkState::ready;
    link = stands ? found->second : make_link(process);
  }
  // Both may have called at once, and the data connection may have come first: the first greeting counts, a second must say the same.
  if (link->name_hash != 0) return link->state <= LinkState::ready && link->name_hash == port ? link : nullptr;
  if (link->state > LinkState::ready) return nullptr;
  link->name_hash = port;
  link->uid = hello.uid;
  link->remote_slot = hello.slot;
  if (link->state != LinkState::calling) return link;
  link->state = LinkState::opening;
  if (key_of(self()) < key_of(process) && !dial(*link, ntohs(port))) {
    condemn(*link);
    return nullptr;
  }
  return link;
}

// The first bytes on a connection say whose it is.
bool TcpTransport::dial(TcpLink& link, uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);  // from our nid, so that the other can compare it with the Hello
  const sockaddr_in here = address_of(self().nid, 0), there = address_of(link.process.nid, port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      (::connect(fd, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 && errno != EINPROGRESS) ||
      !watch(fd, tcp::tag_of(Tag::link, link.slot), EPOLLOUT, true)) {
    close(fd);
    return false;
  }
  link.fd = fd;
  link.connecting = true;
  return true;
}

// Returns 1: the link is ready, or will never be.
int TcpTransport::connected(TcpLink& link) {
  int error = 0;
  socklen_t size = sizeof error;
  const fabric::Prefix prefix{fabric::kKnockMagic, link.remote_slot, self().pid, options_.uid};
  link.connecting = false;
  // The buffer of a fresh connection takes so few bytes, always.
  const bool good = getsockopt(link.fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0 &&
                    ::send(link.fd, &prefix, sizeof prefix, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof prefix) &&
                    watch(link.fd, tcp::tag_of(Tag::link, link.slot), EPOLLIN, false);
  if (!good) {
    hang_up(link);
    return 1;
  }
  if (link.state == LinkState::opening) link.state = LinkState::ready;
  return 1;
}

int TcpTransport::accept_guests() {
  for (;;) {
    const int fd = accept4(door_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0) return 0;
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (watch(fd, tcp::tag_of(Tag::guest, static_cast<uint32_t>(fd)), EPOLLIN, true)) guests_[fd] = {};
    else close(fd);
  }
}

int TcpTransport::receive_guest(int fd) {
  Guest& guest = guests_[fd];
  const ssize_t n = recv(fd, reinterpret_cast<std::byte*>(&guest.prefix) + guest.received, sizeof guest.prefix - guest.received, MSG_DONTWAIT);
  if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  if (n > 0) guest.received += static_cast<size_t>(n);
  if (n > 0 && guest.received < sizeof guest.prefix) return 0;
  const fabric::Prefix prefix = guest.prefix;
  guests_.erase(fd);
  if (n > 0 && admit(fd, prefix)) return 1;
  close(fd);
  return 0;
}

// It must come from the process whose slot it names.
bool TcpTransport::admit(int fd, const fabric::Prefix& prefix) {
  if (prefix.magic != fabric::kKnockMagic || prefix.slot >= links_.size()) return false;
  TcpLink& link = *links_[prefix.slot];
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (link.process.pid != prefix.pid || link.state > LinkState::opening || link.fd >= 0) return false;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 || ntohl(address.sin_addr.s_addr) != link.process.nid) return false;
  if (link.name_hash != 0 && link.uid != prefix.uid) return false;
  if (key_of(link.process) >= key_of(self()) || !watch(fd, tcp::tag_of(Tag::link, link.slot), EPOLLIN, false)) return false;
  link.uid = prefix.uid;  // its greeting may still be on the way
  link.fd = fd;
  link.state = LinkState::ready;
  return true;
}

// The peer is gone, or cannot be talked to. Told by `poll`, once nothing of it is left to be read.
void TcpTransport::condemn(TcpLink& link) {
  if (link.state >= LinkState::ending) return;
  link.state = LinkState::ending;
  link.ended = link.fd >= 0 && !link.connecting ? std::chrono::steady_clock::now() + kGrace : std::chrono::steady_clock::time_point{};
  link.out.clear();
  condemned_.push_back(&link);
}

// Nothing more comes from there.
void TcpTransport::hang_up(TcpLink& link) {
  condemn(link);
  link.ended = {};
  if (link.fd >= 0) close(std::exchange(link.fd, -1));
}

// By index: the sink may call back into us.
int TcpTransport::bury() {
  int told = 0;
  const auto now = std::chrono::steady_clock::now();
  for (size_t i = 0; i < condemned_.size();) {
    TcpLink& link = *condemned_[i];
    if (now < link.ended || link.backlog) {
      ++i;
      continue;
    }
    condemned_[i] = condemned_.back();
    condemned_.pop_back();
    link.state = LinkState::failed;
    abandon(link);
    if (link.known) sink_.lost(link);
    ++told;
  }
  return told;
}

void TcpTransport::abandon(TcpLink& link) {
  if (link.fd >= 0) close(std::exchange(link.fd, -1));
  link.out.clear();
  if (link.in.bytes) inputs_.push_back(std::move(link.in.bytes));
  if (tcp::Exposure* exposure = std::exchange(link.landing_exposure, nullptr)) --exposure->users;
  link.landing = nullptr;
  link.landing_left = link.early_size = 0;
  link.keeping = {};
  std::erase_if(kept_, [&](const tcp::Kept& one) {
    if (one.from != &link) return false;
    kept_bytes_ -= one.size;
    return true;
  });
  std::vector<uint64_t> tokens;
  for (const auto& [token, move] : moves_)
    if (move.link == &link) tokens.push_back(token);
  for (const uint64_t token : tokens) end_move(token, false);
}

// `Sent::done` means copied, not gone. What the kernel has taken leaves by itself, unless we close with something unread.
void TcpTransport::linger() {
  const auto deadline = std::chrono::steady_clock::now() + kLinger;
  const auto waits = [](const auto& link) { return link->state == LinkState::ready && !link->out.empty(); };
  for (;;) {
    for (const auto& link : links_)
      if (waits(link)) write(*link);
    if (std::ranges::none_of(links_, waits) || std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::yield();
  }
  for (const auto& link : links_) {
    if (link->fd < 0) continue;
    shutdown(link->fd, SHUT_WR);
    for (ssize_t n = 1; n > 0;) n = recv(link->fd, nullptr, kLastWords, MSG_DONTWAIT | MSG_TRUNC);
  }
}

}  // namespace portunus
