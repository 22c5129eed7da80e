// flood.hpp: what programs share that flood a process which makes no call: how much memory they use, and when that one goes on.
#pragma once

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>

namespace portunus::test {

// Memory that one thread took and another gave back stays with the first one's arena, where the other takes no more: what messages occupy
// is then counted twice. First in main().
inline void use_one_arena() { mallopt(M_ARENA_MAX, 1); }

inline long long resident_bytes() {
  long long total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Returns when `begun` is not 0 and has not grown for many looks, as where the one who counts waits inside a call or has ended, and lets
// `process` go on by SIGUSR1. `most`: the largest resident_bytes() meanwhile.
inline void let_go_on(pid_t process, const std::atomic<uint64_t>& begun, std::atomic<long long>& most) {
  constexpr int kLooks = 2'000;
  for (;;) {
    const uint64_t before = begun;
    int looks = 0;
    while (looks < kLooks && begun == before) ++looks, sched_yield();
    most = std::max<long long>(most, resident_bytes());
    if (looks < kLooks || before == 0) continue;
    kill(process, SIGUSR1);
    return;
  }
}

}  // namespace portunus::test
