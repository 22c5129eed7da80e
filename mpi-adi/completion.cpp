// completion.cpp: waiting for requests, testing and freeing them.
// Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 3.7.3 and 3.7.5.
#include <climits>

#include "mpi-adi/adi.hpp"
#include "mpi-adi/datatype.hpp"
#include "mpi-adi/errors.hpp"
#include "mpi-adi/init.hpp"
#include "mpi-adi/profiling.hpp"
#include "mpi-adi/status.hpp"

namespace portunus::mpi {
namespace {

[[gnu::cold, gnu::noinline]] int raise_bad_request(const char* function, MPI_Request handle) {
  if (phase.load(std::memory_order_acquire) != Phase::running) return raise_bad_communicator(function, MPI_COMM_NULL);
  return raise(function, nullptr, MPI_ERR_REQUEST, "%p is no request", static_cast<void*>(handle));
}

[[gnu::cold, gnu::noinline]] int raise_null(const char* function, const char* what) {
  return raise(function, nullptr, MPI_ERR_ARG, "the address for the %s is null", what);
}

// The slot can serve another request; the handle becomes MPI_REQUEST_NULL.
void retire(MPI_Request& handle, Request* request) {
  handle = MPI_REQUEST_NULL;
  if (request->state.load(std::memory_order_relaxed) != State::constant) pool.release(request);
}

// Hands a complete request's result to the user; returns its error through the error handler.
inline int finish(const char* function, MPI_Request& handle, Request* request, MPI_Status* status) {
  set_status(status, *request);
  const bool failed = request->failed();
  const int error = failed ? raise_request(function, *request) : MPI_SUCCESS;
  retire(handle, request);
  return error;
}

// The checks of calls with an array of requests.
int check_requests(const char* function, int count, const MPI_Request handles[]) {
  if (count < 0) return raise(function, nullptr, MPI_ERR_COUNT, "the count is negative (%d)", count);
  if (count > 0 && handles == nullptr) return raise_null(function, "requests");
  for (int i = 0; i < count; ++i)
    if (handles[i] != MPI_REQUEST_NULL && pool.find(handles[i]) == nullptr) return raise_bad_request(function, handles[i]);
  return MPI_SUCCESS;
}

// All are complete. The first failure goes to the error handler; the statuses say which others failed.
int finish_all(const char* function, int count, MPI_Request handles[], MPI_Status statuses[]) {
  int outcome = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    int error = MPI_SUCCESS;
    if (handles[i] == MPI_REQUEST_NULL) {
      set_empty_status(status);
    } else {
      Request* request = pool.find(handles[i]);
      set_status(status, *request);
      if (request->failed()) [[unlikely]]
        error = outcome == MPI_SUCCESS ? raise_request(function, *request) : error_class_of(*request);
      retire(handles[i], request);
    }
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
    if (error != MPI_SUCCESS) outcome = MPI_ERR_IN_STATUS;
  }
  return outcome;
}

bool is_done(MPI_Request handle) { return handle == MPI_REQUEST_NULL || pool.find(handle)->done(); }

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
  static constexpr char kName[] = "MPI_Wait";
  if (request == nullptr) return raise_null(kName, "request");
  if (*request == MPI_REQUEST_NULL) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  Request* found = pool.find(*request);
  if (found == nullptr) return raise_bad_request(kName, *request);
  adi::wait(*found);
  return finish(kName, *request, found, status);
}
MPI_WEAK_NAME(Wait)

extern "C" int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  static constexpr char kName[] = "MPI_Test";
  if (request == nullptr || flag == nullptr) return raise_null(kName, request == nullptr ? "request" : "flag");
  *flag = 1;
  if (*request == MPI_REQUEST_NULL) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  Request* found = pool.find(*request);
  if (found == nullptr) return raise_bad_request(kName, *request);
  *flag = adi::poll_until([&] { return found->done(); });
  return *flag ? finish(kName, *request, found, status) : MPI_SUCCESS;
}
MPI_WEAK_NAME(Test)

extern "C" int PMPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
  static constexpr char kName[] = "MPI_Waitall";
  if (int error = check_requests(kName, count, array_of_requests)) return error;
  for (int i = 0; i < count; ++i)
    if (array_of_requests[i] != MPI_REQUEST_NULL) adi::wait(*pool.find(array_of_requests[i]));
  return finish_all(kName, count, array_of_requests, array_of_statuses);
}
MPI_WEAK_NAME(Waitall)

extern "C" int PMPI_Testall(int count, MPI_Request array_of_requests[], int* flag, MPI_Status array_of_statuses[]) {
  static constexpr char kName[] = "MPI_Testall";
  if (int error = check_requests(kName, count, array_of_requests)) return error;
  if (flag == nullptr) return raise_null(kName, "flag");
  int complete = 0;  // how many from the front; what is complete stays so
  *flag = adi::poll_until([&] {
    while (complete < count && is_done(array_of_requests[complete])) ++complete;
    return complete == count;
  });
  return *flag ? finish_all(kName, count, array_of_requests, array_of_statuses) : MPI_SUCCESS;
}
MPI_WEAK_NAME(Testall)

extern "C" int PMPI_Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status) {
  static constexpr char kName[] = "MPI_Waitany";
  if (int error = check_requests(kName, count, array_of_requests)) return error;
  if (indx == nullptr) return raise_null(kName, "index");
  bool any = false;
  for (int i = 0; i < count; ++i) any = any || array_of_requests[i] != MPI_REQUEST_NULL;
  *indx = MPI_UNDEFINED;
  if (!any) {
    set_empty_status(status);
    return MPI_SUCCESS;
  }
  adi::wait_until([&] {
    for (int i = 0; i < count; ++i) {
      if (array_of_requests[i] == MPI_REQUEST_NULL || !pool.find(array_of_requests[i])->done()) continue;
      *indx = i;
      return true;
    }
    return false;
  });
  return finish(kName, array_of_requests[*indx], pool.find(array_of_requests[*indx]), status);
}
MPI_WEAK_NAME(Waitany)

extern "C" int PMPI_Request_free(MPI_Request* request) {
  static constexpr char kName[] = "MPI_Request_free";
  if (request == nullptr) return raise_null(kName, "request");
  Request* found = pool.find(*request);
  if (found == nullptr) return raise_bad_request(kName, *request);
  adi::detach(*found);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Request_free)

extern "C" int PMPI_Get_count(const MPI_Status* status, MPI_Datatype datatype, int* count) {
  static constexpr char kName[] = "MPI_Get_count";
  const TypeSize type = find_type(datatype);
  if (type.extent == 0) return raise(kName, nullptr, MPI_ERR_TYPE, "%p is no datatype", static_cast<void*>(datatype));
  if (status == MPI_STATUS_IGNORE || count == nullptr) return raise_null(kName, status ? "count" : "status");
  const uint64_t bytes = received_bytes(*status);
  const uint64_t elements = bytes / type.extent;
  *count = bytes % type.extent != 0 || elements > INT_MAX ? MPI_UNDEFINED : static_cast<int>(elements);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Get_count)
