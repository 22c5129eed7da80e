// completion.cpp: waiting for requests and testing them.
#include "mpi-adi/request/completion.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>

#include "mpi-adi/core/arguments.hpp"
#include "mpi-adi/core/init.hpp"
#include "mpi-adi/core/long_waits.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/pt2pt/buffers_in_use.hpp"
#include "mpi-adi/pt2pt/signatures.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi {

int raise_bad_request(const char* function, MPI_Request handle) {
  if (phase.load(std::memory_order_acquire) != Phase::running) return raise_bad_communicator(function, MPI_COMM_NULL);
  if (handle == MPI_REQUEST_NULL) return raise(function, nullptr, MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
  if (graph::is_captured(handle)) return graph::refuse(function);
  return raise(function, nullptr, MPI_ERR_REQUEST, "%p is no request", static_cast<void*>(handle));
}

int raise_null(const char* function, const char* what) {
  return raise(function, nullptr, MPI_ERR_ARG, "the address for the %s is null", what);
}

namespace {

// Number i is none that the pool knows. kCaptured: the call is MPI_Waitall, and all are good where a capture counts as well.
int bad_request(const char* function, int count, const MPI_Request handles[], int i) {
  if (std::strcmp(function, "MPI_Waitall") != 0 || !graph::is_captured(handles[i])) return raise_bad_request(function, handles[i]);
  for (; i < count; ++i)
    if (handles[i] != MPI_REQUEST_NULL && pool.find(handles[i]) == nullptr && !graph::is_captured(handles[i]))
      return raise_bad_request(function, handles[i]);
  return kCaptured;
}

int check_array(const char* function, int count, const MPI_Request handles[]) {
  if (count < 0) return raise(function, nullptr, MPI_ERR_COUNT, "the count is negative (%d)", count);
  return count > 0 && handles == nullptr ? raise_null(function, "requests") : MPI_SUCCESS;
}

bool is_attached_to(const Request& request) { return request.special && request.attached; }
bool polls(const Request& request) { return is_attached_to(request) && request.attached->polls; }

// The finds of one pass over an array of requests.
struct Survey {
  device::Ends before;  // the pass
  int first;            // request that is active and complete; the count: none
  bool any_active = false, any_attached = false, any_polls = false;
};

// Checks them, too.
int survey(const char* function, int count, const MPI_Request handles[], Survey& found) {
  if (const int error = check_array(function, count, handles)) return error;
  found.first = count;
  for (int i = 0; i < count; ++i) {
    if (handles[i] == MPI_REQUEST_NULL) continue;
    const Request* const request = pool.find(handles[i]);
    if (request == nullptr) return bad_request(function, count, handles, i);
    const State state = request->state.load(std::memory_order_acquire);
    if (state == State::inactive) continue;
    found.any_active = true;
    if (state >= State::pending && found.first == count) found.first = i;
    if (!request->special) continue;
    found.any_attached = found.any_attached || is_attached_to(*request);
    found.any_polls = found.any_polls || polls(*request);
  }
  return MPI_SUCCESS;
}

}  // namespace

int check_requests(const char* function, int count, const MPI_Request handles[]) {
  if (const int error = check_array(function, count, handles)) return error;
  for (int i = 0; i < count; ++i)
    if (handles[i] != MPI_REQUEST_NULL && pool.find(handles[i]) == nullptr) return bad_request(function, count, handles, i);
  return MPI_SUCCESS;
}

int Attachment::raise_error(const char* function, const Request& request, int code) {
  return raise(function, request.comm, code, "%s", complaint());
}

namespace {

void tell_of_received(const Request& request) {
  tool::emit(tool::Event::message_received, request.comm->context, source_of(request.match_bits), tag_of(request.match_bits),
             static_cast<int64_t>(request.length));
}

void tell_of_end(const Request& request) {
  if (request.comm == nullptr || request.comm->is_plain()) return;
  if (request.attached != nullptr) request.attached->tell_tools(request);
  else if (request.receives && !request.cancelled) tell_of_received(request);
}

}  // namespace

void Attachment::tell_tools(const Request& request) const {
  if (is_message() && request.receives && !request.cancelled) tell_of_received(request);
}

int raise_pending(const char* function, const Request& request) {
  return raise(function, request.comm, MPIX_ERR_PROC_FAILED_PENDING,
               "a rank has died that may be the one whose message is waited for; the request goes on once its death is acknowledged");
}

int special_status(Request& request, MPI_Status* status) {
  if (request.state.load(std::memory_order_relaxed) == State::inactive) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  if (request.compared && device::is_recorded(request)) signatures::compare(request);
  if (request.holds) buffers_in_use::compare(request);
  MPI_Status ignored;
  if (status == MPI_STATUS_IGNORE) status = &ignored;  // the user's query function needs one all the same
  set_status(status, request);
  set_cancelled(*status, request.cancelled);
  return request.attached ? request.attached->query(request, status) : MPI_SUCCESS;
}

int finish_special(const char* function, MPI_Request& handle, Request* request, MPI_Status* status, bool raises) {
  if (request->attached)
    if (const int error = request->attached->completed_by(function, *request, raises); error != MPI_SUCCESS) {
      set_empty_status(status);
      return error;
    }
  const State state = request->state.load(std::memory_order_relaxed);
  assert(request->ready() && state != State::detached && state != State::free);
  if (state == State::pending) return raises ? raise_pending(function, *request) : MPIX_ERR_PROC_FAILED_PENDING;
  int error = special_status(*request, status);
  if (state == State::inactive) return MPI_SUCCESS;
  if (request->failed()) error = raises ? raise_request(function, *request) : error_class_of(*request);
  else if (error != MPI_SUCCESS && raises) error = answer(request->attached->raise_error(function, *request, error));
  else if (error == MPI_SUCCESS) tell_of_end(*request);
  if (request->attached && request->attached->can_start()) {
    assert(state == State::done);
    request->cancelled = false;
    request->failure = PTL_NI_OK;
    if (request->holds) buffers_in_use::release(*request);
    request->state.store(State::inactive, std::memory_order_relaxed);
    return error;
  }
  if (request->attached)
    if (const int closed = request->attached->closing(); closed != MPI_SUCCESS && error == MPI_SUCCESS)
      error = raises ? request->attached->raise_error(function, *request, closed) : closed;
  handle = MPI_REQUEST_NULL;
  if (state != State::constant) pool.release(request);
  return error;
}

namespace {

// Waits for requests of which some have more to them than an event; as long as nothing happens, looks whether they fit those of others, and
// tells of them. Where some poll, it ends when these have work, too.
template <class Done>
void wait_for_several(int count, const MPI_Request handles[], bool any_polls, Done&& done) {
  const auto for_each = [&](auto&& act) {
    for (int i = 0; i < count; ++i)
      if (is_active(handles[i]) && !pool.checked(handles[i])->done()) act(*pool.checked(handles[i]));
  };
  const auto has_work = [&] {
    bool found = false;
    for_each([&](Request& request) { found = found || (polls(request) && request.attached->has_work()); });
    return found;
  };
  const auto overdue = [&] {
    bool all_well = true;
    for_each([&](Request& request) {
      if (is_attached_to(request) && !request.attached->overdue(request)) all_well = false;
    });
    return all_well;
  };
  const auto tell = [&](bool again) {
    device::long_waits::Wait wait;
    for_each([&](Request& request) { wait.or_else(device::long_waits::of_request(request)); });
    device::long_waits::tell(wait, again);
  };
  const auto ends = [&] { return done() || (any_polls && has_work()); };
  device::wait_patiently(std::cref(ends), std::cref(overdue), std::cref(tell));  // copies might need memory
}

[[gnu::noinline]] void wait_attached(Request& request) {
  if (request.ready()) return;
  const MPI_Request handle = handle_of(&request);
  const auto done = [&] { return request.ready(); };
  if (!polls(request)) return wait_for_several(1, &handle, false, done);
  for (; !done(); ask_polled(1, &handle)) wait_for_several(1, &handle, true, done);
}

void wait(Request& request) {
  if (is_attached_to(request)) [[unlikely]]
    return wait_attached(request);
  device::wait_until([&] { return request.ready(); }, [] {}, [&] { device::long_waits::tell(request); });
}

MPI_Status* at(MPI_Status* statuses, int i) { return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]; }

// Completes one of several. The first failure goes to the error handler; the statuses say which others failed.
[[gnu::always_inline]] inline void finish_one_of(const char* function, MPI_Request& handle, MPI_Status* status, int& outcome) {
  int error = MPI_SUCCESS;
  if (handle == MPI_REQUEST_NULL) set_empty_status(status);
  else error = finish(function, handle, pool.checked(handle), status, outcome == MPI_SUCCESS);
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
  if (error != MPI_SUCCESS) outcome = MPI_ERR_IN_STATUS;
}

int finish_all(const char* function, int count, MPI_Request handles[], MPI_Status statuses[]) {
  int outcome = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) finish_one_of(function, handles[i], at(statuses, i), outcome);
  return outcome;
}

}  // namespace

