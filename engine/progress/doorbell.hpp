// doorbell.hpp: how a message wakes a process that sleeps, at no cost while it does not.
//
// One 32-bit word per process, in memory its node peers map: sequence << 5 | calm << 4 | hot << 3 | by_socket << 2 | who.
//   who = nobody  somebody steps the engine (or will look soon): no ring needed
//       = waiter  application threads sleep: ring them
//       = engine  the engine thread is parked and the application is elsewhere: ring the engine thread. Calm: only for what is urgent,
//                 since the application comes by itself; the thread looks now and then for all else
//
// The protocol (a Dekker handshake). Sender: publish the message; fence; read the word; ring if `who` is set.
// Sleeper: arm (write the word); fence; look for messages; sleep only if there are none and the word is unchanged.
// Either the sender sees the armed word or the sleeper sees the message. Take out one of the two fences and a wake-up
// can be lost: tests/engine/doorbell_interleaving_test.cpp walks all interleavings and shows both.
//
// While the word is *hot* (then who = nobody) senders leave their fence out: whoever arms a hot word makes all processors execute one
// instead (asymmetric_fence.hpp). Owners keep the word hot while messages come thick and fast, so that the price is paid rarely.
//
// Thread: ring() by any process that maps the word; the rest by threads of the owner.
// Cost: ring with nobody asleep = one load, and one fence unless the word is hot. A real ring = one system call of several microseconds.
#pragma once

#include <cstdint>
#include <utility>

#include "engine/progress/memory.hpp"

namespace portunus {

// Memory: memory.hpp, or simulated, on x86's store buffers and on the C++ memory model.
template <class Memory>
class BasicDoorbell {
 public:
  static constexpr uint32_t kWhoMask = 3;
  static constexpr uint32_t kBySocket = 4;
  static constexpr uint32_t kHot = 8;
  static constexpr uint32_t kCalm = 16;
  static constexpr uint32_t kStep = 32;

  static Sleeper who(uint32_t word) { return static_cast<Sleeper>(word & kWhoMask); }

  // After publishing a message. Returns whether somebody was woken. `registered`: this process is reached by heavy fences.
  template <class Wake>
  bool ring(bool registered, bool urgent, Wake&& wake) {
    if (registered) {
      Memory::light_fence();  // program order; pairs with the heavy fence of who arms a hot word
      if (word_.load() & kHot) return false;
    }
    Memory::fence(Guard::ring_fence);
    return ring_fenced(wake, urgent);
  }
  // The same when the caller has just executed a full barrier.
  template <class Wake>
  bool ring_fenced(Wake&& wake, bool urgent = true) {
    uint32_t word = word_.load();
    for (bool first = true; who(word) != Sleeper::nobody && (urgent || !(word & kCalm)); first = false) {
      Memory::repeat(first);
      if (word_.compare_exchange(word, quiet(word))) {
        wake(who(word), (word & kBySocket) != 0);
        return true;
      }
    }
    return false;
  }

  // Owner: announces a sleeper. The caller then looks for messages and sleeps on the returned word, or disarms.
  uint32_t arm(Sleeper sleeper, bool by_socket, bool calm = false) {
    uint32_t word = word_.load();
    uint32_t armed;
    bool first = true;
    do {
      Memory::repeat(std::exchange(first, false));
      armed = armed_from(word, sleeper, by_socket, calm);
    } while (!word_.compare_exchange(word, armed));
    fence_after(word);
    return armed;
  }
  // Owner: arms only if the word is still `seen`; otherwise somebody else has moved on.
  bool arm_from(uint32_t seen, Sleeper sleeper, bool by_socket, uint32_t& armed, bool calm = false) {
    armed = armed_from(seen, sleeper, by_socket, calm);
    if (!word_.compare_exchange(seen, armed)) return false;
    fence_after(seen);
    return true;
  }
  // Owner: takes back exactly what arm returned. If the word has changed since, another thread's arming must stand.
  void disarm_from(uint32_t armed) {
    if (!Memory::keeps(Guard::disarm_own_only)) return static_cast<void>(disarm(who(armed)));
    word_.compare_exchange(armed, quiet(armed));
  }
  // Owner: takes back an arming of this kind, whoever made it. False: there was none.
  bool disarm(Sleeper only) {
    uint32_t word = word_.load();
    for (bool first = true; who(word) == only; first = false) {
      Memory::repeat(first);
      if (word_.compare_exchange(word, quiet(word))) return true;
    }
    return false;
  }

  // Owner, registered for heavy fences: somebody looks for messages until the word is armed. False: it is armed now.
  bool heat() {
    uint32_t word = word_.load();
    for (bool first = true; who(word) == Sleeper::nobody && !(word & kHot); first = false) {
      Memory::repeat(first);
      if (word_.compare_exchange(word, quiet(word) | kHot)) return true;
    }
    return (word & kHot) != 0;
  }

  uint32_t read() const { return word_.load(Guard::door_acquire); }
  typename Memory::Atomic32& word() { return word_; }

 private:
  static void fence_after(uint32_t replaced) {
    replaced& kHot ? Memory::heavy_fence(Guard::arm_hot_fence) : Memory::fence(Guard::arm_fence);
  }
  static uint32_t armed_from(uint32_t word, Sleeper sleeper, bool by_socket, bool calm) {
    return quiet(word) | static_cast<uint32_t>(sleeper) | (by_socket ? kBySocket : 0) | (calm ? kCalm : 0);
  }
  static uint32_t quiet(uint32_t word) { return (word & ~(kStep - 1)) + kStep; }
  typename Memory::Atomic32 word_;
};

using Doorbell = BasicDoorbell<HardwareMemory>;
static_assert(sizeof(Doorbell) == 4);

}  // namespace portunus
