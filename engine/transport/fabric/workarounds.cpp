// workarounds.cpp: see workarounds.hpp.
#include "engine/transport/fabric/workarounds.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace portunus::fabric {
namespace {

bool is_epoll(int fd) {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), none) == "anon_inode:[eventpoll]";
}

}  // namespace

int sockets_behind(int epoll) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(epoll));
  int found = -1;
  for (std::string word; info >> word;) {
    int fd;
    if (word != "tfd:" || !(info >> fd) || !is_epoll(fd)) continue;
    if (found >= 0) return -1;
    found = fd;
  }
  return found;
}

}  // namespace portunus::fabric
