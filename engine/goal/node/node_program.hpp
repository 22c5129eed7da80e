// node_program.hpp: a schedule that runs through memory which its ranks share, where these are few, on one node, and all messages short.
//
// Which message meets which receive is known before the first run. So each message has a place in the memory of its sender, which the
// receiver reads: nothing is matched, appended or allocated in a run. An operation counts down what it waits for; the last of it starts it,
// and makes the count whole again for the next run. Operations are done in the steps of the engine (PtlxStepper), by whatever thread steps
// it, so that a run goes on while the program computes. Who has stored a message calls its receiver as a message would, urgently where
// something waits for it there.
//
//     memory of a rank:   head | directory: whom each of its messages is for, and where it lies | a part for each receiver
//     such a part:        a block for each of `depth` runs, in turn: all messages to it, side by side
//     a message's place:  number of the run, data
//
// A rank may be as many runs ahead of one that it sends to; then a send waits until that one has ended a run, and is called.
//
// A failure is that of the domain, or one that a rank tells in its head: it fails the run, and all that follow, on all ranks.
//
// Thread: calls of the program by one thread at a time; has_ended() by any. What is under way belongs to the holder of the engine's lock.
// Invariants: a place is written again only when its receiver has ended the run of what lay there. A place's number is stored, with
// release, after its data, and loaded with acquire; so is the number of the runs that a rank has ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/goal/goal_collectives.h"
#include "engine/goal/goal_domain.h"
#include "engine/goal/node/shared_memory.hpp"
#include "engine/goal/program.hpp"
#include "engine/goal/schedules/plan.hpp"
#include "portals/portals4_ext.h"

namespace portunus::goal::node {

class NodeProgram {
 public:
  // The domain outlives this object.
  NodeProgram(const GOAL_Group& group, GOAL_Domain domain);
  ~NodeProgram();
  NodeProgram(const NodeProgram&) = delete;
  NodeProgram& operator=(const NodeProgram&) = delete;

  // Collective. `plan`: nullptr if this rank has none. `bindings`: the operands of its vertices. GOAL_SUCCESS: made() says whether it can
  // run so, alike on all ranks; else as Agreement::tell.
  int make(const Plan* plan, std::span<const Binding> bindings, unsigned context);
  [[nodiscard]] bool made() const { return made_; }

  // The word is 1 when a run has ended; before the first run.
  void tell_ends(std::atomic<uint32_t>& word) { told_ = &word; }
  // As LoadedProgram has them: PTL_OK; PTL_FAIL: it has failed, and cannot be used again.
  int start();
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] bool has_ended() const { return ended_.load(std::memory_order_acquire) == runs_; }
  int wait();
  int test(bool& ended);
  // Ends a run from which nothing is wanted any more, here and on all ranks, and with it the program.
  void cancel();
  // The receive is one from this rank itself, of no bytes, that no send meets: it has its message in the run that is under way, from
  // which any thread may say so. PTL_* codes.
  int open(VertexId receive);
  [[nodiscard]] const uint64_t& mismatches() const { return mismatches_; }  // messages of another length than their receives

 private:
  friend class NodePrograms;
  enum class What : uint8_t { nothing, send, receive, copy, compute, stamp };
  struct Place {
    std::atomic<uint64_t> run;
    [[nodiscard]] std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  };
  struct Operation {
    What what = What::nothing;
    ptlx_local_op_t op = PTLX_COPY;
    ptl_datatype_t type = PTL_UINT8_T;
    uint32_t needs = 0, left = 0;              // of what it waits for
    uint32_t started = 0, ended = 0, end = 0;  // in successors_: those of its start, those of its end
    uint32_t peer = 0;                         // of the group
    std::byte* places = nullptr;
    size_t stride = 0;
    ptlx_memory_t to{}, from{};  // of a message `to` alone
    const void* b = nullptr;
    size_t bytes = 0, count = 0;
    bool urgent = false;   // a send whose receive something waits for
    bool differs = false;  // a receive that has another length than its message
  };
  // A message in the directory of its sender.
  struct Entry {
    uint32_t receiver, tag, index, bytes;
    uint64_t waited_for;  // something follows the receive: the receiver says so
    uint64_t at, stride;  // of its place in the first block, and from block to block
  };
  struct Head {
    std::atomic<uint64_t> failed;
    uint64_t messages;
    std::atomic<uint64_t> ended;    // runs
    std::atomic<uint64_t> held_up;  // by which ranks, a bit each: sends of this one wait for the end of a run there
  };
  static_assert(sizeof(Head) <= 64 && std::atomic<uint64_t>::is_always_lock_free);
  static constexpr size_t kMostRanks = 15, kMostOperations = 2048, kMostBytes = 4096, kMostComputed = 16384, kMostMemory = 256 * 1024;
  static constexpr size_t kMostAhead = 64, kFewMemory = 64 * 1024;  // more runs ahead than ranks ask for, where they take little memory

