// run.hpp: the three forms of a collective: blocking, nonblocking, persistent.
//
// Blocking ones of ranks that share a node, and short nonblocking ones, go through memory that all map (goal_node.h). Of the others, those
// that are alike and of no great size run a resident schedule, which costs an increment of a counter and, where they are small, copying the
// data; the rest and persistent ones make a schedule of their own. Of nonblocking and persistent ones the engine reports the end in the
// event queue of all requests: a put of no bytes to this process itself is parked behind the schedule.
//
// Thread: any, one collective per communicator at a time. Source: MPI-5.0, 6.12, 6.13.
#pragma once

#include <memory>
#include <utility>

#include "mpi-adi/collectives/call_log.hpp"
#include "mpi-adi/collectives/work.hpp"
#include "mpi-adi/comm/comm.hpp"
#include "mpi-adi/mpi.h"

namespace portunus::mpi::collectives {

// A collective call as the user made it; `comm` is valid.
struct Call {
  const char* function;
  Collective which;
  Form form;
  MPI_Request* request;
  Communicator* comm;
};

int run(const Call& call, const Work& work);              // blocking
int start(const Call& call, std::unique_ptr<Work> work);  // nonblocking, persistent

// What other ranks do wrong shows here: they sent more or less than this one expects.
constexpr char kMismatchText[] =
    "a message of the collective has another length than this rank expects: the ranks' counts or types do not fit";

// Raises what a GOAL_* code other than GOAL_SUCCESS says, or kMismatch.
[[gnu::cold, gnu::noinline]] int raise_goal(const char* function, Communicator& comm, int code);

// Checks nothing: makes the work and runs it in the form of the call. A blocking one's lies on the stack.
template <class W, class... Arguments>
int carry_out(const Call& call, Arguments&&... arguments) {
  if (call.form == Form::blocking) {
    const W work(std::forward<Arguments>(arguments)...);
    return run(call, work);
  }
  return start(call, std::make_unique<W>(std::forward<Arguments>(arguments)...));
}

}  // namespace portunus::mpi::collectives
