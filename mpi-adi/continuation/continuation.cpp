// continuation.cpp: finding what is due, and running it.
#include "mpi-adi/continuation/continuation.hpp"

#include <algorithm>
#include <utility>

#include "mpi-adi/request/completion.hpp"

namespace portunus::mpi::continuation {
namespace {

thread_local bool runs = false;

// All groups, and how many continuations other calls than those of their requests may run.
std::mutex groups_mutex;
std::vector<std::shared_ptr<Continuations>>& groups() {
  static auto& all = *new std::vector<std::shared_ptr<Continuations>>;
  return all;
}
constinit std::atomic<uint32_t> outstanding{0};

std::vector<std::shared_ptr<Continuations>> all_groups() {
  const std::lock_guard lock(groups_mutex);
  return groups();
}

bool is_any_due() {
  const std::lock_guard lock(groups_mutex);
  return std::any_of(groups().begin(), groups().end(), [](const auto& group) { return !group->only_polled && group->is_due(); });
}

// A request that is in no pool: its signals are events of this process, behind which what is due runs without the turn.
class Runner final : public Attachment {
 public:
  Runner() {
    event_.special = true;
    event_.attached = this;
  }
  void signal() {
    if (!signalled_.exchange(true, std::memory_order_acq_rel)) device::signal(event_);
  }
  void completed(Request& request) override {
    signalled_.store(false, std::memory_order_release);
    device::put_off.add(request);
  }
  void run_users(Request&) override {
    for (const std::shared_ptr<Continuations>& group : all_groups())
      if (!group->only_polled) group->run();
  }
  void released() override {}

 private:
  Request event_;
  std::atomic<bool> signalled_{false};
};
Runner& runner() {
  static auto& one = *new Runner;
  return one;
}

int look(void*) {
  using device::device;
  if (is_watcher() || runs) return 0;
  if (!device.threaded && (device.completes || device.thread != &device::this_thread)) return 0;
  if (!is_any_due()) return 0;
  runner().signal();
  return 1;
}

// The request of a continuation is complete, or about to be: its receive was given up.
void end(Request& request) {
  if (request.is_pending()) device::end_pending(request);
  device::wait(request);
}

}  // namespace

bool runs_here() { return runs; }

bool Continuation::is_due() const {
  return std::all_of(handles.begin(), handles.end(),
                     [](MPI_Request handle) { return handle == MPI_REQUEST_NULL || pool.checked(handle)->ready(); });
}

int enter(const std::shared_ptr<Continuations>& group) {
  static const ptlx_poller_t poller{look, nullptr, reinterpret_cast<const uint32_t*>(&outstanding), 0};
  {
    const std::lock_guard lock(groups_mutex);
    groups().push_back(group);
  }
  return PtlxPollerAdd(&poller);  // without the lock, which the poller takes
}

void Continuations::leave() {
  {
    const std::lock_guard lock(groups_mutex);
    std::erase_if(groups(), [this](const auto& group) { return group.get() == this; });
  }
  const std::lock_guard poking(poking_);
  alarm.close();  // nobody tells it any more
}

void Continuations::poke() {
  const std::lock_guard poking(poking_);
  alarm.poke();
}

void tell_watchers() {
  for (const std::shared_ptr<Continuations>& group : all_groups())
    if (group->is_due()) group->poke();
}

void stop() {
  for (const std::shared_ptr<Continuations>& group : all_groups()) group->alarm.end_thread();
}

void Continuations::add(std::list<Continuation>&& one) {
  const bool is_first = left_.fetch_add(1, std::memory_order_acq_rel) == 0;
  bool is_ended = false;
  State state = request_.state.load(std::memory_order_acquire);  // may be done since a call asked it, but did not complete it
  while ((state == State::inactive || state == State::done) &&
         !request_.state.compare_exchange_weak(state, State::active, std::memory_order_acq_rel)) {
  }
  {
    const std::lock_guard lock(mutex_);
    if (!only_polled) {
      one.front().held.emplace();
      outstanding.fetch_add(1, std::memory_order_relaxed);
    }
    is_ended = one.front().is_due();  // the watcher finds what of the others has ended since they were added
    all_.splice(all_.end(), one);
  }
  if (is_first || is_ended) poke();  // no message may bring it
}

bool Continuations::is_due() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(all_.begin(), all_.end(), [](const Continuation& one) { return one.is_due(); });
}