  [[nodiscard]] bool can_run(const Plan& plan) const;
  bool find_watches();
  void compile(const Plan& plan, std::span<const Binding> bindings);
  [[nodiscard]] size_t lay_out(const Plan& plan, std::vector<Entry>& mine) const;
  bool find_places(const Plan& plan, const std::vector<Entry>& mine);
  int end();
  [[nodiscard]] size_t size() const { return static_cast<size_t>(group_.size); }
  [[nodiscard]] size_t rank() const { return static_cast<size_t>(group_.rank); }
  [[nodiscard]] uint32_t member_of(uint32_t rank) const;
  [[nodiscard]] Head& head(size_t rank) const { return *reinterpret_cast<Head*>(memory_.part(rank)); }
  [[nodiscard]] Entry* directory(size_t rank) const { return reinterpret_cast<Entry*>(memory_.part(rank) + 64); }

  // Under the lock of the engine.
  void begin();
  void pass(VertexId receive);
  int advance();  // as ptlx_stepper_t::step
  [[nodiscard]] bool is_ready();
  void do_ready();
  template <class Do>
  bool do_waiting(std::vector<uint32_t>& list, Do&& done);
  [[nodiscard]] bool has_room(size_t receiver);
  void send(Operation& operation);
  void finish(Operation& operation);
  void end_run();
  void tell_end();
  void take(Operation& operation);
  void count_down(uint32_t first, uint32_t end);
  void call_peers();
  void fail();
  [[nodiscard]] bool is_lost() const;
  [[nodiscard]] Place& place(const Operation& operation) const {
    return *reinterpret_cast<Place*>(operation.places + (runs_ & (depth_ - 1)) * operation.stride);
  }
  [[nodiscard]] bool is_there(const Operation& operation) const { return place(operation).run.load(std::memory_order_acquire) == runs_; }

  GOAL_Group group_;
  std::vector<int> ranks_;
  GOAL_Domain domain_;
  SharedMemory memory_;
  std::vector<ptlx_watch_t> watches_;  // by rank
  size_t depth_ = 0;
  bool made_ = false, running_ = false;

  std::vector<Operation> operations_;
  std::deque<Place> gates_;  // which no rank sends to
  std::vector<uint32_t> successors_, roots_;
  std::vector<uint32_t> ready_;      // to be done in this run, in order, from next_ to filled_
  std::vector<uint32_t> receiving_;  // whose messages are not there yet
  std::vector<uint32_t> held_up_;    // sends for which there is no room yet
  std::vector<uint64_t> seen_;       // by rank: runs that have ended there, at least
  uint32_t senders_ = 0;             // whom this rank receives from, a bit each
  size_t next_ = 0, filled_ = 0, undone_ = 0;
  uint32_t idle_ = 0;                   // looks that found nothing
  uint32_t called_ = 0, urgently_ = 0;  // to be called, a bit each
  uint64_t runs_ = 0;                   // begun
  uint64_t mismatches_ = 0;
  std::atomic<uint32_t>* told_ = nullptr;
  NodeProgram* following_ = nullptr;  // of those that run
  alignas(64) std::atomic<uint64_t> ended_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace portunus::goal::node
