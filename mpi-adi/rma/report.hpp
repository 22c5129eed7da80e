// report.hpp: requests of single accesses: MPI_Rput and the like.
//
// The operations of such an access tell of their end by an event each, in the queue of all requests, since a window's counter does not say
// which are complete. Each has a part of its own, a request that no program holds; the last one completes the user's.
//
// Thread: as the call; the ends: the thread that takes events. Source: MPI-5.0, 12.3.5.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi-adi/rma/access.hpp"

namespace portunus::mpi::rma {

// The attachment of the user's request, which counts its operations that are left.
class Report final : public Attachment {
 public:
  void begin() { left_.fetch_add(1, std::memory_order_relaxed); }
  void settle(Request& whole) {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) device::conclude(whole);
  }

 private:
  std::atomic<int64_t> left_{1};  // operations, and the call that issues them
};

// Returns how one operation of the access is issued, of so many bytes.
client::By ticket(const Access& access, ptl_size_t bytes);
// Notes the PTL_* code with which it was issued, and returns that.
int used(const client::By& ticket, int code);

// Begins a call with a request: checks it. MPI_SUCCESS or the error that was raised.
int open_request(const char* function, MPI_Win win, int rank, MPI_Request* request, Access& access);
// Ends that call with its `error`, which is returned.
int close_request(const Access& access, int error, MPI_Request* handle);

}  // namespace portunus::mpi::rma
