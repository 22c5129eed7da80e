// progress_memory.hpp: what progress (progress/progress.hpp) is made of in a process: its engine, how its threads sleep, how long they
// try before, and what belongs to each thread.
//
// Thread: as progress.hpp says of who calls what.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "engine/engine.hpp"
#include "engine/host/bell_socket.hpp"
#include "engine/host/clock.hpp"
#include "engine/host/gate.hpp"
#include "engine/host/topology.hpp"
#include "engine/progress/calm.hpp"
#include "engine/progress/gaps.hpp"
#include "engine/progress/patience.hpp"
#include "engine/progress/progress.hpp"
#include "engine/transport/node/node.hpp"

namespace portunus {

// The words of a process to which no segment of the node gives any.
struct OwnWords {
  alignas(64) Doorbell door;
  alignas(64) Watch watch;
  alignas(64) HardwareMemory::Atomic32 passive;
};

// What each thread has of its own. Read by every message: without a call for its address.
struct OfThread {
  bool biased = false;     // its word for the baton
  bool waits = false;      // it is inside wait
  uint32_t fruitless = 0;  // its polls since one found something
  Patience patience;
  uint64_t left_ns = 0, gap_ns = 0;  // when its last wait beside a network ended, and how long that was before this one began
};
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
inline thread_local constinit OfThread of_thread{};

// How threads of this process sleep, are woken and step aside. Owns the bell sockets.
class Sleeping {
 public:
  // `fds`: what to wait for as well as for the door; empty: the door alone. Beside descriptors the engine's thread sleeps on a socket; a
  // waiter that leaves them to that thread, and so has not armed the door by socket, on the door.
  void begin(ProcessId self, uint32_t uid, std::vector<int> fds, NodeTransport* node, const Placement* placement);
  void end();
  void set_realtime(bool realtime) { realtime_ = realtime; }

