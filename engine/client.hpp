// client.hpp: the door between application threads and the engine: who steps, who sleeps, who is woken.
//
// An initiating call takes a free baton and executes at once; else it pushes its command and the holder runs it.
// A blocking call steps the engine itself while it waits (the latency path). The engine thread steps whenever no
// application thread is in such a call: spinning on a core of its own, or parked on the doorbell.
//
// Thread: every public function from any thread, except start and stop (one at a time).
// Source: architecture of the baton and the doorbell; PEACE and ESPGOAL for why the processor progresses alone.
#pragma once

#include <sched.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "engine/engine.hpp"
#include "engine/host/address.hpp"
#include "engine/host/bell_socket.hpp"
#include "engine/host/clock.hpp"
#include "engine/host/options.hpp"
#include "engine/host/stats_page.hpp"
#include "engine/host/topology.hpp"
#include "engine/shared/baton.hpp"
#include "engine/shared/doorbell.hpp"
#include "engine/objects.hpp"
#include "engine/transport/node/node.hpp"
#include "engine/transport/self/self.hpp"

namespace portunus {

struct JobPlace {
  int local_rank = 0;
  int local_size = 1;
  bool known = false;       // a launcher told us
  bool one_node = false;    // all ranks of the job are on this node
};

class Client {
 public:
  // The process's one client; made by the first PtlInit, never destroyed (threads may still hold handles at exit).
  static Client& get() {
    Client* client = instance_.load(std::memory_order_acquire);  // pairs with the release in make
    return client ? *client : make();
  }

  // Opens transports and starts the engine thread. Throws with one sentence: cause and remedy. `pid` 0 = any.
  void start(const JobPlace& place, uint32_t pid);
  void stop();
  bool running() const { return running_.load(std::memory_order_acquire); }  // pairs with start: who sees it may use the engine

  Objects& objects() { return objects_; }
  Engine& engine() { return *engine_; }
  Interface& interface(uint32_t ni) { return engine_->interface(ni); }
  NodeTransport* node() { return node_; }
  ProcessId self() const { return self_; }
  uint32_t uid() const { return uid_; }

  // Runs a command now, or leaves it to whoever is stepping. Blocks only while the command queue is full.
  void submit(Command& command) {
    if (!try_locked([&](Engine& engine) { engine.execute(command); })) submit_queued(command);
  }
  // Runs `action(engine)` under the baton, after everything submitted before; false when somebody else has the baton.
  template <class Action>
  bool try_locked(Action&& action) {
    if (!try_enter()) return false;
    action(*engine_);
    leave();
    return true;
  }
  // Its two ends, for callers that every message passes: `leave` follows a `try_enter` that said yes.
  bool try_enter() {
    if (mode_ == Progress::offload || !take()) return false;
    drain();
    return true;
  }
  void leave() {
    engine_->settle();
    if (!biased_ || engine_->posted || engine_->restless() || grant_) return leave_baton();
    baton_.release(true);  // what is read below is not older, see Baton::held
    if (counted_on() || engine_->commands().maybe_filled()) [[unlikely]] serve_others();
  }
  // The same as submit, but returns only after the command has been executed.
  void submit_and_wait(Command& command);
  // The same as submit, but where the engine thread has a processor of its own, the command is left to that thread, or to the next
  // that waits or submits.
  void leave_to_engine(Command& command);
  // Runs `action(engine)` while holding the baton, after everything submitted before.
  template <class Action>
  auto locked(Action&& action) {
    take_baton();
    drain();
    auto result = action(*engine_);
    engine_->settle();
    leave_baton();
    return result;
  }

  // Waits until done() is true, stepping meanwhile. False: `timeout_ns` passed first (negative = no limit), or
  // abort() was called. `watched`: the bits of memory that others store to directly (watch.hpp), 0 = none; it is looked at now and then
  // even if nobody rings.
  template <class Done>
  bool wait(Done&& done, int64_t timeout_ns, uint32_t watched = 0);
  // Wakes the threads of this process that sleep until memory changes, if there are any.
  void wake_own_watchers() {
    if (watch_->take()) wake_sleepers();
  }
  Watch& watch() { return *watch_; }
  // One step by the caller if nobody else steps.
  int progress();
  // PtlAbort: every thread that is waiting now gives up.
  void abort_waits();
  uint64_t aborts() const { return aborts_.load(std::memory_order_acquire); }  // how often so far

