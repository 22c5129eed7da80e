// operation.cpp: nonblocking and persistent collectives: requests whose schedules the engine runs.
//
// When an execution ends, the engine sends this process a message of no bytes, whose event completes the request. The rest
// (unpacking, what the engine cannot combine) is done by the thread that completes the request.
#include "mpi-adi/adi.hpp"
#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/errors.hpp"

namespace portunus::mpi::collectives {
namespace {

class Operation final : public Attachment {
 public:
  Operation(const Call& call, std::unique_ptr<Work> work)
      : function_(call.form == Form::persistent ? "MPI_Start" : call.function),
        persistent_(call.form == Form::persistent),
        work_(std::move(work)) {}
  ~Operation() override {
    if (running_) execution_->finished();  // its request was freed
  }

  // Finds or makes the execution.
  int prepare(const Call& call) {
    State& state = state_of(*call.comm);
    // Whoever starts a persistent request again and again may be ahead of the others without limit.
    const bool meet = persistent_ ? !work_->waits_for_all : state.must_meet(*work_);
    int code;
    if (!persistent_ && !meet && work_->can_be_resident()) {
      execution_ = state.resident(*work_, true, code);
      return code == GOAL_SUCCESS ? MPI_SUCCESS : raise_goal(call.function, *call.comm, code);
    }
    execution_ = std::make_shared<Execution>(*work_, Memory::Whose::users);
    code = execution_->make(*work_, *call.comm, persistent_ ? state.persistent() : state.once(), meet);
    if (code != GOAL_SUCCESS) return raise_goal(call.function, *call.comm, code);
    const int result = execution_->report();
    return result == PTL_OK ? MPI_SUCCESS : raise_portals(call.function, call.comm, result);
  }

  bool can_start() const override { return persistent_; }

  int start(Request& request) override {
    running_ = true;
    const int code = execution_->start(*work_, &request);
    if (code == GOAL_SUCCESS) return MPI_SUCCESS;
    running_ = false;
    request.state.store(mpi::State::inactive, std::memory_order_relaxed);
    return raise_goal(function_, *request.comm, code);
  }

  int query(Request& request, MPI_Status*) override {
    if (!running_) return MPI_SUCCESS;
    running_ = false;
    if (execution_->wait() == GOAL_SUCCESS)
      execution_->drain(*work_);
    else
      request.failure = PTL_NI_UNDELIVERABLE;
    execution_->finished();
    return MPI_SUCCESS;
  }

 private:
  const char* function_;
  bool persistent_, running_ = false;
  std::unique_ptr<Work> work_;
  std::shared_ptr<Execution> execution_;
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
  int error = operation->prepare(call);
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
