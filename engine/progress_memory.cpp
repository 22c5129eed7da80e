// progress_memory.cpp: see progress_memory.hpp.
#include "engine/progress_memory.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace portunus {

void Sleeping::begin(ProcessId self, uint32_t uid, std::vector<int> fds, NodeTransport* node, const Placement* placement) {
  self_ = self;
  uid_ = uid;
  fds_ = std::move(fds);
  node_ = node;
  placement_ = placement;
  if (fds_.empty()) return;
  waiter_bell_.emplace(self, uid, Sleeper::waiter);
  engine_bell_.emplace(self, uid, Sleeper::engine);
  gate_.emplace(fds_);
}

void Sleeping::end() {
  fds_.clear();
  gate_.reset();
  waiter_bell_.reset();
  engine_bell_.reset();
  node_ = nullptr;
}

void Sleeping::sleep(Doorbell& door, uint32_t word, Sleeper who, int64_t timeout_ns, bool with_descriptors) {
  if (!waiter_bell_ || (who == Sleeper::waiter && !with_descriptors)) {
    futex_wait(door.word().address(), word, who, timeout_ns);
    return;
  }
  if (who == Sleeper::waiter) {
    waiter_bell_->wait(fds_, timeout_ns);
    return;
  }
  const int gate = gate_->fd();
  const bool rung = engine_bell_->wait({&gate, 1}, timeout_ns);
  const bool timed = gate_->clear();
  if (timed) note_mistake();
  if (!rung) give_precedence(!timed);
}

// Was the next wait, or a call, expected in vain? It has been computing for long when the timer for that runs out.
void Sleeping::note_mistake() {
  if (left_to_.load(std::memory_order_relaxed) == LeftTo::next_wait && outside_.load(std::memory_order_relaxed) &&
      now_ns() - left_ns_.load(std::memory_order_relaxed) >= Gaps::kComputes)
    careful_.store(kCareful, std::memory_order_relaxed);
}

// An arrival so soon after a wait tells what to expect; a timer that runs on from wait to wait does not.
void Sleeping::give_precedence(bool to_arrival) {
  const uint64_t since = now_ns() - left_ns_.load(std::memory_order_relaxed);
  if (since >= kPrecedence) return;
  if (to_arrival) {
    next_hurried_ = undisturbed_.exchange(0, std::memory_order_relaxed) < kHurried ? std::min(2 * next_hurried_, kMostHurried) : kHurried;
    hurried_.store(next_hurried_, std::memory_order_relaxed);
  }
  const timespec rest{0, static_cast<long>(kPrecedence - since)};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, nullptr);
}

void Sleeping::wake(Doorbell& door, Sleeper who, bool by_socket) {
  if (waiter_bell_ && (by_socket || who == Sleeper::engine)) BellSocket::ring(self_, uid_, who);
  else futex_wake(door.word().address(), who);
}

// One with real-time priority yields to no ordinary thread, so whoever holds the baton on its core, or the peer that it waits for, would
// stand still until the kernel's throttle of 0.95 s. Beside a network an ordinary one naps, too: after sched_yield a computing
// application would keep the processor for a whole slice, milliseconds, while data wait.
void Sleeping::let_others_run() const {
  if (!realtime_ && fds_.empty()) {
    sched_yield();
    return;
  }
  constexpr timespec kNap{0, 20'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &kNap, nullptr);
}

void Sleeping::move_aside(uint64_t now_ns) {
  const int here = sched_getcpu();
  if (here < 0) return;
  const Processors taken = node_->waiting_peers(here, now_ns);
  if (!taken[static_cast<size_t>(here) % taken.size()]) return;
  const int now_at = portunus::move_aside(*placement_, here, taken);
  if (now_at != here) node_->waits_on(now_at, now_ns);
}

}  // namespace portunus
