// operation.cpp: nonblocking and persistent collectives: requests whose schedules the engine runs.
//
// When an execution ends, the engine sends this process a message of no bytes, whose event completes the request. The rest
// (unpacking, what the engine cannot combine) is done by the thread that completes the request.
#include "mpi-adi/adi.hpp"
#include "mpi-adi/collectives/memory.hpp"
#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/errors.hpp"

namespace portunus::mpi::collectives {
namespace {

class Operation final : public Attachment {
 public:
  Operation(const Call& call, std::unique_ptr<Work> work)
      : persistent_(call.form == Form::persistent), work_(std::move(work)), memory_(*work_) {}

  // Makes the schedule and lets its end complete `request`.
  int prepare(const Call& call, Request& request) {
    State& state = state_of(*call.comm);
    // Whoever starts a persistent request again and again may be ahead of the others without limit.
    const bool meet = persistent_ ? !work_->waits_for_all : state.must_meet(*work_);
    const GOAL_Group group = persistent_ ? state.persistent() : state.once();
    int code = schedule_.make(*work_, *call.comm, group, memory_.in(*work_), memory_.out(*work_), meet);
    if (code == GOAL_SUCCESS) code = GOAL_Counters(schedule_.get(), &finish_, &each_, &failures_);
    if (code != GOAL_SUCCESS) return raise_goal(call.function, *call.comm, code);
    int result = PTL_OK;
    if (each_ > 0) result = signal_at(request, finish_, each_);
    if (result == PTL_OK) result = signal_at(request, failures_, 1);
    return result == PTL_OK ? MPI_SUCCESS : raise_portals(call.function, call.comm, result);
  }

  bool can_start() const override { return persistent_; }

  int start(Request& request) override {
    memory_.fill(*work_);
    running_ = true;
    if (each_ == 0) request.state.store(mpi::State::done, std::memory_order_relaxed);
    const int code = GOAL_Run(schedule_.get(), &run_);
    if (code == GOAL_SUCCESS) return MPI_SUCCESS;
    running_ = false;
    request.state.store(mpi::State::inactive, std::memory_order_relaxed);
    return raise_goal("MPI_Start", *request.comm, code);
  }

  int query(Request& request, MPI_Status*) override {
    if (!running_) return MPI_SUCCESS;
    running_ = false;
    if (GOAL_Wait(&run_) != GOAL_SUCCESS) {
      request.failure = PTL_NI_UNDELIVERABLE;
      return MPI_SUCCESS;
    }
    if (!persistent_) PtlCTCancelTriggered(failures_);  // nobody is to be told any more
    memory_.drain(*work_);
    return MPI_SUCCESS;
  }

 private:
  static int signal_at(Request& request, ptl_handle_ct_t counter, ptl_size_t threshold) {
    return PtlTriggeredPut(adi::device.md_sent, 0, 0, PTL_NO_ACK_REQ, adi::device.self, adi::kSignalPortal, 0, 0, &request, 0,
                           counter, threshold);
  }

  bool persistent_, running_ = false;
  std::unique_ptr<Work> work_;
  Memory memory_;
  Schedule schedule_;
  GOAL_Request run_ = GOAL_REQUEST_NULL;
  uint32_t finish_ = 0, failures_ = 0;
  uint64_t each_ = 0;
};

}  // namespace

int start(const Call& call, std::unique_ptr<Work> work) {
  Request* request = pool.claim(call.comm, false);
  if (request == nullptr)
    return raise(call.function, call.comm, MPI_ERR_NO_MEM, "%u requests are in use, the most there can be; complete some of them first",
                 kMaxRequests);
  auto* operation = new Operation(call, std::move(work));
  request->special = true;
  request->source = MPI_ANY_SOURCE;
  request->attached = operation;
  int error = operation->prepare(call, *request);
  if (error == MPI_SUCCESS && call.form == Form::nonblocking) error = operation->start(*request);
  if (error != MPI_SUCCESS) {
    pool.release(request);
    return error;
  }
  if (call.form == Form::persistent) request->state.store(mpi::State::inactive, std::memory_order_relaxed);
  *call.request = handle_of(request);
  return MPI_SUCCESS;
}

}  // namespace portunus::mpi::collectives
