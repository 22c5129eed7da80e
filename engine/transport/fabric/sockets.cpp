// sockets.cpp: see sockets.hpp.
#include "engine/transport/fabric/sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace portunus::fabric {
namespace {

constexpr size_t kNameSize = 16;  // TCP_CA_NAME_MAX
constexpr std::string_view kPaces = "bbr", kSystem = "system";
constexpr int kDepth = 3;  // of epolls that watch epolls

std::vector<int> watched_by(int epoll) {
  std::vector<int> found;
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(epoll));
  for (std::string word; info >> word;)
    if (int fd; word == "tfd:" && info >> fd) found.push_back(fd);
  return found;
}

bool is_epoll(int fd) {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), none) == "anon_inode:[eventpoll]";
}

// Empty: it is no TCP socket.
std::string control_of(int fd) {
  char name[kNameSize] = {};
  socklen_t size = sizeof name;
  return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0 ? std::string(name, strnlen(name, sizeof name)) : std::string();
}

bool give(int fd, const std::string& name) {
  return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0;
}

void give_all(int epoll, const std::string& name, int depth) {
  for (const int fd : watched_by(epoll)) {
    if (const std::string has = control_of(fd); !has.empty()) {
      if (has != name) give(fd, name);
    } else if (depth > 0 && is_epoll(fd)) {
      give_all(fd, name, depth - 1);
    }
  }
}

std::string line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// A socket to try on.
struct Sample {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ~Sample() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

int sockets_behind(int epoll) {
  int found = -1;
  for (const int fd : watched_by(epoll)) {
    if (!is_epoll(fd)) continue;
    if (found >= 0) return -1;
    found = fd;
  }
  return found;
}

std::string congestion_control(const std::string& asked) {
  if (asked == kSystem) return {};
  const Sample sample;
  if (sample.fd < 0) return {};  // too many are open: who connects will say so
  if (asked.empty()) {
    if (!std::string_view(control_of(sample.fd)).starts_with(kPaces)) return {};
    for (const char* name : {"cubic", "reno"})
      if (give(sample.fd, name)) return name;
    return {};
  }
  if (give(sample.fd, asked)) return asked;
  const bool forbidden = errno == EPERM;
  throw std::runtime_error(
      "PTL_FABRIC_CONGESTION=" + asked + (forbidden ? ": this user may not have it" : ": the kernel has no such congestion control") +
      "; choose one of: system, " +
      line_of(forbidden ? "/proc/sys/net/ipv4/tcp_allowed_congestion_control" : "/proc/sys/net/ipv4/tcp_available_congestion_control"));
}

void set_congestion_control(int epoll, const std::string& name) { give_all(epoll, name, kDepth); }

}  // namespace portunus::fabric