bool ask_polled(int count, const MPI_Request handles[]) {
  if (polled_requests.load(std::memory_order_relaxed) == 0) [[likely]]
    return false;
  for (int i = 0; i < count; ++i) {
    if (!is_active(handles[i])) continue;
    Request& request = *pool.checked(handles[i]);
    if (polls(request) && !request.done()) request.attached->poll(request);
  }
  return true;
}

namespace {

// Waits until all are complete, in whatever order, if there are requests that are complete by being asked.
void wait_polling_all(int count, const MPI_Request handles[]) {
  if (polled_requests.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  const auto all_ready = [&] {
    return std::all_of(handles, handles + count, [](MPI_Request each) { return each == MPI_REQUEST_NULL || pool.checked(each)->ready(); });
  };
  for (; !all_ready(); ask_polled(count, handles)) wait_for_several(count, handles, true, all_ready);
}

// The first active one that is complete; count: there is none.
int first_done(int count, const MPI_Request handles[], int from = 0) {
  for (; from < count; ++from) {
    if (handles[from] == MPI_REQUEST_NULL) continue;
    const State state = pool.checked(handles[from])->state.load(std::memory_order_acquire);
    if (state >= State::pending && state != State::inactive) break;
  }
  return from;
}

// Until one of them is complete, of which at least one is active: found.first.
void wait_for_one(int count, const MPI_Request handles[], Survey& found) {
  if (found.first < count) return;
  const device::AfterEnds done(found.before, [&] { return (found.first = first_done(count, handles)) < count; });
  const auto tell = [&] {
    device::long_waits::Wait wait;
    for (int i = 0; i < count; ++i)
      if (is_active(handles[i])) wait.or_else(device::long_waits::of_request(*pool.checked(handles[i])));
    device::long_waits::tell(wait, true);
  };
  if (!found.any_attached)
    return device::wait_until(
        done, [] {}, tell);
  if (!found.any_polls) return wait_for_several(count, handles, false, done);
  for (; !done(); ask_polled(count, handles)) wait_for_several(count, handles, true, done);
}

// All of them that are complete now, of which `first` is the first one.
int finish_some(const char* function, int count, MPI_Request handles[], int first, int* done, int indices[], MPI_Status statuses[]) {
  int outcome = MPI_SUCCESS;
  *done = 0;
  for (int i = first; i < count; i = first_done(count, handles, i + 1)) {
    finish_one_of(function, handles[i], at(statuses, *done), outcome);
    indices[(*done)++] = i;
  }
  return outcome;
}

int check_some(const char* function, int count, const MPI_Request handles[], const int* done, const int indices[], Survey& found) {
  if (int error = survey(function, count, handles, found)) return error;
  if (done == nullptr || (indices == nullptr && count > 0)) return raise_null(function, done ? "indices" : "number");
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Wait(MPI_Request* request, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Wait";
  if (request == nullptr) return raise_null(kName, "request");
  if (*request == MPI_REQUEST_NULL) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  Request* found = pool.find(*request);
  if (found == nullptr) return graph::wait(request, status) ? MPI_SUCCESS : raise_bad_request(kName, *request);
  wait(*found);
  return finish(kName, *request, found, status);
}
MPI_WEAK_NAME(Wait)

extern "C" int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Test";
  if (request == nullptr || flag == nullptr) return raise_null(kName, request == nullptr ? "request" : "flag");
  *flag = 1;
  if (*request == MPI_REQUEST_NULL) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  Request* found = pool.find(*request);
  if (found == nullptr) return raise_bad_request(kName, *request);
  *flag = device::poll_until([&] { return found->done(); });
  if (!*flag && found->special) [[unlikely]] {
    if (found->is_pending()) return raise_pending(kName, *found);
    if (polls(*found)) *flag = found->attached->poll(*found);
  }
  return *flag ? finish(kName, *request, found, status) : MPI_SUCCESS;
}
MPI_WEAK_NAME(Test)

extern "C" int PMPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) try {
  static constexpr char kName[] = "MPI_Waitall";
  if (int error = check_requests(kName, count, array_of_requests); error == kCaptured) graph::wait_all(count, array_of_requests);
  else if (error != MPI_SUCCESS) return error;
  int outcome = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    if (array_of_requests[i] != MPI_REQUEST_NULL && !pool.checked(array_of_requests[i])->done()) {
      wait_polling_all(count, array_of_requests);
      wait(*pool.checked(array_of_requests[i]));
    }
    finish_one_of(kName, array_of_requests[i], at(array_of_statuses, i), outcome);
  }
  return outcome;
}
MPI_WEAK_NAME(Waitall)

