// progress.hpp: who steps the engine, who sleeps, who is woken.
//
// It owns the baton, the process's door, its watch and the counts of who waits and who sleeps; the engine itself belongs to whoever has
// the baton. An initiating call takes a free baton and executes at once; else it pushes its command and the holder runs it. A blocking
// call steps the engine itself while it waits (the latency path). The engine thread steps whenever no application thread is in such a
// call: spinning on a core of its own, or parked on the door (run_spinning, run_parked).
//
// The one ladder of waiting (wait): look at watched memory alone for a while; then, stepping the engine, spin, where this rank has a core
// to itself; yield; sleep on the door, or, where somebody else steps, on the word of passive sleepers. Everything above that waits comes
// here, by PtlxWait, PtlEQPoll or PtlCTWait; a thread with the bias has a shorter way to the same steps (wait_biased).
//
// The words that are shared, besides the engine's own queues. R: release, A: acquire, S: update that is a full barrier, relaxed: no
// order; "heavy": the other side pays no fence, this one makes all processors execute one. Partner: whose write and look it meets.
//
// clang-format off
//   word          written by                            read by                       order      partner (see guards.hpp)
//   door          sleepers, engine thread, who leaves   ringers of all processes      S, A       message: publish, fence, read | arm, fence, look
//     hot bit     who leaves in a rush (under baton)    ringers, without a fence      S          arm: heavy, look
//   watch         sleepers (bits), ringers (0)          who stores to watched memory  S, relaxed store, read | set, heavy, look
//   passive word  who wakes (+1)                        passive sleepers (futex)      S          read, then say so, fence, look | release, look, +1, wake
//   passive       passive sleepers; the engine thread   who ceases to look            S          the same; the engine thread while it wants the baton
//   asleep        all sleepers                          who releases, having posted   S          as passive; the door's arming for the active
//   polling       who sleeps on descriptors             who would sleep passively     S          as the baton: somebody else looks
//   unmet         begin; meet, under the baton          the same; the engine thread   relaxed    a stale one costs that thread a look, and wakes who sleeps
//   waiting       enter_wait, hand_over                 engine thread                 S          +1, read the door | arm, fence, read
//   dense         who leaves, who cools                 engine thread, who leaves     S          see cool
//   stop          stop                                  engine thread                 S          set, change the door, wake
//   aborts        abort_waits                           waiters                       S          bump, wake_sleepers
//   baton word    holder                                everybody                     S, R       commands: push, fence, look | release, fence, look
//   granted       holder                                who has just taken the word   R, A       -
//   blocked       who wants the bias back, cool         owner of the bias             heavy      inside: write, read blocked | write, heavy, read
//   inside        owner of the bias                     who has blocked it            relaxed, R the same
//   naps, uses, wanted                                                                relaxed    hints: nothing is lost by a late read
//   looks         who polls or waits                  engine thread                  relaxed    a hint
//   grant, bias_owner, taken_back, rush, clock, posted  the holder of the baton alone -          -
//   gate          calls, enter_wait, leave_wait, engine thread   engine thread's sleep   kernel   whoever is late costs a look more, or less: then a timer
//   calm          engine thread, under the baton      the holder of the baton, and that thread anywhere
//
// clang-format on
// Thread: every function from any thread, except begin and end (one at a time, when nobody else is inside) and the two run_ functions
// (the engine thread).
// Cost: a step that takes the baton by the bias costs no locked instruction and no fence.
// Source: architecture of communication processors (PEACE, ESPGOAL); Dekker's handshake; tests/engine/progress_interleaving_test.cpp
// walks this very code.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/progress/baton.hpp"
#include "engine/progress/doorbell.hpp"
#include "engine/progress/mode.hpp"
#include "engine/progress/watch.hpp"

