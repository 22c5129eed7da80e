// bell_socket.hpp: the doorbell of a process that sleeps on descriptors (because it also waits for a network).
//
// A datagram socket with an abstract name, so nothing is left in the file system and each network namespace has its
// own; waiters and the engine thread have one each. A datagram carries nothing but the wake-up; a false one costs a look at the queues.
#pragma once

#include <cstdint>
#include <span>

#include "engine/host/seam.hpp"
#include "engine/progress/futex.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

class BellSocket {
 public:
  PORTUNUS_SEAM BellSocket(ProcessId self, uint32_t uid, Sleeper who);  // throws std::system_error
  PORTUNUS_SEAM ~BellSocket();
  BellSocket(const BellSocket&) = delete;
  BellSocket& operator=(const BellSocket&) = delete;

  PORTUNUS_SEAM static void ring(ProcessId process, uint32_t uid, Sleeper who);
  // Sleeps until the bell rings, one of `fds` becomes readable or `timeout_ns` passed (negative = no limit).
  PORTUNUS_SEAM bool wait(std::span<const int> fds, int64_t timeout_ns);  // true: it has rung

 private:
  int fd_;
};

}  // namespace portunus