extern "C" int PMPI_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) try {
  static constexpr char kName[] = "MPI_Testall";
  if (int error = check_requests(kName, count, array_of_requests)) return error;
  if (flag == nullptr) return raise_null(kName, "flag");
  int complete = 0;  // how many from the front; what is complete stays so
  *flag = device::poll_until([&] {
    while (complete < count && is_done(array_of_requests[complete])) ++complete;
    return complete == count;
  });
  if (complete < count && (pool.find(array_of_requests[complete])->special || polled_requests.load(std::memory_order_relaxed) != 0))
      [[unlikely]] {
    if (is_pending(array_of_requests[complete])) return raise_pending(kName, *pool.find(array_of_requests[complete]));
    ask_polled(count, array_of_requests);
    while (complete < count && is_done(array_of_requests[complete])) ++complete;
    *flag = complete == count;
  }
  return *flag ? finish_all(kName, count, array_of_requests, array_of_statuses) : MPI_SUCCESS;
}
MPI_WEAK_NAME(Testall)

extern "C" int PMPI_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Waitany";
  Survey found;
  if (int error = survey(kName, count, array_of_requests, found)) return error;
  if (indx == nullptr) return raise_null(kName, "index");
  if (!found.any_active) {
    *indx = MPI_UNDEFINED;
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  wait_for_one(count, array_of_requests, found);
  *indx = found.first;
  return finish(kName, array_of_requests[*indx], pool.find(array_of_requests[*indx]), status);
}
MPI_WEAK_NAME(Waitany)

