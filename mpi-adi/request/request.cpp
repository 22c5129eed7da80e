// request.cpp: the pool's memory.
#include "mpi-adi/request/request.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

namespace portunus::mpi {

constinit RequestPool pool;

namespace {

// What this process may still map.
size_t free_addresses() {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  unsigned long pages = 0;
  if (FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const size_t used = pages != 0 ? pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) : limit.rlim_cur / 2;
  return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

}  // namespace

uint32_t event_slots() {
  static const uint32_t slots = [] {
    constexpr size_t kEach = sizeof(Request) + 2 * 64;  // with its events
    const size_t room = free_addresses() / 8;
    uint32_t fit = kEventSlots;
    while (fit * kEach > room && fit > 4 * kBlockingCalls) fit /= 2;
    return fit;
  }();
  return slots;
}

bool RequestPool::open(bool threaded) {
  most_ = event_slots() - kBlockingCalls;
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
  if (request.attached) request.attached->released();
  request.attached = nullptr;
  request.special = request.cancelled = false;
  request.source = MPI_ANY_SOURCE;
}

}  // namespace portunus::mpi
