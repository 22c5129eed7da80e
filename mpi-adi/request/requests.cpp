// requests.cpp: looking at requests without completing them, freeing and cancelling them, and what is in a status.
// Source: MPI-5.0, 3.2.5, 3.2.6, 3.7.3, 3.7.6, 3.8.4.
#include <climits>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/graph/capture.hpp"
#include "mpi-adi/request/completion.hpp"
#include "mpi-adi/tool/event.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi {

int Attachment::freed(Request& request) { return request.state.load(std::memory_order_acquire) == State::done ? closing() : MPI_SUCCESS; }

int Attachment::capture(Request&) { return graph::refuse("MPI_Start"); }

namespace {

// The status of a request that is null or complete. With MPI_STATUS_IGNORE, too, where completing it takes more than an event: the
// result of a collective is in the user's memory behind it. An error class, raised: the request is one that cannot be asked.
int peek(const char* function, MPI_Request handle, MPI_Status* status) {
  if (handle == MPI_REQUEST_NULL) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  Request& request = *pool.find(handle);
  if (request.attached)
    if (const int error = request.attached->completed_by(function, request, true); error != MPI_SUCCESS) return error;
  if (request.special) special_status(request, status);
  else set_status(status, request);
  return MPI_SUCCESS;
}

int check_status(const char* function, const MPI_Status* status, const void* result, const char* what) {
  if (status == MPI_STATUS_IGNORE) return raise_null(function, "status");
  return result == nullptr ? raise_null(function, what) : MPI_SUCCESS;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Request_free(MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Request_free";
  if (request == nullptr) return raise_null(kName, "request");
  Request* found = pool.find(*request);
  if (found == nullptr) return graph::wait(request, MPI_STATUS_IGNORE, false) ? MPI_SUCCESS : raise_bad_request(kName, *request);
  Attachment* const attached = found->attached;
  const int closed = attached ? attached->freed(*found) : MPI_SUCCESS;
  const int error = closed == MPI_SUCCESS ? closed : attached->raise_error(kName, *found, closed);
  device::detach(*found);
  *request = MPI_REQUEST_NULL;
  return error;
}
MPI_WEAK_NAME(Request_free)

extern "C" int PMPI_Cancel(MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Cancel";
  if (request == nullptr) return raise_null(kName, "request");
  Request* found = pool.find(*request);
  if (found == nullptr) return raise_bad_request(kName, *request);
  const State state = found->state.load(std::memory_order_acquire);
  if (state == State::inactive) return raise(kName, found->comm, MPI_ERR_REQUEST, "the persistent request has not been started");
  const int refused = found->attached ? found->attached->cancel(*found) : MPI_SUCCESS;
  if (refused != MPI_SUCCESS) return found->attached->raise_error(kName, *found, refused);
  if ((state != State::active && state != State::pending) || (found->attached && !found->attached->is_message())) return MPI_SUCCESS;
  tool::emit(tool::Event::request_cancelled, found->comm->context);
  if (found->receives) device::cancel_receive(*found);
  // The target of a send decides; below the eager limit only a synchronous one is not over already.
  else PtlxPutWithdraw(device::device.md_synchronous, found);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Cancel)

extern "C" int PMPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) try {
  return PMPI_Request_get_status_all(1, &request, flag, status);
}
MPI_WEAK_NAME(Request_get_status)

extern "C" int PMPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int* flag,
                                           MPI_Status array_of_statuses[]) try {
  static constexpr char kName[] = "MPI_Request_get_status_all";
  if (int error = check_requests(kName, count, array_of_requests)) return error;
  if (flag == nullptr) return raise_null(kName, "flag");
  int complete = 0;
  const auto all_done = [&] {
    while (complete < count && is_done(array_of_requests[complete])) ++complete;
    return complete == count;
  };
  *flag = device::poll_until(all_done) || (ask_polled(count, array_of_requests) && all_done());
  int outcome = MPI_SUCCESS;
  for (int i = 0; *flag && i < count && outcome == MPI_SUCCESS; ++i)
    outcome = peek(kName, array_of_requests[i], array_of_statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &array_of_statuses[i]);
  return outcome;
}
MPI_WEAK_NAME(Request_get_status_all)

extern "C" int PMPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status) try {
  static constexpr char kName[] = "MPI_Request_get_status_any";
  if (int error = check_requests(kName, count, array_of_requests)) return error;
  if (indx == nullptr || flag == nullptr) return raise_null(kName, indx ? "flag" : "index");
  *indx = MPI_UNDEFINED;
  bool any = false;
  const auto any_done = [&] {
    for (int i = 0; i < count; ++i) {
      if (!is_active(array_of_requests[i])) continue;
      any = true;
      if (!is_done(array_of_requests[i])) continue;
      *indx = i;
      return true;
    }
    return !any;
  };
  *flag = device::poll_until(any_done) || (ask_polled(count, array_of_requests) && any_done());
  return *flag ? peek(kName, *indx == MPI_UNDEFINED ? MPI_REQUEST_NULL : array_of_requests[*indx], status) : MPI_SUCCESS;
}
MPI_WEAK_NAME(Request_get_status_any)

extern "C" int PMPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                                            MPI_Status array_of_statuses[]) try {
  static constexpr char kName[] = "MPI_Request_get_status_some";
  if (int error = check_requests(kName, incount, array_of_requests)) return error;
  if (outcount == nullptr || (array_of_indices == nullptr && incount > 0)) return raise_null(kName, outcount ? "indices" : "number");
  device::poll_until([] { return false; });
  ask_polled(incount, array_of_requests);
  int found = 0;
  bool any = false;
  for (int i = 0; i < incount; ++i) {
    if (!is_active(array_of_requests[i])) continue;
    any = true;
    if (!is_done(array_of_requests[i])) continue;
    MPI_Status* const status = array_of_statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &array_of_statuses[found];
    if (const int error = peek(kName, array_of_requests[i], status); error != MPI_SUCCESS) return error;
    array_of_indices[found++] = i;
  }
  *outcount = any ? found : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Request_get_status_some)

extern "C" int PMPI_Test_cancelled(const MPI_Status* status, int* flag) try {
  if (int error = check_status("MPI_Test_cancelled", status, flag, "flag")) return error;
  *flag = was_cancelled(*status);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Test_cancelled)

extern "C" int PMPI_Status_set_cancelled(MPI_Status* status, int flag) try {
  if (int error = check_status("MPI_Status_set_cancelled", status, status, "")) return error;
  set_cancelled(*status, flag != 0);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Status_set_cancelled)

// Reading and writing the public fields, for languages that cannot.
#define STATUS_FIELD(name, field)                                                             \
  extern "C" int PMPI_Status_get_##name(const MPI_Status* status, int* name) try {            \
    if (int wrong = check_status("MPI_Status_get_" #name, status, name, #name)) return wrong; \
    *name = status->field;                                                                    \
    return MPI_SUCCESS;                                                                       \
  }                                                                                           \
  MPI_WEAK_NAME(Status_get_##name)                                                            \
  extern "C" int PMPI_Status_set_##name(MPI_Status* status, int name) try {                   \
    if (int wrong = check_status("MPI_Status_set_" #name, status, status, "")) return wrong;  \
    status->field = name;                                                                     \
    return MPI_SUCCESS;                                                                       \
  }                                                                                           \
  MPI_WEAK_NAME(Status_set_##name)

STATUS_FIELD(source, MPI_SOURCE)
STATUS_FIELD(tag, MPI_TAG)
STATUS_FIELD(error, MPI_ERROR)
