// address.cpp: see address.hpp.
#include "engine/host/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "engine/host/nearby.hpp"

namespace portunus {

std::vector<NetworkInterface> network_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw std::system_error(errno, std::generic_category(), "cannot list the network interfaces");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<NetworkInterface> found;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    found.push_back(
        {entry->ifa_name, text, ntohl(address->sin_addr.s_addr), (entry->ifa_flags & IFF_UP) != 0, (entry->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return found;
}

namespace {

NetworkInterface interface_of(const std::string& name) {
  for (const NetworkInterface& one : network_interfaces())
    if (one.up && (name.empty() ? !one.loopback : name == one.name || name == one.address)) return one;
  if (!name.empty())
    throw std::runtime_error("PTL_FABRIC_INTERFACE=" + name + ": no such interface that is up and has an IPv4 address; see `ip -4 addr`");
  return {"lo", "127.0.0.1", INADDR_LOOPBACK, true, true};
}

}  // namespace

uint32_t choose_nid(const std::string& interfaces) { return interface_of(interfaces.substr(0, interfaces.find(','))).nid; }

uint32_t nearest_address(const std::string& interfaces, size_t local_rank) {
  std::vector<NetworkInterface> named;
  std::vector<std::vector<int>> near;
  std::istringstream names(interfaces);
  for (std::string name; std::getline(names, name, ',');) {
    named.push_back(interface_of(name));
    near.push_back(processors_near("/sys/class/net/" + named.back().name + "/device"));
  }
  return named.empty() ? choose_nid("") : named[nearest(near, own_processors(), local_rank)].nid;
}

HeldPort::HeldPort(uint32_t nid, uint32_t wanted) {
  // 0xffff means PTL_PID_ANY, so that port is handed back and another asked for.
  for (int attempt = 0; attempt < 3; ++attempt) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(nid);
    address.sin_port = htons(static_cast<uint16_t>(wanted));
    socklen_t size = sizeof address;
    if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      int error = errno;
      if (fd_ >= 0) close(fd_);
      throw std::system_error(error, std::generic_category(), "cannot hold a port as this process's pid");
    }
    port_ = ntohs(address.sin_port);
    if (port_ != 0xffff) return;
    close(fd_);
  }
  throw std::system_error(EADDRINUSE, std::generic_category(), "cannot hold a port as this process's pid");
}

HeldPort::~HeldPort() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace portunus
