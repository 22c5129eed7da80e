// notify.cpp: the calls of notified access.
//
// An access by messages that is one run goes to the notification's own entry. Of several runs the last one does: the target takes those
// before it in order as long as they are short; behind longer ones the call waits until they are there.
#include "mpi-adi/rma/notify.hpp"

#include "mpi-adi/comm/exchange.hpp"
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/graph/access.hpp"
#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/rma/store_wait.hpp"
#include "mpi-adi/rma/transfer.hpp"

namespace portunus::mpi::rma {
namespace {

constexpr ptl_match_bits_t notified_bits(uint16_t number, int64_t idx) {
  return match_bits(number, Place::notified) | static_cast<uint64_t>(idx) << 32;
}

std::atomic_ref<uint64_t> atomic(uint64_t& word) { return std::atomic_ref(word); }

// ---- making them

// Opens what messages count on: a counter and an entry each.
int open_events(Window& window, Notifications& made, size_t count) {
  const bool dynamic = window.flavor == MPI_WIN_FLAVOR_DYNAMIC;
  int code = PTL_OK;
  made.events.resize(count);
  for (size_t i = 0; i < count && code == PTL_OK; ++i) {
    Notifications::Event& event = made.events[i];
    code = event.counter.open(device::device.ni);
    if (code == PTL_OK)
      code = client::expose(device::device.ni, kWindowPortal, dynamic ? nullptr : window.base,
                            dynamic ? PTL_SIZE_MAX : static_cast<size_t>(window.size),
                            notified_bits(window.number, static_cast<int64_t>(i)), event.entry, event.counter);
  }
  return code;
}

// Fills in where the words of the ranks lie, by what share_memory() has told. False: a rank is to be reached by messages.
bool find_words(Window& window, Notifications& made, const std::vector<std::byte*>& shared) {
  bool all = true;
  for (size_t i = 0; i < made.peers.size(); ++i) {
    const bool own = static_cast<int>(i) == window.comm->rank;
    Notifications::Peer& peer = made.peers[i];
    const Member& member = window.members[i];
    NotifiedWord* const words = own ? made.words : i < shared.size() ? reinterpret_cast<NotifiedWord*>(shared[i]) : nullptr;
    if (member.mapped != nullptr && words != nullptr &&
        PtlxNodeWatch(device::device.ni, device::process(member.job_rank), &peer.watch) == PTL_OK)
      peer.words = words;
    else all = false;
    if (peer.words != nullptr && !own) made.watched = kWatchBit;
  }
  return all;
}

// Makes those of this rank, and finds those of the others: MPI_SUCCESS or a class of errors, the same on all ranks.
int make(Window& window, Notifications& made, size_t count) {
  const Exchange all(*window.comm);
  std::vector<std::byte*> base, beside;
  const bool shared = share_memory(*window.comm, count * sizeof(NotifiedWord), sizeof(NotifiedWord), 0, made.segment, base, beside);
  uint64_t well = 1, by_words = 0;
  try {
    if (!shared) made.owned.resize(count);
    made.words = shared ? reinterpret_cast<NotifiedWord*>(base[static_cast<size_t>(window.comm->rank)]) : made.owned.data();
    by_words = find_words(window, made, shared ? base : std::vector<std::byte*>());
  } catch (const std::bad_alloc&) {
    well = 0;
  }
  uint64_t words[] = {well, by_words};
  if (int error = all.all_and(words, 2)) return error;
  if (words[0] == 0) return MPI_ERR_NO_MEM;
  if (words[1] != 0) return MPI_SUCCESS;  // nobody uses messages
  try {
    well = open_events(window, made, count) == PTL_OK;
  } catch (const std::bad_alloc&) {
    well = 0;
  }
  if (int error = all.all_and(&well, 1)) return error;
  return well != 0 ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

// A rank's number of notifications, as all ranks tell one another.
struct Wish {
  int64_t count;
};

int create(const char* function, Window& window, int n) {
  int error = MPI_SUCCESS;
  if (n < 0) error = raise(function, window, MPI_ERR_COUNT, "the number of notifications is negative (%d)", n);
  else if (window.notifications) error = raise(function, window, MPI_ERR_WIN, "the window has notifications already");
  std::unique_ptr<Notifications> made(new (std::nothrow) Notifications);
  std::vector<Wish> wishes;
  const auto size = static_cast<size_t>(window.comm->size);
  int tells = error != MPI_SUCCESS ? kFaultElsewhere : made ? MPI_SUCCESS : MPI_ERR_NO_MEM;
  try {
    wishes.resize(size);
    if (made) made->peers.resize(size);
    wishes[static_cast<size_t>(window.comm->rank)].count = n;
  } catch (const std::bad_alloc&) {
    if (error == MPI_SUCCESS) tells = MPI_ERR_NO_MEM;
  }
  const int told = Exchange(*window.comm).allgather(wishes.data(), sizeof(Wish), tells);
  if (error != MPI_SUCCESS) return error;
  if (told != MPI_SUCCESS) return raise(function, window, told, "not all ranks can make notifications");
  for (size_t i = 0; i < size; ++i) made->peers[i].count = wishes[i].count;
  if (int failed = make(window, *made, static_cast<size_t>(n)))
    return raise(function, window, failed, "a rank has no room for so many notifications");
  window.notifications = std::move(made);
  return MPI_SUCCESS;
}

// ---- accesses

int check_notified(const char* function, MPI_Win win, int rank, int idx, Window*& window) {
  if (int error = check(function, win, window)) return error;
  if (graph::is_captured_here(*window)) return graph::refuse(function, graph::kNotNotified);
  const Notifications* const all = window->notifications.get();
  if (all == nullptr) return raise(function, *window, MPI_ERR_WIN, "the window has no notifications; call MPIX_Win_create_notify first");
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (rank < 0 || static_cast<size_t>(rank) >= all->peers.size())
    return raise(function, *window, MPI_ERR_RANK, "there is no rank %d among %zu", rank, all->peers.size());
  const int64_t count = all->peers[static_cast<size_t>(rank)].count;
  if (idx < 0 || idx >= count)
    return raise(function, *window, MPI_ERR_ARG, "rank %d has no notification %d among %lld", rank, idx, static_cast<long long>(count));
  return MPI_SUCCESS;
}

// A piece of an access by messages: one run on both sides.
struct Piece {
  std::byte* here = nullptr;
  int64_t there = 0;
  int64_t bytes = 0;
};

template <bool kPut>
int issue(const Access& access, const Piece& piece, ptl_match_bits_t bits) {
  client::RemoteAddress at = remote(access, piece.there);
  at.bits = bits;
  const auto length = static_cast<ptl_size_t>(piece.bytes);
  const client::By by = access.window->operations.own();
  return kPut ? client::put(by, at, piece.here, length) : client::get(by, at, piece.here, length);
}

template <bool kPut>
int by_messages(const char* function, const Buffer& origin, int rank, MPI_Aint displacement, const Buffer& target, MPI_Win win, int idx) {
  Access access;
  if (int error = check_access(function, win, rank, displacement, target, access)) return error;
  Window& window = *access.window;
  if (int error = check_buffer(function, access, "origin", origin)) return error;
  Piece last;
  bool any = false, in_order = true;
  int failed = PTL_OK;
  const auto pass_on = [&] {
    if (!kPut || last.bytes > device::device.ordered_limit) in_order = false;
    if (const int code = issue<kPut>(access, last, match_bits(window.number, Place::memory)); code != PTL_OK) failed = code;
  };
  const auto visit = [&](int64_t at, int64_t there, int64_t bytes) {
    if (any) pass_on();
    any = true;
    last = {place(origin.address, at), there, bytes};
  };
  for_each_piece(kAnyLength, visit, Runs(origin.count, origin.type), Runs(target.count, target.type));
  if (!any) last.there = window.flavor == MPI_WIN_FLAVOR_DYNAMIC ? 0 : -access.displacement;  // no data, wherever
  if (!in_order)
    if (int error = flush(function, window)) return error;
  if (failed == PTL_OK) failed = issue<kPut>(access, last, notified_bits(window.number, idx));
  return failed == PTL_OK ? MPI_SUCCESS : raise(function, window, MPI_ERR_OTHER, "the network failed (error %d)", failed);
}

template <bool kPut>
int access_notified(const char* function, const Buffer& origin, int rank, MPI_Aint displacement, const Buffer& target, MPI_Win win,
                    int idx) {
  Window* window;
  if (int error = check_notified(function, win, rank, idx, window)) return error;
  const Notifications::Peer* const peer = rank >= 0 ? &window->notifications->peers[static_cast<size_t>(rank)] : nullptr;
  if (peer != nullptr && peer->words == nullptr) return by_messages<kPut>(function, origin, rank, displacement, target, win, idx);
  Access access;
  const int error = kPut ? put(function, origin, rank, displacement, target, win, access)
                         : get(function, origin, rank, displacement, target, win, access);
  if (error != MPI_SUCCESS || access.member == nullptr) return error;
  atomic(peer->words[idx].count).fetch_add(1, std::memory_order_release);
  client::ring(peer->watch, kWatchBit);
  return MPI_SUCCESS;
}

// ---- looking and waiting

// The count of one of this rank's notifications.
class Count {
 public:
  Count(const Notifications& all, int idx)
      : word_(all.words[idx]), counter_(all.events.empty() ? nullptr : &all.events[static_cast<size_t>(idx)].counter) {}

  int64_t value() const { return static_cast<int64_t>(arrived() - atomic(word_.base).load(std::memory_order_relaxed)); }
  void set(int64_t value) const { atomic(word_.base).store(arrived() - static_cast<uint64_t>(value), std::memory_order_relaxed); }

 private:
  uint64_t arrived() const {
    const uint64_t by_words = atomic(word_.count).load(std::memory_order_acquire);
    return by_words + (counter_ != nullptr ? counter_->peek().success : 0);
  }

  NotifiedWord& word_;
  const client::Counter* counter_;
};

int check_own(const char* function, MPI_Win win, int idx, Window*& window) {
  if (int error = check(function, win, window)) return error;
  return check_notified(function, win, window->comm->rank, idx, window);
}

bool is_anybody_lost(const Window& window) {
  return device::failures.count.load(std::memory_order_relaxed) != 0 && device::concerned(*window.comm, MPI_ANY_SOURCE);
}

int wait_until_value(const char* function, const Window& window, int idx, int64_t value) {
  const Count count(*window.notifications, idx);
  const auto is_reached = [&] { return count.value() >= value; };
  if (is_reached()) return MPI_SUCCESS;
  device::reachable_source(*window.comm, MPI_ANY_SOURCE);  // deaths are events from now on
  const int code = wait_for_store(
      window.notifications->watched, [&] { return is_reached() || is_anybody_lost(window); },
      [&] { return device::long_waits::of_all("notification " + std::to_string(idx) + " of a window", *window.comm); });
  if (is_reached()) return MPI_SUCCESS;
  if (code != PTL_OK) return raise(function, window, MPI_ERR_OTHER, "the network failed (error %d)", code);
  return raise(function, window, MPI_ERR_PROC_ABORTED, "a rank has died whose access may be the one that notification %d waits for", idx);
}

}  // namespace
}  // namespace portunus::mpi::rma

using namespace portunus::mpi;
using namespace portunus::mpi::rma;

extern "C" int PMPIX_Win_create_notify(MPI_Win win, int n) try {
  static constexpr char kName[] = "MPIX_Win_create_notify";
  Window* window;
  if (int error = portunus::mpi::rma::check(kName, win, window)) return error;
  if (portunus::mpi::graph::is_captured_here(*window)) return portunus::mpi::graph::refuse(kName, portunus::mpi::graph::kNotNotified);
  return create(kName, *window, n);
}
MPIX_WEAK_NAME(Win_create_notify)

extern "C" int PMPIX_Win_free_notify(MPI_Win win) try {
  static constexpr char kName[] = "MPIX_Win_free_notify";
  Window* window;
  if (int error = check_notified(kName, win, MPI_PROC_NULL, 0, window)) return error;
  if (int error = flush(kName, *window)) return error;
  if (int error = PMPI_Barrier(handle_of(window->comm))) return error;  // no rank accesses them any more
  window->notifications.reset();
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Win_free_notify)

#define NOTIFIED_ACCESS(name, puts, address, count)                                                                               \
  extern "C" int PMPIX_##name(address origin_addr, count origin_count, MPI_Datatype origin_datatype, int target_rank,             \
                              MPI_Aint target_disp, count target_count, MPI_Datatype target_datatype, MPI_Win win, int idx) try { \
    return access_notified<puts>("MPIX_" #name, {origin_addr, origin_count, origin_datatype}, target_rank, target_disp,           \
                                 {nullptr, target_count, target_datatype}, win, idx);                                             \
  }                                                                                                                               \
  MPIX_WEAK_NAME(name)