  void info(ptlx_engine_info_t& out);
  // Nobody steps unless an application thread is in a call (PTL_PROGRESS=caller).
  bool only_callers_step() const { return mode_ == Progress::caller; }

  // Without the node transport, blocks are private memory of this process: same numbering, nobody maps them.
  int add_private_block(size_t size, void* replace, void*& base);
  void* private_block(unsigned number, size_t& size) const;

 private:
  static Client& make();
  static inline constinit std::atomic<Client*> instance_{nullptr};
  Client() = default;
  void publish();
  void use_own_words();
  void open_transports(const Options& options, const JobPlace& place, uint32_t pid);
  void submit_queued(Command& command);
  void drain() {
    if (engine_->commands().maybe_filled()) [[unlikely]] drain_now();
  }
  void drain_now();
  // For application threads; the engine thread, which takes the bias only from one that went quiet, uses the baton itself.
  bool take() {
    const bool from_another = !biased_ && baton_.granted();
    if (!baton_.try_take(biased_)) return false;
    if (from_another && bias_owner_ != &biased_) ++taken_back_;
    return true;
  }
  void take_baton();
  void leave_baton();
  // Passive sleepers count on the looking of who has the baton; where the engine thread spins, on that one.
  bool counted_on() const { return !engine_spins_ && passive_.load(std::memory_order_relaxed) > 0; }
  void serve_others();
  void wake_sleepers();
  void ring_own(Sleeper only);
  void enter_wait();
  void leave_wait();
  template <class Done>
  bool wait_biased(Done&& done, uint64_t begin, int64_t timeout_ns, uint64_t aborts, bool watches_memory);
  template <class Done>
  void sleep(Done&& done, int64_t limit_ns, uint32_t watched);
  void set_watch(uint32_t bits) {
    if (bits != 0 && registered_) watch_->set(bits);
  }
  // What a step stored may be what another thread sleeps for, and no event tells it.
  int step(uint64_t now) {
    const int work = engine_->step(now);
    if (work && watch_->take()) engine_->posted = true;
    return work;
  }
  void sleep_on(uint32_t word, Sleeper who, int64_t timeout_ns, bool with_descriptors);
  int64_t longest_nap();
  void leave_holding();
  void pause_spin(int idle) {
    if (idle < kAlone) {
      relax();
      return;
    }
    if (idle < kAlone + 64) look_around();
    sched_yield();
  }
  void look_around();
  void cool();
  Sleeper hand_over();
  void run_spinning();
  void run_parked();
  void let_others_run() const;
  uint64_t coarse_now() {
    if ((++clock_use_ & 31) == 0 || engine_->has_delays()) clock_ = now_ns();
    return clock_;
  }

  // No SCHED_FIFO then: providers take spin locks that other processes share: a real-time thread that meets one whose holder it has displaced
  // would spin until the kernel's real-time throttle, about a second.
  bool network_open() const { return by_socket_ || must_poll_; }
  uint32_t* passive_address() { return reinterpret_cast<uint32_t*>(passive_word_); }

  static constexpr int kAlone = 2'048;        // steps without work before a waiter with a core of its own doubts that it is alone there
  static constexpr int kSpins = 20'000;       // and before it goes on as one without
  static constexpr int kYields = 400;         // and then before it sleeps
  // The longest sleep where a network has no descriptor to wait for, and where it has one; both grow while nothing happens.
  static constexpr int64_t kPollNap = 200'000, kLongestPollNap = 800'000;
  static constexpr int64_t kHeartbeat = 20'000'000, kLongestHeartbeat = 1'280'000'000;
  static constexpr uint32_t kNapsAlike = 16;      // before they are doubled
  static constexpr int64_t kBlindNap = 50'000;    // between two looks at memory whose writers cannot ring
  static constexpr int64_t kFirstNap = 100'000;   // and where they do but somebody may store without: twice as long each time,
  static constexpr int64_t kLastNap = 10'000'000;  // up to this
  static constexpr uint64_t kLookMost = 250'000'000;  // between two looks for dead peers, while something is outstanding
  static constexpr int64_t kDenseTick = 500'000;  // how often a parked engine looks whether waits still come thick and fast
  static constexpr int kMostTakenBack = 8;    // threads that share the engine are better off without a bias

