// progress_interleaving_test.cpp: no interleaving of waiting threads, the engine thread and a remote ringer loses a wake-up, leaves a
// command behind, drops what an append was there for or lets two step at once. What is walked is the shipped code of waiting
// (engine/progress/). Then one guard after the other is taken out of it, and the walk must find the interleaving that goes wrong.
//
// Each scenario is walked whole where that takes seconds; else as far as kMost states go, or whole with PORTUNUS_THOROUGH=1 in the
// environment (minutes, and gigabytes).
//
// Thread: one; the threads are simulated.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <set>
#include <stdexcept>
#include <vector>

#include "tests/engine/progress_scenarios.hpp"

namespace portunus {
namespace {

using interleave::Found;
using interleave::taken_out;
using X86 = interleave::ProgressScenarios<interleave::StoreBuffers>;
using Cpp = interleave::ProgressScenarios<interleave::Views>;

size_t most(size_t states) { return std::getenv("PORTUNUS_THOROUGH") ? SIZE_MAX : states; }

constexpr size_t kMost = 100'000, kFew = 20'000;
X86 x86() { return {most(kMost)}; }
Cpp cpp() { return {most(kFew)}; }  // each state costs ten times as much

// A walk goes as deep as its longest interleaving: on a thread whose stack has room for that.
Found on_large_stack(const std::function<Found()>& walk) {
  Found found;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{4} << 30);  // reserved, and touched as far as it is used
  struct Call {
    const std::function<Found()>& walk;
    Found& found;
  } call{walk, found};
  pthread_t thread;
  const int code = pthread_create(
      &thread, &attributes,
      [](void* arg) -> void* {
        auto& self = *static_cast<Call*>(arg);
        self.found = self.walk();
        return nullptr;
      },
      &call);
  pthread_attr_destroy(&attributes);
  if (code != 0) throw std::runtime_error("no memory for the stack of the walk");
  pthread_join(thread, nullptr);
  return found;
}

void expect_well(const char* what, const std::function<Found()>& walk) {
  const Found found = on_large_stack(walk);
  std::cout << what << ": " << found.states << " states" << (found.complete ? "" : ", not all")
            << (found.lost ? ", then it goes wrong:\n" : "\n") << found.interleaving;
  EXPECT_FALSE(found.lost) << what;
}
#define EXPECT_ALL_WELL(scenario)                                \
  expect_well("x86: " #scenario, [] { return x86().scenario; }); \
  expect_well("C++: " #scenario, [] { return cpp().scenario; })

TEST(ProgressInterleaving, AMessageWakesTheOnlyWaiter) { EXPECT_ALL_WELL(alone()); }
TEST(ProgressInterleaving, AMessageWithoutAFenceWakesTheOnlyWaiter) { EXPECT_ALL_WELL(alone_registered()); }
TEST(ProgressInterleaving, AWaiterAndTheEngineThreadBothFindTheirSleep) { EXPECT_ALL_WELL(enter()); }
TEST(ProgressInterleaving, WhoLeavesLeavesWhatComesToTheEngineThread) { EXPECT_ALL_WELL(leave()); }
TEST(ProgressInterleaving, TheEngineThreadListensToDescriptorsAlsoForThoseWhoSleepInAWait) {
  EXPECT_ALL_WELL(leave_to_descriptors());
  EXPECT_ALL_WELL(leave_beside_descriptors());
  EXPECT_ALL_WELL(wait_beside_descriptors());
}
TEST(ProgressInterleaving, TheEngineThreadNapsWhileOthersComeAndLooksWhenTheyDoNot) { EXPECT_ALL_WELL(attend()); }
TEST(ProgressInterleaving, TheEngineThreadGetsTheBatonFromWhoHasIt) { EXPECT_ALL_WELL(park_while_entered()); }
TEST(ProgressInterleaving, OneMayLeaveWhileAnotherBeginsToWaitAndAThirdHasTheBaton) { EXPECT_ALL_WELL(leave_while_held()); }
TEST(ProgressInterleaving, WhoLeavesLeavesTheDoorArmedForThoseWhoSleep) { EXPECT_ALL_WELL(relieve()); }
TEST(ProgressInterleaving, AWaiterMaySleepUntilTheEngineThreadHasStepped) { EXPECT_ALL_WELL(offload()); }
TEST(ProgressInterleaving, TheEngineThreadLeavesAloneWhatACallSteps) { EXPECT_ALL_WELL(park_while_held()); }
TEST(ProgressInterleaving, AWaiterWhoFindsTheBatonTakenIsNotForgotten) { EXPECT_ALL_WELL(holder(false)); }
TEST(ProgressInterleaving, WhatAnotherThreadTakesWakesTheWaiter) { EXPECT_ALL_WELL(holder(true)); }
TEST(ProgressInterleaving, WhatAnotherThreadsCallBringsAboutWakesTheWaiter) { EXPECT_ALL_WELL(told()); }
TEST(ProgressInterleaving, WhatAnotherThreadsCallBeginsIsSteppedByTheWaiter) { EXPECT_ALL_WELL(begun()); }
TEST(ProgressInterleaving, TwoWaitersGetTheirMessages) { EXPECT_ALL_WELL(two_waiters()); }
TEST(ProgressInterleaving, TwoWaitersTheEngineThreadAndARingerGetOn) { EXPECT_ALL_WELL(all()); }
TEST(ProgressInterleaving, NoCommandIsLeftBehind) { EXPECT_ALL_WELL(push()); }
TEST(ProgressInterleaving, AnAppendThatReturnedIsInForce) { EXPECT_ALL_WELL(append()); }
TEST(ProgressInterleaving, NoCommandOvertakesAnotherOfItsThread) { EXPECT_ALL_WELL(order()); }
TEST(ProgressInterleaving, NoTwoStepAtOnce) {
  EXPECT_ALL_WELL(exclusion());
  EXPECT_ALL_WELL(twice());
}
TEST(ProgressInterleaving, WhoSleepsUntilMemoryChangesMissesNoStore) {
  EXPECT_ALL_WELL(watch(false));
  EXPECT_ALL_WELL(watch(true));
  EXPECT_ALL_WELL(watch(false, ProgressMode::offload));
}

TEST(ProgressInterleaving, WhoWaitsForWhatPollersFindMissesNoStore) {
  EXPECT_ALL_WELL(polled(false, false));
  EXPECT_ALL_WELL(polled(false, true));
  EXPECT_ALL_WELL(polled(true, false));
  EXPECT_ALL_WELL(polled_unwatched());
}

// Without a guard, the scenario that contains what it is there for goes wrong.
struct Mutant {
  Guard guard;
  std::function<Found()> walk;
};
#define MUTANT(guard, machine, scenario)            \
  Mutant {                                          \
    Guard::guard, [] { return machine().scenario; } \
  }
const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all{
      MUTANT(ring_fence, x86, alone()),
      MUTANT(arm_fence, cpp, alone()),
      MUTANT(arm_fence, cpp, alone_registered()),
      MUTANT(arm_fence, x86, watch(false)),
      MUTANT(release_fence, x86, push()),
      MUTANT(push_fence, cpp, push()),
      MUTANT(queue_look, x86, push()),
      MUTANT(passive_look, x86, holder(false)),
      MUTANT(passive_bump, x86, holder(false)),
      MUTANT(passive_fence, cpp, holder(false)),
      MUTANT(passive_fence, x86, watch(false, ProgressMode::offload)),
      MUTANT(append_waits, x86, append()),
      MUTANT(push_pending, x86, order()),
      MUTANT(posted_look, x86, told()),
      MUTANT(busy_look, x86, begun()),
      MUTANT(passive_baton, x86, holder(false)),
      MUTANT(active_messages, x86, alone()),
      MUTANT(last_look, x86, watch(false)),
      MUTANT(last_look, x86, polled(false, false)),
      MUTANT(last_look, x86, offload()),
      MUTANT(poller_watch, x86, polled(false, false)),
      MUTANT(found_look, x86, polled(true, false)),
      MUTANT(found_fence, x86, polled_unwatched()),
      MUTANT(park_messages, x86, leave()),
      MUTANT(disarm_own_only, x86, relieve()),
  };
  return all;
}

constexpr const char* kNames[] = {
#define X(name, text) #name ": " text,
    PORTUNUS_GUARDS(X)
#undef X
};

Found walk_without(const Mutant& mutant) {
  taken_out = interleave::bit_of(mutant.guard);
  const Found found = on_large_stack(mutant.walk);
  taken_out = 0;
  std::cout << kNames[static_cast<size_t>(mutant.guard)] << ": " << found.states << " states\n";
  return found;
}

TEST(ProgressMutants, WithoutAGuardSomethingGoesWrong) {
  std::set<Guard> tried;
  for (const Mutant& mutant : mutants()) {
    tried.insert(mutant.guard);
    EXPECT_TRUE(walk_without(mutant).lost) << kNames[static_cast<size_t>(mutant.guard)];
  }
  EXPECT_EQ(tried.size(), std::size(kNames)) << "each guard of the list is needed";
}

}  // namespace
}  // namespace portunus
