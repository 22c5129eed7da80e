// progress_waiting.hpp: the bodies of waiting, sleeping and leaving. See progress.hpp, which includes it.
//
// Memory::mark is where the explorer of interleavings may forget how the thread came there. In the library it is nothing.
#pragma once

#include "engine/progress/progress.hpp"

namespace portunus {

template <class Memory>
template <class Done>
[[gnu::noinline]] bool BasicProgress<Memory>::wait_on(Done& done, int64_t timeout_ns, uint32_t watched) {
  if (timeout_ns == 0) {
    poll();
    look_at_pollers();
    return done();
  }
  struct Waiting {  // done() may poll: it finds that this thread does so already, or means not to yet
    Waiting() { Memory::waits() = true; }
    ~Waiting() { Memory::waits() = false; }
  } here;
  attention_->inside();
  const bool satisfied = wait_inside(done, timeout_ns, watched);
  attention_->outside();
  return satisfied;
}

template <class Memory>
template <class Done>
[[gnu::always_inline]] inline bool BasicProgress<Memory>::wait_inside(Done& done, int64_t timeout_ns, uint32_t watched) {
  using Limits = typename Memory::Limits;
  uint32_t bits = watched;
  bool has_pollers = pollers_.pending(bits);
  // Watched memory is looked at first, without a look at the engine: that costs as much again, or as much as giving up the core.
  int looks = bits == 0 ? 0 : plan_.spin_waits ? Limits::kMemorySpins : Limits::kMemoryYields;
  for (looks = plan_.network_open() ? looks / 8 : looks; looks > 0; --looks) {
    if (plan_.spin_waits) {
      Memory::relax();
    } else {
      // A thread that shares its core gives it up only after some looks: what it waits for may come from the other cores within a part of
      // the time that two switches take.
      for (int more = Limits::kMemoryLooks; more > 0; --more) {
        Memory::relax();
        if (has_pollers) look_at_pollers();
        if (done()) return true;
      }
      Memory::yield();
    }
    if (has_pollers) look_at_pollers();
    if (done()) return true;
  }
  const uint32_t aborts = aborts_.load_relaxed();
  const auto aborted = [&] { return aborts_.load_relaxed() != aborts; };
  const uint64_t begin = timeout_ns > 0 ? Memory::now() : 0;
  const bool steps = plan_.mode != ProgressMode::offload;
  bool satisfied = false;
  int idle = 0;
  uint64_t asleep_since = 0;
  int64_t nap_ns = plan_.registered ? Limits::kFirstNap : Limits::kBlindNap;
  for (;;) {
    Memory::mark(1);
    int work = 0;
    if (steps && take()) {
      int most = has_pollers ? 0 : plan_.spin_waits ? Limits::kStepsAtOnce : Limits::kStepsBeforeYield;
      if (plan_.network_open() && !plan_.spin_waits) most /= 8;  // each is a system call
      int more = most;
      do {
        Memory::mark(8);
        work = step(clock_.coarse(*engine_));
        Memory::mark(9, work != 0);
        satisfied = done();
      } while (!satisfied && (work || more-- > 0) && !engine_->posted && !baton_.wanted());
      if (satisfied) {
        Memory::mark(10);
        leave_call();
        return true;
      }
      if (plan_.spin_waits) idle += most - more;
      Memory::mark(13, work != 0);
      leave_baton(Looks::waiter);
    }
    Memory::mark(2, work != 0);
    bits = watched;
    has_pollers = pollers_.pending(bits);
    const bool found = has_pollers && look_at_pending();
    satisfied = done();
    if (satisfied || aborted()) break;
    if (work || found) {
      idle = 0;
      continue;
    }
    int64_t left = -1;
    if (timeout_ns > 0) {
      left = timeout_ns - static_cast<int64_t>(Memory::now() - begin);
      if (left <= 0) break;
    }
    ++idle;
    if (plan_.spin_waits && idle < Limits::kSpinsUnyielding) {
      Memory::relax();
    } else if (idle < (plan_.spin_waits ? Limits::kSpins : Limits::kYields)) {
      Memory::yield();  // somebody this thread waits for may be waiting for this very processor
    } else {
      if (timeout_ns < -1) {  // a limit that counts from here on: whoever does not sleep does not look at a clock
        const uint64_t now = Memory::now();
        if (asleep_since == 0) asleep_since = now;
        left = -timeout_ns - static_cast<int64_t>(now - asleep_since);
        if (left <= 0) break;
      }
      if (bits && (left < 0 || left > nap_ns)) left = nap_ns;
      if (plan_.registered) nap_ns = std::min(2 * nap_ns, Limits::kLastNap);
      Memory::mark(3);
      // done() may take what it waits for, so it is not asked again once it said yes.
      sleep([&] { return (satisfied = done()) || aborted(); }, left, watched);
      if (satisfied || aborted()) break;
    }
  }
  Memory::mark(4, satisfied);
  if (steps && take()) leave_call();
  else if (counted_on(Guard::passive_look)) wake_sleepers();
  return satisfied;
}

// One sleep. Whoever can take the baton arms the door and sleeps on it; others are woken by what the holder posts.
template <class Memory>
template <class Done>
void BasicProgress<Memory>::sleep(Done&& done, int64_t limit_ns, uint32_t watched) {
  const bool active = plan_.mode != ProgressMode::offload && !plan_.engine_spins;
  uint32_t nobody = 0;
  if (active && (!plan_.waiters_listen() || listening_.compare_exchange(nobody, 1))) {
    if (take()) {
      sleep_active(done, limit_ns, watched);
      if (plan_.waiters_listen()) listening_.store_release(0);
      return;
    }
    if (plan_.waiters_listen()) listening_.store_release(0);
  }
  sleep_passive(done, limit_ns, watched, active);
}

// Under the baton, which is released.
template <class Memory>
template <class Done>
void BasicProgress<Memory>::sleep_active(Done&& done, int64_t limit_ns, uint32_t watched) {
  Memory::mark(14);
  if (step(Memory::now()) != 0 || engine_->busy()) {
    Memory::mark(15);
    leave_baton(Looks::waiter);
    Memory::yield();
    return;
  }
  Memory::mark(16);
  asleep_.add(1);
  const uint32_t word = door_->arm(Sleeper::waiter);
  const bool idle = !Memory::keeps(Guard::active_messages) || engine_->idle();
  const int64_t max_idle_ns = engine_->max_idle_ns();
  if (max_idle_ns >= 0 && (limit_ns < 0 || limit_ns > max_idle_ns)) limit_ns = max_idle_ns;
  leave_baton();
  set_watch(watched | watched_by_pollers());
  if (idle && !last_look_at_pollers() && (!Memory::keeps(Guard::active_done) || !done()))
    sleep_on(word, Sleeper::waiter, limit_ns, plan_.waiters_listen());
  asleep_.add(~0u);
  door_->disarm(Sleeper::waiter, [&] { return Memory::keeps(Guard::disarm_own_only) && asleep_.load() != 0; });
}

template <class Memory>
template <class Done>
void BasicProgress<Memory>::sleep_passive(Done&& done, int64_t limit_ns, uint32_t watched, bool active) {
  const uint32_t word = passive_word_->load_relaxed();
  if (plan_.engine_spins) attention_->outside();  // that thread steps now
  asleep_.add(1);
  passive_.add(1);
  Memory::fence(Guard::passive_fence);
  set_watch(watched | watched_by_pollers());
  // Who could step must not sleep here unless somebody else does or will: that one looks at passive_ when it stops.
  const bool somebody =
      !active || !Memory::keeps(Guard::passive_baton) || baton_.held() || (plan_.waiters_listen() && listening_.load() != 0);
  if (somebody && !last_look_at_pollers() && (!Memory::keeps(Guard::passive_done) || !done()))
    sleeping_->sleep_passive(*passive_word_, word, limit_ns);
  passive_.add(~0u);
  asleep_.add(~0u);
  if (plan_.engine_spins) attention_->inside();
}

template <class Memory>
int BasicProgress<Memory>::poll() {
  if (Memory::waits()) return 0;  // this very thread steps, or has just looked
  note_look();
  int work = 0;
  if (plan_.mode != ProgressMode::offload && take()) {
    work = step(clock_.coarse(*engine_));
    leave_baton(Looks::waiter);
    if (counted_on(Guard::passive_look)) wake_sleepers();
  }
  uint32_t& fruitless = Memory::fruitless();
  if (work) {
    fruitless = 0;
  } else if (++fruitless >= (plan_.oversubscribed ? Memory::Limits::kPollsCrowded : Memory::Limits::kPolls)) {
    if (!plan_.oversubscribed) fruitless = 0;
    Memory::yield();
  }
  return work;
}

template <class Memory>
void BasicProgress<Memory>::submit_queued(Command& command) {
  Memory::own(command);
  push(command);
  // Publish, fence, look (as the door): the holder re-reads the queue after its release, which is a full barrier.
  Memory::fence(Guard::push_fence);
  if (plan_.mode == ProgressMode::offload) {
    ring_own(Sleeper::engine);
    return;
  }
  while (!baton_.held()) {
    Memory::mark(6);
    if (!take()) continue;
    drain();
    engine_->settle();
    leave_baton();
    return;
  }
}

template <class Memory>
void BasicProgress<Memory>::take_baton() {
  if (take()) return;
  baton_.want();
  for (int tries = 0; !take(); ++tries) {
    Memory::mark(7);
    if (tries < 100) Memory::relax();
    else Memory::yield();
  }
  baton_.got();
}

template <class Memory>
void BasicProgress<Memory>::leave_baton(Looks next) {
  for (;;) {
    const bool posted = engine_->posted;
    if (posted) engine_->posted = false;
    const bool busy = next == Looks::nobody && engine_->busy();
    baton_.release();  // what is read below is not older, see Baton::held
    // A waiter that goes on looking wakes those who sleep for its looking when it ends. At each release, a sleeper that does not get the
    // processor would be woken again and again, by a system call each.
    if ((posted && Memory::keeps(Guard::posted_look) && asleep_.load_relaxed() > 0) ||
        (next != Looks::waiter && counted_on(Guard::passive_look)))
      wake_sleepers();
    // What goes on by steps alone is stepped by a waiter that sleeps, or by the engine thread.
    if (busy && Memory::keeps(Guard::busy_look)) {
      if (BasicDoorbell<typename Memory::Node>::who(door_->read()) == Sleeper::waiter) ring_own(Sleeper::waiter);
      else if (has_parked_thread()) nudge_engine();
    }
    if (!filled(Guard::queue_look) || plan_.mode == ProgressMode::offload || !take()) return;
    drain();
    engine_->settle();
  }
}

// Without a descriptor somebody must look; with one, what a provider has accepted may still need a poll to leave. Both ever less often.
template <class Memory>
int64_t BasicProgress<Memory>::longest_nap() {
  using Limits = typename Memory::Limits;
  const auto steps = static_cast<uint32_t>(engine_->stats().steps.read());
  if (naps_since_.exchange(steps) != steps) naps_.store(0);
  const uint32_t doubled = std::min(naps_.fetch_add(1) / Limits::kNapsAlike, 16u);
  return plan_.must_poll ? std::min(Limits::kPollNap << doubled, Limits::kLongestPollNap)
                         : std::min(Limits::kHeartbeat << doubled, Limits::kLongestHeartbeat);
}

}  // namespace portunus
