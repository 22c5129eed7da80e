// report.cpp: parts of requests of single accesses.
#include "mpi-adi/rma/report.hpp"

#include <new>

#include "mpi-adi/graph/access.hpp"

namespace portunus::mpi::rma {
namespace {

class Part final : public Attachment {
 public:
  Part(Request& whole, Report& report) : whole_(whole), report_(report) {}

  void completed(Request& part) override {
    if (part.failure != PTL_NI_OK) whole_.failure = part.failure;
    report_.settle(whole_);
  }

 private:
  Request& whole_;
  Report& report_;
};

// Makes the user's request, unless it has been made. False: there is none left.
bool ensure_whole(const Access& access) {
  if (access.whole != nullptr) return true;
  Request* const whole = pool.claim(access.window->comm, false);
  if (whole == nullptr) return false;
  access.report = new (std::nothrow) Report;
  if (access.report == nullptr) {
    pool.release(whole);
    return false;
  }
  whole->source = MPI_ANY_SOURCE;
  whole->attached = access.report;
  whole->special = true;
  access.whole = whole;
  return true;
}

}  // namespace

client::By ticket(const Access& access, ptl_size_t bytes) {
  Window& window = *access.window;
  if (!access.reports) return bytes <= client::kMostTogether ? window.operations.by(window.together) : window.operations.own();
  Request* const part = ensure_whole(access) ? pool.claim(window.comm, false) : nullptr;
  if (part == nullptr) {  // close_request waits for all then
    access.unreported = true;
    return window.operations.own();
  }
  access.report->begin();
  part->attached = new Part(*access.whole, *access.report);
  part->special = true;
  return window.operations.by(window.reporting, PTL_ACK_REQ, part);
}

int used(const client::By& ticket, int code) {
  auto* const part = static_cast<Request*>(ticket.user);
  if (part == nullptr) return code;
  if (code != PTL_OK) part->attached->completed(*part);  // no event comes
  if (code == PTL_OK) device::detach(*part);
  else pool.release(part);
  return code;
}

int open_request(const char* function, MPI_Win win, int rank, MPI_Request* request, Access& access) {
  Window* window;
  if (int error = check(function, win, window)) return error;
  if (request == nullptr) return raise(function, *window, MPI_ERR_ARG, "the address for the request is null");
  if (graph::is_captured_here(*window)) {
    *(access.handle = request) = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  if (rank >= 0 && static_cast<size_t>(rank) < window->members.size() && !is_passive(*window, static_cast<size_t>(rank)))
    return raise(function, *window, MPI_ERR_RMA_SYNC, "rank %d is not locked, which accesses with a request ask for", rank);
  access.window = window;
  access.reports = true;
  return MPI_SUCCESS;
}

int close_request(const Access& access, int error, MPI_Request* handle) {
  if (access.handle != nullptr) return error;
  if (error == MPI_SUCCESS && access.unreported) error = flush("MPI_Rput", *access.window);
  if (access.whole == nullptr) {  // nothing is left to be waited for
    if (error == MPI_SUCCESS) *handle = mpi::handle_of(pool.sent());
    return error;
  }
  if (error == MPI_SUCCESS) *handle = mpi::handle_of(access.whole);
  else device::detach(*access.whole);  // its operations end by themselves
  access.report->settle(*access.whole);
  return error;
}

}  // namespace portunus::mpi::rma
