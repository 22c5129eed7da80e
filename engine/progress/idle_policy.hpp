// idle_policy.hpp: what a thread does when it has looked in vain: it looks again, gives its core up, or sleeps, and for how long.
//
//   who                                      looks on                     then yields    then sleeps, each time twice as long
//   a waiter with a core to itself           kSpins steps, some ms        -              until woken; watched memory: kFirstNap .. kLastNap
//   a waiter that shares its core            kStepsBeforeYield steps      kYields times  the same
//   the same beside programs that compute    kStepsBeforeYield steps      kLongYields    the same
//   the engine thread, attended, with news   -                            -              kFirstTick .. kLongestTick
//   the same without                         -                            -              kFirstTick .. kLongestCalmTick
//   the same while a call is under way       -                            -              kFirstTick .. kLongestHeldTick
//   the engine thread, alone                 kIdleSteps steps             -              kFirstTick << 1 .. kLooksAlone, then until woken
//   who sleeps beside a network              -                            -              kHeartbeat .. kLongestHeartbeat; without a
//                                                                                        descriptor kPollNap .. kLongestPollNap
//
// A policy knows the present alone: how often this wait has looked in vain, and whether this rank has a core for its waiters. Nothing goes
// over from one wait to the next but the length of heartbeats.
//
// A waiter with a core to itself keeps it for about as long as the system's scheduler lets a thread run. Where other programs have the
// core, too, giving it up costs a turn of theirs, and so does waking: ranks that keep it meet in the turns that they have at the same time,
// and exchange thousands of messages in each.
//
// Thread: a policy belongs to the thread that waits; the heartbeat to all who sleep, whose races cost a nap at most.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/progress/plan.hpp"

namespace portunus {

// The policy of one wait.
template <class Limits>
class WaitPolicy {
 public:
  enum class Next : uint8_t { look, yield, sleep };

  explicit WaitPolicy(const ProgressPlan& plan) : plan_(plan), nap_ns_(plan.registered ? Limits::kFirstNap : Limits::kBlindNap) {}

  // How often watched memory is looked at alone before the engine is stepped: a step costs as much again, or as much as giving up the core.
  int looks_at_memory() const {
    const int looks = plan_.spin_waits ? Limits::kMemorySpins : Limits::kMemoryYields;
    return plan_.network_open() ? looks / 8 : looks;
  }
  // How many steps follow one in vain before the baton is left. Beside a network each is a system call.
  int steps_at_once() const {
    if (plan_.spin_waits) return Limits::kStepsAtOnce;
    return plan_.network_open() ? Limits::kStepsBeforeYield / 8 : Limits::kStepsBeforeYield;
  }
  // `costly`: each is a system call, which takes as long as kStepsOfCostly others.
  void stepped_in_vain(int steps, bool costly) {
    if (plan_.spin_waits) idle_ += costly ? (steps + 1) * Limits::kStepsOfCostly : steps;
  }
  void found() { idle_ = 0; }
  // Others had the core for a millisecond or more while this thread gave way. They may be ranks, and what this one waits for; or programs
  // that compute, for which the message need not wait as often. True: sleep comes next.
  bool others_ran() {
    idle_ += (Limits::kYields + Limits::kLongYields - 1) / Limits::kLongYields;
    return idle_ >= Limits::kYields;
  }
  Next next() {
    ++idle_;
    if (plan_.spin_waits) return idle_ < Limits::kSpins ? Next::look : Next::sleep;
    return idle_ < Limits::kYields ? Next::yield : Next::sleep;
  }
  // The longest sleep of who watches memory, to which somebody may store without a word.
  int64_t nap_ns() {
    const int64_t nap = nap_ns_;
    if (plan_.registered) nap_ns_ = std::min(2 * nap_ns_, Limits::kLastNap);
    return nap;
  }

 private:
  const ProgressPlan& plan_;
  int idle_ = 0;
  int64_t nap_ns_;
};

// The policy of the engine thread that has no core of its own.
template <class Limits>
class TickPolicy {
 public:
  // Application threads come by themselves. While they begin nothing that others set going, nobody waits for this thread: who sends what is
  // urgent rings when they have stopped coming.
  int64_t attended_ns(bool had_news) {
    looks_alone_ = 0;
    const int64_t longest = had_news ? Limits::kLongestTick : Limits::kLongestCalmTick;
    const int64_t nap = std::min(tick_ns_, longest);
    tick_ns_ = std::min(2 * nap, longest);
    return nap;
  }
  // An application thread is inside a call, and looks when it leaves: beside hundreds of ranks that map each other it takes seconds.
  int64_t held_ns() {
    looks_alone_ = 0;
    const int64_t nap = tick_ns_;
    tick_ns_ = std::min(2 * nap, Limits::kLongestHeldTick);
    return nap;
  }
  // None does.
  void unattended() { tick_ns_ = Limits::kFirstTick; }
  void found() { looks_alone_ = 0; }
  // After a look in vain: the nap before the next one; 0: it has been alone for long enough to sleep until it is woken.
  int64_t alone_ns() { return ++looks_alone_ < Limits::kLooksAlone ? Limits::kFirstTick << looks_alone_ : 0; }

 private:
  int64_t tick_ns_ = Limits::kFirstTick;
  int looks_alone_ = 0;
};

// The longest sleep of all threads beside a network. Without a descriptor somebody must look; with one, what a provider has accepted may
// still need a poll to leave.
template <class Memory>
class Heartbeat {
 public:
  // `steps`: with work, so far.
  int64_t next_ns(const ProgressPlan& plan, uint32_t steps) {
    using Limits = typename Memory::Limits;
    if (since_.exchange(steps) != steps) naps_.store(0);
    const uint32_t doubled = std::min(naps_.fetch_add(1) / Limits::kNapsAlike, 16u);
    return plan.must_poll ? std::min(Limits::kPollNap << doubled, Limits::kLongestPollNap)
                          : std::min(Limits::kHeartbeat << doubled, Limits::kLongestHeartbeat);
  }

 private:
  typename Memory::Hint naps_;   // since something last happened
  typename Memory::Hint since_;  // the steps with work until then
};

}  // namespace portunus
