// doorbell_interleaving_test.cpp: no interleaving of senders, sleepers and the engine thread loses a wake-up.
//
// Every scenario is walked on x86's store buffers, and where that can be done in seconds on the C++ memory model. Then
// one thing after the other is taken out of the protocol, and the walk must find the interleaving that hangs.
//
// Thread: one; the threads are simulated.
#include <gtest/gtest.h>

#include <iostream>

#include "engine/shared/watch.hpp"
#include "tests/engine/simulated_process.hpp"
#include "tests/support/interleave.hpp"
#include "tests/support/store_buffers.hpp"
#include "tests/support/views.hpp"

namespace portunus {
namespace {

using interleave::kFinished;
using interleave::Process;
using interleave::Protocol;

// A process whose threads sleep until its memory changes, and writers, as in Client::sleep and wake_watchers.
struct Watched {
  Watched() {
    program.names[watch.word().where()] = "watch";
    program.steps[door.word().where()] = interleave::Door::kStep;
    program.steps[passive_word.where()] = 1;
  }
  // `data`: what the sleeper waits for.
  uint32_t sleep_on_door() {
    if (data.load()) return kFinished;
    const uint32_t armed = door.arm(Sleeper::waiter, false);
    watch.set(1);
    if (!data.load()) door.word().sleep(armed, interleave::kWaiter);
    door.disarm_from(armed);
    return 0;
  }
  uint32_t sleep_aside() {
    if (data.load()) return kFinished;
    const uint32_t word = passive_word.load_relaxed();
    watch.set(1);
    if (!data.load()) passive_word.sleep(word, interleave::kWaiter);
    return 0;
  }
  void write(interleave::Cell& to) {
    to.store_release(1);
    if (!watch.touched(1) || !watch.take()) return;
    passive_word.add(1);
    passive_word.wake(interleave::kWaiter);
    if (Door::who(door.read()) != Sleeper::waiter) return;
    door.ring_fenced([this](Sleeper who, bool) { door.word().wake(static_cast<uint32_t>(who)); });
  }

  using Door = interleave::Door;
  interleave::Program program;
  Door door;
  BasicWatch<interleave::Memory> watch;
  interleave::Cell passive_word{"passive word"}, data{"data"}, beside{"data beside"};
};

template <class Model>
struct Scenarios {
  using Ending = interleave::Ending<Model>;

  template <class Process>
  static interleave::Found explore(const Process& p, typename interleave::Explorer<Model>::Right right) {
    const interleave::Found found = interleave::Explorer<Model>(p.program, std::move(right)).run();
    std::cout << (std::is_same_v<Model, interleave::Views> ? "C++ memory model: " : "x86: ") << found.states << " states, ";
    if (found.lost)
      std::cout << "then somebody sleeps for ever:\n" << found.interleaving;
    else
      std::cout << "at least " << found.interleavings << " interleavings, all end well\n";
    return found;
  }

  // One thread sleeps for messages, the senders are threads of other processes.
  static interleave::Found ring(Sleeper who, int senders, bool sender_fence = true, bool sleeper_fence = true) {
    Process p;
    p.program
        .thread(
            "sleeper",
            [&p, who, senders](uint32_t) -> uint32_t {
              auto all = [&] { return p.message.load() + (senders == 2 ? p.second.load() : 1) == 2; };
              if (all()) return kFinished;
              uint32_t armed = 0;
              if (who == Sleeper::waiter)
                armed = p.door.arm(who, false);
              else if (!p.door.arm_from(p.door.read(), who, false, armed))
                return 0;
              if (!all()) p.door.word().sleep(armed, static_cast<uint32_t>(who));
              p.door.disarm_from(armed);
              return 0;
            },
            sleeper_fence)
        .early_returns = 1;
    p.program.thread(
        "sender", [&p](uint32_t) { return p.send(p.message), kFinished; }, sender_fence);
    if (senders == 2)
      p.program.thread(
          "second sender", [&p](uint32_t) { return p.send(p.second), kFinished; }, sender_fence);
    return explore(p, [](const Ending& end) { return end.finished(0); });
  }

