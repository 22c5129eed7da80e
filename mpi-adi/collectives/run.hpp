// run.hpp: the three forms of a collective: blocking, nonblocking, persistent.
//
// Each work of a call is a GOAL_Call, which the communicator's team does (goal_call.h): here data are packed, errors raised and requests
// completed.
//
// Thread: any, one collective per communicator at a time. Source: MPI-5.0, 6.12, 6.13.
#pragma once

#include <cstdint>
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
  mutable uint64_t signature = 0;  // PTL_DEBUG=calls: of what all ranks must have alike; the upper half is the operation's
};

int run(const Call& call, Work& work);                    // blocking
int start(const Call& call, std::unique_ptr<Work> work);  // nonblocking, persistent

// Mistakes of other ranks show here: they sent more or less than this one expects.
constexpr char kMismatchText[] =
    "a message of the collective has another length than this rank expects: the ranks' counts or types do not fit";

// Raises what a GOAL_* code other than GOAL_SUCCESS says, or kMismatch.
[[gnu::cold, gnu::noinline]] int raise_goal(const char* function, Communicator& comm, int code);

// Checks nothing: makes the work and runs it in the form of the call. A blocking one's lies on the stack.
template <class W, class... Arguments>
int carry_out(const Call& call, Arguments&&... arguments) {
  if (call.form == Form::blocking) {
    W work(std::forward<Arguments>(arguments)...);
    return run(call, work);
  }
  return start(call, std::make_unique<W>(std::forward<Arguments>(arguments)...));
}

}  // namespace portunus::mpi::collectives
