// Runs a compiled schedule on a Portals interface: load and arm once, then for each execution (epoch) start and wait.
//
// Between start() and the end of wait() the calling thread need not do anything: what follows what is in the engine's
// hands. The program stays there (extension E5): thresholds and the epoch in the match bits grow with each round, so an
// epoch costs one increment, whatever the size of the schedule, and counters are never reset. Two ranks may be one epoch
// or more apart: messages for entries that are not appended yet are kept by the port and told apart by the epoch in their
// match bits. It is kept modulo 256: no rank gets more than 255 epochs ahead of one that it sends to (run_ahead.hpp).
//
// Failure (E6): a counter that counts one releases nothing. It is told to one counter, `errors_`, from which
//   - kFinish learns it, so that whoever waits is woken, and no later epoch starts;
//   - every rank that this one exchanges messages with is told, by a message of no bytes in a class of its own
//     ("notice"), which counts on its `errors_`. Ranks that need nothing more from one that failed end well; all others fail too;
//   - so is this rank itself: what else it has of the context fails as well (failure_notice.hpp).
// The end of a process that this one exchanges messages with counts there as well.
//
// Thread: one at a time per object.
// Invariants: after epoch E ended without a failure every counter is E * K, and only what is resident is left. An epoch
// that ended well had no failure on any counter when its end was seen.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/client/objects.hpp"
#include "engine/goal/order_check.hpp"
#include "engine/goal/run_ahead.hpp"
#include "engine/goal/schedules/compile.hpp"
#include "engine/goal/schedules/plan.hpp"
#include "engine/goal/trace.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::goal {

// The portal table entry at which messages of compiled schedules arrive. All ranks open theirs under the same index before any of them
// starts a program. The interface is a matching and logical one with its map set.
class Port {
 public:
  Port() = default;
  ~Port() { close(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  int open(ptl_handle_ni_t ni, ptl_pt_index_t index);  // PTL_* codes
  void close();
  [[nodiscard]] ptl_handle_ni_t ni() const { return ni_; }
  [[nodiscard]] ptl_pt_index_t index() const { return index_; }
  // All memory, for puts of a few bytes that are copied at once.
  [[nodiscard]] ptl_handle_md_t copied() const { return copied_; }
  // The last announcement that no schedule of this process had expected.
  [[nodiscard]] Announcement& unexpected() const { return unexpected_; }
  // Tells so many ranks of it: their schedules fail, too.
  void tell_of_unexpected(uint32_t ranks) const;
  // Notices of runs that others have ended.
  [[nodiscard]] SharedCounts& notices() const { return notices_; }

 private:
  ptl_handle_ni_t ni_ = PTL_INVALID_HANDLE;
  ptl_pt_index_t index_ = 0;
  client::MatchEntry keeper_;  // of messages that come early
  client::Descriptor copied_;
  mutable Announcement unexpected_;
  ptl_handle_me_t notice_keeper_ = PTL_INVALID_HANDLE;  // of what tells of failures
  client::MatchEntry sink_;                             // of notices of runs that nobody waits for
  mutable SharedCounts notices_;
};

// The operands of a vertex. Sends and receives use `memory` alone; local work all of it. Memory in pieces is an array of
// so many ptl_iovec_t.
struct Binding {
  void* memory = nullptr;  // source of a send, else the destination
  const void* a = nullptr;
  const void* b = nullptr;
  uint32_t pieces = 0, a_pieces = 0, b_pieces = 0;  // 0: contiguous
  uint64_t count = 0;                               // elements
  ptlx_local_op_t op = PTLX_DELAY;                  // of the duration that the vertex has
  ptl_datatype_t type = PTL_UINT8_T;
  bool exact = false;  // a message that has as many bytes as its receive
  Parked parked{};
};

class LoadedProgram {
 public:
  // One binding per vertex. The port must outlive this object, and so must the trace, if there is one.
  LoadedProgram(const Port& port, Program program, std::vector<Binding> bindings, Trace* trace = Trace::of_process());
  ~LoadedProgram() { unload(); }
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  // Lets the first run tell receivers what it sends, and compare what others tell (order_check.hpp). Before load().
  void check_order() { checks_order_ = true; }
  // Lets no run begin before its messages occupy at most so much at each rank that they go to (run_ahead.hpp), which must do the same.
  // `first`, `counts_on`: as RunAhead has them. Before load().
  void bound_ahead(uint64_t most, uint8_t first, bool counts_on) { ahead_.emplace(most, first, counts_on); }
  // Its messages from or to (Action::append, Action::put) another rank.
  [[nodiscard]] Channel channel(Action action, uint32_t peer) const;
  // Claims everything that running takes. Returns PTL_OK or the code of what failed; then the object can only go.
  int load();
  // From here to the end of wait() the memory is the engine's. PTL_FAIL: the program has failed, nothing was started.
  int start();
  // PTL_OK: ended; PTL_FAIL: a message or operation failed, here or at a rank that this one depends on, and the program
  // cannot be used again. Nothing of it touches memory any more then.
  int wait();
  int test(bool& ended);
  // A message of no bytes from this rank itself for a receive, in the run that is under way. Any thread.
  int open(VertexId receive) const;
  // Ends an execution from which nothing is wanted any more, and with it the program: other ranks see a failure. No
  // effect if none runs. Waits until its memory is free (at most kPatience for what peers still read from it).
  void cancel();
  // Whether wait() would return at once. Looks at memory alone; any thread.
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] uint64_t epoch() const { return epoch_; }  // the current one, or the next
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] std::span<const Binding> bindings() const { return bindings_; }
  [[nodiscard]] std::span<const ptl_handle_ct_t> counters() const { return counters_; }  // by CounterId
  [[nodiscard]] ptl_handle_ct_t failures() const { return errors_; }                     // above 0: failed
  [[nodiscard]] const uint64_t& mismatches() const { return mismatches_; }               // messages of another length than their receives
  // The trace of its executions, or nullptr. Before the first one it may be told the names of vertices.
  [[nodiscard]] ProgramTrace* trace() { return trace_.get(); }
  // Does every counter have what so many epochs make of it? It must, between epochs.
  [[nodiscard]] bool counters_are_full() const;

