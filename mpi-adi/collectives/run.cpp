// run.cpp: running the work of a blocking collective, and what may have gone wrong.
#include "mpi-adi/collectives/run.hpp"

#include <new>

#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/tool/event.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi::collectives {

int raise_goal(const char* function, Communicator& comm, int code) {
  if (code == GOAL_ERR_FAILED) {
    const int cause = ulfm::cause_of_failure(comm, differ);
    if (cause == MPIX_ERR_REVOKED) return raise_revoked(function, comm);
    if (cause == MPI_SUCCESS) code = kDisagreement;  // another rank has found out, and given up
  }
  switch (code) {
    case GOAL_ERR_FAILED:
      return raise(function, &comm, MPI_ERR_PROC_ABORTED, "a rank cannot be reached; it has ended, or a line above says why");
    case kMismatch: return raise(function, &comm, MPI_ERR_TRUNCATE, "%s", comm.collectives->log.lengths_or(kMismatchText));
    case kDisagreement: return raise(function, &comm, comm.collectives->log.error_class(), "%s", comm.collectives->log.complaint());
    case GOAL_ERR_NO_SPACE:
      return raise(function, &comm, MPI_ERR_NO_MEM, "there is no room for another collective; complete or free some of those under way");
    default: return raise(function, &comm, MPI_ERR_INTERN, "the collective cannot be carried out; PTL_DEBUG=1 says what is wrong");
  }
}

namespace {

// GOAL_* codes.
int run_one(State& state, Work& work) {
  GOAL_Call what{};
  const std::byte* out = describe(work, state.packed, what);
  const int code = state.team() ? GOAL_Call_run(state.team(), &what) : int{GOAL_ERR_NO_SPACE};
  if (code == GOAL_SUCCESS) [[likely]]
    work.drain(out);
  state.packed.drop_large();
  return code;
}

}  // namespace

int run(const Call& call, Work& first) {
  Communicator& comm = *call.comm;
  State& state = state_of(comm);
  if (state.log.has_differed()) [[unlikely]]
    return raise_goal(call.function, comm, kDisagreement);
  state.log.note(call.which, call.form, first.key, call.signature);
  device::enter_wait();
  bool fits = true;  // if not the rest is done all the same: others wait for it
  int code = GOAL_SUCCESS;
  for (Work* work = &first; work != nullptr && code == GOAL_SUCCESS; work = work->then.get()) {
    try {
      code = run_one(state, *work);
    } catch (const std::bad_alloc&) {
      if (work == &first) state.log.take_back();
      throw;
    }
    if (code == GOAL_ERR_NO_SPACE && work == &first) [[unlikely]]
      state.log.take_back();
    if (code == kMismatch) [[unlikely]] {
      fits = false;
      code = GOAL_SUCCESS;
    }
  }
  if (!comm.is_plain()) [[unlikely]]
    tool::emit(tool::Event::collective_ends, comm.context, static_cast<int>(call.which));
  if (code == GOAL_SUCCESS && fits) [[likely]]
    return MPI_SUCCESS;
  if (!fits) code = state.log.is_of_another_call() ? kDisagreement : kMismatch;
  return raise_goal(call.function, comm, code);
}

}  // namespace portunus::mpi::collectives
