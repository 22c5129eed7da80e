// lock.cpp: see lock.hpp.
//
// The order of both sides lets no sleeper be missed. Before it sleeps, a rank sets its bit, then kAwaited in the lock word; that atomic's
// old value tells whether the lock is still held. The rank that releases it subtracts from the lock word; if kAwaited was in it, it takes
// kAwaited out, then the bits, and wakes all ranks of these bits. A rank that is woken in vain sleeps again.
#include "mpi-adi/rma/lock.hpp"

#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/long_waits.hpp"

namespace portunus::mpi::rma {
namespace {

constexpr int64_t kExclusive = int64_t{1} << 62;
constexpr int64_t kAwaited = int64_t{1} << 60;  // far above the number of ranks that share a lock

int64_t units_of(int type) { return type == MPI_LOCK_EXCLUSIVE ? kExclusive : 1; }

// Tells whether a lock word says that others hold the lock, so that it cannot be taken.
bool is_held(int64_t word, int type) { return type == MPI_LOCK_EXCLUSIVE ? (word & ~kAwaited) != 0 : (word & kExclusive) != 0; }

int change_lock(const char* function, Window& window, int rank, ptl_op_t op, int64_t value, int64_t& old) {
  return change_control(function, window, rank, &Control::lock, op, value, old);
}

int wake(const char* function, Window& window, const Member& member) {
  const client::By by{window.operations.own().memory, PTL_NO_ACK_REQ};
  const client::RemoteAddress there{device::process(member.job_rank), kWindowPortal, match_bits(window.number, Place::released), 0};
  const int code = client::put(by, there, nullptr, 0);
  return code == PTL_OK ? MPI_SUCCESS : raise(function, window, MPI_ERR_OTHER, "the network failed (error %d)", code);
}

constexpr size_t kBits = 64;
uint64_t bit_of(size_t rank) { return uint64_t{1} << rank % kBits; }

// Wakes those that sleep until the lock of `rank` is released, and those whose bits are the same.
int wake_all(const char* function, Window& window, int rank) {
  int64_t old;
  if (int error = change_lock(function, window, rank, PTL_BAND, ~kAwaited, old)) return error;
  if (int error = change_control(function, window, rank, &Control::sleepers, PTL_SWAP, 0, old)) return error;
  int result = MPI_SUCCESS;
  for (size_t i = 0; i < window.members.size(); ++i)
    if (static_cast<uint64_t>(old) & bit_of(i))
      if (int error = wake(function, window, window.members[i])) result = error;
  return result;
}

int subtract(const char* function, Window& window, int rank, int type) {
  int64_t old;
  if (int error = change_lock(function, window, rank, PTL_SUM, -units_of(type), old)) return error;
  return old & kAwaited ? wake_all(function, window, rank) : MPI_SUCCESS;
}

int try_lock(const char* function, Window& window, int rank, int type, bool& taken) {
  const bool exclusive = type == MPI_LOCK_EXCLUSIVE;
  int64_t old;
  if (int error = change_lock(function, window, rank, exclusive ? PTL_CSWAP : PTL_SUM, units_of(type), old)) return error;
  taken = exclusive ? old == 0 : !is_held(old, type);
  return taken || exclusive ? MPI_SUCCESS : subtract(function, window, rank, type);
}

// Tells each second that a lock is waited for.
class LockWait {
 public:
  LockWait(const Window& window, int rank) : window_(window), rank_(rank) {}

  // `looked`: when the lock was found taken.
  void go_on(uint64_t looked) {
    constexpr uint64_t kSecond = 1'000'000'000;
    if (told_ == 0) told_ = looked;
    if (looked - told_ >= kSecond) tell(looked);
  }
  // Any member may hold it.
  void tell(uint64_t looked) {
    device::long_waits::Wait wait;
    wait.what = "a lock on rank " + std::to_string(rank_) + " in " + (window_.name[0] != '\0' ? window_.name : "a window without name");
    wait.may_end_by(*window_.comm);
    device::long_waits::tell(wait, again_, looked);
    told_ = looked;
    again_ = true;
  }

 private:
  const Window& window_;
  int rank_;
  uint64_t told_ = 0;
  bool again_ = false;
};

// Sleeps until the lock may have been released, or its rank has died.
int sleep_until_released(const char* function, Window& window, int rank, int type, LockWait& wait) {
  const ptl_size_t woken = window.released.peek().success;
  int64_t old;
  const auto bit = static_cast<int64_t>(bit_of(static_cast<size_t>(window.comm->rank)));
  if (int error = change_control(function, window, rank, &Control::sleepers, PTL_BOR, bit, old)) return error;
  if (int error = change_lock(function, window, rank, PTL_BOR, kAwaited, old)) return error;
  if (!is_held(old, type)) return wake_all(function, window, rank);
  const device::PendingSteps events;  // deaths among them
  ptl_ct_event_t count;
  int code;
  while ((code = device::wait_for_count(window.released, woken + 1, device::kLongAsleep, count)) == PTL_CT_NONE_REACHED) {
    if (!device::reachable(window.members[static_cast<size_t>(rank)].job_rank)) return MPI_SUCCESS;
    wait.tell(device::long_waits::now());
  }
  return code == PTL_OK ? MPI_SUCCESS : raise(function, window, MPI_ERR_OTHER, "the network failed (error %d)", code);
}

}  // namespace

int take_lock(const char* function, Window& window, int rank, int type) {
  const bool maps = window.members[static_cast<size_t>(rank)].control != nullptr;
  LockWait wait(window, rank);
  for (uint64_t looked = 0;;) {
    bool taken;
    if (int error = try_lock(function, window, rank, type, taken)) return error;
    if (taken) return MPI_SUCCESS;
    if (!maps) {
      if (int error = sleep_until_released(function, window, rank, type, wait)) return error;
      continue;
    }
    if (looked != 0) wait.go_on(looked);
    looked = device::long_waits::now();  // before the next look: who releases it later is not taken to have waited before
    client::step();
  }
}

int release_lock(const char* function, Window& window, int rank) {
  int& held = window.locked[static_cast<size_t>(rank)];
  const int type = held;
  held = 0;
  return type < 0 ? MPI_SUCCESS : subtract(function, window, rank, type);
}

}  // namespace portunus::mpi::rma