extern "C" int PMPI_Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Testany";
  Survey found;
  if (int error = survey(kName, count, array_of_requests, found)) return error;
  if (indx == nullptr || flag == nullptr) return raise_null(kName, indx ? "flag" : "index");
  *flag = !found.any_active;
  if (*flag) {
    *indx = MPI_UNDEFINED;
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  *indx = found.first;
  *flag = *indx < count ||
          device::poll_until(device::AfterEnds(found.before, [&] { return (*indx = first_done(count, array_of_requests)) < count; }));
  if (!*flag && ask_polled(count, array_of_requests)) *flag = (*indx = first_done(count, array_of_requests)) < count;
  if (*flag) return finish(kName, array_of_requests[*indx], pool.find(array_of_requests[*indx]), status);
  *indx = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Testany)

extern "C" int PMPI_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                             MPI_Status array_of_statuses[]) try {
  static constexpr char kName[] = "MPI_Waitsome";
  Survey found;
  if (int error = check_some(kName, incount, array_of_requests, outcount, array_of_indices, found)) return error;
  if (!found.any_active) {
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  wait_for_one(incount, array_of_requests, found);
  return finish_some(kName, incount, array_of_requests, found.first, outcount, array_of_indices, array_of_statuses);
}
MPI_WEAK_NAME(Waitsome)

extern "C" int PMPI_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                             MPI_Status array_of_statuses[]) try {
  static constexpr char kName[] = "MPI_Testsome";
  Survey found;
  if (int error = check_some(kName, incount, array_of_requests, outcount, array_of_indices, found)) return error;
  if (!found.any_active) {
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  device::poll_until([] { return false; });  // all that has happened by now
  ask_polled(incount, array_of_requests);
  return finish_some(kName, incount, array_of_requests, first_done(incount, array_of_requests), outcount, array_of_indices,
                     array_of_statuses);
}
MPI_WEAK_NAME(Testsome)