  // One thread arms a hot word and sleeps; the sender leaves its fence out while the word is hot.
  static interleave::Found ring_hot(Sleeper who, bool heavy) {
    Process p;
    p.program.initial[p.door.word().where()] = interleave::Door::kHot;
    p.program
        .thread("sleeper",
                [&p, who](uint32_t) -> uint32_t {
                  if (p.message.load()) return kFinished;
                  const uint32_t armed = p.door.arm(who, false);
                  if (!p.message.load()) p.door.word().sleep(armed, static_cast<uint32_t>(who));
                  p.door.disarm_from(armed);
                  return 0;
                })
        .heavy = heavy;
    p.program.thread("sender", [&p](uint32_t) { return p.send(p.message, true), kFinished; });
    return explore(p, [](const Ending& end) { return end.finished(0); });
  }

  // One thread sleeps until memory changes. `beside`: another writer stores to memory of the same bit, and may be the one who takes it.
  static interleave::Found watch(bool aside, bool beside, bool heavy = true) {
    Watched p;
    p.program.thread("sleeper", [&p, aside](uint32_t) { return aside ? p.sleep_aside() : p.sleep_on_door(); }).heavy = heavy;
    p.program.thread("writer", [&p](uint32_t) { return p.write(p.data), kFinished; });
    if (beside) p.program.thread("writer beside", [&p](uint32_t) { return p.write(p.beside), kFinished; });
    return explore(p, [](const Ending& end) { return end.finished(0); });
  }

  // The only waiting thread leaves while the engine thread looks for a place to sleep and a message comes.
  static interleave::Found hand_over(Protocol with = {}, bool sender_fence = true, bool owner_fences = true) {
    Process p(with);
    p.program.initial[p.waiting.where()] = 1;
    p.program.thread(
        "leaver", [&p](uint32_t part) { return p.wait(part ? part : Process::leave, true); }, owner_fences);
    for (interleave::Cell* cell : {&p.asleep, &p.passive, &p.passive_word, &p.taken}) p.program.alone[cell->where()] = true;
    p.program.thread(
        "engine", [&p](uint32_t part) { return p.run_parked(part); }, owner_fences);
    p.program.thread(
        "sender", [&p](uint32_t) { return p.send(p.message), kFinished; }, sender_fence);
    return explore(p, [&p](const Ending& end) { return end.value(p.taken) == 1; });
  }

  // A thread begins to wait, and sleeps, while the engine thread parks.
  static interleave::Found enter(Protocol with) {
    Process p(with);
    p.program.thread("waiter", [&p](uint32_t part) { return p.wait_only(part); });
    p.program.thread("engine", [&p](uint32_t part) { return p.run_parked(part); });
    p.program.thread("sender", [&p](uint32_t) { return p.send(p.message), kFinished; });
    return explore(p, [](const Ending& end) { return end.finished(0); });
  }

  // Two threads wait; the second gives up (a time limit, or its own event came).
  static interleave::Found two_waiters(Protocol with) {
    Process p(with);
    p.program.thread("waiter", [&p](uint32_t part) { return p.wait_only(part); });
    p.program.thread("second waiter", [&p](uint32_t part) { return p.wait(part, false); }).early_returns = 1;
    p.program.thread("sender", [&p](uint32_t) { return p.send(p.message), kFinished; });
    return explore(p, [](const Ending& end) { return end.finished(0); });
  }

  // A thread waits while another holds the baton for a call of its own.
  static interleave::Found holder(Protocol with, bool steps) {
    Process p(with);
    p.program.thread("waiter", [&p](uint32_t part) { return p.wait(part, true); });
    p.program.thread("holder", [&p, steps](uint32_t) {
      if (p.try_take()) p.leave_baton(steps && p.step());
      return kFinished;
    });
    p.program.thread("sender", [&p](uint32_t) { return p.send(p.message), kFinished; });
    return explore(p, [](const Ending& end) { return end.finished(0); });
  }