  Objects objects_;
  Options options_;
  SelfHub hub_;
  std::unique_ptr<HeldPort> port_;
  std::unique_ptr<PublishedStats> published_;
  std::unique_ptr<Engine> engine_;
  NodeTransport* node_ = nullptr;
  ProcessId self_;
  uint32_t uid_ = 0;
  Progress mode_ = Progress::caller;
  bool engine_spins_ = false;
  bool spin_waits_ = false;
  bool by_socket_ = false;   // sleepers wait for descriptors as well as for the doorbell
  bool must_poll_ = false;   // a network without a descriptor: sleep only briefly
  Placement placement_;
  bool realtime_ = false;
  bool oversubscribed_ = false;
  std::thread thread_;
  struct PrivateBlock { void* base; size_t size; void* space; size_t space_size; };  // space: what was mapped for it, if anything
  std::vector<PrivateBlock> private_blocks_;
  clockid_t thread_clock_ = CLOCK_THREAD_CPUTIME_ID;
  std::vector<int> fds_;
  std::optional<BellSocket> waiter_bell_, engine_bell_;
  struct Words {
    alignas(64) Doorbell door;
    alignas(64) Watch watch;
    alignas(64) std::atomic<uint32_t> passive{0};
  };
  Words own_words_;
  Doorbell* door_ = &own_words_.door;  // these, or those of the node segment
  Watch* watch_ = &own_words_.watch;
  std::atomic<uint32_t>* passive_word_ = &own_words_.passive;
  Baton baton_;
  uint64_t clock_ = 0;
  uint32_t clock_use_ = 0;

