// execution.hpp: a compiled schedule together with the memory that it works on, run for one call at a time.
//
// Thread: one at a time per object; busy() tells the thread that starts collectives whether another has completed the last one.
// Invariants: it is bound to works of one shape, and to the memory of the first one unless its memory is its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "engine/goal/goal_collectives.h"
#include "mpi-adi/collectives/call_log.hpp"
#include "mpi-adi/collectives/memory.hpp"
#include "mpi-adi/collectives/work.hpp"
#include "mpi-adi/request/request.hpp"

namespace portunus::mpi::collectives {

// The GOAL context of a communicator's schedules.
unsigned goal_context(const Communicator& comm);

// GOAL makes and frees schedules one at a time per process.
class Locked {
 public:
  Locked();

 private:
  std::unique_lock<std::mutex> lock_;
};

// What an execution tells the event queue of all requests: its end, whatever request waits for that.
class Signal;

class Execution {
 public:
  Execution(const Work& work, Memory::Whose whose) : memory_(work, whose) {}
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Builds and compiles: GOAL_* codes. `meet`: it also ends on no rank before all have begun. `epoch`: see GOAL_Epoch.
  int make(const Work& work, const Communicator& comm, const GOAL_Group& group, bool meet, unsigned epoch = 0);
  // The same for work of the shape of `original`, which has memory of its own, too, and the group of this one.
  int copy(const Execution& original, const Work& work, const Communicator& comm, unsigned epoch);
  // From now on an event completes the request of start(). PTL_* codes.
  int report();

  // Starts a run: GOAL_* codes. With a request after report() only: it is `done` if there is nothing to wait for. `more`: at the end
  // the request does not complete; completed() of its attachment is called, by the holder of the turn.
  int start(const Work& work, Request* request = nullptr, bool more = false);
  // Waits for its end: GOAL_* codes, after which it can only go, or kMismatch.
  int wait();
  // Waits until wait() will not; for the thread that starts runs, whoever waits for this one. kDisagreement: it never would.
  int await_end(CallLog& log);
  // Has it? Then wait() returns at once.
  bool has_ended();
  // Ends a run that will not end by itself; it can only go then. No event comes of it.
  void cancel();
  // Gives the result of a run that ended well to its user.
  void drain(const Work& work) const { memory_.drain(work); }

  // From start() on: its user is done with the result.
  void finished() { busy_.store(false, std::memory_order_release); }
  bool busy() const { return busy_.load(std::memory_order_acquire); }
  // May it be started (again) for such work, of the shape of the first one?
  bool ready_for(const Work& work) const { return !busy() && result_ == GOAL_SUCCESS && memory_.fits(work); }

 private:
  int bind(const Work& work, const Communicator& comm, unsigned epoch);

  std::atomic<bool> busy_{false};
  std::atomic<bool> launched_{true};  // start() is over: another thread may have been told of the end before
  Memory memory_;
  GOAL_Schedule schedule_ = nullptr;
  GOAL_Request run_ = GOAL_REQUEST_NULL;
  int result_ = GOAL_SUCCESS;
  Signal* signal_ = nullptr;
  uint32_t finish_ = 0, failures_ = 0;
  uint64_t each_ = 0, runs_ = 0;
  const uint64_t* mismatches_ = nullptr;
  uint64_t mismatches_told_ = 0;
};

}  // namespace portunus::mpi::collectives
