// run.cpp: running the work of a collective call.
#include "mpi-adi/collectives/run.hpp"

#include "mpi-adi/adi.hpp"
#include "mpi-adi/collectives/memory.hpp"
#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/errors.hpp"

namespace portunus::mpi::collectives {

int raise_goal(const char* function, const Communicator& comm, int code) {
  switch (code) {
    case GOAL_ERR_FAILED:
      return raise(function, &comm, MPI_ERR_PROC_ABORTED, "a rank cannot be reached; it has probably ended");
    case GOAL_ERR_NO_SPACE:
      return raise(function, &comm, MPI_ERR_NO_MEM, "%s", GOAL_Explain());
    default:
      return raise(function, &comm, MPI_ERR_INTERN, "%s", GOAL_Explain());
  }
}

namespace {

constexpr size_t kResidentBytes = 16 * 1024;  // beyond, copying costs more than another schedule

bool can_be_resident(const Work& work) {
  return work.key.kind != Kind::other && work.most_bytes <= kResidentBytes;
}

int run_and_wait(GOAL_Schedule schedule) {
  GOAL_Request request;
  const int code = GOAL_Run(schedule, &request);
  return code == GOAL_SUCCESS ? GOAL_Wait(&request) : code;
}

int run_resident(State& state, const Work& work) {
  int code;
  Resident* resident = state.resident(work, code);
  if (!resident) return code;
  work.fill(work.in_is_out ? resident->out : resident->in);
  code = run_and_wait(resident->schedule.get());
  if (code == GOAL_SUCCESS) work.drain(resident->out);
  return code;
}

int run_once(State& state, const Communicator& comm, const Work& work, bool meet) {
  const Memory memory(work);
  memory.fill(work);
  Schedule schedule;
  int code = schedule.make(work, comm, state.once(), memory.in(work), memory.out(work), meet);
  if (code == GOAL_SUCCESS) code = run_and_wait(schedule.get());
  if (code == GOAL_SUCCESS) memory.drain(work);
  return code;
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

int run(const Call& call, const Work& work) {
  Communicator& comm = *call.comm;
  State& state = state_of(comm);
  const bool meet = state.must_meet(work);
  int code;
  if (can_be_resident(work)) {
    code = run_resident(state, work);
    if (meet && code == GOAL_SUCCESS) code = run_resident(state, Meeting());
  } else {
    code = run_once(state, comm, work, meet);
  }
  return code == GOAL_SUCCESS ? MPI_SUCCESS : raise_goal(call.function, comm, code);
}

}  // namespace portunus::mpi::collectives
