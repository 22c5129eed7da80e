// simulated_process.hpp: a process with doorbell, baton, waiting threads and parked engine thread, to be interleaved.
//
// The doorbell is the engine's own code. Baton and client are written down again here, step by step as they are in
// engine/shared/baton.hpp and engine/client.{hpp,cpp}; a change there belongs here too. Left out: sleeping on
// descriptors, the engine thread that spins, and the timed naps while waits come thick and fast.
//
// Thread: simulated ones.
#pragma once

#include <array>

#include "engine/shared/doorbell.hpp"
#include "tests/support/simulated_threads.hpp"

namespace portunus::interleave {

using Door = BasicDoorbell<Memory>;

inline constexpr uint32_t kWaiter = static_cast<uint32_t>(Sleeper::waiter);
inline constexpr uint32_t kEngine = static_cast<uint32_t>(Sleeper::engine);

// What can be taken out of the protocol.
struct Protocol {
  bool baton_fence = true;       // release is a full barrier
  bool read_acquires = true;     // who has seen the word change sees what was done before
  bool own_disarm = true;        // disarm takes back the own arming only
  bool look_at_baton = true;     // who could not get the baton sleeps only while somebody holds it
  bool leave_with_baton = true;  // the word is armed for others only under the baton
  bool relieve_others = true;    // who leaves while others sleep sees to it that they can be rung
};

// The shared words of a process, and what its threads do with them.
struct Process {
  explicit Process(Protocol with = {}) : with_(with) {
    program.shows[door.word().where()] = [](uint32_t word) {
      return std::to_string(word / Door::kStep) + std::array{"/nobody", "/waiter", "/engine", "/?"}[word & 3];
    };
    program.steps[door.word().where()] = Door::kStep;
    if (!with.read_acquires) door.word().relax();
    program.steps[passive_word.where()] = 1;
  }

  // registered: heavy fences reach the sender.
  void send(Cell& message, bool registered = false) {
    message.store_release(1);
    door.ring(registered, [this](Sleeper who, bool) { door.word().wake(static_cast<uint32_t>(who)); });
  }

  // Baton.
  bool try_take() { return baton.load_relaxed() == 0 && baton.exchange(1) == 0; }
  void take() {
    do baton.await(0);
    while (!try_take());
  }
  void release() {
    baton.exchange(0);
    if (with_.baton_fence) Memory::fence();
  }

  // Engine, under the baton.
  bool step() {
    if (!pending()) return false;
    taken.store_release(1);
    return true;
  }
  bool pending() { return message.load() != 0 && taken.load_relaxed() == 0; }
  bool done() { return taken.load() != 0; }

  // Client.
  void ring_own(Sleeper only) {
    if (only == Sleeper::nobody || Door::who(door.read()) != only) return;
    door.ring_fenced([this](Sleeper who, bool) { door.word().wake(static_cast<uint32_t>(who)); });
  }
  void leave_baton(bool posted) {
    release();
    if ((posted && asleep.load_relaxed() > 0) || passive.load_relaxed() > 0) {
      passive_word.add(1);
      if (passive.load() > 0) passive_word.wake(kWaiter);
      ring_own(Sleeper::waiter);
    }
  }
  void disarm(uint32_t armed) { with_.own_disarm ? door.disarm_from(armed) : door.disarm(Door::who(door.read())); }
  void enter_wait() {
    waiting.add(1);
    door.disarm(Sleeper::engine);
  }
  Sleeper hand_over() {  // returns who is to be rung once the baton is free
    if (waiting.fetch_add(~0u) == 1) {
      door.arm(Sleeper::engine, false);
      return pending() ? Sleeper::engine : Sleeper::nobody;
    }
    if (!with_.relieve_others || asleep.load_relaxed() == 0 || Door::who(door.read()) == Sleeper::waiter)
      return Sleeper::nobody;
    door.arm(Sleeper::waiter, false);
    return pending() ? Sleeper::waiter : Sleeper::nobody;
  }
  // Parts of a thread; what they carry over is in the bits above.
  enum Part : uint32_t { enter, look, hold, give_back, rest, rest_holding, rest_aside, leave, hand, part_mask = 15 };
  static constexpr uint32_t kPosted = 16, kRing = 32;

  uint32_t leave_wait() {
    if (with_.leave_with_baton) return take(), hand;
    if (try_take()) return hand;
    if (waiting.fetch_add(~0u) == 1) door.arm(Sleeper::engine, false), ring_own(Sleeper::engine);
    return kFinished;
  }
  void sleep_active() {
    const uint32_t word = door.arm(Sleeper::waiter, false);
    const bool idle = !pending();
    asleep.add(1);
    leave_baton(false);
    if (idle && !done()) door.word().sleep(word, kWaiter);
    asleep.add(~0u);
    disarm(word);
  }
  void sleep_aside() {
    const uint32_t word = passive_word.load_relaxed();
    asleep.add(1);
    passive.add(1);
    Memory::fence();
    if (!done() && (!with_.look_at_baton || baton.load() != 0)) passive_word.sleep(word, kWaiter);
    passive.add(~0u);
    asleep.add(~0u);
  }

  // patient: until the message has been taken. Otherwise gives up after one sleep.
  uint32_t wait(uint32_t part, bool patient) {
    const bool posted = part & kPosted;
    switch (part & part_mask) {
      case enter:
        return enter_wait(), rest;
      case look:
        return try_take() ? hold : done() ? leave : rest;
      case hold:
        return step() ? kPosted | (done() ? hand : give_back) : done() ? hand : give_back;
      case give_back:
        return leave_baton(posted), done() ? leave : rest;
      case rest:
        return try_take() ? rest_holding : rest_aside;
      case rest_holding:
        step() ? leave_baton(true) : sleep_active();
        return patient ? look : leave;
      case rest_aside:
        return sleep_aside(), patient ? look : leave;
      case leave:
        return leave_wait();
      case hand:
        return static_cast<uint32_t>(hand_over()) * kRing | (part & kPosted) | part_mask;
      default:
        return leave_baton(posted), ring_own(static_cast<Sleeper>(part / kRing)), kFinished;
    }
  }
  // The same, and then the thread is gone.
  uint32_t wait_only(uint32_t part) {
    const uint32_t next = wait(part, true);
    return next == leave ? kFinished : (next & part_mask) == hand ? uint32_t{kPosted} | give_back : next;
  }
  uint32_t run_parked(uint32_t part) {
    switch (part & part_mask) {
      case look:
        return waiting.load() == 0 && try_take() ? hold : rest;
      case hold:
        return give_back | (step() ? kPosted : 0);
      case give_back:
        return leave_baton(part & kPosted), part & kPosted ? look : rest;
      default:
        return park();  // where it starts
    }
  }
  uint32_t park() {
    const uint32_t word = door.read();
    uint32_t armed;
    if (waiting.load() > 0) {
      door.word().sleep(word, kEngine);
    } else if (!door.arm_from(word, Sleeper::engine, false, armed)) {
      return look;
    } else if (waiting.load() > 0) {
      disarm(armed);
    } else if (!try_take()) {
      disarm(armed);
      baton.await(0);
    } else {
      const bool idle = !pending();
      leave_baton(false);
      idle ? door.word().sleep(armed, kEngine) : disarm(armed);
    }
    return look;
  }

  Program program;
  Door door;
  Cell baton{"baton"}, waiting{"waiting"}, asleep{"asleep"}, passive{"passive"}, passive_word{"passive word"};
  Cell message{"message"}, second{"second message"}, taken{"taken"};

 private:
  Protocol with_;
};

}  // namespace portunus::interleave
