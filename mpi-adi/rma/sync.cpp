// sync.cpp: synchronization of windows: fence, post-start-complete-wait, locks, flushes.
//
// Source: MPI-5.0, 12.5.
#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/graph/access.hpp"
#include "mpi-adi/rma/lock.hpp"
#include "mpi-adi/rma/window.hpp"
#include "mpi-adi/tool/event.hpp"

namespace portunus::mpi::rma {
namespace {

constexpr int kPosted = 1, kCompleted = 2;  // tags among a window's messages

int wait_for(ptl_handle_ct_t counter, ptl_size_t count, ptl_ct_event_t* seen) {
  return device::wait_for_count(counter, count, PTL_TIME_FOREVER, *seen);
}

int check_rank(const char* function, const Window& window, int rank) {
  if (rank >= 0 && static_cast<size_t>(rank) < window.members.size()) return MPI_SUCCESS;
  return raise(function, window, MPI_ERR_RANK, "there is no rank %d among %zu", rank, window.members.size());
}

// A rank that looks at memory of the node again and again lets the engine make progress once in so many flushes.
constexpr unsigned kCallsPerStep = 16;

// Tells whether this rank has another epoch of accesses, besides locks.
bool is_pending(const Window& window) {
  const Epoch epoch = window.epoch;
  return epoch == Epoch::fenced || epoch == Epoch::access || epoch == Epoch::lock_all;
}

bool holds_locks(const Window& window) {
  for (const int type : window.locked)
    if (type != 0) return true;
  return false;
}

// Checks that a passive epoch towards that rank, or all (-1), has begun.
int check_passive(const char* function, const Window& window, int rank) {
  const bool held = rank < 0 ? holds_locks(window) : window.locked[static_cast<size_t>(rank)] != 0;
  if (held || window.epoch == Epoch::lock_all) return MPI_SUCCESS;
  return raise(function, window, MPI_ERR_RMA_SYNC, "no lock is held; call MPI_Win_lock or MPI_Win_lock_all first");
}

int flush_all(const char* function, MPI_Win win, int rank) {
  Window* window;
  if (int error = check(function, win, window)) return error;
  if (rank >= 0 || rank < -1)
    if (int error = check_rank(function, *window, rank)) return error;
  if (int error = check_passive(function, *window, rank)) return error;
  if (graph::is_captured_here(*window)) return graph::flush(*window, rank);
  const int error = flush(function, *window);
  if (error == MPI_SUCCESS) tool::emit(tool::Event::window_flush, window->comm->context, rank);
  return error;
}

// Finds the window of a call that begins or ends an epoch.
int check_epoch_call(const char* function, MPI_Win win, Window*& window) {
  if (int error = check(function, win, window)) return error;
  if (graph::is_captured_here(*window)) return graph::refuse(function, graph::kEpochsStay);
  return MPI_SUCCESS;
}

int check_unlock(const char* function, MPI_Win win, Window*& window) {
  if (int error = check_epoch_call(function, win, window)) return error;
  return graph::is_accessed(*window) ? raise(function, *window, MPI_ERR_RMA_SYNC, graph::kStillAccessed) : int{MPI_SUCCESS};
}

// Finds the members of a group as ranks of the window.
int ranks_of(const char* function, const Window& window, MPI_Group handle, std::vector<int>& ranks) {
  Group* group;
  const RaisedAt here(origin_of(window));
  if (int error = mpi::check(function, handle, group, {})) return error;
  for (int i = 0; i < group->size; ++i) {
    ranks.push_back(window.comm->group->member(group->job_rank(i)));
    if (ranks.back() < 0) return raise(function, window, MPI_ERR_GROUP, "member %d of the group has no part in the window", i);
  }
  return MPI_SUCCESS;
}

bool is_told_by_line(const Window& window, int rank) { return window.exposures && window.exposures->reaches(rank); }

// Tells a rank, by its line or by a message, of what this rank has posted or completed.
int tell(const char* function, Window& window, int rank, int what) {
  if (is_told_by_line(window, rank)) {
    what == kPosted ? window.exposures->post(rank) : window.exposures->complete(rank);
    return MPI_SUCCESS;
  }
  const int error = send_bytes(*window.comm, Traffic::windows, what, nullptr, 0, rank);
  return error == MPI_SUCCESS ? error : raise(function, window, error, "rank %d cannot be reached", rank);
}

// Whether a wait for that origin would end at once.
bool has_completed(const Window& window, const AwaitedOrigin& origin) {
  if (origin.message != nullptr) return origin.message->done();
  return window.exposures->is_completed(origin.rank) || !device::reachable(window.comm->job_rank(origin.rank));
}

// Takes back what was begun for origins that are not told of the post.
void forget_origins(Window& window) {
  for (const AwaitedOrigin& origin : window.awaited) {
    if (origin.message == nullptr) continue;
    device::cancel_receive(*origin.message);
    finish_receiving_bytes(origin.message, 0);
  }
  window.awaited.clear();
}

// Waits for all origins, also where one has died.
int end_exposure(const char* function, Window& window) {
  int failed = MPI_SUCCESS, lost = -1;
  for (const AwaitedOrigin& origin : window.awaited) {
    const int error = origin.message != nullptr ? finish_receiving_bytes(origin.message, 0) : window.exposures->take_complete(origin.rank);
    if (error == MPI_SUCCESS) continue;
    failed = error;
    lost = origin.rank;
  }
  window.awaited.clear();
  window.exposed = false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (failed == MPI_SUCCESS) return MPI_SUCCESS;
  return raise(function, window, failed, "rank %d has ended, or cannot be reached, and has not completed its accesses", lost);
}

}  // namespace

bool is_synchronized(const Window& window) {
  const Epoch epoch = window.epoch;
  return epoch != Epoch::access && epoch != Epoch::lock_all && !holds_locks(window) && !window.exposed;
}

bool is_passive(const Window& window, size_t rank) { return window.epoch == Epoch::lock_all || window.locked[rank] != 0; }

int flush(const char* function, Window& window) {
  static thread_local constinit unsigned calls = 0;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // copies into shared memory, too
  if (window.operations.is_quiet() && ++calls % kCallsPerStep != 0) [[likely]]
    return MPI_SUCCESS;
  const int result = window.operations.quiet(wait_for);
  if (result == PTL_FAIL) return raise(function, window, MPI_ERR_PROC_ABORTED, "a target cannot be reached, or refused an access");
  return result == PTL_OK ? MPI_SUCCESS : raise(function, window, MPI_ERR_OTHER, "the network failed (error %d)", result);
}

int change_control(const char* function, Window& window, int rank, int64_t Control::*word, ptl_op_t op, int64_t value, int64_t& old) {
  const Member& member = window.members[static_cast<size_t>(rank)];
  if (member.control) {
    if (!device::reachable(member.job_rank))
      return raise(function, window, MPI_ERR_PROC_ABORTED, "rank %d has ended, or cannot be reached", rank);
    const int64_t nobody = 0;
    old = client::change(std::atomic_ref(member.control->*word), op, value, &nobody);
    return MPI_SUCCESS;
  }
  std::list<ControlChange> here;
  ControlChange& change = here.emplace_back(ControlChange{value});
  const client::By by = window.operations.own();
  const ptl_size_t offset = client::address(&(window.control->*word)) - client::address(window.control);
  const client::RemoteAddress there{device::process(member.job_rank), kWindowPortal, match_bits(window.number, Place::control), offset};
  const client::Operand operand{by.memory, &change.value, op == PTL_CSWAP ? &change.nobody : nullptr};
  const int result = client::fetch(by, there, op, PTL_INT64_T, operand, &change.old, sizeof old);
  if (result != PTL_OK) return raise(function, window, MPI_ERR_OTHER, "the network failed (error %d)", result);
  const int error = flush(function, window);
  old = change.old;
  if (error == MPI_SUCCESS) return MPI_SUCCESS;
  const std::lock_guard lock(window.unanswered_mutex);
  window.unanswered.splice(window.unanswered.end(), here);
  return error;
}

}  // namespace portunus::mpi::rma