namespace portunus {

// What the machine and the environment ask for; constant between begin and end.
struct ProgressPlan {
  ProgressMode mode = ProgressMode::caller;  // not automatic
  bool engine_spins = false;                 // the engine thread never sleeps
  bool engine_has_core = false;
  bool spin_waits = false;      // waiters have a core each
  bool shares_core = false;     // maybe: bound to one core, and no launcher knows who else is
  bool oversubscribed = false;  // more ranks than cores: polls give way, too
  bool by_socket = false;       // sleepers wait for descriptors as well as for the door
  bool must_poll = false;       // a network without a descriptor: sleep only briefly
  bool registered = false;      // heavy fences reach this process

  // No SCHED_FIFO then: providers take spin locks that other processes share: a real-time thread that meets one whose holder it has
  // displaced would spin until the kernel's real-time throttle, about a second.
  bool network_open() const { return by_socket || must_poll; }
  // A network's descriptors wake the engine thread for all that it brings; and where only that thread steps, the application waits for it.
  bool may_be_calm() const { return mode == ProgressMode::park && !network_open(); }
};

// The words of a process that ringers use: in the segment of the node, if there is one, and else the process's own.
template <class Memory>
struct ProcessWords {
  BasicDoorbell<Memory>* door = nullptr;
  BasicWatch<Memory>* watch = nullptr;
  typename Memory::Atomic32* passive = nullptr;
};

// Memory: orders and fences as in memory.hpp, and with them what the process is made of: Engine, Sleeping (how to sleep and ring),
// Command, Limits, Clock, Rush, Calm and what belongs to the calling thread (biased, waits, fruitless, patience, self). In the library it
// is ProgressMemory (progress_memory.hpp).
template <class Memory>
class BasicProgress {
 public:
  using Engine = typename Memory::Engine;
  using Command = typename Memory::Command;
  using Word = typename Memory::Atomic32;

  void begin(Engine& engine, typename Memory::Sleeping& sleeping, ProcessWords<typename Memory::Node> words, const ProgressPlan& plan) {
    engine_ = &engine;
    sleeping_ = &sleeping;
    door_ = words.door;
    watch_ = words.watch;
    passive_word_ = words.passive;
    plan_ = plan;
    clock_.set();
    dense_.store(0);
    stop_.store(0);
    unmet_.store(plan.by_socket && plan.mode == ProgressMode::park);
    if (plan.engine_spins && plan.registered) door_->heat();  // it is never armed
  }
  // The engine thread ends, if there is one. The caller joins it.
  void end() {
    stop_.exchange(1);
    // The thread may be about to sleep on the word it has read: change the word, then wake whoever sleeps.
    door_->arm(Sleeper::nobody, false);
    sleeping_->wake(*door_, Sleeper::engine, plan_.by_socket);
  }
  const ProgressPlan& plan() const { return plan_; }

  // ---- Commands

  // Runs a command now, or leaves it to whoever is stepping. Blocks only while the command queue is full.
  void submit(Command& command) {
    if (!try_locked([&](Engine& engine) UNDER_BATON { engine.execute(command); })) submit_queued(command);
  }
  // Runs `action(engine)` under the baton, after everything submitted before; false when somebody else has the baton, or commands are left
  // that have to run first.
  template <class Action>
  bool try_locked(Action&& action) {
    if (!try_enter()) return false;
    action(*engine_);
    leave();
    return true;
  }
  // Its two ends, for callers that every message passes: `leave` follows a `try_enter` that said yes.
  bool try_enter() TAKES_BATON_IF_TRUE {
    note_call();
    if (plan_.mode == ProgressMode::offload || !take()) return false;
    if (!drain()) [[unlikely]] {  // what this very thread has pushed may lie behind a push that is under way
      engine_->settle();
      leave_baton();
      return false;
    }
    return true;
  }
  void leave() LEAVES_BATON {
    engine_->settle();
    if (!Memory::biased() || engine_->posted || engine_->may_be_busy() || grant_.get()) return leave_baton();
    baton_.release(true);  // what is read below is not older, see Baton::held
    if (counted_on(Guard::passive_look_biased) || filled(Guard::queue_look_biased)) [[unlikely]]
      serve_others();
  }
  // The same as submit, but returns only after the command has been executed. From within a condition of wait, it is queued.
  void submit_and_wait(Command& command) {
    if (Memory::waits() || !Memory::keeps(Guard::append_waits)) return submit(command);
    if (plan_.mode != ProgressMode::offload) {
      locked([&](Engine& engine) UNDER_BATON {
        engine.execute(command);
        return 0;
      });
      return;
    }
    submit_queued(command);
    while (engine_->commands().maybe_filled()) Memory::yield();
    locked([](Engine&) { return 0; });  // the last one popped has been executed once the baton is free
  }
  // The same as submit, but where the engine thread has a processor of its own, the command is left to that thread, or to the next
  // that waits or submits.
  void leave_to_engine(Command& command) {
    if (!plan_.engine_has_core) {
      plan_.mode == ProgressMode::offload ? submit_queued(command) : submit_and_wait(command);
      return;
    }
    push(command);  // nobody need be told: that thread spins
  }
  // Runs `action(engine)` while holding the baton, after everything submitted before.
  template <class Action>
  auto locked(Action&& action) {
    note_call();
    take_baton();
    while (!drain()) {
      leave_baton();
      Memory::yield();  // to who pushes
      take_baton();
    }
    auto result = action(*engine_);
    engine_->settle();
    leave_baton();
    return result;
  }