  void sleep(Doorbell& door, uint32_t word, Sleeper who, int64_t timeout_ns, bool with_descriptors);
  void sleep_passive(HardwareMemory::Atomic32& word, uint32_t seen, int64_t timeout_ns) {
    futex_wait(word.address(), seen, Sleeper::waiter, timeout_ns);
  }
  // For the engine thread, and only where there are descriptors. Whether what they bring ends its sleep, this one and those to come:
  void listen(bool listens) {
    if (!listens) return gate_->close();
    left_to_.store(LeftTo::arrivals, std::memory_order_relaxed);
    gate_->open();
  }
  // not for long: they need not even say so,
  void ignore() { gate_->detach(); }
  // not now: an application thread begins to wait;
  void hush() {
    switch (left_to_.load(std::memory_order_relaxed)) {
      case LeftTo::arrivals: gate_->close(); break;
      case LeftTo::timer:
        if (!gate_->call_off()) gate_->close();
        break;
      case LeftTo::next_wait:
        if (!gate_->is_due(now_ns())) gate_->close();  // the thread has come meanwhile
        break;
    }
  }
  // its wait has ended. If the next one is to follow at once (progress/gaps.hpp), one timer is kept running; if computing is, and nothing
  // is to be done now, a timer is set where arrivals mostly follow at once, else the gate is opened, which costs a tenth as much, and
  // nobody's sleep;
  void have_engine_listen() {
    if (!expect_computing()) return;
    const uint32_t hurried = hurried_.load(std::memory_order_relaxed);
    if (hurried == 0) {
      undisturbed_.store(undisturbed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      left_to_.store(LeftTo::arrivals, std::memory_order_relaxed);
      return gate_->open_for_sleeper();
    }
    hurried_.store(hurried - 1, std::memory_order_relaxed);
    set_timer();
  }
  // it calls, for the first time since: to send, say, which a provider tells the thread that listens as it does what arrives. If the next
  // wait is to follow at once, as it does where a call blocks, that would only take the processor from this one in the midst of it;
  void note_call() {
    if (called_ns_.load(std::memory_order_relaxed) != 0 || left_to_.load(std::memory_order_relaxed) != LeftTo::arrivals) return;
    const uint64_t now = now_ns();
    called_ns_.store(now, std::memory_order_relaxed);
    if (calls_.expect_computing()) return;
    gate_->close();
    left_to_next_wait(now);
  }
  // and that wait begins;
  void note_wait() {
    outside_.store(false, std::memory_order_relaxed);
    const uint64_t called = called_ns_.load(std::memory_order_relaxed), now = of_thread.left_ns + of_thread.gap_ns;
    if (called == 0) return;
    if (called < now) calls_.was(now - called);  // else another thread's
    called_ns_.store(0, std::memory_order_relaxed);
  }
  // or something is.
  void wake_engine_soon() {
    if (expect_computing()) set_timer();
  }
  void wake(Doorbell& door, Sleeper who, bool by_socket);
  void wake_passive(HardwareMemory::Atomic32& word) { futex_wake(word.address(), Sleeper::waiter); }
  // Between two looks of the engine thread.
  void let_others_run() const;
  // Moves the calling thread to a processor where no peer waits in vain, if there is one. Under the baton.
  bool may_move() const { return node_ != nullptr; }
  void move_aside(uint64_t now_ns);

 private:
  // ns. Who has just ended a wait may be about to begin something: what that has to say goes first. Else it would stand in a stream behind
  // the data that the engine thread answers others with, and each direction would wait for the other.
  static constexpr uint32_t kPrecedence = 25'000;

  // Who sees to what comes after a wait.
  enum class LeftTo : uint8_t { arrivals, timer, next_wait };

  void give_precedence(bool to_arrival);
  void note_mistake();
  void set_timer() {
    left_to_.store(LeftTo::timer, std::memory_order_relaxed);
    gate_->wake_after(kPrecedence);
  }
  // A wait has ended. False: the next one is expected to follow at once, and sees to what comes; and should it not, one timer does, which
  // runs on from wait to wait.
  bool expect_computing() {
    const uint64_t now = of_thread.left_ns;
    left_ns_.store(now, std::memory_order_relaxed);
    outside_.store(true, std::memory_order_relaxed);
    gaps_.was(of_thread.gap_ns);
    if (gaps_.expect_computing()) return true;
    left_to_next_wait(now);
    return false;
  }
  void left_to_next_wait(uint64_t now) {
    left_to_.store(LeftTo::next_wait, std::memory_order_relaxed);
    if (gate_->is_due(now)) return;
    const uint32_t careful = careful_.load(std::memory_order_relaxed);
    if (careful > 0) careful_.store(careful - 1, std::memory_order_relaxed);
    gate_->wake_after(careful > 0 ? kMistakenOften : kMistaken);
  }

  ProcessId self_;
  uint32_t uid_ = 0;
  std::vector<int> fds_;
  std::optional<Gate> gate_;            // fds_, for the engine thread
  std::atomic<uint64_t> left_ns_{0};    // when the last wait ended; a hint
  Gaps gaps_;                           // between waits
  Gaps calls_;                          // between the first call after a wait and the next wait
  std::atomic<uint64_t> called_ns_{0};  // when that call was; 0: not yet
  std::atomic<LeftTo> left_to_{LeftTo::arrivals};
  // ns, see expect_computing. As long as a scheduler's tick: the processor's own timer would have to be set for a nearer one, which takes a
  // virtual machine 10 us. The other is set so many times after one that ran out in vain.
  static constexpr uint32_t kMistaken = 4'000'000, kMistakenOften = 200'000, kCareful = 64;
  std::atomic<uint32_t> careful_{0};
  std::atomic<bool> outside_{true};  // no application thread is in a wait; a hint
  // So many more of them: what followed one came within kPrecedence. Twice as many each time that soon shows again. All hints.
  static constexpr uint32_t kHurried = 16, kMostHurried = 1024;
  std::atomic<uint32_t> hurried_{0};
  std::atomic<uint32_t> undisturbed_{kHurried};  // for so many the gate was opened since
  uint32_t next_hurried_ = kHurried;             // the engine thread's own
  std::optional<BellSocket> waiter_bell_, engine_bell_;
  NodeTransport* node_ = nullptr;
  const Placement* placement_ = nullptr;
  bool realtime_ = false;  // the engine thread's own
};

struct ProgressMemory : ProcessMemory {
  using Node = HardwareMemory;  // of the words that other processes map: their heavy fences reach the node
  using Engine = portunus::Engine;
  using Command = portunus::Command;
  using Sleeping = portunus::Sleeping;

