// local_operations.cpp: vectors in segments, delays in a heap.
#include "engine/core/triggered/local_operations.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <climits>
#include <cstring>

#include "engine/host/clock.hpp"

namespace portunus {
namespace {

constexpr uint64_t kSegment = 64 * 1024;  // bytes that one vector may write before it is another one's turn
constexpr uint64_t kLeast = 1024;         // a budget below this is not worth a turn

// E4: one more in the word, visible after the data it stands for; then whoever sleeps on it is woken.
void notify(const Command& command) {
  const auto& notice = command.extra.notice;
  std::atomic_ref<uint64_t>(*notice.word).fetch_add(1, std::memory_order_release);
  if (notice.flags & PTLX_NOTIFY_FUTEX) syscall(SYS_futex, notice.word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  if (notice.descriptor >= 0) {
    const uint64_t one = 1;
    if (write(notice.descriptor, &one, sizeof one) < 0) return;  // it is full, so the reader wakes anyway; or the user closed it
  }
}

constexpr auto kLater = [](const auto& a, const auto& b) { return a.due_ns > b.due_ns; };

}  // namespace

void LocalOperations::run(const Command& command) {
  const auto op = static_cast<ptlx_local_op_t>(command.op);
  if (op == PTLX_DELAY) {
    new_delays_.push_back({command.length, command.handle});
    core_.maybe_busy = true;
    return;
  }
  if (op == PTLX_TIMESTAMP) {
    const uint64_t now = now_ns();
    std::memcpy(command.source.base, &now, sizeof now);
    reports_.count(command.handle, 1, 0);
    return;
  }
  if (command.op == kNotify) {
    notify(command);
    core_.posted = true;  // the trigger may have been parked since what it counts was posted
    return;
  }
  if (command.op == kAwait) return awaited_.begin(command);
  if (command.op == kCall) {
    const bool well = command.extra.call.work(command.extra.call.argument) == 0;
    return reports_.count(command.handle, well ? 1 : 0, well ? 0 : 1);
  }
  LocalWork work(command);
  if (run_segment(work)) return;
  works_.push_back(work);
  core_.maybe_busy = true;
}

// True if the work has ended and was reported.
bool LocalOperations::run_segment(LocalWork& work) {
  uint64_t segment = std::min(kSegment, budget_);
  const uint64_t given = segment;
  const LocalWork::Outcome outcome = work.run(segment);
  assert(segment <= given && given <= budget_);
  budget_ -= given - segment;
  if (outcome == LocalWork::Outcome::more) return false;
  const bool done = outcome == LocalWork::Outcome::done;
  reports_.count(work.completion(), done ? 1 : 0, done ? 0 : 1);
  return true;
}

int LocalOperations::advance() {
  int done = 0;
  for (; !works_.empty() && budget_ >= kLeast; ++done) {
    LocalWork work = works_.front();
    works_.pop_front();
    if (!run_segment(work)) works_.push_back(work);
  }
  return done;
}

// A step's clock may be read before the step, or long before a command from outside: only the next one is surely not
// older than the moment at which a delay fired, so no delay is shorter than asked for.
void LocalOperations::begin_delays(uint64_t now_ns) {
  for (const Delay& fresh : new_delays_) {
    delays_.push_back({now_ns + fresh.due_ns, fresh.ct});
    std::push_heap(delays_.begin(), delays_.end(), kLater);
  }
  new_delays_.clear();
}

int LocalOperations::run_delays(uint64_t now_ns) {
  int done = 0;
  while (!delays_.empty() && delays_.front().due_ns <= now_ns) {
    const uint32_t ct = delays_.front().ct;
    std::pop_heap(delays_.begin(), delays_.end(), kLater);
    delays_.pop_back();
    reports_.count(ct, 1, 0);
    ++done;
  }
  return done;
}

bool LocalOperations::will_count(uint32_t ct) const {
  return std::any_of(works_.begin(), works_.end(), [ct](const LocalWork& work) { return work.completion() == ct; });
}

void LocalOperations::close(uint32_t ni) {
  std::erase_if(works_, [ni](const LocalWork& work) { return work.ni() == ni; });
}

}  // namespace portunus
