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
  using Policy = WaitPolicy<typename Memory::Limits>;
  Policy policy(plan_);
  uint32_t bits = watched;
  bool has_pollers = pollers_.pending(bits);
  for (int looks = bits == 0 ? 0 : policy.looks_at_memory(); looks > 0; --looks) {
    if (plan_.spin_waits) {
      Memory::relax();
    } else {
      // A thread that shares its core gives it up only after some looks: what it waits for may come from the other cores within a part of
      // the time that two switches take.
      for (int more = Memory::Limits::kMemoryLooks; more > 0; --more) {
        Memory::relax();
        if (has_pollers) look_at_pollers();
        if (done()) return true;
      }
      if (Memory::yield() && policy.others_ran()) looks = 1;  // the last
    }
    if (has_pollers) look_at_pollers();
    if (done()) return true;
  }
  const uint32_t aborts = aborts_.load_relaxed();
  const auto aborted = [&] { return aborts_.load_relaxed() != aborts; };
  const uint64_t begin = timeout_ns > 0 ? Memory::now() : 0;
  const bool steps = plan_.mode != ProgressMode::offload;
  bool satisfied = false;
  uint64_t asleep_since = 0;
  for (;;) {
    Memory::mark(1);
    int work = 0;
    if (steps && take()) {
      const int most = has_pollers ? 0 : policy.steps_at_once();
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
      policy.stepped_in_vain(most - more, engine_->step_is_costly());
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
      policy.found();
      continue;
    }
    int64_t left = -1;
    if (timeout_ns > 0) {
      left = timeout_ns - static_cast<int64_t>(Memory::now() - begin);
      if (left <= 0) break;
    }
    const typename Policy::Next next = policy.next();
    if (next == Policy::Next::look) {
      Memory::relax();
    } else if (next == Policy::Next::yield) {
      if (Memory::yield()) policy.others_ran();  // somebody this thread waits for may be waiting for this very processor
    } else {
      if (timeout_ns < -1) {  // a limit that counts from here on: whoever does not sleep does not look at a clock
        const uint64_t now = Memory::now();
        if (asleep_since == 0) asleep_since = now;
        left = -timeout_ns - static_cast<int64_t>(now - asleep_since);
        if (left <= 0) break;
      }
      const int64_t nap_ns = policy.nap_ns();
      if (bits && (left < 0 || left > nap_ns)) left = nap_ns;
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
  const uint32_t all_watched = watched | engine_->watched();
  const uint32_t word = door_->arm(Sleeper::waiter, [&] { return set_watch(all_watched); });
  const bool idle = !Memory::keeps(Guard::active_messages) || engine_->idle();
  const int64_t max_idle_ns = engine_->max_idle_ns();
  if (max_idle_ns >= 0 && (limit_ns < 0 || limit_ns > max_idle_ns)) limit_ns = max_idle_ns;
  leave_baton();
  if (idle && !last_look(done)) sleep_on(word, Sleeper::waiter, limit_ns, plan_.waiters_listen());
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
  if (set_watch(watched)) Memory::heavy_fence(Guard::passive_fence);
  else Memory::fence(Guard::passive_fence);
  // A thread that could step must not sleep here unless another steps or will: that one looks at passive_ when it stops.
  const bool somebody =
      !active || !Memory::keeps(Guard::passive_baton) || baton_.held() || (plan_.waiters_listen() && listening_.load() != 0);
  if (somebody && !last_look(done)) sleeping_->sleep_passive(*passive_word_, word, limit_ns);
  passive_.add(~0u);
  asleep_.add(~0u);
  if (plan_.engine_spins) attention_->inside();
}

template <class Memory>
int BasicProgress<Memory>::poll() {
  if (Memory::waits()) return 0;  // this very thread steps, or has just looked
  attention_->outside();
  uint32_t& fruitless = Memory::fruitless();
  const bool gives_way = fruitless + 1 >= (plan_.oversubscribed ? Memory::Limits::kPollsCrowded : Memory::Limits::kPolls);
  const uint64_t began = gives_way ? Memory::now() : 0;
  int work = 0;
  if (plan_.mode != ProgressMode::offload && take()) {
    work = step(clock_.coarse(*engine_));
    leave_baton(Looks::waiter);
    if (counted_on(Guard::passive_look)) wake_sleepers();
  }
  if (work) {
    fruitless = 0;
  } else if (gives_way) {
    if (!plan_.oversubscribed) fruitless = 0;
    Memory::give_way(began);
  } else {
    ++fruitless;
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
    run_queued();
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
[[gnu::noinline]] void BasicProgress<Memory>::look_after_release(bool posted, bool busy, bool news, Looks next) {
  // A waiter that goes on looking wakes those who sleep for its looking when it ends. At each release, a sleeper that does not get the
  // processor would be woken again and again, by a system call each.
  if ((posted && Memory::keeps(Guard::posted_look) && asleep_.load_relaxed() > 0) ||
      (next != Looks::waiter && counted_on(Guard::passive_look)))
    wake_sleepers();
  // Work that goes on by steps alone is stepped by a waiter that sleeps, or by the engine thread.
  if (busy && Memory::keeps(Guard::busy_look)) {
    if (BasicDoorbell<typename Memory::Node>::who(door_->read()) == Sleeper::waiter) ring_own(Sleeper::waiter);
    else if (has_parked_thread()) nudge_engine();
  }
  // An engine thread that sleeps for long does not know that it is to look again and again.
  if (news) {
    news_.store(1);
    if (naps_long_.load_relaxed() != 0 || BasicDoorbell<typename Memory::Node>::who(door_->read()) == Sleeper::engine) {
      rung_for_news_.store(1);
      nudge_engine();
    }
  }
  if (!filled(Guard::queue_look) || plan_.mode == ProgressMode::offload || !take()) return;
  run_queued();
  engine_->settle();
  leave_baton(next);
}

}  // namespace portunus
