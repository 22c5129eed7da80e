// progress.cpp: from events to completed requests.
// Thread: complete and what it calls: the holder of the turn.
#include "mpi-adi/adi.hpp"

namespace portunus::mpi::adi {
namespace {

std::atomic<int> detached_count{0};

// The state before and after must be told apart from a concurrent detach, which only MPI_THREAD_MULTIPLE can bring.
State mark_done(Request& request) {
  if (device.threaded) return request.state.exchange(State::done, std::memory_order_acq_rel);
  const State before = request.state.load(std::memory_order_relaxed);
  request.state.store(State::done, std::memory_order_release);
  return before;
}

[[noreturn, gnu::cold]] void refuse_messages() {
  abort(MPI_ERR_NO_MEM,
        "MPI: this rank was sent more messages than it can keep before their receives are posted; post receives "
        "earlier, or let the senders wait for answers (MPI_ERR_NO_MEM)");
}

}  // namespace

Turn turn;

void complete(const ptl_event_t& event) {
  if (event.type == PTL_EVENT_PT_DISABLED) [[unlikely]]
    refuse_messages();
  Request& request = *static_cast<Request*>(event.user_ptr);
  const bool receives = request.receives;
  request.event = event.type;
  request.failure = event.ni_fail_type;
  if (receives) {
    request.match_bits = event.match_bits;
    request.length = event.mlength;
    request.requested = event.rlength;
  }
  if (mark_done(request) == State::detached) [[unlikely]] {  // nobody to tell about a failure
    pool.release(&request);
    if (!receives) detached_count.fetch_sub(1, std::memory_order_relaxed);
  }
  if (device.threaded) turn.announce();
}

void give_up(int ptl_error) {
  abort(MPI_ERR_INTERN, ptl_error == PTL_ABORTED
                            ? "MPI: a wait was ended by PtlAbort, so its request is lost (MPI_ERR_INTERN)"
                            : "MPI: completion events were lost (MPI_ERR_INTERN)");
}

int detached_sends() { return detached_count.load(std::memory_order_relaxed); }

void detach(Request& request) {
  if (!request.receives) detached_count.fetch_add(1, std::memory_order_relaxed);
  State expected = State::active;
  if (request.state.compare_exchange_strong(expected, State::detached, std::memory_order_acq_rel)) return;
  if (!request.receives) detached_count.fetch_sub(1, std::memory_order_relaxed);
  if (expected == State::done) pool.release(&request);
}

int probe(Request& request, ptl_rank_t source, Pattern pattern) {
  const ptl_me_t entry = receive_entry(nullptr, 0, source, pattern);
  return PtlMESearch(device.ni, kMessagePortal, &entry, PTL_SEARCH_ONLY, &request);
}

}  // namespace portunus::mpi::adi
