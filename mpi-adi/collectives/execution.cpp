// execution.cpp: making, running and reporting.
#include "mpi-adi/collectives/execution.hpp"

#include <sched.h>

#include <vector>

#include "mpi-adi/core/adi.hpp"

namespace portunus::mpi::collectives {

// Its own request is never complete, and lives as long as the process: events may name it after the execution is gone. One that
// comes so late wakes at most another request too early, which then waits for the end of its run.
class Signal final : public Attachment {
 public:
  Signal() {
    event.special = true;
    event.attached = this;
  }
  void completed(Request&) override {
    Request* request = whom.exchange(nullptr, std::memory_order_acq_rel);
    if (request == nullptr) return;
    if (more) request->attached->completed(*request);
    else adi::conclude(*request);
  }
  void released() override {}

  Request event;
  std::atomic<Request*> whom{nullptr};
  bool more = false;  // written before `whom`: its attachment is told instead, and goes on
};

namespace {

std::mutex goal;
// Those of executions that are gone. Under `goal`.
std::vector<Signal*>& spare_signals() {
  static auto& spare = *new std::vector<Signal*>;
  return spare;
}

int signal_at(Signal& signal, ptl_handle_ct_t counter, ptl_size_t threshold) {
  return PtlTriggeredPut(adi::device.md_sent, 0, 0, PTL_NO_ACK_REQ, adi::device.self, adi::kSignalPortal, 0, 0, &signal.event, 0, counter,
                         threshold);
}

}  // namespace

unsigned goal_context(const Communicator& comm) { return comm.context / kContextsPerCommunicator; }
static_assert(kMaxCommunicators <= 16384, "GOAL has 32768 contexts, of which OpenSHMEM takes the second half");

Locked::Locked() : lock_(goal, std::defer_lock) {
  if (adi::device.threaded) lock_.lock();
}

Execution::~Execution() {
  Locked locked;
  if (schedule_ != nullptr) GOAL_Free(&schedule_);
  if (signal_ != nullptr) spare_signals().push_back(signal_);
}

int Execution::make(const Work& work, const Communicator& comm, const GOAL_Group& group, bool meet, unsigned epoch) {
  Locked locked;
  int code = GOAL_Create(&schedule_);
  if (code == GOAL_SUCCESS) code = work.build(&schedule_, &group, memory_.in(work), memory_.out(work));
  if (code == GOAL_SUCCESS && meet) code = GOAL_Barrier(&schedule_, &group, nullptr);
  return code == GOAL_SUCCESS ? bind(work, comm, epoch) : code;
}

int Execution::copy(const Execution& original, const Work& work, const Communicator& comm, unsigned epoch) {
  Locked locked;
  const int code = GOAL_Clone(original.schedule_, &schedule_);
  return code == GOAL_SUCCESS ? bind(work, comm, epoch) : code;
}

int Execution::bind(const Work& work, const Communicator& comm, unsigned epoch) {
  int code = GOAL_Context(schedule_, goal_context(comm));
  if (code == GOAL_SUCCESS) code = GOAL_Epoch(schedule_, epoch);
  if (code == GOAL_SUCCESS) code = memory_.bind(schedule_, work);
  if (code == GOAL_SUCCESS) code = GOAL_Compile(schedule_);
  if (code == GOAL_SUCCESS) code = GOAL_Counters(schedule_, &finish_, &each_, &failures_);
  if (code == GOAL_SUCCESS) code = GOAL_Mismatches(schedule_, &mismatches_);
  return code;
}

int Execution::report() {
  {
    Locked locked;
    std::vector<Signal*>& spare = spare_signals();
    if (spare.empty()) {
      signal_ = new Signal;
    } else {
      signal_ = spare.back();
      spare.pop_back();
    }
  }
  int result = PTL_OK;
  if (each_ > 0) result = signal_at(*signal_, finish_, each_);
  if (result == PTL_OK) result = signal_at(*signal_, failures_, 1);
  return result;
}

int Execution::start(const Work& work, Request* request, bool more) {
  memory_.fill(work);
  ++runs_;
  launched_.store(false, std::memory_order_relaxed);
  busy_.store(true, std::memory_order_relaxed);
  if (request != nullptr && each_ > 0) {
    signal_->more = more;
    signal_->whom.store(request, std::memory_order_release);
  }
  if (request != nullptr && each_ == 0) request->state.store(mpi::State::done, std::memory_order_relaxed);
  const int code = result_ = GOAL_Run(schedule_, &run_);
  if (code != GOAL_SUCCESS && request != nullptr) signal_->whom.store(nullptr, std::memory_order_relaxed);
  launched_.store(true, std::memory_order_release);
  return code;
}

int Execution::wait() {
  while (!launched_.load(std::memory_order_acquire)) sched_yield();
  result_ = GOAL_Wait(&run_);
  const uint64_t mismatches = std::atomic_ref<const uint64_t>(*mismatches_).load(std::memory_order_relaxed);  // ordered by the wait
  if (result_ != GOAL_SUCCESS || mismatches == mismatches_told_) [[likely]]
    return result_;
  mismatches_told_ = mismatches;
  return kMismatch;
}

bool Execution::has_ended() {
  if (!launched_.load(std::memory_order_acquire)) return false;
  ptl_ct_event_t count;
  return each_ == 0 || (PtlCTGet(finish_, &count) == PTL_OK && (count.success >= runs_ * each_ || count.failure > 0));
}

int Execution::await_end(CallLog& log) {
  const ptl_size_t end = runs_ * each_;
  ptl_ct_event_t count;
  for (ptl_time_t patience = adi::kPatience; each_ > 0 && adi::wait_for_count(finish_, end, patience, count) == PTL_CT_NONE_REACHED;
       patience *= 2)
    if (log.differs()) return kDisagreement;
  return GOAL_SUCCESS;
}

void Execution::cancel() {
  if (signal_ != nullptr) signal_->whom.store(nullptr, std::memory_order_relaxed);
  Locked locked;
  GOAL_Cancel(&run_);
  result_ = GOAL_ERR_FAILED;
}

}  // namespace portunus::mpi::collectives
