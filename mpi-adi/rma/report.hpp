// report.hpp: requests of single accesses: MPI_Rput and the like.
//
// The operations of such an access tell of their end by an event each, in the queue of all requests: what a window counts says only how
// many are complete, not which. Each has a part of its own, a request that nobody holds; the last one completes the user's.
//
// Thread: as the call; the ends: the holder of the turn. Source: MPI-5.0, 12.3.5.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi-adi/rma/access.hpp"

namespace portunus::mpi::rma {

// What the user's request has attached.
class Report final : public Attachment {
 public:
  void begin() { left_.fetch_add(1, std::memory_order_relaxed); }
  void settle(Request& whole) {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) device::conclude(whole);
  }

 private:
  std::atomic<int64_t> left_{1};  // operations, and the call that issues them
};

// What one operation of the access is issued with.
client::By ticket(const Access& access);
// It was issued with this PTL_* code, which is returned.
int used(const client::By& ticket, int code);

// Before a call with a request: checks, and makes the request. MPI_SUCCESS or the error that was raised.
int open_request(const char* function, MPI_Win win, const MPI_Request* request, Access& access);
// After it, with its `error`, which is returned.
int close_request(const Access& access, int error, MPI_Request* handle);

}  // namespace portunus::mpi::rma
