// simulated_progress.hpp: a process that waits by the shipped code (engine/progress/progress.hpp), to be interleaved: its words, an engine
// that takes messages and runs one kind of command, and how its threads sleep.
//
// A message is taken by a step of whoever holds the baton; `taken` is what waiters wait for. Sleeps end when somebody rings, never by
// their time limit, but for the engine thread's naps, which are of no length.
//
// Thread: simulated ones.
#pragma once

#include <array>
#include <deque>

#include "engine/progress/progress.hpp"
#include "tests/support/simulated_threads.hpp"

namespace portunus::interleave {

inline constexpr uint32_t kWaiter = static_cast<uint32_t>(Sleeper::waiter);
inline constexpr uint32_t kEngine = static_cast<uint32_t>(Sleeper::engine);

// A flag under the baton that is assigned and read as a bool.
class Flag {
 public:
  operator bool() const { return cell_.get() != 0; }
  Flag& operator=(bool value) { return cell_.set(value), *this; }

 private:
  Memory::Held<uint32_t> cell_;
};

// A push that was under way from the beginning ends with the command `ends`; `number`: of those that have to run in order, from 1 on.
struct SimulatedCommand {
  uint32_t number = 0;
  bool ends = false;
};

// The engine thread's sleep beside a network: its bell, and a descriptor, if it listens to that.
struct SimulatedDescriptor {
  static constexpr uint32_t kReadable = 1, kRung = 2;
  static constexpr uint32_t kListens = 8;  // of sleepers, besides who they are
  Cell word{"descriptor"};
  bool used = false;

  void change(uint32_t to_set, uint32_t to_clear) {
    uint32_t now = word.load();
    while (!word.compare_exchange(now, (now & ~to_clear) | to_set)) {
    }
  }
  void ring() {
    change(kRung, 0);
    word.wake(kEngine);
  }
  void make_readable() {
    change(kReadable, 0);
    word.wake(kListens);
  }
  void sleep(bool listens) {
    const uint32_t now = word.load();
    if ((now & kRung) == 0 && !(listens && (now & kReadable))) word.sleep(now, kEngine | (listens ? kListens : 0));
    change(0, kRung);
  }
};

// The engine: messages 0 .. kMessages-1, and a queue with room for one command, an append without which message 0 is dropped, or for two,
// behind one whose push is under way; or a command that a later step ends.
struct SimulatedEngine {
  static constexpr size_t kMessages = 3;
  struct Queue {
    Cell filled{"queue"}, second{"queue's second"}, pending{"push under way"};
    bool two = false;
    bool maybe_filled() const { return filled.load_relaxed() != 0 || (two && (second.load_relaxed() != 0 || pending.load_relaxed() != 0)); }
    bool ready() const { return !two || (pending.load_relaxed() == 0 && (filled.load_relaxed() != 0 || second.load_relaxed() != 0)); }
    bool push(const SimulatedCommand& command) {
      if (command.ends) return pending.store_release(0), true;
      if (two) return second.exchange(1) == 0;  // the first is there from the beginning
      return filled.exchange(1) == 0;
    }
    bool pop(SimulatedCommand&) {
      if (two && pending.load() != 0) return false;
      if (filled.load() != 0) return filled.store(0), true;
      return two && second.load() != 0 && (second.store(0), true);
    }
  };
  struct Stats {
    struct Count {
      void operator++() {}
      uint64_t read() const { return 0; }
    } rings, steps, steps_by_engine;
  };

  // Two at once: `clash`.
  int step(uint64_t) {
    const bool looks = !Program::current()->constant[inside.where()];
    if (looks && inside.load_relaxed() != 0) clash.store(1);
    if (looks) inside.store(1);
    int work = 0;
    if (queue.maybe_filled()) {
      SimulatedCommand command;
      if (queue.pop(command)) execute(command), work = 1;
    }
    if (work == 0 && begins_only && begun.load_relaxed() != 0) {
      begun.store(0);
      entry.store_release(1);
      posted = true;
      work = 1;
    }
    for (size_t i = 0; i < kMessages && work == 0; ++i) {
      if (!here(i)) continue;
      if (i == 0 && needs_entry && entry.load_relaxed() == 0) dropped.store(1);
      if (descriptor->used) descriptor->change(0, SimulatedDescriptor::kReadable);
      taken[i].store_release(1);
      posted = true;
      work = 1;
    }
    if (looks) inside.store(0);
    return work;
  }
  void execute_queued(SimulatedCommand& command) { execute(command); }
  void execute(SimulatedCommand& command) {
    if (begins_only) return begun.store(1);
    if (command.number != 0 && command.number != entry.load_relaxed() + 1) overtaken.store(1);
    entry.store_release(entry.load_relaxed() + 1);
    posted = true;
  }
  bool here(size_t i) {
    if (i == 0 && descriptor->used) return (descriptor->word.load() & SimulatedDescriptor::kReadable) != 0;
    return message[i].load() != 0 && taken[i].load_relaxed() == 0;
  }
  // Only for who has the baton, as a step is: it walks what a step changes.
  bool idle() {
    const bool looks = !Program::current()->constant[inside.where()];
    if (looks && inside.load_relaxed() != 0) clash.store(1);
    bool none = !queue.maybe_filled();
    for (size_t i = 0; i < kMessages && none; ++i) none = !here(i);
    return none;
  }
  bool busy() { return begins_only && begun.load_relaxed() != 0; }
  bool may_be_busy() { return busy(); }
  bool ends_soon() { return busy(); }
  void settle() {}
  bool has_delays() const { return false; }
  int64_t max_idle_ns() { return -1; }
  bool step_is_costly() const { return false; }
  uint32_t watched() const { return 0; }
  bool take_news() { return false; }
  Queue& commands() { return queue; }
  Stats& stats() { return stats_; }

