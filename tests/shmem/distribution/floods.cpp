// floods.cpp: a plan that its source runs again and again ahead of a target that computes: what its messages occupy at both has a bound
// that does not depend on how many runs there are, and each run brings its own data.
//
// PE 1 makes no call until PE 0 has begun no run for many looks: it waits inside one. Exit status 0 when all is well.
// Source: ccc.h, ccc_plan_run.
#include <ccc.h>
#include <sched.h>
#include <shmem.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/support/flood.hpp"
#include "tests/support/thorough.hpp"

namespace {

constexpr int kSource = 0, kTarget = 1;
constexpr int64_t kElements = 1000;
// Held messages, and rings, buffers and stacks. Not looked at where AddressSanitizer adds its own.
constexpr long long kBound = (64 + 20) << 20;
constexpr uint64_t kRuns = 20'000;  // 153 MiB

[[noreturn]] void wrong(const char* what) {
  fprintf(stderr, "PE %d: %s: %s\n", shmem_my_pe(), what, ccc_explain());
  _exit(1);
}

volatile sig_atomic_t goes_on = 0;
std::atomic<uint64_t> begun{0};
std::atomic<long long> most{0};

}  // namespace

int main() {
  portunus::test::use_one_arena();
  struct sigaction go_on {};
  go_on.sa_handler = [](int) { goes_on = 1; };
  sigaction(SIGUSR1, &go_on, nullptr);
  shmem_init();
  const int me = shmem_my_pe();
  ccc_layout from{}, to{};
  from.axes = to.axes = 1;
  to.first_pe = kTarget;
  ccc_plan plan = nullptr;
  if (ccc_block(&from.axis[0], kElements, 1) || ccc_block(&to.axis[0], kElements, 1) || ccc_plan_create(&from, &to, nullptr, 8, &plan))
    wrong("no plan");
  auto* const pid = static_cast<long*>(shmem_malloc(sizeof(long)));
  if (me == kTarget) shmem_long_p(pid, getpid(), kSource);
  std::vector<uint64_t> source(kElements), target(kElements);
  shmem_barrier_all();
  const long long before = portunus::test::resident_bytes();
  std::thread watcher;
  if (me == kSource) watcher = std::thread([&] { portunus::test::let_go_on(static_cast<pid_t>(*pid), begun, most); });
  if (me == kTarget)
    while (!goes_on) sched_yield(), most = std::max<long long>(most, portunus::test::resident_bytes());
  for (uint64_t run = 1; run <= kRuns && me <= kTarget; ++run) {
    begun = run;
    if (me == kSource) std::ranges::fill(source, run);
    if (ccc_plan_run(plan, source.data(), target.data()) != CCC_SUCCESS) wrong("run");
    if (me == kTarget && !std::ranges::all_of(target, [&](uint64_t value) { return value == run; })) wrong("a run brings other data");
  }
  if (watcher.joinable()) watcher.join();
  if (!portunus::test::kSanitized && most - before > kBound) wrong("the memory grows with the runs that are ahead");
  shmem_barrier_all();
  ccc_plan_free(&plan);
  shmem_finalize();
  return 0;
}
