// events.cpp: the turn, sleeping, and handing out events.
#include "mpi-adi/ipc/events.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace portunus::peace {
namespace {

constexpr int64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;
// From so far on a limit is measured by the kernel's ticks, and may end a tick later: to ask for the time in earnest costs a tenth of a
// rendezvous.
constexpr int64_t kFar = kSecond;

std::atomic<bool> taken{false};     // the turn
std::atomic<unsigned> sleepers{0};  // how many are in `asleep`
std::atomic<int> pending{0};        // what was counted and not dismissed; a request may be dismissed by another thread, for which it counts
std::atomic<int> keepers{0};        // threads that may have one that is not
Mutex mutex;                        // guards the two below
std::vector<Lwp*>& asleep() {
  static auto& all = *new std::vector<Lwp*>;
  return all;
}
std::vector<Lwp*>& spare() {
  static auto& all = *new std::vector<Lwp*>;
  return all;
}

// The state that a thread has of its own for the way that every message takes.
struct Mine {
  const Request* awaited = nullptr;  // it has the turn, and waits for this request
  // It may have one request under way that is not counted; which of its requests that is does not matter.
  enum class Admission : uint8_t { unasked, free, used, never } admission = Admission::unasked;
};
#if defined(__GNUC__)
__attribute__((tls_model("initial-exec")))
#endif
thread_local constinit Mine mine{};

struct LwpOfThread {
  Lwp* lwp;
  LwpOfThread() {
    const std::lock_guard lock(mutex);
    if (spare().empty()) {
      lwp = new Lwp;
    } else {
      lwp = spare().back();
      spare().pop_back();
    }
  }
  ~LwpOfThread() {
    const std::lock_guard lock(mutex);
    spare().push_back(lwp);
  }
};

// One in each thread that has had a request.
struct Keeper {
  Keeper() {
    mine.admission = keepers.fetch_add(1, std::memory_order_relaxed) < kMostKeepers ? Mine::Admission::free : Mine::Admission::never;
  }
  Keeper(const Keeper&) = delete;
  ~Keeper() {
    const bool used = std::exchange(mine.admission, Mine::Admission::never) == Mine::Admission::used;
    // Another thread will dismiss it, and counts it off: it is counted now, or keeps this thread's place where there is no room for it.
    if (!used || admit_counted(1)) keepers.fetch_sub(1, std::memory_order_relaxed);
  }
};
[[gnu::noinline]] void become_keeper() { thread_local const Keeper keeper; }

bool debugging() {
  static const bool yes = PtlxDebug("waits") != 0;
  return yes;
}

// Not later than now(), and by less than a tick earlier.
int64_t coarse_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}
int64_t tick() {
  static const int64_t length = [] {
    timespec time;
    clock_getres(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec * kSecond + time.tv_nsec;
  }();
  return length;
}

void complain(const Request& request) {
  std::fprintf(stderr, "peace: process %llx has waited 1 s: it %s port %u of process %llx\n",
               static_cast<unsigned long long>(number_of(interface.self)), request.doing, request.port,
               static_cast<unsigned long long>(request.with));
}

bool take_turn() { return !taken.load(std::memory_order_relaxed) && !taken.exchange(true, std::memory_order_acq_rel); }

// The turn is free: one of those who sleep takes it.
void offer_turn() {
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard lock(mutex);
  if (!asleep().empty()) asleep().front()->ring();
}

void give_turn() {
  taken.store(false, std::memory_order_seq_cst);  // before the load: who counts itself after it finds the turn free
  offer_turn();
}

// Takes and hands out events, waiting for one until the deadline: not at all below a millisecond. Called with the turn.
bool take_events(int64_t deadline) {
  constexpr unsigned kMost = 16;
  ptl_event_t events[kMost];
  unsigned got = 0;
  ptl_time_t timeout = PTL_TIME_FOREVER;
  if (deadline != kNever) {
    int64_t left = deadline - coarse_now();
    if (left < kFar) left = deadline - now();
    timeout = static_cast<ptl_time_t>(std::clamp<int64_t>(left / kMillisecond, 0, INT_MAX / 2));
  }
  const int code = PtlxEQTake(interface.eq, timeout, events, kMost, &got, &interface.recorded, nullptr, nullptr);
  if (code != PTL_OK && code != PTL_EQ_DROPPED) return false;
  for (unsigned i = 0; i < got; ++i)
    if (auto* listener = static_cast<Listener*>(events[i].user_ptr)) {
      listener->heard(*listener, events[i]);
    } else if (events[i].pt_index == kSignals && events[i].hdr_data != 0) {
      auto& signalled = *reinterpret_cast<Listener*>(events[i].hdr_data);  // this process alone can send here
      signalled.heard(signalled, events[i]);
    }
  return true;
}

// Others have the turn, and whoever answers may be another thread that runs. True: the request is over, or the turn free.
bool spin_for(const Request& request) {
  static const bool alone = [] {
    cpu_set_t all;
    return sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) == 1;
  }();
  constexpr int kSpins = 2'000, kYields = 20;
  for (int i = alone ? kSpins : 0; i < kSpins + kYields; ++i) {
    if (request.over() || !taken.load(std::memory_order_relaxed)) return true;
    if (i >= kSpins) sched_yield();
#if defined(__x86_64__) || defined(__i386__)
    else __builtin_ia32_pause();
#endif
  }
  return false;
}