  // ---- Waiting

  // Waits until done() is true, stepping meanwhile. False: `timeout_ns` passed first (negative = no limit), or abort_waits() was called.
  // `watched`: the bits of memory that others store to directly (watch.hpp), 0 = none; it is looked at now and then even if nobody
  // rings. done() runs also while this thread has the baton: it may poll and submit (polls do nothing then), but not wait or lock.
  template <class Done>
  bool wait(Done&& done, int64_t timeout_ns, uint32_t watched = 0) {
    note_look();
    return done() || wait_on(done, timeout_ns, watched);
  }
  // The two halves, for callers that have a shorter way to look for the first time.
  void note_look() {
    const auto looks = looks_.load_relaxed() + 1;
    looks_.store(looks);
    // Who finds each time at once what it waits for, as one that only writes to itself, would never step, and nobody else does.
    if (plan_.mode == ProgressMode::caller && looks % Memory::Limits::kLooksAtMost == 0) [[unlikely]]
      step_once();
  }
  template <class Done>
  bool wait_on(Done& done, int64_t timeout_ns, uint32_t watched = 0);
  // One step by the caller if nobody else steps. A caller that polls again and again in vain gives way where others want its core.
  int poll();
  // Wakes the threads of this process that sleep until memory changes, if there are any.
  void wake_own_watchers() {
    if (watch_->take()) wake_sleepers();
  }
  BasicWatch<typename Memory::Node>& watch() { return *watch_; }
  // PtlAbort: every thread that is waiting now gives up.
  void abort_waits() {
    aborts_.add(1);
    wake_sleepers();
  }
  uint32_t aborts() const { return aborts_.load(); }  // how often so far
  // Nobody steps unless an application thread is in a call (PTL_PROGRESS=caller).
  bool only_callers_step() const { return plan_.mode == ProgressMode::caller; }

  // ---- The engine thread (progress_thread.hpp)

  void run_spinning();
  void run_parked();

