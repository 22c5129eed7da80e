// operation.cpp: nonblocking and persistent collectives: requests whose works go on by themselves.
//
// The thread that finds a work to have ended completes the request. The rest (unpacking, what the engine cannot combine) is done by the
// thread that completes the request; between two works, by one that takes an event of the first one's end, without the turn, as the
// user's functions may call MPI. All works of a request are made in the call that begins it, as their tags follow the order of calls.
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mpi-adi/collectives/run.hpp"
#include "mpi-adi/collectives/state.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/tool/event.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi::collectives {
namespace {

class Operation;

// Lets a thread that takes events begin an operation's next work, by an event of its own, which may come after the operation is gone: so
// it lives as long as the process.
class Step final : public Attachment {
 public:
  static Step* of(Operation& operation) {
    const std::lock_guard lock(mutex());
    Step* step = new_or_spare();
    step->operation_ = &operation;
    return step;
  }
  void give_back() {
    const std::lock_guard lock(mutex());
    operation_ = nullptr;
    spare().push_back(this);
  }
  void raise() { device::signal(event_); }
  void completed(Request&) override;
  void released() override {}

 private:
  Step() {
    event_.special = true;
    event_.attached = this;
  }
  static std::mutex& mutex() {
    static auto& all = *new std::mutex;
    return all;
  }
  static std::vector<Step*>& spare() {
    static auto& all = *new std::vector<Step*>;
    return all;
  }
  static Step* new_or_spare() {
    if (spare().empty()) return new Step;
    Step* step = spare().back();
    spare().pop_back();
    return step;
  }

  Request event_;
  Operation* operation_ = nullptr;
};

class Operation final : public Attachment {
 public:
  Operation(const Call& call, std::unique_ptr<Work> work, Request& request)
      : function_(call.form == Form::persistent ? "MPI_Start" : call.function),
        name_(call.function),
        which_(call.which),
        persistent_(call.form == Form::persistent),
        made_(persistent_ || work->then),
        work_(std::move(work)),
        state_(state_of(*call.comm)),
        request_(request),
        first_{work_.get(), {}, nullptr, nullptr, {}} {
    for (Stage* stage = &first_; stage->work->then; stage = stage->next.get())
      stage->next = std::make_unique<Stage>(Stage{stage->work->then.get(), {}, nullptr, nullptr, {}});
    if (first_.next) step_ = Step::of(*this);
  }
  ~Operation() override {
    // Its request was freed. What has ended is brought to its user.
    if (running_ && has_ended_) end_run();
    for (Stage* stage = &first_; stage != nullptr; stage = stage->next.get()) GOAL_Release(&stage->started);
    if (step_) step_->give_back();
  }

  // Makes what is started later, or again.
  int make() {
    if (!made_) return MPI_SUCCESS;
    if (persistent_) device::enter_wait();
    for (Stage* stage = &first_; stage != nullptr; stage = stage->next.get()) {
      GOAL_Call what{};
      stage->out = describe(*stage->work, stage->packed, what);
      const int code = !state_.team() ? int{GOAL_ERR_NO_SPACE}
                       : persistent_  ? GOAL_Prepare(state_.team(), &what, &stage->started)
                                      : GOAL_Make(state_.team(), &what, &stage->started);
      if (code != GOAL_SUCCESS) return raise_goal(function_, *request_.comm, code);
    }
    return MPI_SUCCESS;
  }

  bool can_start() const override { return persistent_; }

  int capture(Request& request) override {
    const Call call{"MPI_Start", which_, Form::captured, nullptr, request.comm};
    return graph::start_collective(request, call, *work_);
  }

  int start(Request& request) override {
    fits_ = true;
    const int code = start_stage(first_);
    if (code == GOAL_SUCCESS) return MPI_SUCCESS;
    request.state.store(mpi::State::inactive, std::memory_order_relaxed);
    return raise_goal(function_, *request.comm, code);
  }

  // The holder of the turn: a work may have ended after which another is to begin.
  void step() {
    if (has_ended_.exchange(false, std::memory_order_acquire)) device::put_off.add(request_);
  }
  void run_users(Request&) override {
    Stage& next = *running_->next;
    if (end_run() && start_stage(next) == GOAL_SUCCESS) return;
    failed_ = true;
    device::conclude(request_, true);
  }

  bool overdue(Request& request) override {
    if (!state_.log.differs()) return state_.log.all_fit();
    if (running_ && GOAL_Abandon(running_->started)) device::conclude(request);
    return true;
  }

  std::string awaited() const override { return std::string("the others in ") + name_; }