using namespace portunus::mpi;
using namespace portunus::mpi::rma;

extern "C" int PMPI_Win_fence(int assert, MPI_Win win) try {
  static constexpr char kName[] = "MPI_Win_fence";
  Window* window;
  if (int error = check_epoch_call(kName, win, window)) return error;
  if (window->epoch == Epoch::access || window->epoch == Epoch::lock_all || holds_locks(*window))
    return raise(kName, *window, MPI_ERR_RMA_SYNC, "another kind of epoch is under way; end it first");
  if (int error = flush(kName, *window)) return error;
  if (int error = PMPI_Barrier(handle_of(window->comm))) return error;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  window->epoch = assert& MPI_MODE_NOSUCCEED ? Epoch::none : Epoch::fence;
  tool::emit(tool::Event::window_fence, window->comm->context);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_fence)

extern "C" int PMPI_Win_post(MPI_Group group, int, MPI_Win win) try {
  static constexpr char kName[] = "MPI_Win_post";
  Window* window;
  if (int error = check_epoch_call(kName, win, window)) return error;
  if (window->exposed) return raise(kName, *window, MPI_ERR_RMA_SYNC, "the window is exposed already");
  std::vector<int> origins;
  if (int error = ranks_of(kName, *window, group, origins)) return error;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const int origin : origins) {
    AwaitedOrigin& awaited = window->awaited.emplace_back(AwaitedOrigin{origin});
    int error = MPI_SUCCESS;
    if (!is_told_by_line(*window, origin))
      awaited.message = start_receiving_bytes(*window->comm, Traffic::windows, kCompleted, nullptr, 0, origin, error);
    if (error == MPI_SUCCESS) continue;
    window->awaited.pop_back();
    forget_origins(*window);
    return raise(kName, *window, error, "there is no request left, or the network failed");
  }
  for (const int origin : origins)
    if (int error = tell(kName, *window, origin, kPosted)) return error;
  window->exposed = true;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_post)