  Flag posted;
  SimulatedDescriptor* descriptor = nullptr;
  Queue queue;
  bool needs_entry = false, begins_only = false;
  Cell begun{"begun"};
  Cell entry{"entry"}, dropped{"dropped"}, overtaken{"overtaken"}, inside{"inside a step"}, clash{"clash"};
  std::array<Cell, kMessages> message{Cell{"message 0"}, Cell{"message 1"}, Cell{"message 2"}};
  std::array<Cell, kMessages> taken{Cell{"taken 0"}, Cell{"taken 1"}, Cell{"taken 2"}};
  Stats stats_;
};

inline constexpr uint8_t kBatonWord = 0;  // the first word that a scenario makes

// A nap of the engine thread is of no length, and ends as if its time had passed.
struct SimulatedWakeups {
  void sleep(BasicDoorbell<Memory>& door, uint32_t word, Sleeper who, int64_t timeout_ns, bool listens) {
    if (who == Sleeper::engine && timeout_ns == kNap) return;
    if (who == Sleeper::engine && descriptor->used) return descriptor->sleep(listens);
    door.word().sleep(word, static_cast<uint32_t>(who));
  }
  void sleep_passive(Cell& word, uint32_t seen, int64_t) { word.sleep(seen, kWaiter); }
  void wake(BasicDoorbell<Memory>& door, Sleeper who, bool by_socket) {
    if (by_socket) return descriptor->ring();
    door.word().wake(static_cast<uint32_t>(who));
  }
  void wake_passive(Cell& word) { word.wake(kWaiter); }
  // The thread comes again once the baton is free: to look in between as often as it likes makes histories without end.
  void let_others_run() const { perform({Kind::await, kBatonWord, true, false, 0, 0}); }
  static constexpr int64_t kNap = 1;
  SimulatedDescriptor* descriptor = nullptr;
};

// Work that is there when `data` is 1: who finds it does it, and says so by `found`.
struct SimulatedPollers {
  uint32_t bits = 1;
  Cell found{"found by a poller"};
  Cell* data = nullptr;
  bool used = false;

  void clear() {}
  bool pending(uint32_t& watched) const {
    if (used) watched |= bits;
    return used;
  }
  bool look(bool&, bool&) {
    uint32_t there = 1;
    if (data->load() != 1 || !data->compare_exchange(there, 2)) return false;
    found.store_release(1);
    return true;
  }
};

struct ProgressOfThreads : Memory {
  using Node = Memory;
  using Engine = SimulatedEngine;
  using Command = SimulatedCommand;
  using WakeupManager = SimulatedWakeups;
  using Pollers = SimulatedPollers;
  struct Limits {
    static constexpr int kMemorySpins = 0, kMemoryYields = 0, kMemoryLooks = 0, kStepsAtOnce = 0, kStepsBeforeYield = 0, kSpins = 0,
                         kYields = 0, kStepsOfCostly = 1, kLongYields = 1, kIdleSteps = 1, kLastSteps = 1, kLooksAlone = 1;
    static constexpr uint32_t kComingsAtMost = 1 << 20;
    static constexpr uint32_t kLeavingsAtMost = 1;
    static constexpr uint32_t kPolls = 1, kPollsCrowded = 1, kNapsAlike = 1;
    static constexpr int64_t kPollNap = 2, kLongestPollNap = 2, kHeartbeat = 2, kLongestHeartbeat = 2, kBlindNap = -1, kFirstNap = -1,
                             kLastNap = -1, kLongestSleep = 2, kFirstTick = SimulatedWakeups::kNap, kLongestTick = SimulatedWakeups::kNap,
                             kLongestCalmTick = SimulatedWakeups::kNap, kLongestHeldTick = SimulatedWakeups::kNap;
  };
  struct Clock {
    uint64_t coarse(const SimulatedEngine&) { return 0; }
    void set() {}
  };
  static bool& waits() {
    static bool unused;
    return unused = false;
  }
  static bool& looks() {
    static bool unused;
    return unused = false;
  }
  static uint32_t& fruitless() {
    static uint32_t unused;
    return unused = 0;
  }
  static void own(SimulatedCommand&) {}
  static uint64_t now() { return 0; }
  static void relax() {}
  static bool yield() { return false; }
  static void give_way(uint64_t) {}
};

// A process and its threads. Words that a scenario does not use are constants, so that its states are fewer.
struct Scenario {
  Program program;
  struct Open : BasicProgress<ProgressOfThreads> {
    using Base = BasicProgress<ProgressOfThreads>;
    using Base::asleep_, Base::baton_, Base::passive_, Base::listening_, Base::stop_, Base::aborts_, Base::pollers_, Base::take,
        Base::sleep, Base::leave_call, Base::leave_baton, Base::wake_sleepers, Base::step, Base::submit_queued;
  } progress;
  BasicDoorbell<Memory> door;
  BasicAttention<Memory> attention;
  uint8_t attention_at = static_cast<uint8_t>(program.initial.size() - 1);
  BasicWatch<Memory> watch;
  Cell passive_word{"passive word"};
  SimulatedEngine engine;
  SimulatedWakeups sleeping;
  SimulatedDescriptor descriptor;
  Cell data{"data"};

