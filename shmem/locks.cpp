// locks.cpp: locks in the order of request, after Mellor-Crummey and Scott.
//
// A lock is a symmetric long. On one PE, its home, the upper half says who is last in the queue, PE + 1. On each PE the lower half
// is its place in the queue:
//
//        63           32   31      30        29     0
//        | last (home) | waits | in queue | next + 1 |
//
// A PE exchanges itself for the last one; if there was one, it names itself there as the next, and waits on its own memory until
// that one, when it leaves, takes the bit `waits` away. Threads of a PE queue for its place before.
//
// Thread: any.
// Source: OpenSHMEM 1.6, chapter "Distributed Locking Routines"; J. Mellor-Crummey, M. Scott, Algorithms for scalable
// synchronization on shared-memory multiprocessors, 1991.
#include <atomic>

#include "shmem/define.hpp"
#include "shmem/graph/capture.hpp"
#include "shmem/sync.hpp"
#include "shmem/typed/typed_atomics.hpp"
#include "shmem/typed/typed_wait.hpp"

namespace {

using namespace portunus::shmem;

constexpr uint32_t kWaits = uint32_t{1} << 31, kInQueue = uint32_t{1} << 30, kNext = kInQueue - 1;

class Lock {
 public:
  Lock(const char* function, long* lock) : function_(function) {
    require_init(function);
    at_ = ops::locate_word(function, lock, runtime.my_pe);
    static_assert(sizeof *lock == 2 * sizeof(uint32_t) && std::endian::native == std::endian::little);
    place_ = reinterpret_cast<uint32_t*>(lock);
    last_ = place_ + 1;
    home_ = static_cast<int>(at_.offset / sizeof *lock % static_cast<size_t>(runtime.n_pes));
  }

  void set() {
    wait(function_, watched(), [&] { return enter(); });
    const uint32_t before = ops::atomic_swap(function_, SHMEM_CTX_DEFAULT, last_, me(), home_);
    if (before == 0) {
      mine().fetch_and(~kWaits, std::memory_order_relaxed);
      return;
    }
    ops::atomic_or(function_, SHMEM_CTX_DEFAULT, place_, me(), static_cast<int>(before - 1));
    // Acquire pairs with the atomic of the PE before: what it did under the lock is seen.
    wait(function_, watched(), [&] { return !(mine().load(std::memory_order_acquire) & kWaits); });
  }

  // False: somebody has it.
  bool test() {
    if (!enter()) return false;
    if (ops::atomic_compare_swap(function_, SHMEM_CTX_DEFAULT, last_, uint32_t{0}, me(), home_) == 0) {
      mine().fetch_and(~kWaits, std::memory_order_relaxed);
      return true;
    }
    leave();
    return false;
  }

  void clear() {
    if ((mine().load(std::memory_order_relaxed) & (kInQueue | kWaits)) != kInQueue)
      misuse("%s: PE %d does not have the lock at %p", function_, runtime.my_pe, static_cast<void*>(place_));
    quiet(default_channel);
    if (next() == 0) {
      if (ops::atomic_compare_swap(function_, SHMEM_CTX_DEFAULT, last_, me(), uint32_t{0}, home_) == me()) {
        leave();
        return;
      }
      wait(function_, watched(), [&] { return next() != 0; });  // somebody has come, and is about to say who
    }
    const int heir = static_cast<int>(next() - 1);
    leave();
    ops::atomic_and(function_, SHMEM_CTX_DEFAULT, place_, ~kWaits, heir);
  }

 private:
  std::atomic_ref<uint32_t> mine() const { return std::atomic_ref<uint32_t>(*place_); }
  uint32_t me() const { return static_cast<uint32_t>(runtime.my_pe) + 1; }
  uint32_t next() const { return mine().load(std::memory_order_acquire) & kNext; }
  // Takes this PE's place; false if another thread has it. Acquire pairs with its release.
  bool enter() {
    uint32_t nobody = 0;
    return mine().compare_exchange_strong(nobody, kInQueue | kWaits, std::memory_order_acquire, std::memory_order_relaxed);
  }

  // Gives this PE's place to the next of its threads.
  void leave() {
    mine().store(0, std::memory_order_release);
    stored(runtime.peers[runtime.my_pe], at_, sizeof(long));
  }
  uint32_t watched() const { return watch_bits(at_, sizeof(long)); }

  const char* function_;
  Place at_;
  uint32_t* place_;
  uint32_t* last_;
  int home_;
};

}  // namespace

SHMEMI_DEFINE(void, set_lock, (long* lock)) try {
  if (!graph::is_refused("shmem_set_lock")) Lock("shmem_set_lock", lock).set();
}
SHMEMI_BARRIER

SHMEMI_DEFINE(int, test_lock, (long* lock)) try {
  return graph::is_refused("shmem_test_lock") || !Lock("shmem_test_lock", lock).test() ? 1 : 0;
}
SHMEMI_BARRIER

SHMEMI_DEFINE(void, clear_lock, (long* lock)) try {
  if (!graph::is_refused("shmem_clear_lock")) Lock("shmem_clear_lock", lock).clear();
}
SHMEMI_BARRIER