  alignas(64) std::atomic<bool> stop_{false};
  std::atomic<bool> running_{false};
  std::atomic<int> waiting_{0};            // application threads inside a wait that step
  std::atomic<int> asleep_{0};             // of all sleepers, those that a posted event must wake
  std::atomic<int> passive_{0};            // of these, those on *passive_word_
  std::atomic<uint32_t> polling_{0};       // one waiter at a time sleeps on descriptors
  std::atomic<bool> dense_{false};
  bool grant_ = false;                     // under the baton: its next release gives this thread the bias
  const bool* bias_owner_ = nullptr;       // the thread whose `biased_` this is; under the baton
  int taken_back_ = 0;                     // how often application threads took the bias from one another
  bool registered_ = false;                // heavy fences reach this process
#if defined(__GNUC__)
  __attribute__((tls_model("initial-exec")))
#endif
  static inline thread_local constinit bool biased_ = false;  // this thread's word for the baton
  std::atomic<uint64_t> aborts_{0};
  std::atomic<uint32_t> naps_{0};          // beside a network, since something last happened
  std::atomic<uint64_t> naps_since_{0};    // the steps with work until then
  uint64_t leaves_ = 0;                    // under the baton's protection in leave_wait
  uint64_t leaves_since_ns_ = 0;
};

template <class Done>
bool Client::wait(Done&& done, int64_t timeout_ns, uint32_t watched) {
  if (done()) return true;
  if (timeout_ns == 0) {
    progress();
    return done();
  }
  const uint64_t aborts = aborts_.load(std::memory_order_relaxed);
  const auto aborted = [&] { return aborts_.load(std::memory_order_relaxed) != aborts; };
  const uint64_t begin = timeout_ns > 0 ? now_ns() : 0;
  if (biased_ && wait_biased(done, begin, timeout_ns, aborts, watched != 0)) return true;
  const bool steps = mode_ != Progress::offload;
  if (steps) enter_wait();
  bool satisfied = false;
  int idle = 0;
  int64_t nap_ns = registered_ ? kFirstNap : kBlindNap;
  for (;;) {
    int work = 0;
    if (steps && take()) {
      do {
        work = step(coarse_now());
        satisfied = done();
      } while (!satisfied && (work || (spin_waits_ && ++idle < kSpins && (idle & 63) != 0)) && !engine_->posted && !baton_.wanted());
      if (satisfied) {
        leave_holding();
        return true;
      }
      leave_baton();
    }
    satisfied = done();
    if (satisfied || aborted()) break;
    if (work) {
      idle = 0;
      continue;
    }
    int64_t left = -1;
    if (timeout_ns > 0) {
      left = timeout_ns - static_cast<int64_t>(now_ns() - begin);
      if (left <= 0) break;
    }
    ++idle;
    if (spin_waits_ && idle < kSpins) {
      pause_spin(idle);
    } else if (idle < (spin_waits_ ? kSpins : 0) + kYields) {
      sched_yield();
    } else {
      if (watched && (left < 0 || left > nap_ns)) left = nap_ns;
      if (registered_) nap_ns = std::min(2 * nap_ns, kLastNap);
      // done() may take what it waits for, so it is not asked again once it said yes.
      sleep([&] { return (satisfied = done()) || aborted(); }, left, watched);
      if (satisfied || aborted()) break;
    }
  }
  if (steps) leave_wait();
  return satisfied;
}

// The same for a thread with the bias: the engine thread only glances, so nobody need know that this one waits. False: go on in full.
template <class Done>
bool Client::wait_biased(Done&& done, uint64_t begin, int64_t timeout_ns, uint64_t aborts, bool watches_memory) {
  for (int idle = 0; take();) {
    if (!biased_) {  // taken back
      leave_baton();
      break;
    }
    int work;
    bool satisfied;
    do {
      work = step(coarse_now());
      satisfied = (work || watches_memory) && done();  // else nobody can have brought it about without the baton
    } while (!satisfied && (work || (spin_waits_ && (++idle & 63) != 0)) && !engine_->posted && !baton_.blocked());
    leave_baton();
    satisfied = satisfied || done();
    if (satisfied) return true;
    if (work) continue;
    if (idle >= (spin_waits_ ? kSpins : kYields) || aborts_.load(std::memory_order_relaxed) != aborts) break;
    if (timeout_ns > 0 && now_ns() - begin >= static_cast<uint64_t>(timeout_ns)) break;
    if (spin_waits_) {
      if (idle >= kAlone) pause_spin(idle);
    } else {
      ++idle;
      sched_yield();
    }
  }
  return false;
}

// One sleep. Whoever can take the baton arms the doorbell and sleeps on it; others are woken by what the holder posts.
template <class Done>
void Client::sleep(Done&& done, int64_t limit_ns, uint32_t watched) {
  const bool active = mode_ != Progress::offload && !engine_spins_;
  uint32_t one = 0;
  if (active && (!by_socket_ || polling_.compare_exchange_strong(one, 1)) ) {
    if (take()) {
      if (step(now_ns()) == 0 && !engine_->busy()) {
        cool();
        const uint32_t word = door_->arm(Sleeper::waiter, by_socket_);
        const bool idle = engine_->idle();
        const int64_t patience_ns = engine_->patience_ns();
        if (patience_ns >= 0 && (limit_ns < 0 || limit_ns > patience_ns)) limit_ns = patience_ns;
        asleep_.fetch_add(1, std::memory_order_seq_cst);
        leave_baton();
        set_watch(watched);
        if (idle && !done()) sleep_on(word, Sleeper::waiter, limit_ns, true);
        asleep_.fetch_sub(1, std::memory_order_relaxed);
        door_->disarm_from(word);
      } else {
        leave_baton();
        sched_yield();
      }
      if (by_socket_) polling_.store(0, std::memory_order_release);
      return;
    }
    if (by_socket_) polling_.store(0, std::memory_order_release);
  }
  const uint32_t word = passive_word_->load(std::memory_order_relaxed);
  if (engine_spins_ && mode_ != Progress::offload) waiting_.fetch_sub(1, std::memory_order_seq_cst);  // the engine thread steps now
  asleep_.fetch_add(1, std::memory_order_seq_cst);
  passive_.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  set_watch(watched);
  // Who could step must not sleep here unless somebody else does or will: that one looks at passive_ when it stops.
  const bool somebody = !active || baton_.held() || (by_socket_ && polling_.load(std::memory_order_seq_cst) != 0);
  if (somebody && !done()) futex_wait(passive_address(), word, Sleeper::waiter, limit_ns);
  passive_.fetch_sub(1, std::memory_order_relaxed);
  asleep_.fetch_sub(1, std::memory_order_relaxed);
  if (engine_spins_ && mode_ != Progress::offload) waiting_.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace portunus