  // One thread ends its wait while a second begins one; `held`: a third holds the baton for a call of its own.
  static interleave::Found late_leaver(Protocol with, bool held) {
    Process p(with);
    p.program.initial[p.waiting.where()] = 1;
    p.program.thread("leaver", [&p](uint32_t part) { return p.wait(part ? part : Process::leave, true); });
    if (held) {
      p.program.initial[p.baton.where()] = 1;
      p.program.thread("holder", [&p](uint32_t) { return p.leave_baton(false), kFinished; });
    }
    p.program.thread("waiter", [&p](uint32_t part) { return p.wait_only(part); });
    p.program.thread("sender", [&p](uint32_t) { return p.send(p.message), kFinished; });
    return explore(p, [held](const Ending& end) { return end.finished(held ? 2 : 1); });
  }

  // A call pushes its command because somebody holds the baton. `message` is the queue, `taken` the execution.
  static interleave::Found push(Protocol with, bool pusher_fence = true) {
    Process p(with);
    auto leave = [&p] {
      do {
        p.release();
        if (!p.message.load()) return;
      } while (p.try_take() && (p.step(), true) && !p.done());
    };
    p.program.thread("holder", [&p, leave](uint32_t) {
      if (p.try_take()) p.step(), leave();
      return kFinished;
    });
    p.program.thread(
        "pusher",
        [&p, leave](uint32_t) {
          p.message.store_release(1);
          interleave::Memory::fence();
          if (p.baton.load() == 0 && p.try_take()) p.step(), leave();
          return kFinished;
        },
        pusher_fence);
    return explore(p, [&p](const Ending& end) { return end.value(p.taken) == 1; });
  }
};

using X86 = Scenarios<interleave::StoreBuffers>;
using Cpp = Scenarios<interleave::Views>;

TEST(DoorbellInterleaving, AMessageWakesWhoeverSleeps) {
  for (Sleeper who : {Sleeper::waiter, Sleeper::engine}) {
    EXPECT_FALSE(X86::ring(who, 1).lost);
    EXPECT_FALSE(Cpp::ring(who, 1).lost);
  }
}
TEST(DoorbellInterleaving, TheMessagesOfTwoSendersAreBothSeen) {
  EXPECT_FALSE(X86::ring(Sleeper::waiter, 2).lost);
  EXPECT_FALSE(Cpp::ring(Sleeper::waiter, 2).lost);
}
TEST(DoorbellInterleaving, WhoeverArmsAHotWordMissesNoMessageThatWasSentWithoutAFence) {
  EXPECT_FALSE(X86::ring_hot(Sleeper::waiter, true).lost);
  EXPECT_FALSE(Cpp::ring_hot(Sleeper::engine, true).lost);
}
TEST(DoorbellInterleaving, WhereTheFenceOfWhoArmsAHotWordDoesNotReachTheSenderAWakeUpIsLost) {
  EXPECT_TRUE(X86::ring_hot(Sleeper::waiter, false).lost);
  EXPECT_TRUE(Cpp::ring_hot(Sleeper::engine, false).lost);
}
TEST(DoorbellInterleaving, WhoSleepsUntilMemoryChangesMissesNoStoreThoughWritersFenceNothing) {
  for (bool aside : {false, true})
    for (bool beside : {false, true}) {
      EXPECT_FALSE(X86::watch(aside, beside).lost);
      EXPECT_FALSE(Cpp::watch(aside, beside).lost);
    }
}
TEST(DoorbellInterleaving, WhereTheSleepersFenceDoesNotReachTheWriterAStoreIsMissed) {
  for (bool aside : {false, true}) {
    EXPECT_TRUE(X86::watch(aside, false, false).lost);
    EXPECT_TRUE(Cpp::watch(aside, false, false).lost);
  }
}
TEST(DoorbellInterleaving, WhoLeavesHandsOverToTheEngineThread) {
  EXPECT_FALSE(X86::hand_over().lost);
  EXPECT_FALSE(Cpp::hand_over().lost);
}
TEST(DoorbellInterleaving, AWaiterWhoFindsTheBatonTakenIsNotForgotten) {
  EXPECT_FALSE(X86::holder({}, false).lost);
  EXPECT_FALSE(Cpp::holder({}, false).lost);
}
TEST(DoorbellInterleaving, WhatAnotherThreadDeliversWakesTheWaiter) { EXPECT_FALSE(X86::holder({}, true).lost); }
TEST(DoorbellInterleaving, WhoBeginsToWaitTakesOverFromTheEngineThread) { EXPECT_FALSE(X86::enter({}).lost); }
TEST(DoorbellInterleaving, OneOfTwoWaitersMayGiveUp) { EXPECT_FALSE(X86::two_waiters({}).lost); }
TEST(DoorbellInterleaving, OneMayLeaveWhileAnotherBeginsToWait) { EXPECT_FALSE(X86::late_leaver({}, false).lost); }
TEST(DoorbellInterleaving, NoCommandIsLeftBehind) {
  EXPECT_FALSE(X86::push({}).lost);
  EXPECT_FALSE(Cpp::push({}).lost);
}

TEST(DoorbellInterleaving, WithoutTheSendersFenceAWakeUpIsLost) {
  EXPECT_TRUE(X86::ring(Sleeper::waiter, 1, false).lost);
  EXPECT_TRUE(Cpp::ring(Sleeper::waiter, 1, false).lost);
  EXPECT_TRUE(Cpp::ring(Sleeper::engine, 1, false).lost);
  EXPECT_TRUE(X86::hand_over({}, false).lost);
}
TEST(DoorbellInterleaving, WithoutTheSleepersFenceAWakeUpIsLost) {
  EXPECT_TRUE(Cpp::ring(Sleeper::waiter, 1, true, false).lost);
  EXPECT_TRUE(Cpp::ring(Sleeper::engine, 1, true, false).lost);
  EXPECT_TRUE(Cpp::hand_over({}, true, false).lost);
  EXPECT_FALSE(X86::ring(Sleeper::waiter, 1, true, false).lost);  // where every update is a full barrier
}
TEST(DoorbellInterleaving, WithoutAcquireOnTheWordAWakeUpIsLost) {
  EXPECT_TRUE(Cpp::hand_over({.read_acquires = false}).lost);
}
TEST(DoorbellInterleaving, ADisarmThatTakesBackTheArmingOfOthersLosesAWakeUp) {
  EXPECT_TRUE(X86::enter({.own_disarm = false}).lost);
}
TEST(DoorbellInterleaving, SleepingForABatonThatIsFreeLosesAWakeUp) {
  EXPECT_TRUE(X86::holder({.look_at_baton = false}, false).lost);
}
TEST(DoorbellInterleaving, ArmingWithoutTheBatonLosesAWakeUp) {
  EXPECT_TRUE(X86::late_leaver({.leave_with_baton = false}, true).lost);
}
TEST(DoorbellInterleaving, LeavingAQuietWordToOthersWhoSleepLosesAWakeUp) {
  EXPECT_TRUE(X86::two_waiters({.relieve_others = false}).lost);
}
TEST(DoorbellInterleaving, WithoutAFenceOnEachSideACommandIsLeftBehind) {
  EXPECT_TRUE(X86::push({}, false).lost);
  EXPECT_TRUE(Cpp::push({}, false).lost);
  EXPECT_TRUE(Cpp::push({.baton_fence = false}).lost);  // a seq_cst exchange alone is no fence for what follows
  EXPECT_FALSE(X86::push({.baton_fence = false}).lost);
}

}  // namespace
}  // namespace portunus
