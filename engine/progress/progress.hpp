// progress.hpp: who steps the engine, who sleeps, who is woken.
//
// It owns the baton, the process's door, its watch, its attention word and the counts of who sleeps; the engine itself belongs to whoever
// has the baton. An initiating call takes a free baton and executes at once; else it pushes its command and the holder runs it. A blocking
// call steps the engine itself while it waits (the latency path). The engine thread steps what comes while no application thread is near:
// it spins on a core that it was given, or sleeps (run_spinning, run_parked; README.md has the table of its states).
//
// The one ladder of waiting (wait): look at watched memory alone for a while; then, stepping the engine, spin, where this rank has a core
// to itself; yield; sleep on the door, or, where somebody else steps, on the word of passive sleepers. Everything above that waits comes
// here, by PtlxWait, PtlEQPoll or PtlCTWait.
//
// The words that are shared, besides the engine's own queues. R: release, A: acquire, S: update that is a full barrier, relaxed: no
// order; "heavy": the other side pays no fence, this one makes all processors execute one. Partner: whose write and look it meets.
//
// clang-format off
//   word          written by                            read by                       order      partner (see guards.hpp)
//   door          sleepers, engine thread, ringers      ringers of all processes      S, A       message: publish, fence, read | arm, fence, look
//                 (while nobody sleeps)                 ringers, without a fence                 arm: heavy, look
//   attention     who waits, calls, polls; engine thread  ringers, engine thread      relaxed    a hint: a wrong one costs a wake-up, or a nap
//   pending       layers above                          who waits                     R, A       see engine/shared/pollers.hpp
//   watch         sleepers (bits), ringers (0)          who stores to watched memory  S, relaxed store, read | arm or passive, set, heavy, look
//   passive word  who wakes (+1)                        passive sleepers (futex)      S          read, then say so, fence, look | release, look, +1, wake
//   passive       passive sleepers                      who ceases to look            S          the same
//   asleep        all sleepers                          who releases, having posted   S          as passive; the door's arming for the active
//   listening     who sleeps on descriptors             who would sleep passively     S          as the baton: somebody else looks
//   stop          end                                   engine thread                 S          set, change the door, wake
//   aborts        abort_waits                           waiters                       S          bump, wake_sleepers
//   baton word    holder                                everybody                     S, R       commands: push, fence, look | release, fence, look
//   heartbeat, uses, wanted, comings                                                  relaxed    hints: nothing is lost by a late read
//   clock, posted                                       the holder of the baton alone -          -
//
// clang-format on
// Thread: every function from any thread, except begin and end (one at a time, when nobody else is inside) and the two run_ functions
// (the engine thread).
// Cost: a call that steps pays for one locked instruction and one fence.
// Source: architecture of communication processors (PEACE, ESPGOAL); Dekker's handshake; tests/engine/progress_interleaving_test.cpp
// walks this very code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>

#include "engine/progress/attention.hpp"
#include "engine/progress/baton.hpp"
#include "engine/progress/doorbell.hpp"
#include "engine/progress/idle_policy.hpp"
#include "engine/progress/plan.hpp"
#include "engine/progress/watch.hpp"

namespace portunus {

// The words of a process that ringers use: in the segment of the node, if there is one, and else the process's own.
template <class Memory>
struct ProcessWords {
  BasicDoorbell<Memory>* door = nullptr;
  BasicAttention<Memory>* attention = nullptr;
  BasicWatch<Memory>* watch = nullptr;
  typename Memory::Atomic32* passive = nullptr;
};

// Memory: orders and fences as in memory.hpp, and with them what the process is made of: Engine, WakeupManager (how to sleep and ring),
// Command, Limits, Clock and what belongs to the calling thread (waits, looks, fruitless). In the library it is ProcessEnvironment
// (process_environment.hpp).
template <class Memory>
class BasicProgress {
 public:
  using Engine = typename Memory::Engine;
  using Command = typename Memory::Command;
  using Word = typename Memory::Atomic32;