  // `network`: message 0 comes by a descriptor. Nobody is near, as far as the engine thread knows, unless attention is used.
  explicit Scenario(ProgressMode mode = ProgressMode::park, bool network = false) {
    ProgressPlan plan;
    plan.mode = mode;
    plan.registered = true;
    plan.by_socket = network;
    sleeping.descriptor = engine.descriptor = &descriptor;
    descriptor.used = network;
    if (!network) fix({&descriptor.word});
    fix({&progress.stop_, &progress.listening_, &progress.aborts_, &engine.inside, &engine.clash, &engine.entry, &engine.dropped,
         &engine.overtaken, &engine.queue.filled, &engine.queue.second, &engine.queue.pending, &engine.begun, &data,
         &progress.pollers_.found});
    progress.pollers_.data = &data;
    program.constant[attention_at] = true;
    program.initial[attention_at] = 1;
    for (size_t i = 0; i < SimulatedEngine::kMessages; ++i) fix({&engine.message[i], &engine.taken[i]});
    fix({&watch.word()});
    program.names[door.word().where()] = "door";
    program.names[watch.word().where()] = "watch";
    program.names[attention_at] = "attention";
    program.names[progress.asleep_.where()] = "asleep";
    program.names[progress.passive_.where()] = "passive";
    program.names[kBatonWord] = "baton";
    program.shows[door.word().where()] = [](uint32_t word) {
      return std::to_string(word / BasicDoorbell<Memory>::kStep) + (word & BasicDoorbell<Memory>::kWaiters ? "/waiters" : "") +
             (word & BasicDoorbell<Memory>::kEngine ? "/engine" : "");
    };
    program.initial[door.word().where()] = BasicDoorbell<Memory>::kFenceless | (network ? BasicDoorbell<Memory>::kEngineBySocket : 0);
    program.steps[door.word().where()] = BasicDoorbell<Memory>::kStep;
    program.steps[passive_word.where()] = 1;
    begin_at(plan);
  }
  void fix(std::initializer_list<Cell*> cells) {
    for (Cell* cell : cells) program.constant[cell->where()] = true;
  }
  void use(std::initializer_list<Cell*> cells) {
    for (Cell* cell : cells) program.constant[cell->where()] = false;
  }
  void use_message(size_t i) { use({&engine.message[i], &engine.taken[i]}); }
  void use_attention() { program.constant[attention_at] = false; }
  void send(size_t i, bool registered) {
    engine.message[i].store_release(1);
    door.ring(
        registered, [] { return false; }, [this](Sleeper who, bool by_socket) { sleeping.wake(door, who, by_socket); });
  }
  void send_over_network() { descriptor.make_readable(); }
  bool wait_for(size_t i) {
    return progress.wait([this, i] { return engine.taken[i].load() != 0; }, -1, 0);
  }

 private:
  // As BasicProgress::begin, whose stores would be operations.
  void begin_at(const ProgressPlan& plan) {
    static const std::vector<uint32_t> zeros(64, 0);
    replay = {&zeros, true, true, 0, 0, 0, false, {}};
    progress.begin(engine, sleeping, {&door, &attention, &watch, &passive_word}, plan);
  }
};

}  // namespace portunus::interleave
