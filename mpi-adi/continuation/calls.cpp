// calls.cpp: the calls of continuations.
#include <new>

#include "mpi-adi/continuation/continuation.hpp"
#include "mpi-adi/core/info.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/request/completion.hpp"

namespace portunus::mpi::continuation {
namespace {

// The attachment of a continuation request.
class Registered final : public Attachment {
 public:
  explicit Registered(std::shared_ptr<Continuations> group) : group_(std::move(group)) {
    polls = true;
    polled_requests.fetch_add(1, std::memory_order_relaxed);
  }
  ~Registered() override { polled_requests.fetch_sub(1, std::memory_order_relaxed); }

  bool can_start() const override { return true; }
  int start(Request&) override { return MPI_SUCCESS; }
  int query(Request&, MPI_Status* status) override {
    set_empty_status(status);
    return group_->take_error();
  }
  const char* complaint() const override { return "a function of a continuation returned an error"; }
  bool has_work() const override { return group_->has_work(); }
  bool poll(Request& request) override {
    group_->run();
    if (group_->is_complete()) device::conclude(request, true);
    group_->alarm.reset();  // last, since the end of the request is something that it tells of
    return request.done();
  }
  int freed(Request& request) override {
    if (group_->free() && request.state.load(std::memory_order_acquire) == State::active) device::conclude(request, true);
    return MPI_SUCCESS;
  }
  void visit_parts(const std::function<void(Request&)>& visit) const override { group_->visit(visit); }
  bool overdue(Request&) override {
    bool all_well = true;
    group_->visit([&](Request& part) {
      if (part.special && part.attached && !part.attached->overdue(part)) all_well = false;
    });
    return all_well;
  }
  void released() override {
    group_->leave();
    delete this;
  }
  Continuations& group() const { return *group_; }