  void begin(Engine& engine, typename Memory::WakeupManager& sleeping, ProcessWords<typename Memory::Node> words,
             const ProgressPlan& plan) {
    engine_ = &engine;
    sleeping_ = &sleeping;
    door_ = words.door;
    attention_ = words.attention;
    watch_ = words.watch;
    passive_word_ = words.passive;
    plan_ = plan;
    clock_.set();
    stop_.store(0);
    door_->begin(plan.waiters_listen(), plan.by_socket, plan.registered);
    attention_->outside();
  }
  // The engine thread ends, if there is one. The caller joins it.
  void end() {
    stop_.exchange(1);
    // The thread may be about to sleep on the word it has read: change the word, then wake whoever sleeps.
    while (!nudge_engine()) {
    }
  }
  const ProgressPlan& plan() const { return plan_; }

  // ---- Commands

  // Runs a command now, or leaves it to whoever is stepping. Blocks only while the command queue is full.
  void submit(Command& command) {
    if (!try_enter()) return submit_queued(command);
    run_or_leave([&](Engine& engine) UNDER_BATON { engine.execute(command); });
    leave();
  }
  // Takes the baton, unless somebody else has it; everything submitted before has run then. `leave` follows one that said yes.
  bool try_enter() TAKES_BATON_IF_TRUE {
    if (plan_.mode == ProgressMode::offload || !take()) return false;
    drain();
    return true;
  }
  void leave() LEAVES_BATON {
    engine_->settle();
    step_now_and_then();
    note_leaving();
    leave_call();
  }
  // Runs it between try_enter and leave. One that throws, for want of memory, has changed nothing.
  template <class Action>
  auto run_or_leave(Action&& action) UNDER_BATON BATON_NOT_FOLLOWED {
    try {
      return action(*engine_);
    } catch (const std::bad_alloc&) {
      leave_baton();
      throw;
    }
  }
  // The same as submit, but returns only after the command has been executed. From within a condition of wait, it is queued.
  void submit_and_wait(Command& command) {
    if (Memory::waits() || !Memory::keeps(Guard::append_waits)) return submit(command);
    locked([&](Engine& engine) UNDER_BATON { return engine.execute(command), 0; });
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
    take_baton();
    drain();
    auto result = run_or_leave(action);
    engine_->settle();
    step_now_and_then();
    leave_baton();
    return result;
  }

  // ---- Waiting

  // Waits until done() is true, stepping meanwhile. False: `timeout_ns` passed first (negative = no limit), or abort_waits() was called.
  // `watched`: the bits of memory that others store to directly (watch.hpp), 0 = none; it is looked at now and then even if nobody
  // rings. done() runs also while this thread has the baton: it may poll and submit (polls do nothing then), but not wait or lock.
  template <class Done>
  bool wait(Done&& done, int64_t timeout_ns, uint32_t watched = 0) {
    if (!done()) return wait_on(done, timeout_ns, watched);
    note_leaving();
    if (is_to_step()) [[unlikely]]
      step_once();
    return true;
  }
  // One step by the caller if nobody else steps. A caller that polls again and again in vain gives way where others want its core.
  int poll();
  // Work of layers above that goes on when somebody looks: every wait looks at it, polls by poll() do not.
  typename Memory::Pollers& pollers() { return pollers_; }
  // True: one did something.
  bool look_at_pollers() {
    uint32_t bits = 0;
    return pollers_.pending(bits) && look_at_pending();
  }
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
  bool take() TAKES_BATON_IF_TRUE { return baton_.try_take(); }
  void take_baton() TAKES_BATON;
  // A thread that goes on looking after a release: one that waits or polls, the engine thread; or nobody.
  enum class Looks : uint8_t { nobody, waiter, engine };
  [[gnu::always_inline]] void leave_baton(Looks next = Looks::nobody) LEAVES_BATON {
    const bool posted = engine_->posted;
    if (posted) engine_->posted = false;
    const bool busy = next == Looks::nobody && engine_->busy();
    const bool news = next == Looks::nobody && engine_->take_news();
    baton_.release();  // what is read below is not older, see Baton::held
    // Passive sleepers count as asleep, too.
    if (asleep_.load_relaxed() > 0 || busy || news || engine_->commands().maybe_filled()) [[unlikely]]
      look_after_release(posted, busy, news, next);
  }
  void look_after_release(bool posted, bool busy, bool news, Looks next);
  // The end of a call or of a wait. What it has begun and a few steps bring to its end, as what arms a schedule again, is stepped here.
  [[gnu::always_inline]] void leave_call() LEAVES_BATON {
    if (engine_->ends_soon()) [[unlikely]]
      step_to_end();
    leave_baton();
  }
  [[gnu::noinline]] void step_to_end() UNDER_BATON {
    for (int i = 0; i < Memory::Limits::kLastSteps && engine_->ends_soon() && !baton_.wanted() && step(clock_.coarse(*engine_)) != 0; ++i) {
    }
  }
  template <class Done>
  bool wait_on(Done& done, int64_t timeout_ns, uint32_t watched);
  template <class Done>
  bool wait_inside(Done& done, int64_t timeout_ns, uint32_t watched);
  template <class Done>
  void sleep(Done&& done, int64_t limit_ns, uint32_t watched);
  template <class Done>
  void sleep_active(Done&& done, int64_t limit_ns, uint32_t watched) LEAVES_BATON;
  template <class Done>
  void sleep_passive(Done&& done, int64_t limit_ns, uint32_t watched, bool active);

