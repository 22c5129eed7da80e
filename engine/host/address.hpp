// address.hpp: the (nid, pid) of a process that opens no network endpoint: an interface's address and a port held there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace portunus {

struct NetworkInterface {
  std::string name;
  std::string address;  // dotted
  uint32_t nid;         // the same, host order
  bool up, loopback;
};
// Those that have an IPv4 address. Throws std::system_error.
std::vector<NetworkInterface> network_interfaces();

// Returns the IPv4 address, host order, of the first of `interfaces` (device names or dotted addresses, divided by commas); empty: of the
// first that is up and not loopback, else 127.0.0.1. Throws std::runtime_error naming the interface when there is no such one.
uint32_t choose_nid(const std::string& interfaces);
// Returns the address of the one of them that is nearest to this process (nearby.hpp), whose number on its node is `local_rank`.
uint32_t nearest_address(const std::string& interfaces, size_t local_rank);

// Owns a TCP port of an address so that no other process of the node gets the same pid. Throws std::system_error with
// EADDRINUSE when the wanted one is taken.
class HeldPort {
 public:
  HeldPort(uint32_t nid, uint32_t wanted);  // wanted 0 = any
  ~HeldPort();
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;
  uint32_t port() const { return port_; }

 private:
  int fd_ = -1;
  uint32_t port_ = 0;
};

}  // namespace portunus
