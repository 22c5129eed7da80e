// continuation.hpp: continuations: functions of the user that run when requests are complete, in calls of MPI.
//
// A continuation request is an attachment over a group: the continuations that are to run, in the order in which they were registered. What
// is due is found by looking at the requests' states, so that no operation knows that somebody goes on behind it. Whoever completes a
// continuation request runs what is due of it; other calls of MPI that wait find it by a poller (PtlxPollerAdd), which sends this process a
// signal: what was put off for it runs without the turn, as functions of the user do. So nothing costs anything while there is none.
//
// Thread: any, as MPI_Init_thread permits. Invariants: a function runs once, never within another one on its thread, and on no thread of
// the library. Source: Schuchart, Samfass, Niethammer, Gracia, Bosilca, "Callback-based completion notification using MPI Continuations",
// Parallel Computing 106, 2021.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi-adi/continuation/descriptor.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/request/request.hpp"

namespace portunus::mpi::continuation {

struct Continuation {
  std::vector<MPI_Request> handles;
  MPI_Status* statuses;  // MPI_STATUSES_IGNORE: none
  MPIX_Continue_cb_function* function;
  void* data;
  std::optional<device::PendingSteps> held;  // while it is to run in any call: all waits take events, behind which it may run
  bool is_due() const;
};

// The continuations of one continuation request, which may be freed before they have run.
class Continuations {
 public:
  Continuations(Request& request, int most, bool only_polled) : only_polled(only_polled), request_(request), most_(most) {}

  void add(std::list<Continuation>&& one);
  // Runs what is due, as many as one call may. Nothing within a function of a continuation.
  void run();
  // Runs one that was never added.
  void run_now(const Continuation& one);
  bool is_due() const;
  bool has_work() const;     // something is due, or all have run
  bool is_complete() const;  // all have run, but no call has seen it yet
  // The request is being freed: whatever call finds what is due runs it from now on. True: all have run; else the end of the last one
  // concludes the request, before or after it is detached.
  bool free();
  bool is_empty() const { return left_.load(std::memory_order_acquire) == 0; }
  // Calls visit(request) for each that has not ended.
  void visit(const std::function<void(Request&)>& visit) const;
  // The data of those whose functions have failed: `count` of them at most, forgotten then; it becomes how many.
  void take_failed(int& count, void** data);
  int take_error() { return error_.exchange(MPI_SUCCESS, std::memory_order_relaxed); }
  // The request is given back: there is nothing to tell any more.
  void leave();
  // Lets the watcher look once more, if there is one. Without the locks that its condition takes.
  void poke();

  std::atomic<bool> only_polled;  // by calls that name the request
  Alarm alarm;

 private:
  void execute(const Continuation& one);
  void end(int count);

  Request& request_;
  const int most_;
  mutable std::mutex mutex_;
  std::mutex poking_;  // taken behind mutex_, by the end of the last one; no function that the engine calls takes it
  std::list<Continuation> all_;
  std::vector<void*> failed_;
  std::atomic<int> left_{0};  // also of those that run; becomes 0 under the mutex
  bool is_freed_ = false;
  std::atomic<int> error_{MPI_SUCCESS};
};

// A new group is looked at from now on: a PTL_* code.
int enter(const std::shared_ptr<Continuations>& group);
// A function of a continuation is running on this thread.
bool runs_here();
// Ends what threads there are, before the interface is closed.
void stop();

}  // namespace portunus::mpi::continuation
