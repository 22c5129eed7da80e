// progress.cpp: from events to completed requests.
// Thread: complete and what it calls: the holder of the turn.
#include <algorithm>
#include <cassert>
#include <vector>

#include "mpi-adi/continuation/descriptor.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/long_waits.hpp"
#include "mpi-adi/pt2pt/signatures.hpp"

namespace portunus::mpi::device {
namespace {

std::atomic<int> detached_count{0};

// Receives that nobody holds and that the engine completes (is_recorded): the pool gets them back when somebody looks.
class Orphans {
 public:
  void add(Request& request) {
    if (all_.size() >= sweep_at_) sweep();
    all_.push_back(&request);
  }
  void sweep() {
    std::erase_if(all_, [](Request* request) {
      if (!request->done()) return false;
      pool.release(request);
      return true;
    });
    sweep_at_ = std::max<size_t>(64, 2 * all_.size());  // so that a look at each costs O(1) for each that was added
  }

 private:
  std::vector<Request*> all_;
  size_t sweep_at_ = 64;
};
Orphans& orphans() {
  static auto& all = *new Orphans;
  return all;
}

// The state before and after must be told apart from a concurrent detach, which comes with MPI_THREAD_MULTIPLE, or when a thread that does
// not call MPI ends a collective on the node.
State mark_done(Request& request, bool by_any_thread) {
  if (device.threaded || by_any_thread) return request.state.exchange(State::done, std::memory_order_acq_rel);
  const State before = request.state.load(std::memory_order_relaxed);
  request.state.store(State::done, std::memory_order_release);
  return before;
}

[[noreturn, gnu::cold]] void refuse_messages() {
  abort_by_error(MPI_ERR_NO_MEM,
                 "MPI: this rank was sent more messages than it can keep before their receives are posted; post receives "
                 "earlier, or let the senders wait for answers (MPI_ERR_NO_MEM)");
}

}  // namespace

EventPump event_pump;
PutOff put_off;

void PutOff::run() {
  const std::vector<Request*> mine = std::exchange(all_, {});
  if (device.threaded) event_pump.give_back();
  for (Request* request : mine) request->attached->run_users(*request);
}

void complete(const ptl_event_t& event) {
  if (event.type == PTL_EVENT_PT_DISABLED) [[unlikely]]
    refuse_messages();
  Request& request = *static_cast<Request*>(event.user_ptr);
  const bool receives = request.receives;
  assert(!pool.owns(request) || (!request.done() && request.state.load(std::memory_order_relaxed) != State::free));
  request.failure = event.ni_fail_type;
  if (event.ni_fail_type == PTLX_NI_WITHDRAWN) [[unlikely]] {  // MPI_Cancel, or a revocation
    const bool revoked = request.comm != nullptr && request.comm->is_revoked();
    request.failure = revoked ? kRevoked : ptl_ni_fail_t{PTL_NI_OK};
    if (!revoked) request.special = request.cancelled = true;
  }
  if (receives) {
    request.match_bits = event.match_bits;
    request.length = event.mlength;
    request.requested = event.rlength;
  }
  if (request.special) [[unlikely]] {
    if (request.compared) signatures::compare(request, event.hdr_data);
    if (request.attached) {
      if (receives) request.attached->heard(event.hdr_data);
      request.attached->completed(request);
    }
  }
  conclude(request);
}

void conclude(Request& request, bool by_any_thread) {
  const bool receives = request.receives;
  const State before = mark_done(request, by_any_thread);
  assert(!pool.owns(request) || before == State::active || before == State::detached || before == State::pending);
  device.ends.fetch_add(1, std::memory_order_release);
  if (before == State::detached) [[unlikely]] {  // nobody to tell about a failure
    if (!is_recorded(request)) pool.release(&request);
    if (!receives) detached_count.fetch_sub(1, std::memory_order_relaxed);
  }
  if (device.threaded) event_pump.announce();
}

bool take_back(Request& request) {
  const int result = PtlMEUnlink(request.entry);
  if (request.entry == request.kept && result != PTL_IN_USE) request.kept = 0;  // it is gone
  return result == PTL_OK;
}

// A slot's first receive, or one that is not like the others.
int irecv_first(Request& request, void* buf, size_t bytes, ptl_rank_t source, Pattern pattern, unsigned options) {
  ptl_me_t entry = receive_entry(buf, bytes, source, pattern, options);
  const bool recorded = is_recorded(request);
  const bool keeps = recorded && options == 0 && pool.owns(request);
  if (recorded) entry.options |= PTLX_ME_RECORD;
  if (keeps) {
    entry.options |= PTLX_ME_KEEP;
    if (uint64_t* const header = signatures::place_of_header(request)) {
      entry.options |= PTLX_ME_RECORD_HEADER;
      entry.min_free = reinterpret_cast<uintptr_t>(header);
    }
  }
  const int result = PtlMEAppend(device.ni, kMessagePortal, &entry, PTL_PRIORITY_LIST, &request, &request.entry);
  if (keeps && result == PTL_OK) request.kept = request.entry;
  return result;
}

int irecv_control(Request& request, void* buf, size_t bytes, ptl_rank_t source, Pattern pattern) {
  request.source = source == PTL_RANK_ANY ? MPI_ANY_SOURCE : static_cast<int>(source);
  ptl_me_t entry = receive_entry(buf, bytes, source, pattern);
  if (is_recorded(request)) entry.options |= PTLX_ME_RECORD;
  return PtlMEAppend(device.ni, kControlPortal, &entry, PTL_PRIORITY_LIST, &request, &request.entry);
}

// The entry that is off the list has no event: its request completes here.
void cancel_receive(Request& request) {
  if (!take_back(request)) return;
  request.special = request.cancelled = true;
  request.match_bits = 0;
  request.length = request.requested = 0;
  if (request.attached) request.attached->completed(request);
  conclude(request);
}

int send_laid_out(Request* request, bool synchronous, const ptlx_layout_t& layout, size_t bytes, int target, ptl_match_bits_t bits,
                  ptl_hdr_data_t signature) {
  const ptl_handle_md_t md = request == nullptr            ? device.md_copied_layout
                             : synchronous                 ? device.md_synchronous_layout
                             : bytes <= device.eager_limit ? device.md_sent_layout
                                                           : device.md_long_layout;
  if (request != nullptr) note_send(*request, target, bits);
  return PtlPut(md, offset_of(&layout), bytes, synchronous ? PTL_ACK_REQ : PTL_NO_ACK_REQ, process(target), kMessagePortal, bits, 0,
                request, signature);
}

void wait_for(Request& request) {
  const auto look = [&] {
    if (request.is_pending()) end_pending(request);
  };
  wait_until([&] { return request.done(); }, look, [&] { long_waits::tell(request); });
}

void wait_patiently(const std::function<bool()>& done, const std::function<bool()>& overdue, const std::function<void(bool again)>& tell) {
  if (done() || (device.threaded && !event_pump.take_unless(done, [] {}))) return;
  unsigned told = 0;
  bool is_well = false;
  for (unsigned seconds = 0; !done();) {
    const Taken taken = take_some(done, kLongAsleep);
    if (taken == Taken::put_off) {
      put_off.run();
      if (device.threaded && !event_pump.take_unless(done, [] {})) return;
    }
    if (taken != Taken::none) continue;
    ++seconds;
    if (!is_well || long_waits::is_time_to_look(seconds)) is_well = overdue();
    if (is_well && !done()) tell(told++ > 0);
  }
  if (device.threaded) event_pump.give_back();
}

int PendingSteps::look(void*) {
  // Without threads it is for the one that calls MPI, and for none that waits for another library of the process.
  if (continuation::is_watcher()) return 0;
  if (device.threaded ? !event_pump.try_take() : device.completes || device.thread != &this_thread) return 0;
  bool any = false;
  Taken taken;
  while ((taken = take_some([] { return false; }, 0)) == Taken::some) any = true;
  if (taken == Taken::put_off) put_off.run();
  else if (device.threaded) event_pump.give_back();
  return any || taken == Taken::put_off;
}

int PendingSteps::open() {
  static const ptlx_poller_t poller{look, nullptr, reinterpret_cast<const uint32_t*>(&count_), 0};
  return PtlxPollerAdd(&poller);
}

int wait_for_count(ptl_handle_ct_t counter, ptl_size_t count, ptl_time_t timeout, ptl_ct_event_t& seen) {
  unsigned which;
  if (!device.threaded) device.thread = &this_thread;
  return PtlCTPoll(&counter, &count, 1, timeout, &seen, &which);
}

int signal(Request& request) { return PtlPut(device.md_sent, 0, 0, PTL_NO_ACK_REQ, device.self, kSignalPortal, 0, 0, &request, 0); }

int end(Request& request) {
  if (device.threaded || device.completes || continuation::watchers.load(std::memory_order_relaxed) != 0) return signal(request);
  if (request.attached) request.attached->completed(request);
  conclude(request);
  if (put_off.any()) put_off.run();
  return PTL_OK;
}

void give_up(int ptl_error) {
  abort_by_error(MPI_ERR_INTERN, ptl_error == PTL_ABORTED ? "MPI: a wait was ended by PtlAbort, so its request is lost (MPI_ERR_INTERN)"
                                                          : "MPI: completion events were lost (MPI_ERR_INTERN)");
}

int detached_sends() { return detached_count.load(std::memory_order_relaxed); }

void release_orphans() { orphans().sweep(); }

void detach(Request& request) {
  resume(request);
  if (!request.receives) detached_count.fetch_add(1, std::memory_order_relaxed);
  State expected = State::active;
  if (request.state.compare_exchange_strong(expected, State::detached, std::memory_order_acq_rel)) {
    if (is_recorded(request)) orphans().add(request);
    return;
  }
  if (!request.receives) detached_count.fetch_sub(1, std::memory_order_relaxed);
  if (expected == State::done || expected == State::inactive) pool.release(&request);
}

int find(ptl_rank_t source, Pattern pattern, const ptl_match_bits_t* label, ptl_event_t& found) {
  const ptl_me_t entry = receive_entry(nullptr, 0, source, pattern);
  return PtlxMEFind(device.ni, kMessagePortal, &entry, label, &found);
}

void drop_messages(uint16_t context) {
  ptl_me_t all = receive_entry(nullptr, 0, PTL_RANK_ANY, pattern(context, MPI_ANY_SOURCE, MPI_ANY_TAG));
  all.options = PTL_ME_OP_PUT | PTL_ME_EVENT_OVER_DISABLE | client::kQuiet;
  static auto& nothing_found = *new Request(nullptr, false);  // an event says so, in spite of these options
  PtlMESearch(device.ni, kMessagePortal, &all, PTL_SEARCH_DELETE, &nothing_found);
}

}  // namespace portunus::mpi::device
