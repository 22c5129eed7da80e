// keep_alive.hpp: when a TCP connection counts as lost, for connections between ranks and between launchers alike.
//
// Thread: any. Cost: five system calls, once for each connection.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace portunus {

// The connection fails once its other end has been silent for `limit_s` seconds (1 or more), whether data are under way or not; what
// is sent leaves at once. A host that vanishes sends no FIN, and without the user timeout the kernel would send unacknowledged data
// again for a quarter of an hour. An idle connection is probed every sixth of the limit: silence is counted from the last
// answer, so a link that is down for less than five sixths of the limit does no harm.
// A failure to set these costs only that.
inline void keep_alive(int fd, int limit_s) {
  const int between = std::max(1, limit_s / 6);
  const auto set = [fd](int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, between);
  set(IPPROTO_TCP, TCP_KEEPINTVL, between);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, limit_s * 1000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace portunus