 protected:  // for the tests that walk it
  // For application threads; the engine thread, which takes the bias only from one that went quiet, uses the baton itself.
  bool take() TAKES_BATON_IF_TRUE {
    const bool from_another = !Memory::biased() && baton_.granted();
    if (!baton_.try_take(Memory::biased())) return false;
    if (from_another && bias_owner_.get() != Memory::self()) taken_back_.set(taken_back_.get() + 1);
    return true;
  }
  void take_baton() TAKES_BATON;
  // Who goes on waiting goes on looking: who sleeps because this one looks is told when it ends, or sleeps itself. Told at each release, a
  // sleeper that does not get the processor would be told again and again, by a system call each.
  enum class Stays : uint8_t { no, waiting };
  void leave_baton(Stays stays = Stays::no) LEAVES_BATON;
  bool parks_by_socket() const { return plan_.by_socket && plan_.mode == ProgressMode::park; }
  // What a call does beside a network may wake the thread that listens there.
  void note_call() {
    if (parks_by_socket() && !unmet_.load_relaxed() && !dense_.load_relaxed() && !Memory::waits()) sleeping_->note_call();
  }
  void enter_wait() {
    if (plan_.network_open()) {
      Memory::Rush::enters();
      if (parks_by_socket()) sleeping_->note_wait();
    }
    waiting_.add(1);
    // Dekker with the parking engine thread: it arms, fences and then reads waiting_; we write waiting_ and then read the door.
    const bool disarmed = Memory::keeps(Guard::enter_disarm) && door_->disarm(Sleeper::engine);
    if (disarmed && plan_.by_socket && !unmet_.load_relaxed()) sleeping_->hush();
  }
  void leave_wait();
  void leave_holding() LEAVES_BATON {
    // What ended the wait may have more behind it, as what arms a schedule again: beside descriptors, to step costs less than to wake the
    // thread for that. Data that are moved are no such thing.
    if (plan_.by_socket && plan_.mode == ProgressMode::park && !unmet_.load_relaxed())
      for (int i = 0; i < Memory::Limits::kLastSteps && engine_->ends_soon() && !baton_.wanted() && step(clock_.coarse(*engine_)) != 0;
           ++i) {
      }
    const Next next = hand_over();
    Memory::mark(17, static_cast<uint32_t>(next));
    leave_baton();
    Memory::mark(18, static_cast<uint32_t>(next));
    tell(next);
  }
  // Who sees to what comes while the calling thread computes.
  enum class Next : uint8_t { nobody, waiter, engine, engine_soon, engine_listens };
  Next hand_over() UNDER_BATON;
  void tell(Next next) {
    if (next == Next::engine_listens) sleeping_->have_engine_listen();
    else if (next == Next::engine_soon) sleeping_->wake_engine_soon();
    else if (next != Next::nobody) ring_own(next == Next::engine ? Sleeper::engine : Sleeper::waiter);
  }
  void cool();
  void meet() UNDER_BATON;
  void look_for_first_word() BATON_NOT_FOLLOWED;
  template <class Done>
  bool wait_biased(Done&& done, uint64_t begin, int64_t timeout_ns, uint32_t aborts, bool watches_memory);
  template <class Done>
  void sleep(Done&& done, int64_t limit_ns, uint32_t watched);
  template <class Done>
  void sleep_active(Done&& done, int64_t limit_ns, uint32_t watched) LEAVES_BATON;
  template <class Done>
  void sleep_passive(Done&& done, int64_t limit_ns, uint32_t watched, bool active);

