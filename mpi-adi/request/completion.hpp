// completion.hpp: what the calls that complete requests share.
//
// Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 3.7.3, 3.7.5, 3.9 (inactive requests).
#pragma once

#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/pt2pt/status.hpp"

namespace portunus::mpi {

[[gnu::cold, gnu::noinline]] int raise_bad_request(const char* function, MPI_Request handle);
[[gnu::cold, gnu::noinline]] int raise_null(const char* function, const char* what);
// Tells of a request that is pending, and stays.
[[gnu::cold, gnu::noinline]] int raise_pending(const char* function, const Request& request);
// The checks of calls with an array of requests.
int check_requests(const char* function, int count, const MPI_Request handles[]);

// Hands a complete request's results to its user, with the request given back, or made inactive when it is persistent. `raises`:
// its error goes through the error handler; else only its class is returned.
[[gnu::cold, gnu::noinline]] int finish_special(const char* function, MPI_Request& handle, Request* request, MPI_Status* status,
                                                bool raises);
// The status of a special request, which stays as it is.
[[gnu::cold, gnu::noinline]] int special_status(Request& request, MPI_Status* status);

// Asks those requests that are complete by being asked; false: there is none in the process.
[[gnu::cold, gnu::noinline]] bool ask_polled(int count, const MPI_Request handles[]);

[[gnu::always_inline]] inline int finish(const char* function, MPI_Request& handle, Request* request, MPI_Status* status,
                                         bool raises = true) {
  if (request->special) {
    if (request == pool.sent() && status == MPI_STATUS_IGNORE) {  // most sends of small messages
      handle = MPI_REQUEST_NULL;
      return MPI_SUCCESS;
    }
    return finish_special(function, handle, request, status, raises);
  }
  set_status(status, *request);
  int error = MPI_SUCCESS;
  if (request->failed()) [[unlikely]]
    error = raises ? raise_request(function, *request) : error_class_of(*request);
  handle = MPI_REQUEST_NULL;
  pool.release(request);
  return error;
}

// For valid handles. Null and inactive ones are done, but none that a call could pick.
inline bool is_pending(MPI_Request handle) { return handle != MPI_REQUEST_NULL && pool.find(handle)->is_pending(); }
inline bool is_done(MPI_Request handle) { return handle == MPI_REQUEST_NULL || pool.find(handle)->done(); }
inline bool is_active(MPI_Request handle) {
  return handle != MPI_REQUEST_NULL && pool.find(handle)->state.load(std::memory_order_relaxed) != State::inactive;
}

}  // namespace portunus::mpi
