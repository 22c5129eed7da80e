// core_claim.cpp: see core_claim.hpp.
#include "engine/host/core_claim.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>

namespace portunus {

CoreClaim::CoreClaim(int core) : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The name begins with a zero byte, and ends where the length says.
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "portunus-engine-core-%d", core);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
  held_ = fd_ < 0 || bind(fd_, reinterpret_cast<const sockaddr*>(&address), size) == 0 || errno != EADDRINUSE;
}

CoreClaim::~CoreClaim() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace portunus