  bool filled(Guard guard) const { return Memory::keeps(guard) && engine_->commands().maybe_filled() && engine_->commands().ready(); }
  // Runs all commands that were pushed. What this very thread has pushed may lie behind a push that is under way, which is waited for.
  void drain() UNDER_BATON {
    if (engine_->commands().maybe_filled()) [[unlikely]]
      run_pushed();
  }
  [[gnu::noinline]] void run_pushed() UNDER_BATON {
    do {
      Memory::mark(5);
      run_queued();
      if (!Memory::keeps(Guard::push_pending)) return;
      if (engine_->commands().maybe_filled()) Memory::yield();  // to who pushes
    } while (engine_->commands().maybe_filled());
  }
  void run_queued() UNDER_BATON {
    Command queued;
    while (engine_->commands().pop(queued)) engine_->execute_queued(queued);
  }
  void push(Command& command) {
    while (!engine_->commands().push(command)) {
      if (poll() == 0) Memory::yield();
    }
  }
  void submit_queued(Command& command);
  // Passive sleepers count on the looking of who has the baton; where the engine thread spins, on that one.
  bool counted_on(Guard guard) const { return Memory::keeps(guard) && !plan_.engine_spins && passive_.load_relaxed() > 0; }
  void wake_sleepers() {
    if (Memory::keeps(Guard::passive_bump)) passive_word_->add(1);
    if (passive_.load() > 0) sleeping_->wake_passive(*passive_word_);
    ring_own(Sleeper::waiter);
  }
  // Wakes those sleepers of this process whom the door names, of the given kind.
  void ring_own(Sleeper only) {
    door_->ring_only(only, [&](Sleeper who, bool by_socket) {
      ++engine_->stats().rings;
      sleeping_->wake(*door_, who, by_socket);
    });
  }
  // False: the door has just been changed by somebody else.
  bool nudge_engine() {
    return door_->nudge(door_->read(), [&](Sleeper who, bool by_socket) {
      ++engine_->stats().rings;
      sleeping_->wake(*door_, who, by_socket);
    });
  }
  bool has_parked_thread() const { return plan_.mode != ProgressMode::caller && !plan_.engine_spins; }
  // A sleeper watches its own bits and those of pollers that are pending. True: there are any, and all processors are to fence.
  bool set_watch(uint32_t bits) {
    if (uint32_t more = 0; pollers_.pending(more) && Memory::keeps(Guard::poller_watch)) bits |= more;
    if (bits == 0 || !plan_.registered) return false;
    watch_->set(bits);
    return true;
  }
  // True: a sleeper that has said so need not sleep.
  template <class Done>
  bool last_look(Done& done) {
    return Memory::keeps(Guard::last_look) && (look_at_pollers() || done());
  }
  // A step may have stored to memory that another thread sleeps for, and no event tells it.
  int step(uint64_t now) UNDER_BATON {
    comings_.store(0);
    const int work = engine_->step(now);
    if (work && watch_->take()) engine_->posted = true;
    return work;
  }
  // Application threads that come again and again are left alone by the engine thread, and by who sends to them. Some never step: those
  // that only send, or find each time at once what they wait for. So one coming in so many does.
  bool is_to_step() {
    const auto comings = comings_.load_relaxed() + 1;
    comings_.store(comings);
    return comings % Memory::Limits::kComingsAtMost == 0;
  }
  // The clock takes as long as a short call does: of calls that do not wait, one in so many says when it left.
  void note_leaving() {
    const auto unsaid = unsaid_.load_relaxed() + 1;
    unsaid_.store(unsaid);
    if (unsaid % Memory::Limits::kLeavingsAtMost == 0) attention_->outside();
  }
  void step_now_and_then() UNDER_BATON {
    if (is_to_step() && !Memory::waits()) [[unlikely]]
      step(clock_.coarse(*engine_));
  }
  [[gnu::noinline]] void step_once() {
    if (Memory::waits() || !take()) return;  // the first: this very thread steps, or is about to
    step(clock_.coarse(*engine_));
    leave_baton();
    look_at_pollers();
  }
  // Another thread may sleep for what a poller did.
  [[gnu::noinline]] bool look_at_pending() {
    if (!pollers_.look(Memory::waits(), Memory::looks())) return false;
    Memory::fence(Guard::found_fence);
    if (Memory::keeps(Guard::found_look) && asleep_.load_relaxed() > 0) wake_sleepers();
    return true;
  }
  bool is_attended(uint32_t word, uint32_t& seen) const;
  // True: it was rung meanwhile.
  bool nap(uint32_t word, int64_t ns) {
    sleeping_->sleep(*door_, word, Sleeper::engine, ns, false);
    return door_->read() != word;
  }
  // The same; whoever has news for this thread sees that it may take a while.
  bool nap_long(uint32_t word, int64_t ns) {
    naps_long_.store(ns > Memory::Limits::kLongestTick);
    const bool rung = nap(word, ns);
    naps_long_.store(0);
    return rung;
  }
  void park() LEAVES_BATON;
  void sleep_on(uint32_t word, Sleeper who, int64_t timeout_ns, bool listens) {
    if (listens && plan_.network_open()) {
      const int64_t most = heartbeat_.next_ns(plan_, static_cast<uint32_t>(engine_->stats().steps.read()));
      if (timeout_ns < 0 || timeout_ns > most) timeout_ns = most;
    }
    sleeping_->sleep(*door_, word, who, timeout_ns, listens);
  }
  Engine* engine_ = nullptr;
  typename Memory::WakeupManager* sleeping_ = nullptr;
  BasicDoorbell<typename Memory::Node>* door_ = nullptr;
  BasicAttention<typename Memory::Node>* attention_ = nullptr;
  BasicWatch<typename Memory::Node>* watch_ = nullptr;
  Word* passive_word_ = nullptr;
  ProgressPlan plan_;
  BasicBaton<Memory> baton_;
  typename Memory::Pollers pollers_;
  typename Memory::Clock clock_;  // under the baton

  alignas(64) Word stop_;
  Word asleep_;     // of all sleepers, those that a posted event must wake
  Word passive_;    // of these, those on *passive_word_
  Word listening_;  // one waiter at a time sleeps on descriptors, where there is no engine thread
  Word aborts_;
  typename Memory::Hint naps_long_;      // the engine thread, which has had no news for a while
  typename Memory::Hint news_;           // that came since that thread has begun its nap
  typename Memory::Hint rung_for_news_;  // it is to nap in place of sleeping: an application thread is there, which has begun something
  typename Memory::Hint comings_;        // how often application threads came since anybody stepped
  typename Memory::Hint unsaid_;         // how often they left without having waited
  Heartbeat<Memory> heartbeat_;
};

}  // namespace portunus

#include "engine/progress/progress_thread.hpp"
#include "engine/progress/progress_waiting.hpp"
