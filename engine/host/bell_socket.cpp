// bell_socket.cpp: see bell_socket.hpp.
#include "engine/host/bell_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <system_error>

namespace portunus {
namespace {

socklen_t address_of(ProcessId process, uint32_t uid, Sleeper who, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  int size = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "portunus.%u.%08x.%u.%u", uid, process.nid, process.pid,
                           static_cast<unsigned>(who));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(size));
}

}  // namespace

BellSocket::BellSocket(ProcessId self, uint32_t uid, Sleeper who) : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  sockaddr_un address;
  socklen_t size = address_of(self, uid, who, address);
  if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0) {
    int error = errno;
    if (fd_ >= 0) close(fd_);
    throw std::system_error(error, std::generic_category(), "cannot make the doorbell socket of this process");
  }
}

BellSocket::~BellSocket() { close(fd_); }

void BellSocket::ring(ProcessId process, uint32_t uid, Sleeper who) {
  static const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  socklen_t size = address_of(process, uid, who, address);
  // A full queue means that the sleeper has wake-ups waiting already.
  sendto(sender, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address), size);
}

bool BellSocket::wait(std::span<const int> fds, int64_t timeout_ns) {
  constexpr size_t kMostDescriptors = 7;  // one for each kind of transport that has any
  std::array<pollfd, 1 + kMostDescriptors> set{{{fd_, POLLIN, 0}}};
  size_t count = 1;
  for (const int fd : fds) set.at(count++) = {fd, POLLIN, 0};
  timespec limit{static_cast<time_t>(timeout_ns / 1'000'000'000), static_cast<long>(timeout_ns % 1'000'000'000)};
  ppoll(set.data(), count, timeout_ns < 0 ? nullptr : &limit, nullptr);
  if (set[0].revents == 0) return false;
  constexpr int kMost = 64;  // whoever rings without end shall not keep us here
  char byte;
  for (int i = 0; i < kMost && recv(fd_, &byte, 1, MSG_DONTWAIT) >= 0; ++i) {
  }
  return true;
}

}  // namespace portunus