  bool filled(Guard guard) const { return Memory::keeps(guard) && engine_->commands().maybe_filled() && engine_->commands().ready(); }
  // False: commands are left, behind one whose push is under way.
  bool drain() UNDER_BATON {
    if (engine_->commands().maybe_filled()) [[unlikely]]
      return drain_now();
    return true;
  }
  bool drain_now() UNDER_BATON {
    Command queued;
    while (engine_->commands().pop(queued)) engine_->execute(queued);
    return !engine_->commands().maybe_filled() || !Memory::keeps(Guard::push_under_way);
  }
  void push(Command& command) {
    while (!engine_->commands().push(command)) {
      if (poll() == 0) Memory::yield();
    }
  }
  void submit_queued(Command& command);
  // Passive sleepers count on the looking of who has the baton; where the engine thread spins, on that one.
  bool counted_on(Guard guard) const { return Memory::keeps(guard) && !plan_.engine_spins && passive_.load_relaxed() > 0; }
  void serve_others() {
    if (counted_on(Guard::passive_look_biased)) wake_sleepers();
    if (!filled(Guard::queue_look_biased) || !take()) return;
    drain();
    engine_->settle();
    leave_baton();
  }
  void wake_sleepers() {
    if (Memory::keeps(Guard::passive_bump)) passive_word_->add(1);
    if (passive_.load() > 0) sleeping_->wake_passive(*passive_word_);
    ring_own(Sleeper::waiter);
  }
  // Wakes the sleeper of this process that the door names, if it is of the given kind.
  void ring_own(Sleeper only) {
    if (BasicDoorbell<typename Memory::Node>::who(door_->read()) == only) ring_sleeper();
  }
  void ring_sleeper() {
    door_->ring_fenced([&](Sleeper who, bool by_socket) {
      ++engine_->stats().rings;
      sleeping_->wake(*door_, who, by_socket);
    });
  }
  void set_watch(uint32_t bits) {
    if (bits != 0 && plan_.registered) watch_->set(bits);
  }
  // What a step stored may be what another thread sleeps for, and no event tells it.
  int step(uint64_t now) UNDER_BATON {
    const int work = engine_->step(now);
    if (work && watch_->take()) engine_->posted = true;
    return work;
  }
  [[gnu::noinline]] void step_once() {
    if (Memory::waits() || !take()) return;  // the first: this very thread steps, or is about to
    step(clock_.coarse(*engine_));
    leave_baton();
  }
  int64_t longest_nap();
  void wait_for_baton();
  void park(uint32_t word, int64_t rest_ns, int64_t longest_ns, bool calm) BATON_NOT_FOLLOWED;
  void sleep_on(uint32_t word, Sleeper who, int64_t timeout_ns, bool with_descriptors) {
    if (with_descriptors && plan_.network_open()) {
      const int64_t most = longest_nap();
      if (timeout_ns < 0 || timeout_ns > most) timeout_ns = most;
    }
    if (plan_.by_socket && who == Sleeper::engine) {
      sleeping_->listen(with_descriptors);
      // Who has ended a wait just now, and had it listen, has changed the word before.
      if (!with_descriptors && Memory::keeps(Guard::listen_look) && door_->read() != word) return;
    }
    sleeping_->sleep(*door_, word, who, timeout_ns, with_descriptors);
  }
  // Steps without work before somebody this thread waits for may be waiting for this very processor.
  int alone() const { return plan_.shares_core ? Memory::Limits::kAloneOnOne : Memory::Limits::kAlone; }
  void pause_spin(int idle) {
    if (idle < alone()) {
      Memory::relax();
      return;
    }
    if (idle < alone() + 64 && sleeping_->may_move() && take()) {
      sleeping_->move_aside(clock_.exact());
      leave_baton();
    }
    Memory::yield();
  }

  Engine* engine_ = nullptr;
  typename Memory::Sleeping* sleeping_ = nullptr;
  BasicDoorbell<typename Memory::Node>* door_ = nullptr;
  BasicWatch<typename Memory::Node>* watch_ = nullptr;
  Word* passive_word_ = nullptr;
  ProgressPlan plan_;
  BasicBaton<Memory> baton_;
  typename Memory::Clock clock_;                          // under the baton
  typename Memory::Rush rush_;                            // the same: do waits come thick and fast?
  typename Memory::Calm calm_;                            // need the engine thread be woken for what is not urgent?
  typename Memory::template Held<uint32_t> grant_;        // its next release gives this thread the bias
  typename Memory::template Held<uintptr_t> bias_owner_;  // the thread that has the bias or had it
  typename Memory::template Held<uint32_t> taken_back_;   // how often application threads took the bias from one another

  alignas(64) Word stop_;
  Word waiting_;  // application threads inside a wait that step
  Word asleep_;   // of all sleepers, those that a posted event must wake
  Word passive_;  // of these, those on *passive_word_
  Word polling_;  // one waiter at a time sleeps on descriptors
  Word unmet_;    // beside a network that nobody came by yet: its descriptors are for the engine thread alone to watch
  Word dense_;    // waits come thick and fast: the engine thread looks by itself now and then, nobody rings it
  Word aborts_;
  typename Memory::Hint looks_;       // how often application threads came to see what has arrived
  typename Memory::Hint naps_;        // beside a network, since something last happened
  typename Memory::Hint naps_since_;  // the steps with work until then
};

}  // namespace portunus

#include "engine/progress/progress_thread.hpp"
#include "engine/progress/progress_waiting.hpp"
