// request.cpp: the pool's memory.
#include "mpi-adi/request/request.hpp"

#include <sys/mman.h>

#include "mpi-adi/pt2pt/buffers_in_use.hpp"
#include "mpi-adi/pt2pt/signatures.hpp"

namespace portunus::mpi {

constinit RequestPool pool;

bool RequestPool::open(bool threaded, uint32_t event_slots) {
  most_ = event_slots - kBlockingCalls;
  bytes_ = most_ * sizeof(Request);
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  slots_ = static_cast<Request*>(memory);  // zeroed pages: every slot is State::free
  threaded_ = threaded;
  for (Request* request : {sent(), received_nothing()}) {
    request->state.store(State::constant, std::memory_order_relaxed);
    request->source = MPI_ANY_SOURCE;
    request->special = true;
  }
  received_nothing()->source = MPI_PROC_NULL;
  used_ = 2;
  return true;
}

void RequestPool::unmark(Request& request) {
  if (request.compared) signatures::forget(request);
  if (request.holds) buffers_in_use::release(request);
  if (request.attached) request.attached->released();
  request.attached = nullptr;
  request.special = request.cancelled = false;
  request.source = MPI_ANY_SOURCE;
}

}  // namespace portunus::mpi