  struct Limits {
    static constexpr int kMemorySpins = 200, kMemoryYields = 16;  // looks at watched memory before the engine is looked at
    static constexpr int kMemoryLooks = 12;                       // more of them before each yield: less than half a microsecond
    static constexpr int kAlone = 2'048;          // steps without work before a waiter with a core of its own doubts that it is alone there
    static constexpr int kAloneOnOne = 64;        // the same, where its core may be everybody's: a microsecond
    static constexpr int kSpins = 20'000;         // and before it goes on as one without
    static constexpr int kYields = 400;           // and then before it sleeps
    static constexpr int kIdleSteps = 8;          // of the engine thread before it parks
    static constexpr uint32_t kLooksAtMost = 32;  // of a process without an engine thread before it steps, whatever it finds
    static constexpr int kLastSteps = 8;          // of who ends a wait, if the engine thread is to be left alone
    static constexpr uint32_t kPolls = 2'048, kPollsCrowded = 4;  // polls in vain before each gives way; with more ranks than cores
    // The longest sleep where a network has no descriptor to wait for, and where it has one; both grow while nothing happens.
    static constexpr int64_t kPollNap = 200'000, kLongestPollNap = 800'000;
    static constexpr int64_t kLongestSleep = 1'000'000'000;  // of a parked engine's thread
    static constexpr int64_t kLongestUnrung = 250'000'000;   // of one that nobody wakes when a wait ends
    static constexpr int64_t kHeartbeat = 20'000'000, kLongestHeartbeat = 1'280'000'000;
    static constexpr uint32_t kNapsAlike = 16;       // before they are doubled
    static constexpr int64_t kBlindNap = 50'000;     // between two looks at memory whose writers cannot ring
    static constexpr int64_t kFirstNap = 100'000;    // and where they do but somebody may store without: twice as long each time,
    static constexpr int64_t kLastNap = 10'000'000;  // up to this
    // How often a parked engine looks whether waits still come thick and fast. Each look takes the processor from somebody, so they become
    // rarer the longer it has been so.
    static constexpr int64_t kDenseTick = 500'000, kLongestDenseTick = 4'000'000;
    static constexpr int kFoundOutside = 4;        // of these looks in a row that find nobody waiting
    static constexpr uint32_t kMostTakenBack = 8;  // threads that share the engine are better off without a bias
  };

  class Clock {
   public:
    uint64_t coarse(const portunus::Engine& engine) UNDER_BATON {
      if ((++uses_ & 31) == 0 || engine.has_delays()) now_ = now_ns();
      return now_;
    }
    static uint64_t exact() { return now_ns(); }
    void set() { now_ = now_ns(); }

   private:
    uint64_t now_ = 0;
    uint32_t uses_ = 0;
  };

  // Do waits come thick and fast? Asked at the end of each.
  class Rush {
   public:
    // Beside a network, at the beginning of each.
    static void enters() { of_thread.gap_ns = now_ns() - of_thread.left_ns; }
    bool begins(bool network_open) {
      if (network_open) {
        of_thread.left_ns = now_ns();
        outside_ns_ += of_thread.gap_ns;
      }
      if (++leaves_ % kLeaves != 0) return false;
      const uint64_t now = now_ns(), took = now - std::exchange(since_ns_, now), outside = std::exchange(outside_ns_, 0);
      if (!network_open) return took < kLeaves * kApart;
      // Across a network a round trip alone takes as long; to wake the engine's thread after each costs more than the message. Nor is it
      // needed by who does little but wait: it would come between the calls of one exchange.
      return took < kLeaves * kApartAcross || (took < kLeaves * kApartLong && outside < kLeaves * kCalls);
    }

   private:
    static constexpr uint64_t kLeaves = 16;
    static constexpr uint64_t kApart = 40'000, kApartAcross = 187'500, kApartLong = 2'000'000;  // ns from wait to wait
    static constexpr uint64_t kCalls = 60'000;  // between two waits, where calls that start something, but no computing, lie there

    uint64_t leaves_ = 0, since_ns_ = 0;
    uint64_t outside_ns_ = 0;  // between these waits
  };

  using Calm = portunus::Calm;

  static bool& biased() { return of_thread.biased; }
  static bool& waits() { return of_thread.waits; }
  static uint32_t& fruitless() { return of_thread.fruitless; }
  static Patience& patience() { return of_thread.patience; }
  static uintptr_t self() { return reinterpret_cast<uintptr_t>(&of_thread); }
  static void own(Command& command) {
    if (is_message(command.verb)) own_volatile(command);
  }
  static uint64_t now() { return now_ns(); }
  static bool passed(uint64_t since_ns, int64_t time_ns) { return static_cast<int64_t>(now_ns() - since_ns) >= time_ns; }
  static void relax() { portunus::relax(); }
  static void yield() { sched_yield(); }
};

using Progress = BasicProgress<ProgressMemory>;

}  // namespace portunus