// Others have the turn. True: the request is over; false: try again.
bool sleep_for(Request& request, int64_t deadline) {
  Lwp& me = this_lwp();
  const uint32_t heard = me.bell.load(std::memory_order_acquire);  // pairs with ring
  uintptr_t expected = Request::kActive;
  if (!request.state.compare_exchange_strong(expected, reinterpret_cast<uintptr_t>(&me), std::memory_order_acq_rel)) return true;
  {
    const std::lock_guard lock(mutex);
    asleep().push_back(&me);
    sleepers.fetch_add(1, std::memory_order_seq_cst);
  }
  if (taken.load(std::memory_order_seq_cst)) me.sleep(heard, deadline);
  {
    const std::lock_guard lock(mutex);
    asleep().erase(std::find(asleep().begin(), asleep().end(), &me));
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
  expected = reinterpret_cast<uintptr_t>(&me);
  if (request.state.compare_exchange_strong(expected, Request::kActive, std::memory_order_acq_rel)) return false;
  // The ring may have been for the turn, which this thread does not need any more.
  if (!taken.load(std::memory_order_seq_cst)) offer_turn();
  return true;
}

}  // namespace

Lwp& this_lwp() {
  thread_local LwpOfThread mine;
  return *mine.lwp;
}

void Lwp::ring() {
  bell.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Lwp::sleep(uint32_t heard, int64_t deadline) {
  timespec until{};
  if (deadline != kNever) until = {deadline / kSecond, deadline % kSecond};
  syscall(SYS_futex, &bell, FUTEX_WAIT_BITSET_PRIVATE, heard, deadline == kNever ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

int64_t deadline_of(int64_t limit) {
  if (limit < 0) return kNever;
  const int64_t begin = limit < kFar ? now() : coarse_now() + tick();
  return limit > INT64_MAX - begin ? kNever : begin + limit;
}

void complete(Request& request, int result) {
  request.result.store(result, std::memory_order_relaxed);
  if (&request == mine.awaited) {  // who would sleep for it is this very thread
    request.state.store(Request::kOver, std::memory_order_release);
    return;
  }
  const uintptr_t before = request.state.exchange(Request::kOver, std::memory_order_acq_rel);
  if (before > Request::kOver) reinterpret_cast<Lwp*>(before)->ring();
}

void complete_from_outside(Request& request, int result) {
  complete(request, result);
  poke();
}

void poke() { PtlPut(interface.md_copied, 0, 0, PTL_NO_ACK_REQ, interface.self, kSignals, 0, 0, nullptr, 0); }

namespace {

// With the turn.
void hand_out_until_over(Request& request, int64_t until) {
  mine.awaited = &request;
  for (;;) {
    if (request.look != nullptr) request.look(request);
    if (request.over()) break;
    if (take_events(until) || until == kNever) continue;
    if (now() >= until) break;
    sched_yield();  // less than a millisecond is left
  }
  mine.awaited = nullptr;
}

bool wait_until(Request& request, int64_t deadline, bool in_turn) {
  bool told = !debugging();
  const int64_t begin = told ? 0 : now();
  while (!request.over()) {
    int64_t until = deadline;
    if (!told && (until == kNever || until > begin + kSecond)) until = begin + kSecond;
    if (in_turn) {
      hand_out_until_over(request, until);
    } else if (take_turn()) {
      hand_out_until_over(request, until);
      give_turn();
    } else if (!spin_for(request) && sleep_for(request, until)) {
      return true;
    }
    if (request.over()) return true;
    const int64_t time = until == kNever ? 0 : now();
    if (deadline != kNever && time >= deadline) {
      if (!taken.load(std::memory_order_seq_cst)) offer_turn();  // as in sleep_for
      return request.over();
    }
    if (!told && time >= begin + kSecond) {
      complain(request);
      told = true;
    }
  }
  return true;
}

}  // namespace

bool wait(Request& request, int64_t deadline) { return wait_until(request, deadline, false); }

bool EventPump::take() { return take_turn(); }
bool EventPump::wait(Request& request, int64_t deadline) { return wait_until(request, deadline, true); }
void EventPump::give_back() {
  if (std::exchange(taken_, false)) give_turn();
}

void poll() {
  if (!take_turn()) return;
  while (take_events(0)) {
  }
  give_turn();
}

void poll_for(const Request& request) {
  if (request.over() || !take_turn()) return;
  while (!request.over() && take_events(0)) {
  }
  give_turn();
}

bool admit() {
  if (mine.admission == Mine::Admission::unasked) [[unlikely]]
    become_keeper();
  if (mine.admission != Mine::Admission::free) return admit_counted(1);
  mine.admission = Mine::Admission::used;
  return true;
}

void dismiss() {
  if (mine.admission == Mine::Admission::used) mine.admission = Mine::Admission::free;
  else dismiss_counted(1);
}

bool admit_counted(int count) {
  if (pending.fetch_add(count, std::memory_order_relaxed) + count <= kMostPending) return true;
  dismiss_counted(count);
  return false;
}

void dismiss_counted(int count) { pending.fetch_sub(count, std::memory_order_relaxed); }

}  // namespace portunus::peace
