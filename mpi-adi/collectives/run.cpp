// run.cpp: running the work of a collective call.
#include "mpi-adi/collectives/run.hpp"

#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/core/adi.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/mitigation/mitigation.hpp"
#include "mpi-adi/mpi-ext.h"

namespace portunus::mpi::collectives {

int raise_goal(const char* function, Communicator& comm, int code) {
  if (code == GOAL_ERR_FAILED) {
    const int cause = mitigation::cause_of_failure(comm, differ);
    if (cause == MPIX_ERR_REVOKED) return raise_revoked(function, comm);
    if (cause == MPI_SUCCESS) code = kDisagreement;  // another rank has found out, and given up
  }
  switch (code) {
    case GOAL_ERR_FAILED: return raise(function, &comm, MPI_ERR_PROC_ABORTED, "a rank cannot be reached; it has probably ended");
    case kMismatch: return raise(function, &comm, MPI_ERR_TRUNCATE, "%s", kMismatchText);
    case kDisagreement: return raise(function, &comm, comm.collectives->log.error_class(), "%s", comm.collectives->log.complaint());
    case GOAL_ERR_NO_SPACE: return raise(function, &comm, MPI_ERR_NO_MEM, "%s", GOAL_Explain());
    default: return raise(function, &comm, MPI_ERR_INTERN, "%s", GOAL_Explain());
  }
}

namespace {

int run_and_wait(CallLog& log, Execution& execution, const Work& work) {
  int code = execution.start(work);
  if (code == GOAL_SUCCESS) code = execution.await_end(log);
  if (code == kDisagreement) execution.cancel();
  if (code == GOAL_SUCCESS) code = execution.wait();
  if (code == GOAL_SUCCESS) execution.drain(work);
  execution.finished();
  return code;
}

int run_resident(State& state, const Work& work) {
  int code;
  const std::shared_ptr<Execution>& execution = state.resident(work, false, code);
  return execution ? run_and_wait(state.log, *execution, work) : code;
}

int run_once(State& state, const Communicator& comm, const Work& work, bool meet) {
  Execution execution(work, Memory::Whose::users);
  const int code = execution.make(work, comm, state.once(), meet);
  return code == GOAL_SUCCESS ? run_and_wait(state.log, execution, work) : code;
}

// Ends on no rank before all have begun.
class Meeting : public Work {
 public:
  Meeting() {
    key.kind = Kind::barrier;
    waits_for_all = true;
  }
  int build(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer, GOAL_Buffer) const override {
    return GOAL_Barrier(schedule, group, nullptr);
  }
};

}  // namespace

int run(const Call& call, const Work& first) {
  Communicator& comm = *call.comm;
  State& state = state_of(comm);
  if (state.log.has_differed()) [[unlikely]]
    return raise_goal(call.function, comm, kDisagreement);
  state.log.note(call.which, call.form, first.key);
  int code = GOAL_SUCCESS;
  bool fits = true;  // if not the rest is done all the same: others wait for it
  const auto goes_on = [&] {
    if (code == kMismatch) [[unlikely]] {
      fits = false;
      code = GOAL_SUCCESS;
    }
    return code == GOAL_SUCCESS;
  };
  for (const Work* work = &first; work != nullptr && goes_on(); work = work->then.get()) {
    code = state.run_on_node(*work);
    if (code != GOAL_NODE_NOT_TAKEN) continue;
    code = GOAL_SUCCESS;
    const bool meet = state.must_meet(*work);
    if (work->can_be_resident()) {
      code = run_resident(state, *work);
      if (meet && goes_on()) code = run_resident(state, Meeting());
    } else {
      code = run_once(state, comm, *work, meet);
    }
  }
  if (goes_on() && fits) [[likely]]
    return MPI_SUCCESS;
  if (!fits && state.log.is_of_another_call()) fits = true, code = kDisagreement;
  return raise_goal(call.function, comm, fits ? code : kMismatch);
}

}  // namespace portunus::mpi::collectives
