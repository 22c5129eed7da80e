// providers.hpp: what libfabric offers on this machine. Thread: any; costs milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace portunus {

struct FabricProvider {
  std::string name;  // as PTL_FABRIC_PROVIDER takes it
  std::string fabric, domain;
  size_t max_message = 0;
  bool automatic = false;  // may be taken without being named
};
// Returns the providers that can carry our messages, each once, in libfabric's order.
std::vector<FabricProvider> fabric_providers();
// Returns the one that a process with the address `nid` gets when PTL_FABRIC_PROVIDER is `asked` (may be empty); empty: none.
std::string fabric_provider_for(const std::string& asked, uint32_t nid);

}  // namespace portunus