extern "C" int PMPI_Win_start(MPI_Group group, int, MPI_Win win) try {
  static constexpr char kName[] = "MPI_Win_start";
  Window* window;
  if (int error = check_epoch_call(kName, win, window)) return error;
  if (is_pending(*window) || holds_locks(*window))
    return raise(kName, *window, MPI_ERR_RMA_SYNC, "another epoch of accesses is under way; end it first");
  std::vector<int> targets;
  if (int error = ranks_of(kName, *window, group, targets)) return error;
  for (const int rank : targets) {
    const int error = is_told_by_line(*window, rank) ? window->exposures->take_post(rank)
                                                     : receive_bytes(*window->comm, Traffic::windows, kPosted, nullptr, 0, rank);
    if (error != MPI_SUCCESS) return raise(kName, *window, error, "rank %d cannot be reached", rank);
    window->accessible[static_cast<size_t>(rank)] = true;
  }
  window->epoch = Epoch::access;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_start)

extern "C" int PMPI_Win_complete(MPI_Win win) try {
  static constexpr char kName[] = "MPI_Win_complete";
  Window* window;
  if (int error = check_epoch_call(kName, win, window)) return error;
  if (window->epoch != Epoch::access) return raise(kName, *window, MPI_ERR_RMA_SYNC, "no accesses were started by MPI_Win_start");
  if (int error = flush(kName, *window)) return error;
  for (size_t i = 0; i < window->accessible.size(); ++i) {
    if (!window->accessible[i]) continue;
    if (int error = tell(kName, *window, static_cast<int>(i), kCompleted)) return error;
    window->accessible[i] = false;
  }
  window->epoch = Epoch::none;
  tool::emit(tool::Event::window_complete, window->comm->context);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_complete)

extern "C" int PMPI_Win_test(MPI_Win win, int* flag) try {
  static constexpr char kName[] = "MPI_Win_test";
  Window* window;
  if (int error = check_epoch_call(kName, win, window)) return error;
  if (flag == nullptr) return raise(kName, *window, MPI_ERR_ARG, "the address for the flag is null");
  if (!window->exposed) return raise(kName, *window, MPI_ERR_RMA_SYNC, "the window was not exposed by MPI_Win_post");
  *flag = 1;
  for (const AwaitedOrigin& origin : window->awaited)
    if (*flag) *flag = device::poll_until([&] { return has_completed(*window, origin); });
  return *flag ? end_exposure(kName, *window) : int{MPI_SUCCESS};
}
MPI_WEAK_NAME(Win_test)

extern "C" int PMPI_Win_wait(MPI_Win win) try {
  static constexpr char kName[] = "MPI_Win_wait";
  Window* window;
  if (int error = check_epoch_call(kName, win, window)) return error;
  if (!window->exposed) return raise(kName, *window, MPI_ERR_RMA_SYNC, "the window was not exposed by MPI_Win_post");
  return end_exposure(kName, *window);
}
MPI_WEAK_NAME(Win_wait)

