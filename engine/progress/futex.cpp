// futex.cpp: the system calls behind futex.hpp. The bitset tells sleepers apart who sleep on the same word.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "engine/progress/futex.hpp"

namespace portunus {

void futex_wait(uint32_t* word, uint32_t value, Sleeper who, int64_t timeout_ns) {
  timespec deadline{};
  timespec* limit = nullptr;
  if (timeout_ns >= 0) {  // FUTEX_WAIT_BITSET takes an absolute time
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    int64_t nanoseconds = deadline.tv_nsec + timeout_ns % 1'000'000'000;
    deadline.tv_sec += timeout_ns / 1'000'000'000 + nanoseconds / 1'000'000'000;
    deadline.tv_nsec = nanoseconds % 1'000'000'000;
    limit = &deadline;
  }
  // Not FUTEX_PRIVATE: ringers are other processes.
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, limit, nullptr, static_cast<uint32_t>(who));
}

void futex_wake(uint32_t* word, Sleeper who) {
  syscall(SYS_futex, word, FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr, static_cast<uint32_t>(who));
}

}  // namespace portunus
