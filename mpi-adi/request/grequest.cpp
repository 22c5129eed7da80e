// grequest.cpp: requests that the user completes.
//
// MPI_Grequest_complete, with several threads, sends this process a signal: an event like those of messages, so that whoever sleeps for the
// request wakes as for any other. What it says is true when it returns, whether or not that event has been taken. The free function runs
// where the request is completed by waiting or testing, else in the later of MPI_Request_free and MPI_Grequest_complete; never in whoever
// takes events, as it may call MPI. Thread: any, as MPI_Init_thread permits. Source: MPI-5.0, 13.2.
#include <atomic>
#include <utility>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/request/completion.hpp"

namespace portunus::mpi {
namespace {

class UsersOperation final : public Attachment {
 public:
  UsersOperation(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free, MPI_Grequest_cancel_function* cancel, void* state)
      : query_(query), free_(free), cancel_(cancel), state_(state) {}

  int query(Request& request, MPI_Status* status) override {
    set_status(status, MPI_UNDEFINED, MPI_UNDEFINED, 0);
    status->MPI_ERROR = MPI_SUCCESS;
    return query_ && request.done() ? query_(state_, status) : MPI_SUCCESS;
  }
  int cancel(Request&) override {
    return cancel_ ? cancel_(state_, (past_.load(std::memory_order_acquire) & kComplete) != 0) : MPI_SUCCESS;
  }
  int closing() override {
    MPI_Grequest_free_function* const once = std::exchange(free_, nullptr);
    return once ? once(state_) : MPI_SUCCESS;
  }
  int freed(Request&) override { return is_last(kFreed) ? closing() : MPI_SUCCESS; }
  // MPI_Grequest_complete, before its signal.
  int complete() { return is_last(kComplete) ? closing() : MPI_SUCCESS; }

 private:
  static constexpr unsigned kComplete = 1, kFreed = 2;

  // Did the other happen before?
  bool is_last(unsigned now) { return past_.fetch_or(now, std::memory_order_acq_rel) == (now ^ (kComplete | kFreed)); }

  std::atomic<unsigned> past_{0};
  MPI_Grequest_query_function* query_;
  MPI_Grequest_free_function* free_;
  MPI_Grequest_cancel_function* cancel_;
  void* state_;
};

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request) try {
  static constexpr char kName[] = "MPI_Grequest_start";
  Communicator* own = find_communicator(MPI_COMM_SELF);
  if (own == nullptr) return raise_bad_communicator(kName, MPI_COMM_SELF);
  if (request == nullptr) return raise_null(kName, "request");
  Request* claimed = pool.claim(own, false);
  if (claimed == nullptr) return raise(kName, own, MPI_ERR_NO_MEM, "all requests are in use; complete some of them first");
  claimed->attached = new UsersOperation(query_fn, free_fn, cancel_fn, extra_state);
  claimed->special = true;
  *request = handle_of(claimed);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Grequest_start)

extern "C" int PMPI_Grequest_complete(MPI_Request request) try {
  static constexpr char kName[] = "MPI_Grequest_complete";
  Request* found = pool.find(request);
  if (found == nullptr || found->attached == nullptr) return raise_bad_request(kName, request);
  auto* operation = dynamic_cast<UsersOperation*>(found->attached);
  if (operation == nullptr) return raise_bad_request(kName, request);
  Communicator* const own = found->comm;
  const int closed = operation->complete();
  const int error = closed == MPI_SUCCESS ? closed : operation->raise_error(kName, *found, closed);
  const int result = device::end(*found);  // if it was freed, the end of the request
  return result == PTL_OK ? error : raise_portals(kName, own, result);
}
MPI_WEAK_NAME(Grequest_complete)
