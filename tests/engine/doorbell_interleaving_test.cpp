// doorbell_interleaving_test.cpp: no interleaving of senders and one sleeper loses a wake-up, by the door or by the watch alone; what a
// whole process makes of them is walked in progress_interleaving_test.cpp.
//
// Every scenario is walked on x86's store buffers and on the C++ memory model. Then one thing after the other is taken out, and the walk
// must find the interleaving that hangs.
//
// Thread: one; the threads are simulated.
#include <gtest/gtest.h>

#include <array>
#include <iostream>

#include "engine/progress/watch.hpp"
#include "tests/support/interleave.hpp"
#include "tests/support/store_buffers.hpp"
#include "tests/support/views.hpp"

namespace portunus {
namespace {

using interleave::kFinished;
using Door = BasicDoorbell<interleave::Memory>;
constexpr uint32_t kWaiter = static_cast<uint32_t>(Sleeper::waiter);

// A door, and two messages that ring it.
struct Process {
  Process() {
    program.steps[door.word().where()] = Door::kStep;
    program.shows[door.word().where()] = [](uint32_t word) {
      return std::to_string(word / Door::kStep) + (word & Door::kWaiters ? "/waiters" : "") + (word & Door::kEngine ? "/engine" : "");
    };
  }
  // registered: heavy fences reach the sender.
  void send(interleave::Cell& message, bool registered = false) {
    message.store_release(1);
    door.ring(
        registered, [] { return false; }, [this](Sleeper who, bool) { door.word().wake(static_cast<uint32_t>(who)); });
  }

  interleave::Program program;
  Door door;
  interleave::Cell message{"message"}, second{"second message"};
};

// A process whose threads sleep until its memory changes, and writers.
struct Watched {
  Watched() {
    program.names[watch.word().where()] = "watch";
    program.steps[door.word().where()] = Door::kStep;
    program.steps[passive_word.where()] = 1;
  }
  // `data`: what the sleeper waits for.
  uint32_t sleep_on_door() {
    if (data.load()) return kFinished;
    const uint32_t armed = door.arm(Sleeper::waiter, [this] { return watch.set(1), true; });
    if (!data.load()) door.word().sleep(armed, kWaiter);
    door.disarm(Sleeper::waiter, [] { return false; });
    return 0;
  }
  uint32_t sleep_aside() {
    if (data.load()) return kFinished;
    const uint32_t word = passive_word.load_relaxed();
    watch.set(1);
    interleave::Memory::heavy_fence();
    if (!data.load()) passive_word.sleep(word, kWaiter);
    return 0;
  }
  void write(interleave::Cell& to) {
    to.store_release(1);
    if (!watch.touched(1) || !watch.take()) return;
    passive_word.add(1);
    passive_word.wake(kWaiter);
    door.ring_only(Sleeper::waiter, [this](Sleeper who, bool) { door.word().wake(static_cast<uint32_t>(who)); });
  }

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
    if (found.lost) std::cout << "then somebody sleeps for ever:\n" << found.interleaving;
    else std::cout << "at least " << found.interleavings << " interleavings, all end well\n";
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
              const uint32_t armed = p.door.arm(who);
              if (!all()) p.door.word().sleep(armed, static_cast<uint32_t>(who));
              p.door.disarm(who, [] { return false; });
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

  // One thread arms a word that is free of fences and sleeps; the sender leaves its fence out while nobody sleeps.
  static interleave::Found ring_fenceless(Sleeper who, bool heavy) {
    Process p;
    p.program.initial[p.door.word().where()] = Door::kFenceless;
    p.program
        .thread("sleeper",
                [&p, who](uint32_t) -> uint32_t {
                  if (p.message.load()) return kFinished;
                  const uint32_t armed = p.door.arm(who);
                  if (!p.message.load()) p.door.word().sleep(armed, static_cast<uint32_t>(who));
                  p.door.disarm(who, [] { return false; });
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
TEST(DoorbellInterleaving, WhoeverArmsAWordThatIsFreeOfFencesMissesNoMessageThatWasSentWithoutOne) {
  EXPECT_FALSE(X86::ring_fenceless(Sleeper::waiter, true).lost);
  EXPECT_FALSE(Cpp::ring_fenceless(Sleeper::engine, true).lost);
}
TEST(DoorbellInterleaving, WhereTheFenceOfWhoArmsAWordThatIsFreeOfFencesDoesNotReachTheSenderAWakeUpIsLost) {
  EXPECT_TRUE(X86::ring_fenceless(Sleeper::waiter, false).lost);
  EXPECT_TRUE(Cpp::ring_fenceless(Sleeper::engine, false).lost);
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
TEST(DoorbellInterleaving, WithoutTheSendersFenceAWakeUpIsLost) {
  EXPECT_TRUE(X86::ring(Sleeper::waiter, 1, false).lost);
  EXPECT_TRUE(Cpp::ring(Sleeper::waiter, 1, false).lost);
  EXPECT_TRUE(Cpp::ring(Sleeper::engine, 1, false).lost);
}
TEST(DoorbellInterleaving, WithoutTheSleepersFenceAWakeUpIsLost) {
  EXPECT_TRUE(Cpp::ring(Sleeper::waiter, 1, true, false).lost);
  EXPECT_TRUE(Cpp::ring(Sleeper::engine, 1, true, false).lost);
  EXPECT_FALSE(X86::ring(Sleeper::waiter, 1, true, false).lost);  // where every update is a full barrier
}
}  // namespace
}  // namespace portunus