 private:
  static constexpr std::chrono::seconds kPatience{5};

  void unload();
  [[nodiscard]] ptl_me_t entry(const Operation& operation) const;
  int park_all(std::span<const Operation> operations);
  int park(const Operation& operation);
  int park_append(const Operation& operation, Point when);
  int park_programs_own(const Operation& operation);
  int park_stamp(uint64_t& to, Point when);
  int park_end_stamps();
  int bind_descriptor(const Operation& operation);
  int watch_failures();
  [[nodiscard]] std::vector<Channel> channels_of(Action action) const;
  int expect_announcements();
  int announce();
  [[nodiscard]] RunAhead::Place place() const;
  [[nodiscard]] std::vector<uint32_t> peers() const;
  [[nodiscard]] bool failed() const;
  [[nodiscard]] bool in_use(int how) const;  // bits of PtlxCTBusy
  int end_epoch(bool seen_to_fail);
  void withdraw();

  const Port& port_;
  Program program_;
  std::vector<Binding> bindings_;
  std::unique_ptr<ProgramTrace> trace_;
  std::vector<ptl_handle_ct_t> counters_;
  std::vector<ptl_handle_md_t> descriptors_;                 // by counter: all memory, counting sends there
  std::unordered_map<VertexId, ptl_handle_md_t> scattered_;  // of sends from memory in pieces
  std::vector<ptl_handle_me_t> entries_;
  ptl_handle_ct_t errors_ = PTL_INVALID_HANDLE;    // sum > 0: failed
  ptl_handle_ct_t told_ = PTL_INVALID_HANDLE;      // ranks that know that this one failed, or are gone
  ptl_handle_md_t teller_ = PTL_INVALID_HANDLE;    // no memory, counting acknowledgements on told_
  ptl_handle_ct_t disorder_ = PTL_INVALID_HANDLE;  // above 0: schedules were compiled in different orders
  uint64_t tells_ = 0;
  uint64_t epoch_ = 0;
  bool running_ = false;
  bool withdrawn_ = false;
  bool checks_order_ = false;
  std::optional<RunAhead> ahead_;
  // The engine counts these up (E4), so that looking costs a load. Apart from what start and wait write.
  alignas(64) uint64_t epochs_ended_ = 0;
  uint64_t failures_ = 0;
  uint64_t mismatches_ = 0;  // E8
};

}  // namespace portunus::goal