extern "C" int PMPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win) try {
  static constexpr char kName[] = "MPI_Win_lock";
  Window* window;
  if (int error = check_epoch_call(kName, win, window)) return error;
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (int error = check_rank(kName, *window, rank)) return error;
  if (lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED)
    return raise(kName, *window, MPI_ERR_LOCKTYPE, "%d is no kind of lock", lock_type);
  int& held = window->locked[static_cast<size_t>(rank)];
  if (held != 0 || is_pending(*window))
    return raise(kName, *window, MPI_ERR_RMA_SYNC, "an epoch of accesses to rank %d is under way; end it first", rank);
  if (!(assert& MPI_MODE_NOCHECK))
    if (int error = take_lock(kName, *window, rank, lock_type)) return error;
  held = assert& MPI_MODE_NOCHECK ? -1 : lock_type;
  if (window->epoch == Epoch::fence) window->epoch = Epoch::none;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_lock)

extern "C" int PMPI_Win_unlock(int rank, MPI_Win win) try {
  static constexpr char kName[] = "MPI_Win_unlock";
  Window* window;
  if (int error = check_unlock(kName, win, window)) return error;
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (int error = check_rank(kName, *window, rank)) return error;
  if (window->locked[static_cast<size_t>(rank)] == 0 || window->epoch == Epoch::lock_all)
    return raise(kName, *window, MPI_ERR_RMA_SYNC, "rank %d is not locked", rank);
  if (int error = flush(kName, *window)) return error;
  const int error = release_lock(kName, *window, rank);
  if (error == MPI_SUCCESS) tool::emit(tool::Event::window_unlock, window->comm->context, rank);
  return error;
}
MPI_WEAK_NAME(Win_unlock)

extern "C" int PMPI_Win_lock_all(int assert, MPI_Win win) try {
  static constexpr char kName[] = "MPI_Win_lock_all";
  Window* window;
  if (int error = check_epoch_call(kName, win, window)) return error;
  if (is_pending(*window) || holds_locks(*window))
    return raise(kName, *window, MPI_ERR_RMA_SYNC, "another epoch of accesses is under way; end it first");
  for (size_t i = 0; i < window->locked.size(); ++i) {
    if (!(assert& MPI_MODE_NOCHECK))
      if (int error = take_lock(kName, *window, static_cast<int>(i), MPI_LOCK_SHARED)) return error;
    window->locked[i] = assert& MPI_MODE_NOCHECK ? -1 : MPI_LOCK_SHARED;
  }
  window->epoch = Epoch::lock_all;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_lock_all)

extern "C" int PMPI_Win_unlock_all(MPI_Win win) try {
  static constexpr char kName[] = "MPI_Win_unlock_all";
  Window* window;
  if (int error = check_unlock(kName, win, window)) return error;
  if (window->epoch != Epoch::lock_all) return raise(kName, *window, MPI_ERR_RMA_SYNC, "MPI_Win_lock_all was not called");
  if (int error = flush(kName, *window)) return error;
  for (size_t i = 0; i < window->locked.size(); ++i)
    if (int error = release_lock(kName, *window, static_cast<int>(i))) return error;
  window->epoch = Epoch::none;
  tool::emit(tool::Event::window_unlock, window->comm->context, -1);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_unlock_all)

extern "C" int PMPI_Win_flush(int rank, MPI_Win win) try {
  return rank == MPI_PROC_NULL ? MPI_SUCCESS : flush_all("MPI_Win_flush", win, rank);
}
MPI_WEAK_NAME(Win_flush)
extern "C" int PMPI_Win_flush_all(MPI_Win win) try { return flush_all("MPI_Win_flush_all", win, -1); }
MPI_WEAK_NAME(Win_flush_all)
extern "C" int PMPI_Win_flush_local(int rank, MPI_Win win) try {
  return rank == MPI_PROC_NULL ? MPI_SUCCESS : flush_all("MPI_Win_flush_local", win, rank);
}
MPI_WEAK_NAME(Win_flush_local)
extern "C" int PMPI_Win_flush_local_all(MPI_Win win) try { return flush_all("MPI_Win_flush_local_all", win, -1); }
MPI_WEAK_NAME(Win_flush_local_all)

extern "C" int PMPI_Win_sync(MPI_Win win) try {
  Window* window;
  if (int error = portunus::mpi::rma::check("MPI_Win_sync", win, window)) return error;
  PtlAtomicSync();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Win_sync)
