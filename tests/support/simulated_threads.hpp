// simulated_threads.hpp: how a small thread of an interleaving test touches shared memory, and how a scenario is written.
//
// A Program is made first; every Atomic32 made after it is one of its locations; then its threads are added.
//
// Thread: one. Invariants: at most one Program is being filled or explored at a time.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/progress/guards.hpp"
#include "tests/support/simulated_operation.hpp"

namespace portunus::interleave {

struct Pending {
  Op op;
};
// A place where a thread carries nothing over but these: how it came there is forgotten.
struct Mark {
  int site = 0;
  uint32_t carried = 0;
  friend auto operator<=>(const Mark&, const Mark&) = default;
};
struct Replay {
  const std::vector<uint32_t>* results = nullptr;
  bool fences = true;
  bool heavy = true;
  size_t thread = 0;
  size_t next = 0;
  size_t repeats_from = 0;  // the result that the loop began with
  bool repeats = false;     // it goes round: that result is of no account any more
  Mark mark{};              // site 0: none since the last known operation
};
inline Replay replay;  // of the thread that runs now

inline uint32_t perform(const Op& op) {
  if (replay.next == replay.results->size()) throw Pending{op};
  return (*replay.results)[replay.next++];
}

// Guards that are taken out of the code that is walked.
inline uint64_t taken_out = 0;  // a bit for each Guard
constexpr uint64_t bit_of(Guard guard) { return uint64_t{1} << static_cast<unsigned>(guard); }

inline constexpr uint32_t kFinished = ~0u;

// The locations and threads of one scenario.
class Program {
 public:
  using Show = std::string (*)(uint32_t);
  // A thread is made of parts that carry nothing over from one to the next but the next part's number. 0 is the first.
  using Body = std::function<uint32_t(uint32_t part)>;
  struct Thread {
    std::string name;
    Body body;
    bool fences;                 // false: its fences are taken out
    bool heavy = true;           // false: its heavy fences are its own only
    uint32_t early_returns = 0;  // how often its sleep may end for no reason (a signal, a time limit)
  };

  Program() { current() = this; }
  static Program*& current() {
    static Program* program = nullptr;
    return program;
  }
  uint8_t add_location() {
    if (initial.size() == kMaxLocations) throw std::length_error("too many locations");
    initial.push_back(0);
    constant.push_back(false);
    names.emplace_back();
    steps.push_back(0);
    alone.push_back(false);
    shows.push_back([](uint32_t value) { return std::to_string(value); });
    return static_cast<uint8_t>(initial.size() - 1);
  }
  Thread& thread(std::string name, Body body, bool fences = true) {
    threads.push_back({std::move(name), std::move(body), fences, true, 0});
    return threads.back();
  }

  std::vector<uint32_t> initial;
  std::vector<std::string> names;
  std::vector<uint32_t> steps;  // not 0: this location only ever steps up by so much, and is compared for equality only
  std::vector<bool> constant;   // keeps its first value: neither reading it nor storing to it is an operation
  std::vector<bool> alone;      // is never written, or used only by whoever has a lock: no need to try all orders
  std::vector<Show> shows;
  std::vector<Thread> threads;
};

// A Memory for BasicDoorbell, with the orders of HardwareMemory.
struct Memory {
  class Atomic32 {
   public:
    explicit Atomic32(const char* name = "door", uint32_t initial = 0) : where_(Program::current()->add_location()) {
      Program::current()->names[where_] = name;
      Program::current()->initial[where_] = initial;
    }
    Atomic32(const Atomic32&) = delete;

    uint32_t load() const { return read(!relaxed_); }
    uint32_t load_relaxed() const { return read(false); }
    void relax() { relaxed_ = true; }  // takes the acquire out of load()
    void store(uint32_t value) {
      if (!Program::current()->constant[where_]) perform({Kind::store, where_, false, false, value});
    }
    void store_release(uint32_t value) { perform({Kind::store, where_, false, true, value}); }
    uint32_t fetch_add(uint32_t value) { return perform({Kind::add, where_, true, true, value}); }
    void add(uint32_t value) { perform({Kind::add, where_, true, true, value, 1}); }
    uint32_t exchange(uint32_t value) { return perform({Kind::set, where_, true, true, value}); }
    bool compare_exchange(uint32_t& expected, uint32_t desired) {
      const uint32_t old = perform({Kind::compare, where_, true, true, desired, expected});
      return std::exchange(expected, old) == old;
    }
    // As a futex: sleeps while the value is `expected`; wake() ends all sleeps with a bit in common.
    void sleep(uint32_t expected, uint32_t bits) { perform({Kind::sleep, where_, false, false, bits, expected}); }
    void wake(uint32_t bits) { perform({Kind::wake, where_, false, false, bits}); }

    // Polls until it reads `value`.
    void await(uint32_t value) const { perform({Kind::await, where_, true, false, 0, value}); }

    uint8_t where() const { return where_; }

   private:
    uint32_t read(bool acquire) const {
      const Program& program = *Program::current();
      return program.constant[where_] ? program.initial[where_] : perform({Kind::load, where_, acquire});
    }
    uint8_t where_;
    bool relaxed_ = false;
  };
  // Memory that only the holder of the baton uses.
  template <class T>
  class Held {
   public:
    Held() : cell_("held") { Program::current()->alone[cell_.where()] = true; }
    T get() const { return static_cast<T>(cell_.load_relaxed()); }
    void set(T value) { cell_.store(static_cast<uint32_t>(value)); }
    uint8_t where() const { return cell_.where(); }

   private:
    Atomic32 cell_;
  };
  // Nobody is lost where it is read wrongly.
  struct Hint {
    uint32_t load_relaxed() const { return 0; }
    void store(uint32_t) {}
    void add(uint32_t) {}
    uint32_t exchange(uint32_t) { return 0; }
    uint32_t fetch_add(uint32_t) { return 0; }
  };
  static uint32_t stamp() { return 1; }
  static bool keeps(Guard guard) { return (taken_out & bit_of(guard)) == 0; }
  static void fence(Guard guard = Guard::kept) {
    if (replay.fences && keeps(guard)) perform({Kind::fence});
  }
  static void light_fence() {}
  static void heavy_fence(Guard guard = Guard::kept) {
    if (replay.heavy && keeps(guard)) perform({Kind::fence_all});
    else fence();
  }
  static void repeat(bool first) {
    if (first) replay.repeats_from = replay.next - 1;
    else if (replay.next == replay.results->size()) replay.repeats = true;
  }
  static void mark(int site, uint32_t carried = 0) {
    if (replay.next == replay.results->size()) replay.mark = {site, carried};
  }
};
using Cell = Memory::Atomic32;

}  // namespace portunus::interleave
