// client.cpp: starting, stopping, sleeping and waking. See client.hpp; the engine thread is in engine_thread.cpp.
#include "engine/client.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "engine/transport/table.hpp"

namespace portunus {
namespace {

const char* name_of(Progress mode) {
  static constexpr const char* kNames[] = {"auto", "spin", "park", "offload", "caller"};
  return kNames[static_cast<int>(mode)];
}

}  // namespace

Client& Client::make() {
  static Client& client = *new Client;  // lives as long as the process: other threads may still be inside at exit
  instance_.store(&client, std::memory_order_release);
  return client;
}

void Client::use_own_words() {
  door_ = &own_words_.door;
  watch_ = &own_words_.watch;
  passive_word_ = &own_words_.passive;
}

void Client::open_transports(const Options& options, const JobPlace& place, uint32_t pid) {
  engine_ = std::make_unique<Engine>(objects_, uid_, &published_->page().stats);
  TransportOpening opening{*engine_, engine_->stats(), options, hub_, uid_, pid, place.known && place.one_node};
  std::vector<OpenedTransport> opened = portunus::open_transports(opening);
  port_ = std::move(opening.port);
  self_ = opening.self;
  engine_->set_self(self_);
  // A death on the node is a fact, not a guess from silence: it is looked for more often than the bound demands.
  engine_->look_every(std::min<uint64_t>(kLookMost, options.peer_timeout_s * (uint64_t{1'000'000'000} / 4)));
  bool network = false;
  for (OpenedTransport& one : opened) {
    engine_->add_transport(std::move(one.transport), one.type->costly);
    network = network || one.type->gives_address;
  }
  use_own_words();
  node_ = opening.node;
  if (node_) {
    SegmentHeader& header = node_->segment().header();
    door_ = &header.door;
    watch_ = &header.watch;
    passive_word_ = &header.passive_word;
  }
  if (!network) return;
  fds_ = engine_->wait_fds();
  by_socket_ = !fds_.empty();
  must_poll_ = fds_.empty();
  if (by_socket_) {
    waiter_bell_.emplace(self_, uid_, Sleeper::waiter);
    engine_bell_.emplace(self_, uid_, Sleeper::engine);
  }
}

void Client::start(const JobPlace& place, uint32_t pid) {
  options_ = Options::from_environment();
  uid_ = geteuid();
  placement_ = place_engine(place.local_rank, place.local_size, options_.engine_core, place.known);
  oversubscribed_ = place.local_size > placement_.usable;
  published_ = std::make_unique<PublishedStats>();
  try {
    open_transports(options_, place, pid);
  } catch (...) {
    engine_.reset();
    node_ = nullptr;
    port_.reset();
    published_.reset();
    throw;
  }
  mode_ = options_.progress;
  if (mode_ == Progress::automatic) mode_ = placement_.engine_core >= 0 ? Progress::spin : Progress::park;
  engine_spins_ = mode_ == Progress::spin || (mode_ == Progress::offload && placement_.engine_core >= 0);
  if (!engine_spins_) placement_.engine_core = -1;
  // A waiter spins only where it cannot take a core from another rank or from a spinning engine without one.
  spin_waits_ = !oversubscribed_ && !(engine_spins_ && placement_.engine_core < 0 && place.local_size >= placement_.usable);
  clock_ = now_ns();
  registered_ = register_asymmetric_fences();
  dense_.store(false, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  publish();
  running_.store(true, std::memory_order_release);
  if (mode_ == Progress::caller) return;
  if (engine_spins_ && registered_) door_->heat();  // it is never armed
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "portals-engine");
    if (placement_.engine_core >= 0) bind_thread(placement_.engine_core);
    else realtime_ = !network_open() && request_realtime();
    published_->page().realtime.store(realtime_, std::memory_order_relaxed);
    if (engine_spins_) run_spinning(); else run_parked();
  });
  pthread_getcpuclockid(thread_.native_handle(), &thread_clock_);
}

void Client::publish() {
  StatsPage& page = published_->page();
  page.nid = self_.nid;
  page.pid = self_.pid;
  page.os_pid = getpid();
  page.engine_core = placement_.engine_core;
  page.started_ns = now_ns();
  std::strncpy(page.progress, name_of(mode_), sizeof page.progress - 1);
  std::strncpy(page.transports, engine_->transport_names().c_str(), sizeof page.transports - 1);
  page.ready.store(1, std::memory_order_release);
}

void Client::stop() {
  if (!running()) return;
  if (thread_.joinable()) {
    stop_.store(true, std::memory_order_seq_cst);
    // The thread may be about to sleep on the word it has read: change the word, then wake whoever sleeps.
    door_->arm(Sleeper::nobody, false);
    futex_wake(door_->word().address(), Sleeper::engine);
    if (by_socket_) BellSocket::ring(self_, uid_, Sleeper::engine);
    thread_.join();
  }
  running_.store(false, std::memory_order_relaxed);
  use_own_words();
  fds_.clear();
  waiter_bell_.reset();
  engine_bell_.reset();
  by_socket_ = must_poll_ = false;
  node_ = nullptr;
  engine_.reset();
  port_.reset();
  published_.reset();
  for (const PrivateBlock& block : private_blocks_)
    if (block.space) munmap(block.space, block.space_size);
  private_blocks_.clear();
}

void Client::drain_now() {
  Command queued;
  while (engine_->commands().pop(queued)) engine_->execute(queued);
}

void Client::submit_queued(Command& command) {
  if (is_message(command.verb)) own_volatile(command);
  while (!engine_->commands().push(command)) {
    if (progress() == 0) sched_yield();
  }
  // Publish, fence, look (as the doorbell): the holder re-reads the queue after its release, which is a full barrier.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (mode_ == Progress::offload) {
    ring_own(Sleeper::engine);
    return;
  }
  while (!baton_.held()) {
    if (!take()) continue;
    drain();
    engine_->settle();
    leave_baton();
    return;
  }
}

void Client::submit_and_wait(Command& command) {
  if (mode_ != Progress::offload) {
    locked([&](Engine& engine) {
      engine.execute(command);
      return 0;
    });
    return;
  }
  submit_queued(command);
  while (engine_->commands().maybe_filled()) sched_yield();
  locked([](Engine&) { return 0; });  // the last one popped has been executed once the baton is free
}

void Client::leave_to_engine(Command& command) {
  if (placement_.engine_core < 0) {
    mode_ == Progress::offload ? submit_queued(command) : submit_and_wait(command);
    return;
  }
  // Nobody need be told: that thread spins.
  while (!engine_->commands().push(command)) {
    if (progress() == 0) sched_yield();
  }
}

void Client::take_baton() {
  if (take()) return;
  baton_.want();
  for (int tries = 0; !take(); ++tries) {
    if (tries < 100) relax(); else sched_yield();
  }
  baton_.got();
}

void Client::leave_baton() {
  for (;;) {
    const bool posted = engine_->posted;
    engine_->posted = false;
    const bool busy = engine_->busy();
    if (grant_) {
      grant_ = false;
      baton_.release_biased(biased_);
      if (mode_ == Progress::park && !dense_.load(std::memory_order_relaxed)) biased_ = false;  // see cool
    } else {
      baton_.release(biased_);  // what is read below is not older, see Baton::held
    }
    if ((posted && asleep_.load(std::memory_order_relaxed) > 0) || counted_on()) wake_sleepers();
    if (busy) ring_own(Sleeper::engine);
    if (!engine_->commands().maybe_filled() || mode_ == Progress::offload || !take()) return;
    drain();
    engine_->settle();
  }
}

void Client::serve_others() {
  if (counted_on()) wake_sleepers();
  if (!engine_->commands().maybe_filled() || !take()) return;
  drain();
  engine_->settle();
  leave_baton();
}

void Client::wake_sleepers() {
  passive_word_->fetch_add(1, std::memory_order_seq_cst);
  if (passive_.load(std::memory_order_seq_cst) > 0) futex_wake(passive_address(), Sleeper::waiter);
  ring_own(Sleeper::waiter);
}

// Wakes the sleeper of this process that the doorbell names, if it is of the given kind.
void Client::ring_own(Sleeper only) {
  if (Doorbell::who(door_->read()) != only) return;
  door_->ring_fenced([&](Sleeper who, bool by_socket) {
    ++engine_->stats().rings;
    if (by_socket) BellSocket::ring(self_, uid_, who); else futex_wake(door_->word().address(), who);
  });
}

void Client::enter_wait() {
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  // Dekker with the parking engine thread: it arms, fences and then reads waiting_; we write waiting_ and then read the word.
  door_->disarm(Sleeper::engine);
}

void Client::leave_wait() {
  if (engine_spins_) {
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
    return;
  }
  take_baton();  // the word is armed for others under the baton only: without it, a waiter's arming could be overwritten
  leave_holding();
}

// Somebody this thread waits for may be waiting for this very processor.
void Client::look_around() {
  if (!node_ || !take()) return;
  const int here = sched_getcpu();
  Processors taken;
  const uint64_t now = now_ns();
  if (here >= 0) taken = node_->waiting_peers(here, now);
  leave_baton();
  if (here < 0 || !taken[static_cast<size_t>(here) % taken.size()]) return;
  const int now_at = move_aside(placement_, here, taken);
  if (now_at != here) node_->waits_on(now_at, now);
}

void Client::leave_holding() {
  const Sleeper next = hand_over();
  leave_baton();
  if (next != Sleeper::nobody) ring_own(next);
}

// Waits come thick and fast no more. A bias must not outlive that: its owner hands nothing over to the engine thread. Whoever grants
// it at this moment fences and looks again (leave_baton); we write, fence and then block what was granted.
void Client::cool() {
  dense_.store(false, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  baton_.block();
}

// Under the baton: the calling thread goes back to computing. Returns who must be rung once the baton is free, because
// work is left that nobody will be woken for.
Sleeper Client::hand_over() {
  const bool last = waiting_.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (engine_spins_) return Sleeper::nobody;
  if (!last) {
    // Others may sleep on a word that no longer names them (this thread has taken back its own arming).
    if (asleep_.load(std::memory_order_relaxed) == 0 || Doorbell::who(door_->read()) == Sleeper::waiter) return Sleeper::nobody;
    door_->arm(Sleeper::waiter, by_socket_);
    return engine_->quiet() ? Sleeper::nobody : Sleeper::waiter;
  }
  if (mode_ == Progress::caller || dense_.load(std::memory_order_relaxed)) {
    // The engine thread, if there is one, looks every kDenseTick while waits come this often: the word stays quiet, nobody rings.
    if (registered_ && door_->heat()) {
      if (!bias_owner_) bias_owner_ = &biased_;
      grant_ = !biased_ && bias_owner_ == &biased_ && taken_back_ < kMostTakenBack;
    }
    return Sleeper::nobody;
  }
  if (mode_ != Progress::park) return Sleeper::nobody;
  constexpr uint64_t kLeaves = 16;
  // Across a network a round trip alone takes as long; to wake the engine's thread after each costs more than the message.
  const uint64_t dense_ns = network_open() ? 3'000'000 : 640'000;
  if (++leaves_ % kLeaves == 0) {
    const uint64_t now = now_ns();
    const bool dense = now - leaves_since_ns_ < dense_ns;
    leaves_since_ns_ = now;
    if (dense) {
      dense_.store(true, std::memory_order_seq_cst);
      door_->arm(Sleeper::engine, by_socket_);
      return Sleeper::engine;  // wake it once, so that it starts looking by itself
    }
  }
  door_->arm(Sleeper::engine, by_socket_);
  // Where a network is open, the parked thread sleeps on the bell alone while we wait: it must look at the network now.
  if (network_open()) return Sleeper::engine;
  return engine_->quiet() ? Sleeper::nobody : Sleeper::engine;
}

int Client::progress() {
  if (mode_ == Progress::offload || !take()) return 0;
  const int work = step(coarse_now());
  leave_baton();
  return work;
}

void Client::abort_waits() {
  aborts_.fetch_add(1, std::memory_order_seq_cst);
  wake_sleepers();
}

// Without a descriptor somebody must look; with one, what a provider has accepted may still need a poll to leave. Both ever less often.
int64_t Client::longest_nap() {
  const uint64_t steps = engine_->stats().steps.read();
  if (naps_since_.exchange(steps, std::memory_order_relaxed) != steps) naps_.store(0, std::memory_order_relaxed);
  const uint32_t doubled = std::min(naps_.fetch_add(1, std::memory_order_relaxed) / kNapsAlike, 16u);
  return must_poll_ ? std::min(kPollNap << doubled, kLongestPollNap) : std::min(kHeartbeat << doubled, kLongestHeartbeat);
}

void Client::sleep_on(uint32_t word, Sleeper who, int64_t timeout_ns, bool with_descriptors) {
  if (with_descriptors && network_open()) {
    const int64_t most = longest_nap();
    if (timeout_ns < 0 || timeout_ns > most) timeout_ns = most;
  }
  if (!by_socket_) {
    futex_wait(door_->word().address(), word, who, timeout_ns);
    return;
  }
  static const std::vector<int> none;
  (who == Sleeper::engine ? *engine_bell_ : *waiter_bell_).wait(with_descriptors ? fds_ : none, timeout_ns);
}

int Client::add_private_block(size_t size, void* replace, void*& base) {
  base = replace;
  void* space = nullptr;
  constexpr size_t kHuge = 2u << 20;
  const size_t slack = size >= kHuge ? kHuge : 0;
  if (!replace) {
    // Aligned to huge pages as a shared block would be; pages that the alignment skips are never touched.
    base = space = mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return -1;
    if (slack) base = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(base) + kHuge - 1) & ~uintptr_t{kHuge - 1});
  }
  private_blocks_.push_back({base, size, space, size + slack});
  return static_cast<int>(private_blocks_.size() - 1);
}

void* Client::private_block(unsigned number, size_t& size) const {
  if (number >= private_blocks_.size()) return nullptr;
  size = private_blocks_[number].size;
  return private_blocks_[number].base;
}

void Client::info(ptlx_engine_info_t& out) {
  out = {};
  std::strncpy(out.progress, name_of(mode_), sizeof out.progress - 1);
  out.engine_core = placement_.engine_core;
  std::memcpy(out.transports, published_->page().transports, sizeof out.transports);
  out.realtime = static_cast<int>(published_->page().realtime.load(std::memory_order_relaxed));
  out.oversubscribed = oversubscribed_;
  timespec used{};
  if (thread_.joinable() && clock_gettime(thread_clock_, &used) == 0)
    out.engine_cpu_ns = static_cast<uint64_t>(used.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(used.tv_nsec);
  Stats& stats = engine_->stats();
  out.steps = stats.steps.read();
  out.steps_by_engine = stats.steps_by_engine.read();
  out.sends = stats.sends.read();
  out.arrivals = stats.arrivals.read();
  out.matches = stats.matches.read();
  out.triggers = stats.triggers.read();
  out.rings = stats.rings.read();
  out.back_pressure = stats.back_pressure.read();
  out.dropped = stats.dropped.read();
}

}  // namespace portunus