  int query(Request& request, MPI_Status*) override {
    CallLog& log = state_.log;
    if (running_ && !end_run()) failed_ = true;
    if (log.has_differed()) return log.error_class();
    if (failed_) {
      const int cause = ulfm::cause_of_failure(*request.comm, differ);
      if (cause == MPI_SUCCESS) return log.error_class();
      request.failure = cause == MPIX_ERR_REVOKED ? kRevoked : ptl_ni_fail_t{PTL_NI_UNDELIVERABLE};
    }
    if (fits_) return MPI_SUCCESS;
    return log.is_of_another_call() ? log.error_class() : MPI_ERR_TRUNCATE;
  }
  void tell_tools(const Request& request) const override {
    tool::emit(tool::Event::collective_ends, request.comm->context, static_cast<int>(which_));
  }
  // The standard has it that a nonblocking collective's request is not freed.
  int freed(Request& request) override {
    freed_early_ = debug.calls && !persistent_;
    return freed_early_ ? MPI_ERR_REQUEST : Attachment::freed(request);
  }
  const char* complaint() const override {
    if (freed_early_) return "the request of a nonblocking collective was freed; a wait or a test is to complete it";
    return state_.log.has_differed() ? state_.log.complaint() : state_.log.lengths_or(kMismatchText);
  }

 private:
  struct Stage {
    Work* work;
    Packed packed;
    std::byte* out;
    GOAL_Started started;
    std::unique_ptr<Stage> next;
  };

  int start_stage(Stage& stage) {
    running_ = &stage;
    has_ended_.store(false, std::memory_order_relaxed);
    if (stage.work->then) goes_on_.emplace();
    else goes_on_.reset();
    GOAL_Call what{};
    stage.out = describe(*stage.work, stage.packed, what);
    const int code = made_           ? GOAL_Restart(stage.started, ended, this)
                     : state_.team() ? GOAL_Start(state_.team(), &what, ended, this, &stage.started)
                                     : int{GOAL_ERR_NO_SPACE};
    if (code != GOAL_SUCCESS) running_ = nullptr;
    return code;
  }

  // Any thread that waits. The operation may be gone behind it.
  static void ended(void* arg) {
    auto& self = *static_cast<Operation*>(arg);
    Step* const step = self.running_->work->then ? self.step_ : nullptr;
    self.has_ended_.store(true, std::memory_order_release);
    if (step) step->raise();
    else device::conclude(self.request_, true);
  }

  // False: it has failed.
  bool end_run() {
    Stage& stage = *std::exchange(running_, nullptr);
    const int code = GOAL_Result(stage.started);
    if (code == GOAL_SUCCESS) stage.work->drain(stage.out);
    if (code == kMismatch) fits_ = false;
    if (!made_) GOAL_Release(&stage.started);
    return code == GOAL_SUCCESS || code == kMismatch;
  }

  const char* function_;
  const char* name_;  // the call that made it
  Collective which_;
  bool persistent_, made_, failed_ = false, fits_ = true, freed_early_ = false;
  std::atomic<bool> has_ended_{false};
  std::unique_ptr<Work> work_;
  State& state_;
  Request& request_;
  Stage first_;
  Stage* running_ = nullptr;
  Step* step_ = nullptr;                         // of an operation with several works
  std::optional<device::PendingSteps> goes_on_;  // while another work follows
};

void Step::completed(Request&) {
  if (operation_) operation_->step();
}

}  // namespace

int start(const Call& call, std::unique_ptr<Work> work) {
  if (call.form == Form::captured) [[unlikely]]
    return graph::collective(call, *work);
  State& state = state_of(*call.comm);
  if (state.log.has_differed()) return raise_goal(call.function, *call.comm, kDisagreement);
  const Key key = work->key;
  Request* request = pool.claim(call.comm, false);
  if (request == nullptr) {
    return raise(call.function, call.comm, MPI_ERR_NO_MEM, "%u requests are in use, the most there can be; complete some of them first",
                 pool.most());
  }
  int error;
  try {
    auto* operation = new Operation(call, std::move(work), *request);
    request->special = true;
    request->source = MPI_ANY_SOURCE;
    request->attached = operation;
    state.log.note(call.which, call.form, key, call.signature);
    try {
      error = operation->make();
      if (error == MPI_SUCCESS && call.form != Form::persistent) error = operation->start(*request);
    } catch (const std::bad_alloc&) {
      state.log.take_back();
      throw;
    }
  } catch (const std::bad_alloc&) {
    pool.release(request);
    throw;
  }
  if (error != MPI_SUCCESS) {
    if (error == MPI_ERR_NO_MEM) state.log.take_back();
    pool.release(request);
    return error;
  }
  if (call.form == Form::persistent) request->state.store(mpi::State::inactive, std::memory_order_relaxed);
  *call.request = handle_of(request);
  return MPI_SUCCESS;
}

}  // namespace portunus::mpi::collectives
