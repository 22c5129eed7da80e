// operation.cpp: nonblocking and persistent collectives: requests whose schedules the engine runs.
//
// Short ones of ranks that share a node go through their memory (GOAL_Node_start); of the others the engine runs a schedule. When an
// execution ends, the engine sends this process a message of no bytes, whose event completes the request. The rest (unpacking, what the
// engine cannot combine) is done by the thread that completes the request.
#include <optional>
#include <utility>
#include <vector>

#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/core/adi.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/mitigation/mitigation.hpp"
#include "mpi-adi/mpi-ext.h"

namespace portunus::mpi::collectives {
namespace {

class Operation final : public Attachment {
 public:
  Operation(const Call& call, std::unique_ptr<Work> work)
      : function_(call.form == Form::persistent ? "MPI_Start" : call.function),
        persistent_(call.form == Form::persistent),
        first_(std::move(work)),
        log_(state_of(*call.comm).log) {}
  ~Operation() override {
    // Its request was freed. What has ended is brought to its user; what has not stays busy, and is not used again.
    if (running_ && running_->execution->has_ended()) end_run();
    if (on_node_) end_on_node();
  }

  // Finds or makes what executes the works; those on the node are started.
  int prepare(const Call& call, Request& request) {
    if (!persistent_) {
      const auto ended = [](void* whose) { adi::conclude(*static_cast<Request*>(whose), true); };
      const int code = state_of(*call.comm).start_on_node(*first_, packed_, ended, &request, on_node_, out_);
      if (code == GOAL_SUCCESS) return MPI_SUCCESS;
      if (code != GOAL_NODE_NOT_TAKEN) return raise_goal(call.function, *call.comm, code);
    }
    for (const Work* work = first_.get(); work != nullptr; work = work->then.get()) {
      stages_.push_back({work, nullptr});
      if (int error = prepare(call, stages_.back())) return error;
    }
    return MPI_SUCCESS;
  }

  bool can_start() const override { return persistent_; }

  int start(Request& request) override {
    if (on_node_) return MPI_SUCCESS;
    fits_ = true;
    const int code = start(request, 0);
    if (code == GOAL_SUCCESS) return MPI_SUCCESS;
    request.state.store(mpi::State::inactive, std::memory_order_relaxed);
    return raise_goal(function_, *request.comm, code);
  }

  // A work has ended after which another is to begin.
  void completed(Request& request) override {
    const auto next = static_cast<size_t>(running_ - stages_.data()) + 1;
    if (end_run() && start(request, next) == GOAL_SUCCESS) return;
    failed_ = true;
    adi::conclude(request);
  }

  void overdue(Request& request) override {
    if (on_node_ && log_.differs()) {
      end_on_node();
      adi::conclude(request);
    }
    if (!running_ || !log_.differs()) return;
    running_->execution->cancel();
    std::exchange(running_, nullptr)->execution->finished();
    adi::conclude(request);
  }

  int query(Request& request, MPI_Status*) override {
    if (running_ && !end_run()) failed_ = true;
    if (on_node_ && !end_on_node()) failed_ = true;
    if (log_.has_differed()) return log_.error_class();
    if (failed_) {
      const int cause = mitigation::cause_of_failure(*request.comm, differ);
      if (cause == MPI_SUCCESS) return log_.error_class();
      request.failure = cause == MPIX_ERR_REVOKED ? kRevoked : ptl_ni_fail_t{PTL_NI_UNDELIVERABLE};
    }
    if (fits_) return MPI_SUCCESS;
    return log_.is_of_another_call() ? log_.error_class() : MPI_ERR_TRUNCATE;
  }
  const char* complaint() const override { return log_.has_differed() ? log_.complaint() : kMismatchText; }

 private:
  struct Stage {
    const Work* work;
    std::shared_ptr<Execution> execution;
  };

  int prepare(const Call& call, Stage& stage) {
    State& state = state_of(*call.comm);
    const Work& work = *stage.work;
    // Whoever starts a persistent request again and again may be ahead of the others without limit.
    const bool meet = persistent_ ? !work.waits_for_all : state.must_meet(work);
    int code;
    if (!persistent_ && !meet && work.can_be_resident()) {
      stage.execution = state.resident(work, true, code);
      return code == GOAL_SUCCESS ? MPI_SUCCESS : raise_goal(call.function, *call.comm, code);
    }
    stage.execution = std::make_shared<Execution>(work, Memory::Whose::users);
    code = stage.execution->make(work, *call.comm, persistent_ ? state.persistent() : state.once(), meet);
    if (code != GOAL_SUCCESS) return raise_goal(call.function, *call.comm, code);
    const int result = stage.execution->report();
    return result == PTL_OK ? MPI_SUCCESS : raise_portals(call.function, call.comm, result);
  }

  int start(Request& request, size_t number) {
    running_ = &stages_[number];
    const bool more = running_->work->then != nullptr;
    if (more) goes_on_.emplace();
    else goes_on_.reset();
    const int code = running_->execution->start(*running_->work, &request, more);
    if (code != GOAL_SUCCESS) running_ = nullptr;
    return code;
  }

  // False: it has failed.
  bool end_run() {
    const Stage& ended = *std::exchange(running_, nullptr);
    const int code = ended.execution->wait();
    if (code == GOAL_SUCCESS) ended.execution->drain(*ended.work);
    if (code == kMismatch) fits_ = false;
    ended.execution->finished();
    return code == GOAL_SUCCESS || code == kMismatch;
  }

  bool end_on_node() {
    const int code = GOAL_Node_finish(&on_node_);
    if (code == GOAL_SUCCESS) first_->drain(out_);
    if (code == kMismatch) fits_ = false;
    return code == GOAL_SUCCESS || code == kMismatch;
  }

  const char* function_;
  bool persistent_, failed_ = false, fits_ = true;
  std::unique_ptr<Work> first_;
  CallLog& log_;
  std::vector<Stage> stages_;
  const Stage* running_ = nullptr;
  GOAL_Node_request on_node_ = nullptr;
  State::Packed packed_;
  std::byte* out_ = nullptr;
  std::optional<adi::PendingSteps> goes_on_;  // while another stage follows
};

}  // namespace

int start(const Call& call, std::unique_ptr<Work> work) {
  CallLog& log = state_of(*call.comm).log;
  if (log.has_differed()) return raise_goal(call.function, *call.comm, kDisagreement);
  log.note(call.which, call.form, work->key);
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
