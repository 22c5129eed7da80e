// runtime.cpp: see runtime.hpp.
#include "engine/core/runtime.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <system_error>

#include "engine/core/description.hpp"
#include "engine/host/address_space.hpp"
#include "engine/transport/table.hpp"

namespace portunus {
namespace {

const char* name_of(ProgressMode mode) {
  static constexpr const char* kNames[] = {"auto", "spin", "park", "offload", "caller"};
  return kNames[static_cast<int>(mode)];
}

}  // namespace

Runtime& Runtime::make() {
  static Runtime& runtime = *new Runtime;  // lives as long as the process: other threads may still be inside at exit
  instance_.store(&runtime, std::memory_order_release);
  return runtime;
}

void Runtime::open_transports(const Options& options, const JobPlace& place, uint32_t pid) {
  as_if_under_baton();  // here and below: nobody uses the engine before running() says so
  engine_ = std::make_unique<Engine>(objects_, uid_, &published_->page().stats);
  TransportOpening opening{*engine_,
                           engine_->stats(),
                           options,
                           hub_,
                           uid_,
                           pid,
                           place.known && place.one_node,
                           place.known && place.local_size > 1 ? static_cast<size_t>(place.local_size) - 1 : 0,
                           place.known ? static_cast<size_t>(place.local_rank) : 0};
  std::vector<OpenedTransport> opened = portunus::open_transports(opening);
  port_ = std::move(opening.port);
  self_ = opening.self;
  node_ = opening.node;
  engine_->set_self(self_);
  // A death on the node is a fact, not a guess from silence: it is looked for more often than the bound demands.
  engine_->keep_house_every(std::min<uint64_t>(kLookMost, options.peer_timeout_s * (uint64_t{1'000'000'000} / 4)));
  for (OpenedTransport& one : opened) {
    engine_->peers().add_transport(std::move(one.transport), one.type->costly);
    network_open_ = network_open_ || one.type->gives_address;
  }
}

// An engine thread spins only on a core that somebody gave it, and a waiter where it cannot take a core from another rank. A program that
// no launcher started knows of no other; if it may use one core alone, what it waits for is likely to need that.
ProgressPlan Runtime::plan(const Options& options, const JobPlace& place) {
  as_if_under_baton();
  ProgressPlan plan;
  plan.oversubscribed = place.local_size > placement_.usable || (!place.known && placement_.usable == 1);
  plan.mode = options.progress;
  if (options.engine_cores.each && placement_.engine_core >= 0) {  // another job's engine may be there
    core_claim_ = std::make_unique<CoreClaim>(placement_.engine_core);
    if (!core_claim_->held()) placement_.engine_core = -1;
  }
  if (plan.mode == ProgressMode::automatic) plan.mode = placement_.engine_core >= 0 ? ProgressMode::spin : ProgressMode::park;
  plan.engine_spins = plan.mode == ProgressMode::spin || (plan.mode == ProgressMode::offload && placement_.engine_core >= 0);
  if (!plan.engine_spins) placement_.engine_core = -1;
  plan.engine_has_core = placement_.engine_core >= 0;
  plan.spin_waits = !plan.oversubscribed && !(plan.engine_spins && !plan.engine_has_core && place.local_size >= placement_.usable);
  plan.by_socket = network_open_ && !engine_->peers().wait_fds().empty();
  plan.must_poll = network_open_ && !plan.by_socket;
  plan.registered = register_asymmetric_fences();
  return plan;
}

void Runtime::start(const JobPlace& place, uint32_t pid) {
  as_if_under_baton();
  const Options options = Options::from_environment();
  launched_ = place.known;
  uid_ = geteuid();
  started_ = static_cast<uint32_t>(now_ns()) | 1;
  placement_ = place_engine(place.local_rank, place.local_size, options.engine_cores, place.known);
  published_ = std::make_unique<PublishedStats>();
  ProgressPlan plan;
  try {
    open_transports(options, place, pid);
    plan = this->plan(options, place);
    sleeping_.begin(self_, uid_, network_open_ ? engine_->peers().wait_fds() : std::vector<int>{}, plan.waiters_listen());
  } catch (...) {
    close_transports();
    throw;
  }
  ProcessWords<HardwareMemory> words{&own_words_.door, &own_words_.attention, &own_words_.watch, &own_words_.passive};
  if (node_) {
    SegmentHeader& header = node_->segment().header();
    words = {&header.door, &header.attention, &header.watch, &header.passive_word};
  }
  progress_.begin(*engine_, sleeping_, words, plan);
  engine_roots = {&engine_->interface(0), &objects_.entries.at(0), objects_.entries.capacity(), &engine_->initiator().pending().newest()};
  publish();
  running_.store(true, std::memory_order_release);
  if (plan.mode == ProgressMode::caller) return;
  try {
    thread_ = std::thread([this] { run_engine_thread(); });
  } catch (const std::system_error& error) {
    running_.store(false, std::memory_order_relaxed);
    close_transports();
    throw std::system_error(error.code(), "the engine's thread cannot be started (see ulimit -u)");
  }
  pthread_getcpuclockid(thread_.native_handle(), &thread_clock_);
}

void Runtime::run_engine_thread() {
  pthread_setname_np(pthread_self(), "portals-engine");
  prctl(PR_SET_TIMERSLACK, 1);  // data are there when they are there, not 50 us later
  const ProgressPlan& plan = progress_.plan();
  if (plan.engine_has_core) bind_thread(placement_.engine_core);
  else free_thread(launched_);  // its rank may be bound to one core, while another is idle
  // Spinning with real-time priority would take a shared core from the ranks for 0.95 s of each second.
  const bool realtime = !plan.engine_spins && !plan.network_open() && request_realtime();
  sleeping_.set_realtime(realtime);
  published_->page().realtime.store(realtime, std::memory_order_relaxed);
  if (plan.engine_spins) progress_.run_spinning();
  else progress_.run_parked();
}

std::atomic<uint64_t>* Runtime::add_count(const char* name, const char* text) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  return published_->add(name, text);
}

void Runtime::tell_wait(Engine& engine, const ptlx_long_wait_t& told) {
  StatsPage& page = published_->page();
  LongWait& wait = page.wait;
  const uint64_t done = work_done(engine.stats());
  const bool same = wait.done == done && std::strncmp(wait.what, told.what, sizeof wait.what - 1) == 0;
  const bool found = progress_.pollers().take_found();
  const bool quiet = same && !found && engine.all_quiet();
  page.wait_version.fetch_add(1, std::memory_order_acquire);
  std::atomic_thread_fence(std::memory_order_release);
  if (!same || wait.began_ns == 0) wait.began_ns = told.since_ns;
  wait.quiet_ns = std::max(told.since_ns, quiet ? wait.quiet_ns : now_ns());
  wait.looked_ns = told.looked_ns;
  wait.done = done;
  wait.count = told.ranks ? told.count : LongWait::kMostRanks + 1;
  for (uint32_t i = 0; i < std::min(wait.count, LongWait::kMostRanks); ++i)
    wait.ranks[i] = wait.count > LongWait::kMostRanks ? 0 : told.ranks[i];
  std::strncpy(wait.call, told.call, sizeof wait.call - 1);
  std::strncpy(wait.what, told.what, sizeof wait.what - 1);
  page.wait_version.fetch_add(1, std::memory_order_release);
}

uint32_t Runtime::incarnation() const { return node_ ? node_->segment().header().place.incarnation : started_; }

void Runtime::publish() {
  as_if_under_baton();
  StatsPage& page = published_->page();
  page.nid = self_.nid;
  page.pid = self_.pid;
  page.os_pid = getpid();
  page.engine_core = placement_.engine_core;
  page.started_ns = now_ns();
  std::strncpy(page.progress, name_of(progress_.plan().mode), sizeof page.progress - 1);
  std::strncpy(page.transports, engine_->peers().transport_names().c_str(), sizeof page.transports - 1);
  page.ready.store(1, std::memory_order_release);
}

void Runtime::close_transports() {
  engine_roots = {};
  sleeping_.end();
  node_ = nullptr;
  network_open_ = false;
  core_claim_.reset();
  engine_.reset();
  port_.reset();
  published_.reset();
}

void Runtime::stop() {
  if (!running()) return;
  if (thread_.joinable()) {
    progress_.end();
    thread_.join();
  }
  progress_.pollers().clear();
  running_.store(false, std::memory_order_relaxed);
  close_transports();
  for (const PrivateBlock& block : private_blocks_)
    if (block.fresh) munmap(block.base, block.size);
  private_blocks_.clear();
}

int Runtime::add_private_block(size_t size, void* replace, void*& base) {
  base = replace;
  if (!replace) {
    void* const space = size >= kHugePage ? reserve_addresses(size) : nullptr;  // as a shared block
    if (!space && size >= kHugePage) return -1;
    base = mmap(space, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (space ? MAP_FIXED : 0), -1, 0);
    if (base == MAP_FAILED) {
      if (space) munmap(space, size);
      return -1;
    }
  }
  private_blocks_.push_back({base, size, replace == nullptr});
  return static_cast<int>(private_blocks_.size() - 1);
}

void* Runtime::private_block(unsigned number, size_t& size) const {
  if (number >= private_blocks_.size()) return nullptr;
  size = private_blocks_[number].size;
  return private_blocks_[number].base;
}

void Runtime::info(ptlx_engine_info_t& out) {
  out = {};
  std::strncpy(out.progress, name_of(progress_.plan().mode), sizeof out.progress - 1);
  out.engine_core = placement_.engine_core;
  std::memcpy(out.transports, published_->page().transports, sizeof out.transports);
  out.realtime = static_cast<int>(published_->page().realtime.load(std::memory_order_relaxed));
  out.oversubscribed = progress_.plan().oversubscribed;
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
