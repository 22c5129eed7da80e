// progress_thread.hpp: the two forms of the engine thread: spinning on a core of its own, and parked on the door. See progress.hpp, which
// includes it.
#pragma once

#include "engine/progress/progress.hpp"

namespace portunus {

// The engine thread with a core of its own.
template <class Memory>
void BasicProgress<Memory>::run_spinning() {
  constexpr int kGrace = 32;  // pauses, about a microsecond: an application that uses the engine is left alone
  const bool offload = plan_.mode == ProgressMode::offload;
  while (!stop_.load_relaxed()) {
    const uint32_t uses = baton_.uses();
    for (int i = 0; i < (offload ? 1 : kGrace); ++i) Memory::relax();
    if (!offload && (waiting_.load_relaxed() > 0 || baton_.uses() != uses)) continue;
    if (!baton_.try_take(Memory::biased())) continue;
    int work;
    do {
      work = step(Memory::now());
      if (work) ++engine_->stats().steps_by_engine;
    } while (work && !baton_.wanted() && !engine_->posted && !stop_.load_relaxed());
    leave_baton();
  }
}

// The engine thread without one: it sleeps until the door names it.
template <class Memory>
void BasicProgress<Memory>::run_parked() {
  using Limits = typename Memory::Limits;
  int64_t dense_tick_ns = Limits::kDenseTick, calm_tick_ns = Limits::kDenseTick;
  bool woken = false;
  int found_outside = 0;  // looks in a row, while waits come thick and fast, that found nobody waiting
  while (!stop_.load()) {
    Memory::mark(11);
    if (dense_.load()) {
      // To step now would take the bias from a thread that is busy here: only look whether it still is.
      const uint32_t word = door_->read();
      const uint32_t uses = baton_.uses();
      if (stop_.load()) return;
      const uint64_t begin = Memory::now();
      if (plan_.by_socket) sleeping_->ignore();
      sleep_on(word, Sleeper::engine, dense_tick_ns, false);
      // It returns at once when the word has changed since, which says nothing about who is busy.
      if (!Memory::passed(begin, dense_tick_ns)) continue;
      // Who computes for most of the time, but waits more often than that, counts as well: the looks find it outside.
      const bool inside = baton_.inside();
      found_outside = inside || waiting_.load_relaxed() > 0 ? 0 : found_outside + 1;
      if ((!inside && baton_.uses() == uses) || (plan_.by_socket && found_outside >= Limits::kFoundOutside)) cool();
      else dense_tick_ns = std::min(2 * dense_tick_ns, Limits::kLongestDenseTick);
      continue;
    }
    dense_tick_ns = Limits::kDenseTick;
    found_outside = 0;
    int64_t rest_ns = 0;
    if (waiting_.load() == 0) {
      if (!baton_.try_take(Memory::biased())) {
        wait_for_baton();
        continue;
      }
      Memory::mark(21);
      // Beside descriptors one look in vain is enough: the last one before sleeping follows in any case, and each is a system call.
      const int idle_steps = plan_.by_socket ? 1 : Limits::kIdleSteps;
      const uint64_t answers = engine_->answers();
      bool found = false;
      for (int idle = 0; idle < idle_steps && !baton_.wanted() && !engine_->posted && waiting_.load_relaxed() == 0;) {
        if (step(Memory::now()) > 0) {
          ++engine_->stats().steps_by_engine;
          found = true;
          idle = 0;
        } else {
          ++idle;
        }
      }
      if (plan_.may_be_calm()) calm_.weigh(woken, found, engine_->answers() != answers, engine_->trigger_uses(), looks_.load_relaxed());
      woken = false;
      Memory::mark(22);
      const bool posted = engine_->posted;
      const bool busy = engine_->busy();
      const bool wanted = baton_.wanted();
      meet();
      // Application threads that wait step by themselves, unless they are to leave that to us.
      if (plan_.by_socket && plan_.mode == ProgressMode::park) rest_ns = engine_->rest_ns();
      leave_baton();
      if (posted) continue;
      // Whoever wants the baton may need this very processor for it: without a step what has arrived keeps the engine from idling, and
      // this thread would take the baton again and again, to ask.
      if (busy || wanted) {
        sleeping_->let_others_run();
        continue;
      }
    }
    Memory::mark(12);
    const uint32_t word = door_->read();
    if (stop_.load()) return;
    const bool calm = calm_.now();
    calm_tick_ns = calm ? std::min(2 * calm_tick_ns, Limits::kLongestDenseTick) : Limits::kDenseTick / 2;
    woken = true;
    const int64_t longest_ns = calm ? calm_tick_ns : Limits::kLongestSleep;
    if (waiting_.load() > 0) {
      // An application thread steps; when it leaves, it arms the word for us (and so changes it).
      if (unmet_.load_relaxed() && Memory::keeps(Guard::unmet_watched)) {
        sleeping_->listen(true);
        sleeping_->sleep(*door_, word, Sleeper::engine, longest_ns, true);
        look_for_first_word();
        continue;
      }
      sleep_on(word, Sleeper::engine, plan_.by_socket ? std::min(longest_nap(), Limits::kLongestUnrung) : longest_ns, false);
      // It may wait for long: then there is nothing to look for meanwhile.
      if (calm && waiting_.load_relaxed() > 0 && baton_.try_take(Memory::biased())) {
        calm_.weigh(false, false, false, engine_->trigger_uses(), looks_.load_relaxed());
        leave_baton();
      }
      continue;
    }
    park(word, rest_ns, longest_ns, calm);
  }
}

// Whoever waits does not watch the network before somebody came by it, and rarely looks there.
template <class Memory>
void BasicProgress<Memory>::look_for_first_word() {
  if (waiting_.load_relaxed() == 0) return;
  if (!baton_.try_take(Memory::biased())) return wait_for_baton();
  if (!engine_->idle()) step(Memory::now());
  meet();
  leave_baton();
}

// Arms the door that still has `word`, looks once more, and sleeps, for longest_ns at most: if there is a rest, so long, and by the door
// alone. The baton is taken in the midst of a condition: the analysis of thread safety cannot follow.
template <class Memory>
void BasicProgress<Memory>::park(uint32_t word, int64_t rest_ns, int64_t longest_ns, bool calm) {
  const bool offload = plan_.mode == ProgressMode::offload;
  uint32_t armed;
  if (!door_->arm_from(word, Sleeper::engine, plan_.by_socket && rest_ns == 0, armed, calm)) return;
  bool holds = false;
  if ((Memory::keeps(Guard::park_waiting) && waiting_.load() > 0) || stop_.load() || (Memory::keeps(Guard::park_dense) && dense_.load()) ||
      (offload && engine_->commands().maybe_filled()) ||
      (!(holds = baton_.try_take(Memory::biased())) && Memory::keeps(Guard::park_holding))) {
    door_->disarm_from(armed);
    return;
  }
  const bool idle = !Memory::keeps(Guard::park_messages) || (engine_->idle() && !engine_->busy());
  // What application threads begin after this look, and nobody rings for, such as watching a peer on the node, is seen to by the limit.
  int64_t max_idle_ns = engine_->max_idle_ns();
  if (max_idle_ns < 0 || max_idle_ns > longest_ns) max_idle_ns = longest_ns;
  if (holds) leave_baton();
  if (rest_ns > 0) max_idle_ns = std::min(max_idle_ns, rest_ns);
  if (idle) sleep_on(armed, Sleeper::engine, max_idle_ns, rest_ns == 0);
  else door_->disarm_from(armed);
}

// Somebody else has the baton, perhaps on this very processor. To give way by sched_yield would leave it to a computing application for
// a whole slice of the scheduler's, milliseconds; whoever releases the baton, and ceases to look, wakes passive sleepers.
template <class Memory>
void BasicProgress<Memory>::wait_for_baton() {
  const uint32_t word = passive_word_->load_relaxed();
  passive_.add(1);
  Memory::fence(Guard::passive_fence);
  if (!Memory::keeps(Guard::park_baton) || baton_.held()) sleeping_->sleep_passive(*passive_word_, word, -1);
  passive_.add(~0u);
}

}  // namespace portunus
