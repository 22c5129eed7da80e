// progress_waiting.hpp: the bodies of waiting, sleeping and leaving. See progress.hpp, which includes it.
//
// Memory::mark is where the explorer of interleavings may forget how the thread came there. In the library it is nothing.
#pragma once

#include "engine/progress/progress.hpp"

namespace portunus {

template <class Memory>
template <class Done>
[[gnu::noinline]] bool BasicProgress<Memory>::wait_on(Done& done, int64_t timeout_ns, uint32_t watched) {
  using Limits = typename Memory::Limits;
  if (timeout_ns == 0) {
    poll();
    return done();
  }
  struct Waiting {  // done() may poll: it finds that this thread does so already, or means not to yet
    Waiting() { Memory::waits() = true; }
    ~Waiting() { Memory::waits() = false; }
  } here;
  // Who waits for memory looks at it first, without a look at the engine: that costs as much again, or as much as giving up the core.
  int looks = watched == 0 ? 0 : plan_.spin_waits ? Limits::kMemorySpins : Limits::kMemoryYields;
  for (looks = plan_.network_open() ? looks / 8 : looks; looks > 0; --looks) {
    if (plan_.spin_waits) {
      Memory::relax();
    } else {
      // Who shares its core gives it up, but not to be given it back for nothing: what it waits for may come from the other cores within
      // a part of the time that two switches take.
      for (int more = Limits::kMemoryLooks; more > 0; --more) {
        Memory::relax();
        if (done()) return true;
      }
      Memory::yield();
    }
    if (done()) return true;
  }
  const uint32_t aborts = aborts_.load_relaxed();
  const auto aborted = [&] { return aborts_.load_relaxed() != aborts; };
  const uint64_t begin = timeout_ns > 0 ? Memory::now() : 0;
  if (Memory::biased() && wait_biased(done, begin, timeout_ns, aborts, watched != 0)) return true;
  const bool steps = plan_.mode != ProgressMode::offload;
  if (steps) enter_wait();
  bool satisfied = false;
  int idle = 0;
  int64_t nap_ns = plan_.registered ? Limits::kFirstNap : Limits::kBlindNap;
  for (;;) {
    Memory::mark(1);
    int work = 0;
    if (steps && take()) {
      do {
        Memory::mark(8);
        work = step(clock_.coarse(*engine_));
        Memory::mark(9, work != 0);
        satisfied = done();
      } while (!satisfied && (work || (plan_.spin_waits && ++idle < Limits::kSpins && (idle & 63) != 0)) && !engine_->posted &&
               !baton_.wanted());
      if (satisfied) {
        Memory::mark(10);
        leave_holding();
        return true;
      }
      Memory::mark(13, work != 0);
      // Beside a network that nobody came by yet it is the engine thread that looks, and may be asleep for the baton.
      leave_baton(unmet_.load_relaxed() ? Stays::no : Stays::waiting);
    }
    Memory::mark(2, work != 0);
    satisfied = done();
    if (satisfied || aborted()) break;
    if (work) {
      idle = 0;
      continue;
    }
    int64_t left = -1;
    if (timeout_ns > 0) {
      left = timeout_ns - static_cast<int64_t>(Memory::now() - begin);
      if (left <= 0) break;
    }
    ++idle;
    if (plan_.spin_waits && idle < Limits::kSpins) {
      pause_spin(idle);
    } else if (idle < (plan_.spin_waits ? Limits::kSpins : 0) + Limits::kYields) {
      Memory::yield();
    } else {
      if (watched && (left < 0 || left > nap_ns)) left = nap_ns;
      if (plan_.registered) nap_ns = std::min(2 * nap_ns, Limits::kLastNap);
      Memory::mark(3);
      // done() may take what it waits for, so it is not asked again once it said yes.
      sleep([&] { return (satisfied = done()) || aborted(); }, left, watched);
      if (satisfied || aborted()) break;
    }
  }
  Memory::mark(4, satisfied);
  if (steps) leave_wait();
  return satisfied;
}

// The same for a thread with the bias: the engine thread only glances, so nobody need know that this one waits. False: go on in full.
template <class Memory>
template <class Done>
bool BasicProgress<Memory>::wait_biased(Done&& done, uint64_t begin, int64_t timeout_ns, uint32_t aborts, bool watches_memory) {
  using Limits = typename Memory::Limits;
  auto&& patience = Memory::patience();
  for (int idle = 0; take();) {
    if (!Memory::biased()) {  // taken back
      leave_baton();
      break;
    }
    int work;
    bool satisfied;
    const int granted = plan_.spin_waits ? 0 : patience.looks();
    int looks = granted;
    do {
      work = step(clock_.coarse(*engine_));
      satisfied = (work || watches_memory) && done();  // else nobody can have brought it about without the baton
    } while (!satisfied && (work || looks-- > 0 || (plan_.spin_waits && (++idle & 63) != 0)) && !engine_->posted && !baton_.blocked());
    leave_baton();
    satisfied = satisfied || done();
    if (granted > 0 && looks != granted) patience.tried(satisfied);
    if (satisfied) return true;
    if (work) continue;
    if (idle >= (plan_.spin_waits ? Limits::kSpins : Limits::kYields) || aborts_.load_relaxed() != aborts) break;
    if (timeout_ns > 0 && Memory::now() - begin >= static_cast<uint64_t>(timeout_ns)) break;
    if (plan_.spin_waits) {
      if (idle >= alone()) pause_spin(idle);
    } else {
      ++idle;
      Memory::yield();
    }
  }
  return false;
}

// One sleep. Whoever can take the baton arms the door and sleeps on it; others are woken by what the holder posts.
template <class Memory>
template <class Done>
void BasicProgress<Memory>::sleep(Done&& done, int64_t limit_ns, uint32_t watched) {
  const bool active = plan_.mode != ProgressMode::offload && !plan_.engine_spins;
  uint32_t nobody = 0;
  if (active && (!plan_.by_socket || polling_.compare_exchange(nobody, 1))) {
    if (take()) {
      sleep_active(done, limit_ns, watched);
      if (plan_.by_socket) polling_.store_release(0);
      return;
    }
    if (plan_.by_socket) polling_.store_release(0);
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
    leave_baton();
    Memory::yield();
    return;
  }
  Memory::mark(16);
  if (Memory::keeps(Guard::active_cool)) cool();
  meet();
  const bool watches = !unmet_.load_relaxed();
  const uint32_t word = door_->arm(Sleeper::waiter, plan_.by_socket && watches);
  const bool idle = !Memory::keeps(Guard::active_messages) || engine_->idle();
  const int64_t max_idle_ns = engine_->max_idle_ns();
  if (max_idle_ns >= 0 && (limit_ns < 0 || limit_ns > max_idle_ns)) limit_ns = max_idle_ns;
  asleep_.add(1);
  leave_baton();
  set_watch(watched);
  if (idle && (!Memory::keeps(Guard::active_done) || !done())) sleep_on(word, Sleeper::waiter, limit_ns, watches);
  asleep_.add(~0u);
  door_->disarm_from(word);
}

template <class Memory>
template <class Done>
void BasicProgress<Memory>::sleep_passive(Done&& done, int64_t limit_ns, uint32_t watched, bool active) {
  const bool counts = plan_.engine_spins && plan_.mode != ProgressMode::offload;
  const uint32_t word = passive_word_->load_relaxed();
  if (counts) waiting_.add(~0u);  // the engine thread steps now
  asleep_.add(1);
  passive_.add(1);
  Memory::fence(Guard::passive_fence);
  set_watch(watched);
  // Who could step must not sleep here unless somebody else does or will: that one looks at passive_ when it stops.
  const bool somebody = !active || !Memory::keeps(Guard::passive_baton) || baton_.held() || (plan_.by_socket && polling_.load() != 0);
  if (somebody && (!Memory::keeps(Guard::passive_done) || !done())) sleeping_->sleep_passive(*passive_word_, word, limit_ns);
  passive_.add(~0u);
  asleep_.add(~0u);
  if (counts) waiting_.add(1);
}

template <class Memory>
int BasicProgress<Memory>::poll() {
  if (Memory::waits()) return 0;  // this very thread steps, or has just looked
  note_look();
  int work = 0;
  if (plan_.mode != ProgressMode::offload && take()) {
    work = step(clock_.coarse(*engine_));
    leave_baton();
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
void BasicProgress<Memory>::leave_baton(Stays stays) {
  for (;;) {
    const bool posted = engine_->posted;
    if (posted) engine_->posted = false;
    const bool busy = engine_->busy(), disturbed = calm_.disturbed(engine_->trigger_uses());
    if (grant_.get()) {
      grant_.set(0);
      baton_.release_biased(Memory::biased());
      // Waits may have ceased to come thick and fast meanwhile, see cool.
      if (plan_.mode == ProgressMode::park && Memory::keeps(Guard::grant_look) && !dense_.load_relaxed()) Memory::biased() = false;
    } else {
      baton_.release(Memory::biased());  // what is read below is not older, see Baton::held
    }
    if ((posted && Memory::keeps(Guard::posted_look) && asleep_.load_relaxed() > 0) ||
        (stays == Stays::no && counted_on(Guard::passive_look)))
      wake_sleepers();
    // What goes on by steps alone was perhaps begun by a call, while another thread sleeps in a wait: then that one steps.
    if (busy && Memory::keeps(Guard::busy_look)) ring_sleeper();
    else if (busy || disturbed) ring_own(Sleeper::engine);
    if (!filled(Guard::queue_look) || plan_.mode == ProgressMode::offload || !take()) return;
    drain();
    engine_->settle();
  }
}

template <class Memory>
void BasicProgress<Memory>::leave_wait() {
  if (plan_.engine_spins) {
    waiting_.add(~0u);
    return;
  }
  // The door is armed for others under the baton only: without it, a waiter's arming could be overwritten.
  if (Memory::keeps(Guard::leave_holding)) take_baton();
  else if (!take()) return tell(hand_over());
  leave_holding();
}

// Waits come thick and fast no more. A bias must not outlive that: its owner hands nothing over to the engine thread. Whoever grants
// it at this moment fences and looks again (leave_baton); we write, fence and then block what was granted.
template <class Memory>
void BasicProgress<Memory>::cool() {
  dense_.exchange(0);
  Memory::fence(Guard::cool_fence);
  baton_.block();
}

// Somebody came by the network, or was gone to. From now on who sleeps for the door watches the descriptors, too; who sleeps already
// is woken to do so.
template <class Memory>
void BasicProgress<Memory>::meet() {
  if (!unmet_.load_relaxed() || engine_->unmet()) return;
  unmet_.store(0);
  if (Memory::keeps(Guard::meet_wakes)) engine_->posted = true;
}

// Under the baton: the calling thread goes back to computing. Returns who is to be told once the baton is free.
template <class Memory>
typename BasicProgress<Memory>::Next BasicProgress<Memory>::hand_over() {
  const bool last = waiting_.fetch_add(~0u) == 1;
  if (plan_.engine_spins) return Next::nobody;
  const auto unless_quiet = [&](Next next)
                                UNDER_BATON { return !Memory::keeps(Guard::leave_rings) || engine_->quiet() ? Next::nobody : next; };
  if (!last) {
    // Others may sleep on a word that no longer names them (this thread has taken back its own arming).
    if (!Memory::keeps(Guard::leave_relieves) || asleep_.load_relaxed() == 0 ||
        BasicDoorbell<typename Memory::Node>::who(door_->read()) == Sleeper::waiter)
      return Next::nobody;
    door_->arm(Sleeper::waiter, plan_.by_socket);
    return unless_quiet(Next::waiter);
  }
  if (plan_.mode == ProgressMode::caller || dense_.load_relaxed()) {
    // The engine thread, if there is one, looks every kDenseTick (or more rarely) while waits come this often: the word stays quiet, nobody
    // rings.
    if (plan_.registered && door_->heat()) {
      if (!bias_owner_.get()) bias_owner_.set(Memory::self());
      grant_.set(!Memory::biased() && bias_owner_.get() == Memory::self() && taken_back_.get() < Memory::Limits::kMostTakenBack);
    }
    return Next::nobody;
  }
  if (plan_.mode != ProgressMode::park) return Next::nobody;
  meet();
  if (rush_.begins(plan_.network_open())) {
    dense_.exchange(1);
    door_->arm(Sleeper::engine, plan_.by_socket);
    return Next::engine;  // wake it once, so that it starts looking by itself
  }
  if (Memory::keeps(Guard::leave_arms)) door_->arm(Sleeper::engine, plan_.by_socket, calm_.now());
  if (plan_.must_poll) return Next::engine;  // its naps have become long while nobody asked it to look
  // Where there are descriptors, the parked thread slept on the bell alone while we waited. To wake it at once would take this processor
  // from the application, and what that may be about to send would leave behind the data that the thread answers others with.
  if (plan_.by_socket && !unmet_.load_relaxed()) {
    if (!Memory::keeps(Guard::leave_calls)) return Next::nobody;
    return !Memory::keeps(Guard::leave_soon) || engine_->settled() ? Next::engine_listens : Next::engine_soon;
  }
  // What has come meanwhile is taken here: that costs less than to wake the thread for it.
  for (int i = 0; calm_.now() && i < Memory::Limits::kLastSteps && step(clock_.coarse(*engine_)) != 0; ++i) {
  }
  return unless_quiet(Next::engine);
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
