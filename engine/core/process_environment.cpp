// process_environment.cpp: see process_environment.hpp.
#include "engine/core/process_environment.hpp"

#include <ctime>
#include <utility>

namespace portunus {

void WakeupManager::begin(ProcessId self, uint32_t uid, std::vector<int> fds, bool waiters_listen) {
  self_ = self;
  uid_ = uid;
  fds_ = std::move(fds);
  if (fds_.empty()) return;
  if (waiters_listen) waiter_bell_.emplace(self, uid, Sleeper::waiter);
  engine_bell_.emplace(self, uid, Sleeper::engine);
}

void WakeupManager::end() {
  fds_.clear();
  waiter_bell_.reset();
  engine_bell_.reset();
}

void WakeupManager::sleep(Doorbell& door, uint32_t word, Sleeper who, int64_t timeout_ns, bool listens) {
  std::optional<BellSocket>& bell = who == Sleeper::waiter ? waiter_bell_ : engine_bell_;
  if (bell) bell->wait(listens ? std::span<const int>(fds_) : std::span<const int>(), timeout_ns);
  else futex_wait(door.word().address(), word, who, timeout_ns);
}

void WakeupManager::wake(Doorbell& door, Sleeper who, bool by_socket) {
  if (by_socket) BellSocket::ring(self_, uid_, who);
  else futex_wake(door.word().address(), who);
}

// One with real-time priority yields to no ordinary thread, so whoever holds the baton on its core, or the peer that it waits for, would
// stand still until the kernel's throttle of 0.95 s. Beside a network an ordinary one naps, too: after sched_yield a computing
// application would keep the processor for a whole slice, milliseconds, while data wait.
void WakeupManager::let_others_run() const {
  if (!realtime_ && fds_.empty()) {
    sched_yield();
    return;
  }
  constexpr timespec kNap{0, 20'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &kNap, nullptr);
}

}  // namespace portunus
