// machine_limits.cpp: what this machine allows: a cache line that goes between two cores, and copying by memcpy.
//
// A one-way message cannot be faster than one transfer of a cache line; a copied one not faster than memcpy.
// Thread: two, each on a processor of its own; where there is only one processor the first part is left out.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/pairs/report.hpp"
#include "engine/host/clock.hpp"

namespace {

using namespace portunus;
using namespace portunus::bench;

struct alignas(128) Line {
  std::atomic<uint64_t> turn{0};  // even: the measuring thread's; odd: the other's
};

bool bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

constexpr uint64_t kStop = ~uint64_t{0};

// Answers each odd turn by the next even one.
void answer(Line& line, int core) {
  bind_to(core);
  for (uint64_t turn = 1;; turn += 2) {
    for (;;) {
      const uint64_t now = line.turn.load(std::memory_order_acquire);
      if (now == kStop) return;
      if (now == turn) break;
    }
    line.turn.store(turn + 1, std::memory_order_release);
  }
}

// Each sample is the mean of a batch, so that reading the clock does not count.
void cache_line(Report& report, int here, int there) {
  constexpr int kBatch = 50;
  Line line;
  std::thread other(answer, std::ref(line), there);
  bind_to(here);
  std::vector<double> samples;
  report.begin();
  const uint64_t end = now_ns() + static_cast<uint64_t>(report.options().seconds * 1e9);
  uint64_t turn = 0;
  for (uint64_t before = now_ns(); before < end || samples.size() < 20;) {
    for (int i = 0; i < kBatch; ++i) {
      line.turn.store(turn + 1, std::memory_order_release);
      turn += 2;
      while (line.turn.load(std::memory_order_acquire) != turn) {
      }
    }
    const uint64_t now = now_ns();
    samples.push_back(static_cast<double>(now - before) * 1e-3 / (2 * kBatch));
    before = now;
  }
  line.turn.store(kStop, std::memory_order_release);
  other.join();
  report.add({"limit_cache_line", sizeof(uint64_t), "latency", std::move(samples)});
}

void copy(Report& report, size_t bytes) {
  const size_t repeat = bytes < (1 << 20) ? (1 << 20) / bytes : 1;
  std::vector<char> from(bytes, 1), to(bytes, 2);
  std::vector<double> samples;
  double total_ns = 0;
  report.begin();
  const uint64_t end = now_ns() + static_cast<uint64_t>(report.options().seconds * 1e9);
  for (uint64_t before = now_ns(); before < end || samples.size() < 20;) {
    for (size_t i = 0; i < repeat; ++i) {
      std::memcpy(to.data(), from.data(), bytes);
      asm volatile("" ::"r"(to.data()) : "memory");  // the copy is made each time
    }
    const uint64_t now = now_ns();
    const auto took = static_cast<double>(now - before);
    total_ns += took;
    samples.push_back(static_cast<double>(bytes * repeat) / took);
    before = now;
  }
  const double moved = static_cast<double>(bytes * repeat) * static_cast<double>(samples.size());
  report.add({"limit_memcpy", bytes, "bandwidth", std::move(samples), moved / total_ns});
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv, "What this machine allows: a cache line between two cores, and copying by memcpy.");
  Report report(options, true, "none");
  const std::vector<int> cores = allowed_cores();  // before this thread binds itself
  for (const size_t bytes : {size_t{8192}, size_t{1} << 20, size_t{64} << 20}) copy(report, bytes);
  if (cores.size() >= 2) cache_line(report, cores[0], cores[1]);
  else std::fprintf(stderr, "machine_limits: only one processor may be used, so the cache line between two is left out\n");
  return report.write() ? 0 : 1;
}
