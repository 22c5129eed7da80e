// engine_thread.cpp: the two forms of the engine thread: spinning on a core of its own, and parked on the doorbell. See client.hpp.
#include <ctime>

#include "engine/client.hpp"

namespace portunus {

// The engine thread with a core of its own.
void Client::run_spinning() {
  constexpr int kGrace = 32;  // pauses, about a microsecond: an application that uses the engine is left alone
  const bool offload = mode_ == Progress::offload;
  while (!stop_.load(std::memory_order_relaxed)) {
    const uint64_t uses = baton_.uses();
    for (int i = 0; i < (offload ? 1 : kGrace); ++i) relax();
    if (!offload && (waiting_.load(std::memory_order_relaxed) > 0 || baton_.uses() != uses)) continue;
    if (!baton_.try_take(biased_)) continue;
    int work;
    do {
      work = step(now_ns());
      if (work) ++engine_->stats().steps_by_engine;
    } while (work && !baton_.wanted() && !engine_->posted && !stop_.load(std::memory_order_relaxed));
    leave_baton();
  }
}

// Between two looks of the engine thread. One with real-time priority yields to no ordinary thread, so whoever holds the
// baton on its core, or the peer that it waits for, would stand still until the kernel's throttle of 0.95 s.
void Client::let_others_run() const {
  if (!realtime_) {
    sched_yield();
    return;
  }
  constexpr timespec kNap{0, 20'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &kNap, nullptr);
}

// The engine thread without one: it sleeps until the doorbell names it.
void Client::run_parked() {
  constexpr int kIdleSteps = 8;
  const bool offload = mode_ == Progress::offload;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (dense_.load(std::memory_order_seq_cst)) {
      // To step now would take the bias from a thread that is busy here: only look whether it still is.
      const uint32_t word = door_->read();
      const uint64_t uses = baton_.uses();
      if (stop_.load(std::memory_order_seq_cst)) return;
      const uint64_t begin = now_ns();
      sleep_on(word, Sleeper::engine, kDenseTick, false);
      // It returns at once when the word has changed since, which says nothing about who is busy.
      if (now_ns() - begin >= kDenseTick && baton_.uses() == uses && !baton_.inside()) cool();
      continue;
    }
    if (waiting_.load(std::memory_order_seq_cst) == 0 && baton_.try_take(biased_)) {
      for (int idle = 0; idle < kIdleSteps && !baton_.wanted() && !engine_->posted && waiting_.load(std::memory_order_relaxed) == 0;) {
        if (step(now_ns()) > 0) {
          ++engine_->stats().steps_by_engine;
          idle = 0;
        } else {
          ++idle;
        }
      }
      const bool posted = engine_->posted;
      const bool busy = engine_->busy();
      const bool wanted = baton_.wanted();
      leave_baton();
      if (posted) continue;
      // Whoever wants the baton may need this very processor for it: without a step what has arrived keeps the engine from idling, and
      // this thread would take the baton again and again, to ask.
      if (busy || wanted) {
        let_others_run();
        continue;
      }
    }
    const uint32_t word = door_->read();
    if (stop_.load(std::memory_order_seq_cst)) return;
    const bool others = waiting_.load(std::memory_order_seq_cst) > 0;
    if (others) {  // an application thread steps; when it leaves, it arms the word for us (and so changes it)
      sleep_on(word, Sleeper::engine, -1, false);
      continue;
    }
    uint32_t armed;
    if (!door_->arm_from(word, Sleeper::engine, by_socket_, armed)) continue;
    if (waiting_.load(std::memory_order_seq_cst) > 0 || stop_.load(std::memory_order_seq_cst) || dense_.load(std::memory_order_seq_cst) ||
        (offload && engine_->commands().maybe_filled()) || !baton_.try_take(biased_)) {
      door_->disarm_from(armed);
      let_others_run();
      continue;
    }
    const bool idle = engine_->idle() && !engine_->busy();
    const int64_t patience_ns = engine_->patience_ns();
    leave_baton();
    if (idle) sleep_on(armed, Sleeper::engine, patience_ns, true); else door_->disarm_from(armed);
  }
}

}  // namespace portunus
