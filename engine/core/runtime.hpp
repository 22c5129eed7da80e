// runtime.hpp: what one process has of the engine: it starts and stops it, opens its transports, and gives out what the entry points
// need. Who steps, sleeps and wakes is progress (progress/progress.hpp), which lies here by value.
//
// Thread: start and stop one at a time; the rest from any thread, while running() is true.
// Invariants: made once and never destroyed, since threads may still hold handles at exit.
#pragma once

#include <memory>
#include <thread>

#include "engine/core/engine.hpp"
#include "engine/core/objects.hpp"
#include "engine/core/process_environment.hpp"
#include "engine/host/address.hpp"
#include "engine/host/core_claim.hpp"
#include "engine/host/options.hpp"
#include "engine/host/stats_page.hpp"
#include "engine/host/topology.hpp"
#include "engine/transport/node/node.hpp"
#include "engine/transport/self/self.hpp"

namespace portunus {

struct JobPlace {
  int local_rank = 0;
  int local_size = 1;
  bool known = false;     // a launcher told us
  bool one_node = false;  // all ranks of the job are on this node
};

class Runtime {
 public:
  // The process's one; made by the first PtlInit.
  static Runtime& get() {
    Runtime* runtime = instance_.load(std::memory_order_acquire);  // pairs with the release in make
    return runtime ? *runtime : make();
  }

  // Opens transports and starts the engine thread. Throws with one sentence: cause and remedy. `pid` 0 = any.
  void start(const JobPlace& place, uint32_t pid);
  void stop();
  bool running() const { return running_.load(std::memory_order_acquire); }  // pairs with start: who sees it may use the engine

  Progress& progress() { return progress_; }
  Objects& objects() { return objects_; }
  Engine& engine() { return *engine_; }
  Interface& interface(uint32_t ni) { return engine_->interface(ni); }
  NodeTransport* node() { return node_; }
  ProcessId self() const { return self_; }
  uint32_t uid() const { return uid_; }
  uint32_t incarnation() const;  // tells this process from those that had its address before
  void info(ptlx_engine_info_t& out);
  // As PublishedStats::add, from any thread.
  std::atomic<uint64_t>* add_count(const char* name, const char* text);
  // PtlxTellWait.
  void tell_wait(Engine& engine, const ptlx_long_wait_t& wait) UNDER_BATON;

  // Without the node transport, blocks are private memory of this process: same numbering, nobody maps them. Under the baton.
  int add_private_block(size_t size, void* replace, void*& base);
  void* private_block(unsigned number, size_t& size) const;

 private:
  static Runtime& make();
  static inline constinit std::atomic<Runtime*> instance_{nullptr};
  Runtime() = default;
  void publish();
  void open_transports(const Options& options, const JobPlace& place, uint32_t pid);
  ProgressPlan plan(const Options& options, const JobPlace& place);
  void close_transports();
  void run_engine_thread();

  static constexpr uint64_t kLookMost = 250'000'000;  // between two looks for dead peers, while something is outstanding

  Objects objects_;
  SelfHub hub_;
  std::unique_ptr<HeldPort> port_;
  std::unique_ptr<PublishedStats> published_;
  std::unique_ptr<Engine> engine_;
  NodeTransport* node_ = nullptr;
  ProcessId self_;
  uint32_t uid_ = 0;
  uint32_t started_ = 0;
  Placement placement_;
  std::unique_ptr<CoreClaim> core_claim_;  // of the engine's core, where nobody has named it
  bool network_open_ = false;
  bool launched_ = false;
  std::thread thread_;
  clockid_t thread_clock_ = CLOCK_THREAD_CPUTIME_ID;
  struct PrivateBlock {
    void* base;
    size_t size;
    bool fresh;  // mapped for it, and goes with it
  };
  std::vector<PrivateBlock> private_blocks_;
  OwnWords own_words_;
  WakeupManager sleeping_;
  Progress progress_;
  alignas(64) std::atomic<bool> running_{false};
};

}  // namespace portunus
