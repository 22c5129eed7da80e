// progress_thread.hpp: the two forms of the engine thread: spinning on a core that it was given, and asleep until it is needed. See
// progress.hpp, which includes it.
#pragma once

#include "engine/progress/progress.hpp"

namespace portunus {

// The engine thread that never sleeps: with a core of its own, or where PTL_PROGRESS=spin asks for it.
template <class Memory>
void BasicProgress<Memory>::run_spinning() {
  constexpr int kGrace = 32;  // pauses, about a microsecond: an application that uses the engine is left alone
  const bool offload = plan_.mode == ProgressMode::offload;
  while (!stop_.load_relaxed()) {
    const uint32_t uses = baton_.uses();
    if (!plan_.engine_has_core) Memory::yield();  // to ranks that share it
    for (int i = 0; i < (offload ? 1 : kGrace); ++i) Memory::relax();
    if (!offload && (attention_->read() == attention_->kInside || baton_.uses() != uses)) continue;
    if (!take()) continue;
    int work;
    do {
      work = step(Memory::now());
      if (work) ++engine_->stats().steps_by_engine;
    } while (work && !baton_.wanted() && !engine_->posted && !stop_.load_relaxed());
    leave_baton(Looks::engine);
  }
}

// The engine thread without one. While application threads come to the engine, it naps, and nobody rings it but for what is urgent when
// they have been away for a moment. A nap in which nobody came is followed by a look, and some such looks by sleep without a time limit,
// from which any message wakes it.
template <class Memory>
void BasicProgress<Memory>::run_parked() {
  using Limits = typename Memory::Limits;
  TickPolicy<Limits> policy;
  bool rung = false;
  uint32_t seen = attention_->read();
  while (!stop_.load()) {
    Memory::mark(11, seen | static_cast<uint32_t>(rung) << 1);
    const uint32_t word = door_->read();
    if (stop_.load()) return;
    // An application thread has rung which is there: to look at once would end in sleep again, from which its next call would ring.
    const bool for_news = rung_for_news_.load_relaxed() != 0;
    if (for_news) rung_for_news_.store(0);
    if ((is_attended(word, seen) && (!rung || seen == attention_->kInside)) || for_news) {
      const bool had_news = news_.load_relaxed() != 0;
      news_.store(0);
      const int64_t nap_ns = policy.attended_ns(plan_.network_open() || had_news);
      rung = nap_long(word, nap_ns);
      continue;
    }
    rung = false;
    if (!take()) {
      // Its holder is inside a call, perhaps on this very processor.
      if (plan_.mode == ProgressMode::offload) sleeping_->let_others_run();
      else nap_long(word, policy.held_ns());
      continue;
    }
    policy.unattended();
    Memory::mark(21);
    attention_->inside();
    // Beside descriptors one look in vain is enough: the last one before sleeping follows in any case, and each is a system call.
    const int idle_steps = plan_.by_socket ? 1 : Limits::kIdleSteps;
    for (int idle = 0; idle < idle_steps && !baton_.wanted() && !engine_->posted;) {
      if (step(Memory::now()) > 0) {
        ++engine_->stats().steps_by_engine;
        idle = 0;
        policy.found();
      } else {
        ++idle;
      }
    }
    engine_->take_news();
    attention_->outside();
    Memory::mark(22);
    if (engine_->posted) {
      leave_baton(Looks::engine);
    } else if (engine_->busy() || baton_.wanted()) {
      leave_baton(Looks::engine);
      sleeping_->let_others_run();
    } else if (const int64_t alone_ns = plan_.network_open() || plan_.mode == ProgressMode::offload ? 0 : policy.alone_ns();
               alone_ns != 0) {
      const int64_t due_ns = engine_->max_idle_ns();
      leave_baton(Looks::engine);
      seen = attention_->read();
      rung = nap(word, due_ns < 0 ? alone_ns : std::min(alone_ns, due_ns));
      continue;
    } else {
      park();
    }
    seen = attention_->read();
  }
}

// Whether application threads come by themselves: one waits and does not sleep, or somebody came since the word was `seen`.
template <class Memory>
bool BasicProgress<Memory>::is_attended(uint32_t word, uint32_t& seen) const {
  if (plan_.mode == ProgressMode::offload) return false;
  const uint32_t before = std::exchange(seen, attention_->read());
  if (BasicDoorbell<typename Memory::Node>::who(word) == Sleeper::waiter) return false;
  return seen == attention_->kInside || seen != before;
}

// Under the baton, which is released: arms the door, looks once more, and sleeps until a message or a descriptor wakes it.
template <class Memory>
void BasicProgress<Memory>::park() {
  using Limits = typename Memory::Limits;
  const uint32_t armed = door_->arm(Sleeper::engine);
  const bool idle = !Memory::keeps(Guard::park_messages) || (engine_->idle() && !engine_->busy());
  // The limit sees to work that application threads begin after this look without ringing, such as watching a peer on the node.
  int64_t longest_ns = engine_->max_idle_ns();
  if (longest_ns < 0 || longest_ns > Limits::kLongestSleep) longest_ns = Limits::kLongestSleep;
  leave_baton(Looks::engine);
  const bool pushed = plan_.mode == ProgressMode::offload && engine_->commands().maybe_filled();
  if (pushed && !engine_->commands().ready()) sleeping_->let_others_run();  // one who pushes
  if (idle && !pushed && !stop_.load()) sleep_on(armed, Sleeper::engine, longest_ns, true);
  door_->disarm(Sleeper::engine, [] { return false; });
}

}  // namespace portunus