bool Continuations::has_work() const { return is_empty() || (!runs && is_due()); }

bool Continuations::is_complete() const { return is_empty() && request_.state.load(std::memory_order_acquire) == State::active; }

bool Continuations::free() {
  const std::lock_guard lock(mutex_);
  is_freed_ = true;
  const int left = left_.load(std::memory_order_acquire);
  if (!only_polled) return left == 0;
  for (Continuation& one : all_) one.held.emplace();
  outstanding.fetch_add(static_cast<uint32_t>(left), std::memory_order_relaxed);
  only_polled = false;
  return left == 0;
}

void Continuations::run() {
  if (runs) return;
  std::list<Continuation> due;
  {
    const std::lock_guard lock(mutex_);
    for (auto one = all_.begin(); one != all_.end() && (most_ < 0 || due.size() < static_cast<size_t>(most_));) {
      const auto next = std::next(one);
      if (one->is_due()) due.splice(due.end(), all_, one);
      one = next;
    }
  }
  for (const Continuation& one : due) execute(one);
  if (!due.empty()) end(static_cast<int>(due.size()));
}

void Continuations::run_now(const Continuation& one) { execute(one); }

void Continuations::execute(const Continuation& one) {
  int code = MPI_SUCCESS;
  for (size_t i = 0; i < one.handles.size(); ++i) {
    MPI_Status* const status = one.statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &one.statuses[i];
    MPI_Request handle = one.handles[i];
    int error = MPI_SUCCESS;
    if (handle == MPI_REQUEST_NULL) {
      set_empty_status(status);
    } else {
      Request& request = *pool.checked(handle);
      continuation::end(request);
      error = finish("MPIX_Continue", handle, &request, status, false);
    }
    if (status != MPI_STATUS_IGNORE && one.handles.size() > 1) status->MPI_ERROR = error;
    if (code == MPI_SUCCESS) code = error;
  }
  if (code != MPI_SUCCESS && one.handles.size() > 1 && one.statuses != MPI_STATUSES_IGNORE) code = MPI_ERR_IN_STATUS;
  runs = true;
  const int answer = one.function(code, one.data);
  runs = false;
  if (answer == MPI_SUCCESS) return;
  int none = MPI_SUCCESS;
  error_.compare_exchange_strong(none, answer, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  failed_.push_back(one.data);
}

// A request that was freed goes when the last one has run; who waits for one that was not is woken. Another thread may free it once the
// lock is given up: then it is that thread that concludes it, and that closes the alarm behind the poke.
void Continuations::end(int count) {
  std::unique_lock lock(mutex_);
  if (!only_polled) outstanding.fetch_sub(static_cast<uint32_t>(count), std::memory_order_relaxed);
  if (left_.fetch_sub(count, std::memory_order_acq_rel) != count) return;
  if (is_freed_) {
    lock.unlock();
    return device::conclude(request_, true);
  }
  {
    const std::lock_guard poking(poking_);
    lock.unlock();  // the engine's condition of the alarm takes it
    alarm.poke();
  }
  if (device::device.threaded) runner().signal();
}

void Continuations::visit(const std::function<void(Request&)>& visit) const {
  std::vector<Request*> pending;
  {
    const std::lock_guard lock(mutex_);
    for (const Continuation& one : all_)
      for (const MPI_Request handle : one.handles)
        if (handle != MPI_REQUEST_NULL && !pool.checked(handle)->ready()) pending.push_back(pool.checked(handle));
  }
  for (Request* request : pending) visit(*request);  // may wait, and so look what is due
}

void Continuations::take_failed(int& count, void** data) {
  const std::lock_guard lock(mutex_);
  count = static_cast<int>(std::min(failed_.size(), static_cast<size_t>(count)));
  std::copy_n(failed_.begin(), count, data);
  failed_.erase(failed_.begin(), failed_.begin() + count);
}

}  // namespace portunus::mpi::continuation
