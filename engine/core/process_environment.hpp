// process_environment.hpp: what progress (progress/progress.hpp) is made of in a process: its engine, how its threads sleep, how long they
// try before, and what belongs to each thread.
//
// Thread: as progress.hpp says of who calls what.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "engine/core/engine.hpp"
#include "engine/host/bell_socket.hpp"
#include "engine/host/clock.hpp"
#include "engine/progress/progress.hpp"
#include "engine/shared/pollers.hpp"

namespace portunus {

// The words of a process to which no segment of the node gives any.
struct OwnWords {
  alignas(64) Doorbell door;
  alignas(64) Attention attention;
  alignas(64) Watch watch;
  alignas(64) HardwareMemory::Atomic32 passive;
};

// The state of each thread. Every message reads it, so its address takes no call.
struct ThreadState {
  bool waits = false;      // it is inside wait
  bool looks = false;      // it looks at pollers
  uint32_t fruitless = 0;  // its polls since one found something
  uint64_t polled = 0;     // when the last of them ended
  uint64_t gave_way = 0;   // and the last behind which it left the core to others
};
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
inline thread_local constinit ThreadState thread_state{};

// How threads of this process sleep and are woken. Owns the bell sockets.
class WakeupManager {
 public:
  // `fds`: what the engine thread sleeps on beside its bell; empty: it sleeps on the door alone. `waiters_listen`: there is no such thread,
  // and waiters sleep on them.
  void begin(ProcessId self, uint32_t uid, std::vector<int> fds, bool waiters_listen);
  void end();
  void set_realtime(bool realtime) { realtime_ = realtime; }

  // `listens`: what the descriptors bring ends the sleep, too.
  void sleep(Doorbell& door, uint32_t word, Sleeper who, int64_t timeout_ns, bool listens);
  void sleep_passive(HardwareMemory::Atomic32& word, uint32_t seen, int64_t timeout_ns) {
    futex_wait(word.address(), seen, Sleeper::waiter, timeout_ns);
  }
  void wake(Doorbell& door, Sleeper who, bool by_socket);
  void wake_passive(HardwareMemory::Atomic32& word) { futex_wake(word.address(), Sleeper::waiter); }
  // Between two looks of the engine thread.
  void let_others_run() const;

 private:
  ProcessId self_;
  uint32_t uid_ = 0;
  std::vector<int> fds_;
  std::optional<BellSocket> waiter_bell_, engine_bell_;
  bool realtime_ = false;  // the engine thread's own
};

struct ProcessEnvironment : HardwareMemory {
  using Node = HardwareMemory;  // of the words that other processes map: their heavy fences reach the node
  using Engine = portunus::Engine;
  using Command = portunus::Command;
  using WakeupManager = portunus::WakeupManager;
  using Pollers = portunus::Pollers;

  struct Limits {
    static constexpr int kMemorySpins = 200, kMemoryYields = 16;  // looks at watched memory before the engine is looked at
    static constexpr int kMemoryLooks = 12;                       // more of them before each yield: less than half a microsecond
    static constexpr int kStepsAtOnce = 63;                       // without work, under the baton
    static constexpr int kStepsBeforeYield = 16;                  // the same of a waiter that shares its core: half a microsecond
    // Steps without work of a waiter with a core of its own before it sleeps, some milliseconds; and how often one without gives way.
    static constexpr int kSpins = 120'000, kYields = 400;
    static constexpr int kStepsOfCostly = 16;       // as long as one of these takes a step that is a system call
    static constexpr int kLongYields = 8;           // by which others had the core for a millisecond or more
    static constexpr int kIdleSteps = 8;            // of the engine thread before it sleeps
    static constexpr uint32_t kComingsAtMost = 32;  // of application threads without a step until one steps, whatever it came for
    static constexpr uint32_t kLeavingsAtMost = 8;  // of calls that did not wait until one says when it left: some microseconds
    static constexpr int kLastSteps = 8;            // of who ends a wait or a call
    static constexpr uint32_t kPolls = 2'048, kPollsCrowded = 4;  // polls in vain before each gives way; with more ranks than cores
    // Between two polls: what counts as work there, which others would do no sooner, and how long such a thread keeps the core.
    static constexpr uint64_t kWork = 700, kWaysApart = 30'000;
    // The longest sleep where a network has no descriptor to wait for, and where it has one; both grow while nothing happens.
    static constexpr int64_t kPollNap = 200'000, kLongestPollNap = 800'000;
    static constexpr int64_t kHeartbeat = 20'000'000, kLongestHeartbeat = 1'280'000'000;
    static constexpr uint32_t kNapsAlike = 16;               // before they are doubled
    static constexpr int64_t kLongestSleep = 1'000'000'000;  // of an engine thread
    // Its naps while application threads come by themselves, and the longest of them, with news of what others set going and without.
    // Each takes the processor from somebody, so they become longer: at 0.5 ms, two processors lose up to a tenth of an exchange of short
    // messages.
    static constexpr int64_t kFirstTick = 250'000, kLongestTick = 500'000, kLongestCalmTick = 4'000'000, kLongestHeldTick = 32'000'000;
    static constexpr int kLooksAlone = 4;            // when nobody came, before it sleeps without a time limit
    static constexpr int64_t kBlindNap = 50'000;     // between two looks at memory whose writers cannot ring
    static constexpr int64_t kFirstNap = 100'000;    // and where they do but somebody may store without: twice as long each time,
    static constexpr int64_t kLastNap = 10'000'000;  // up to this
  };

  class Clock {
   public:
    uint64_t coarse(const portunus::Engine& engine) UNDER_BATON {
      if ((++uses_ & 31) == 0 || engine.has_delays()) now_ = now_ns();
      return now_;
    }
    void set() { now_ = now_ns(); }

   private:
    uint64_t now_ = 0;
    uint32_t uses_ = 0;
  };

  static bool& waits() { return thread_state.waits; }
  static bool& looks() { return thread_state.looks; }
  static uint32_t& fruitless() { return thread_state.fruitless; }
  static void own(Command& command) {
    if (is_message(command.verb)) own_volatile(command);
  }
  static uint64_t now() { return now_ns(); }
  static void relax() { portunus::relax(); }
  // True: others had the core for a millisecond or two meanwhile.
  static bool yield() {
    constexpr uint32_t kLong = 4096;
    const uint32_t before = stamp();
    sched_yield();
    return stamp() - before > kLong;
  }
  // A thread that polls in vain leaves the core to others; one that works between its polls does so now and then.
  static void give_way(uint64_t poll_began) {
    ThreadState& mine = thread_state;
    if (poll_began - mine.polled < Limits::kWork || poll_began - mine.gave_way > Limits::kWaysApart) {
      yield();
      mine.polled = mine.gave_way = now_ns();
    } else {
      mine.polled = now_ns();
    }
  }
};

using Progress = BasicProgress<ProcessEnvironment>;

}  // namespace portunus
