// doorbell.hpp: who of a process sleeps, and how a message wakes it, at no cost while nobody does.
//
// One 32-bit word per process, in memory its node peers map:
//   sequence << 5 | free of fences << 4 | engine by socket << 3 | waiters by socket << 2 | engine thread << 1 | waiters
//   waiters        application threads that sleep in a wait, and step the engine when they are rung: a message rings them
//   engine thread  it sleeps without a time limit: a message rings it where no waiter sleeps
//   neither        somebody looks by itself: an application thread that waits, or the engine thread at its next tick. Nobody need be
//                  rung; but where no application thread is near (attention.hpp), an urgent message ends the engine thread's nap
//
// The protocol (a Dekker handshake). Sender: publish the message; fence; read the word; ring if somebody sleeps.
// Sleeper: arm (write the word); fence; look for messages; sleep only if there are none and the word is unchanged.
// Either the sender sees the armed word or the sleeper sees the message. Take out one of the two fences and a wake-up
// can be lost: tests/engine/doorbell_interleaving_test.cpp walks all interleavings and shows both.
//
// While nobody sleeps, senders leave their fence out if the word is *free of fences*: who then arms it makes all processors execute one
// instead (asymmetric_fence.hpp).
//
// Thread: ring() by any process that maps the word; the rest by threads of the owner.
// Cost: ring with nobody asleep = one load, and one fence unless the word is free of them. A real ring = one system call of several
// microseconds.
#pragma once

#include <cstdint>
#include <utility>

#include "engine/progress/memory.hpp"

namespace portunus {

// How urgent a message is.
enum class Urgency : uint8_t {
  none,   // it lies where its receiver will look
  small,  // somebody waits for what the receiver's engine does with it
  large,  // the same, and that takes longer than to wake a thread
};

// Memory: memory.hpp, or simulated, on x86's store buffers and on the C++ memory model.
template <class Memory>
class BasicDoorbell {
 public:
  static constexpr uint32_t kWaiters = 1;
  static constexpr uint32_t kEngine = 2;
  static constexpr uint32_t kWaitersBySocket = 4;
  static constexpr uint32_t kEngineBySocket = 8;
  static constexpr uint32_t kFenceless = 16;
  static constexpr uint32_t kStep = 32;

  // Owner, before anybody sleeps: how its threads sleep, and whether it can make the senders' processors fence.
  void begin(bool waiters_by_socket, bool engine_by_socket, bool fenceless) {
    word_.store((waiters_by_socket ? kWaitersBySocket : 0) | (engine_by_socket ? kEngineBySocket : 0) | (fenceless ? kFenceless : 0));
  }

  // Whom a ring wakes.
  static Sleeper who(uint32_t word) {
    return (word & kWaiters) != 0 ? Sleeper::waiter : (word & kEngine) != 0 ? Sleeper::engine : Sleeper::nobody;
  }

  // After publishing a message, where this process is reached by heavy fences: nobody sleeps, or looks again before it does. `word`: as
  // read.
  [[gnu::always_inline]] bool nobody_sleeps(uint32_t& word) const {
    Memory::light_fence();  // program order; pairs with the heavy fence of who arms a word that is free of fences
    word = word_.load();
    return (word & (kFenceless | kWaiters | kEngine)) == kFenceless;
  }
  // After publishing a message. Returns whether somebody was woken. `registered`: this process is reached by heavy fences.
  // `is_away()`: an urgent message is to end the nap of the engine thread.
  template <class IsAway, class Wake>
  bool ring(bool registered, IsAway&& is_away, Wake&& wake) {
    if (uint32_t word = 0; registered && nobody_sleeps(word)) return is_away() && nudge(word, wake);
    Memory::fence(Guard::ring_fence);
    return ring_fenced(wake) || (is_away() && nudge(word_.load(), wake));
  }
  // Wakes whoever sleeps, if anybody does; the caller has executed a full barrier after publishing.
  template <class Wake>
  bool ring_fenced(Wake&& wake) {
    uint32_t word = word_.load();
    for (bool first = true; who(word) != Sleeper::nobody; first = false) {
      Memory::repeat(first);
      if (word_.compare_exchange(word, awake(word, who(word)))) return tell(word, who(word), wake), true;
    }
    return false;
  }
  // Owner: wakes the sleepers of one kind, if there are any.
  template <class Wake>
  bool ring_only(Sleeper kind, Wake&& wake) {
    uint32_t word = word_.load();
    for (bool first = true; (word & bit_of(kind)) != 0; first = false) {
      Memory::repeat(first);
      if (word_.compare_exchange(word, awake(word, kind))) return tell(word, kind, wake), true;
    }
    return false;
  }
  // Ends the engine thread's sleep or nap, be it said in the word or not. Each word that was read is told of once.
  template <class Wake>
  bool nudge(uint32_t word, Wake&& wake) {
    const uint32_t seen = word;
    if (!word_.compare_exchange(word, awake(seen, Sleeper::engine))) return false;
    return tell(seen, Sleeper::engine, wake), true;
  }

  // Owner: announces a sleeper. The caller then looks for messages and sleeps on the returned word, or disarms. `say_more()` may announce
  // it in other words, too, before the fence; true: their writers fence nothing.
  template <class SayMore>
  uint32_t arm(Sleeper sleeper, SayMore&& say_more) {
    uint32_t word = word_.load();
    uint32_t armed;
    bool first = true;
    do {
      Memory::repeat(std::exchange(first, false));
      armed = (word | bit_of(sleeper)) + kStep;
    } while (!word_.compare_exchange(word, armed));
    if (say_more() || (word & (kFenceless | kWaiters | kEngine)) == kFenceless) Memory::heavy_fence(Guard::arm_fence);
    else Memory::fence(Guard::arm_fence);
    return armed;
  }
  uint32_t arm(Sleeper sleeper) {
    return arm(sleeper, [] { return false; });
  }
  // Owner: none of this kind sleeps any more, unless `sleeps_still()`, which is asked between reading the word and changing it: whoever
  // armed it since has changed it.
  template <class SleepsStill>
  void disarm(Sleeper sleeper, SleepsStill&& sleeps_still) {
    uint32_t word = word_.load();
    for (bool first = true; (word & bit_of(sleeper)) != 0; first = false) {
      Memory::repeat(first);
      if (sleeps_still() || word_.compare_exchange(word, word & ~bit_of(sleeper))) return;
    }
  }

  uint32_t read() const { return word_.load(); }
  typename Memory::Atomic32& word() { return word_; }

 private:
  static uint32_t bit_of(Sleeper sleeper) { return sleeper == Sleeper::waiter ? kWaiters : kEngine; }
  static uint32_t awake(uint32_t word, Sleeper whom) { return (word & ~bit_of(whom)) + kStep; }
  template <class Wake>
  static void tell(uint32_t word, Sleeper whom, Wake&& wake) {
    wake(whom, (word & (whom == Sleeper::waiter ? kWaitersBySocket : kEngineBySocket)) != 0);
  }
  typename Memory::Atomic32 word_;
};

using Doorbell = BasicDoorbell<HardwareMemory>;
static_assert(sizeof(Doorbell) == 4);

}  // namespace portunus
