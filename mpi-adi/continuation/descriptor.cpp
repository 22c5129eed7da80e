// descriptor.cpp: the thread that makes a descriptor readable.
#include "mpi-adi/continuation/descriptor.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <system_error>

#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/long_waits.hpp"

namespace portunus::mpi::continuation {
namespace {

thread_local bool watches = false;

// Blocks all signals while one lives: a thread that is started meanwhile leaves them to those of the program.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

bool events_wait() {
  int holds = 0;
  return PtlxEQHolds(device::device.eq, &holds) != PTL_OK || holds != 0;
}

}  // namespace

bool is_watcher() { return watches; }

int Alarm::open(const std::function<bool()>& is_due, const std::function<bool()>& is_of_use) {
  if (descriptor_ >= 0) return descriptor_;
  descriptor_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor_ < 0) return -1;
  if (pokes_.open(device::device.ni) != PTL_OK) {
    close();
    return -1;
  }
  pool.serve_threads();  // its thread may be the one that finds what others have started to have ended
  try {
    const SignalsBlocked blocked;
    device::long_waits::add_own_threads(1);
    watchers.fetch_add(1, std::memory_order_relaxed);
    thread_ = std::thread([this, is_due, is_of_use] { watch([&] { return is_due() || (is_of_use() && events_wait()); }); });
  } catch (const std::system_error&) {
    watchers.fetch_sub(1, std::memory_order_relaxed);
    device::long_waits::add_own_threads(-1);
    close();
  }
  return descriptor_;
}

void Alarm::watch(const std::function<bool()>& is_due) {
  watches = true;
  auto done = [&] { return state_.load(std::memory_order_acquire) == stopped || is_due(); };
  const auto look = [](void* arg) -> int { return (*static_cast<decltype(done)*>(arg))(); };
  while (state_.load(std::memory_order_acquire) != stopped) {
    if (PtlxWait(look, &done, 0, PTL_TIME_FOREVER) != PTL_OK)
      return;  // a wait that ends now and then looks for long before it sleeps again
    State expected = waiting;
    if (!is_due() || !state_.compare_exchange_strong(expected, told, std::memory_order_relaxed)) continue;  // the program was faster
    const uint64_t one = 1;
    if (write(descriptor_, &one, sizeof one) != sizeof one) return;
    state_.wait(told, std::memory_order_acquire);
  }
}

void Alarm::reset() {
  if (descriptor_ < 0 || state_.load(std::memory_order_relaxed) != told) return;
  uint64_t count;
  if (read(descriptor_, &count, sizeof count) < 0) return;  // it is about to be readable, and the next call makes it not so
  State expected = told;
  if (state_.compare_exchange_strong(expected, waiting, std::memory_order_release, std::memory_order_relaxed)) state_.notify_all();
}

void Alarm::poke() const {
  if (pokes_.is_open()) PtlCTInc(pokes_, {1, 0});
}

void Alarm::end_thread() {
  if (!thread_.joinable()) return;
  state_.store(stopped, std::memory_order_release);
  state_.notify_all();
  poke();
  thread_.join();
  watchers.fetch_sub(1, std::memory_order_relaxed);
  device::long_waits::add_own_threads(-1);
}

void Alarm::close() {
  end_thread();
  pokes_.close();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace portunus::mpi::continuation