NOTIFIED_ACCESS(Put_notify, true, const void*, int)
NOTIFIED_ACCESS(Put_notify_c, true, const void*, MPI_Count)
NOTIFIED_ACCESS(Get_notify, false, void*, int)
NOTIFIED_ACCESS(Get_notify_c, false, void*, MPI_Count)

extern "C" int PMPIX_Win_get_notify(MPI_Win win, int idx, MPI_Count* value) try {
  static constexpr char kName[] = "MPIX_Win_get_notify";
  Window* window;
  if (int error = check_own(kName, win, idx, window)) return error;
  if (value == nullptr) return raise(kName, *window, MPI_ERR_ARG, "the address for the value is null");
  PtlxProgress();
  *value = Count(*window->notifications, idx).value();
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Win_get_notify)

extern "C" int PMPIX_Win_set_notify(MPI_Win win, int idx, MPI_Count value) try {
  Window* window;
  if (int error = check_own("MPIX_Win_set_notify", win, idx, window)) return error;
  Count(*window->notifications, idx).set(value);
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Win_set_notify)

extern "C" int PMPIX_Win_wait_notify(MPI_Win win, int idx, MPI_Count value) try {
  static constexpr char kName[] = "MPIX_Win_wait_notify";
  Window* window;
  if (int error = check_own(kName, win, idx, window)) return error;
  return wait_until_value(kName, *window, idx, value);
}
MPIX_WEAK_NAME(Win_wait_notify)

extern "C" int PMPIX_Win_test_notify(MPI_Win win, int idx, MPI_Count value, int* flag) try {
  static constexpr char kName[] = "MPIX_Win_test_notify";
  Window* window;
  if (int error = check_own(kName, win, idx, window)) return error;
  if (flag == nullptr) return raise(kName, *window, MPI_ERR_ARG, "the address for the flag is null");
  const Count count(*window->notifications, idx);
  *flag = device::poll_until([&] { return count.value() >= value; });
  return MPI_SUCCESS;
}
MPIX_WEAK_NAME(Win_test_notify)