 private:
  const std::shared_ptr<Continuations> group_;
};

int check_group(const char* function, MPI_Request handle, Continuations*& group) {
  Request* const request = pool.find(handle);
  if (request == nullptr) return raise_bad_request(function, handle);
  auto* const registered = request->special && request->attached ? dynamic_cast<Registered*>(request->attached) : nullptr;
  if (registered == nullptr) return raise(function, request->comm, MPI_ERR_REQUEST, "the request is no continuation request");
  group = &registered->group();
  return MPI_SUCCESS;
}

bool is_inactive(MPI_Request handle) { return handle != MPI_REQUEST_NULL && !is_active(handle); }
// A request that the user starts again keeps its handle.
bool is_kept(MPI_Request handle) {
  const Request* const request = handle == MPI_REQUEST_NULL ? nullptr : pool.checked(handle);
  return request != nullptr && request->special && request->attached && request->attached->can_start();
}

int go_on(const char* function, int count, MPI_Request handles[], MPIX_Continue_cb_function* callback, void* data, int flags,
          MPI_Status* statuses, MPI_Request cont_req) {
  constexpr int kFlags = MPIX_CONT_REQBUF_VOLATILE | MPIX_CONT_DEFER_COMPLETE;
  Continuations* group = nullptr;
  if (int error = check_requests(function, count, handles)) return error;
  if (int error = check_group(function, cont_req, group)) return error;
  if (callback == nullptr) return raise_null(function, "function");
  if ((flags & ~kFlags) != 0) return raise(function, nullptr, MPI_ERR_ARG, "there are no such flags (%d)", flags);
  std::list<Continuation> one(1);
  Continuation& made = one.front();
  made.statuses = statuses;
  made.function = callback;
  made.data = data;
  for (int i = 0; i < count; ++i) {
    if (handles[i] == cont_req) return raise(function, nullptr, MPI_ERR_REQUEST, "a continuation request cannot wait for itself");
    made.handles.push_back(is_inactive(handles[i]) ? MPI_REQUEST_NULL : handles[i]);
  }
  for (int i = 0; i < count; ++i)
    if (!is_kept(handles[i])) handles[i] = MPI_REQUEST_NULL;
  const bool at_once = (flags & MPIX_CONT_DEFER_COMPLETE) == 0 && !group->only_polled && !runs_here() && made.is_due();
  if (at_once) group->run_now(made);
  else group->add(std::move(one));
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi::continuation

using namespace portunus::mpi;

extern "C" int PMPIX_Continue_init(int max_poll, int flags, MPI_Request* cont_req, MPI_Info info) try {
  static constexpr char kName[] = "MPIX_Continue_init";
  constexpr int kFlags = MPIX_CONT_POLL_ONLY | MPIX_CONT_PERSISTENT;
  Communicator* const own = find_communicator(MPI_COMM_SELF);
  if (own == nullptr) return raise_bad_communicator(kName, MPI_COMM_SELF);
  if (int error = check_info(kName, own, info)) return error;
  if (cont_req == nullptr) return raise_null(kName, "request");
  if (max_poll == 0 || max_poll < -1)
    return raise(kName, own, MPI_ERR_ARG, "%d functions are no limit: it is 1 or more, or -1 for none", max_poll);
  if ((flags & ~kFlags) != 0) return raise(kName, own, MPI_ERR_ARG, "there are no such flags (%d)", flags);
  Request* const request = pool.claim(own, false);
  if (request == nullptr) return raise(kName, own, MPI_ERR_NO_MEM, "all requests are in use; complete some of them first");
  request->state.store(State::inactive, std::memory_order_relaxed);
  request->special = true;
  try {
    const auto group = std::make_shared<continuation::Continuations>(*request, max_poll, (flags & MPIX_CONT_POLL_ONLY) != 0);
    auto attached = std::make_unique<continuation::Registered>(group);
    if (continuation::enter(group) != PTL_OK) {
      group->leave();
      pool.release(request);
      return raise(kName, own, MPI_ERR_NO_MEM, "the process has as many pollers as it can (PtlxPollerAdd)");
    }
    request->attached = attached.release();
  } catch (const std::bad_alloc&) {
    pool.release(request);
    throw;
  }
  *cont_req = handle_of(request);
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Continue_init)

extern "C" int PMPIX_Continue(MPI_Request* op_request, MPIX_Continue_cb_function* cb, void* cb_data, int flags, MPI_Status* status,
                              MPI_Request cont_req) try {
  static constexpr char kName[] = "MPIX_Continue";
  if (op_request == nullptr) return raise_null(kName, "request");
  return continuation::go_on(kName, 1, op_request, cb, cb_data, flags, status, cont_req);
}
MPIX_WEAK_NAME(Continue)

extern "C" int PMPIX_Continueall(int count, MPI_Request op_requests[], MPIX_Continue_cb_function* cb, void* cb_data, int flags,
                                 MPI_Status statuses[], MPI_Request cont_req) try {
  return continuation::go_on("MPIX_Continueall", count, op_requests, cb, cb_data, flags, statuses, cont_req);
}
MPIX_WEAK_NAME(Continueall)

extern "C" int PMPIX_Continue_get_failed(MPI_Request cont_req, int* count, void* cb_data[]) try {
  static constexpr char kName[] = "MPIX_Continue_get_failed";
  continuation::Continuations* group = nullptr;
  if (int error = continuation::check_group(kName, cont_req, group)) return error;
  if (count == nullptr) return raise_null(kName, "number");
  if (*count < 0) return raise(kName, nullptr, MPI_ERR_COUNT, "the count is negative (%d)", *count);
  if (*count > 0 && cb_data == nullptr) return raise_null(kName, "data");
  group->take_failed(*count, cb_data);
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Continue_get_failed)

extern "C" int PMPIX_Continue_get_fd(MPI_Request cont_req, int* fd) try {
  static constexpr char kName[] = "MPIX_Continue_get_fd";
  continuation::Continuations* group = nullptr;
  if (int error = continuation::check_group(kName, cont_req, group)) return error;
  if (fd == nullptr) return raise_null(kName, "descriptor");
  *fd = group->alarm.open([group] { return group->is_due() || group->is_complete(); }, [group] { return !group->is_empty(); });
  return *fd >= 0 ? MPI_SUCCESS : raise(kName, nullptr, MPI_ERR_NO_MEM, "the process can have no more files, or no more threads");
}
MPIX_WEAK_NAME(Continue_get_fd)
