// Counting events: ns to add and to read, alone and while a reader on another core looks at the same cache line.
#include <benchmark/benchmark.h>

#include <atomic>
#include <thread>

#include "engine/shared/counter.hpp"
#include "engine/shared/slots.hpp"
#include "tests/support/rig.hpp"

namespace {

using namespace portunus;

void Add(benchmark::State& state) {
  Counter counter{};
  for (auto _ : state) {
    counter.add(1, 0);
    benchmark::ClobberMemory();
  }
}

void Read(benchmark::State& state) {
  Counter counter{};
  for (auto _ : state) benchmark::DoNotOptimize(counter.read());
}

// As PtlCTGet does it: by handle.
void FindAndRead(benchmark::State& state) {
  Pool<Counter> pool(HandleKind::counter, 1024);
  const uint32_t handle = pool.publish(pool.claim());
  for (auto _ : state) benchmark::DoNotOptimize(pool.find(handle)->read());
}

// As PtlCTInc arrives at the engine: a command is executed, the counter found, nothing is parked on it.
void AddByCommand(benchmark::State& state) {
  test::Rig rig(1);
  const uint32_t ct = rig[0].counter();
  for (auto _ : state) rig[0].add(ct, 1);
}

// The engine adds while an application polls: what each add pays for the cache line that was read away.
void AddWhileRead(benchmark::State& state) {
  Counter counter{};
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) benchmark::DoNotOptimize(counter.read());
  });
  for (auto _ : state) {
    counter.add(1, 0);
    benchmark::ClobberMemory();
  }
  stop = true;
  reader.join();
}

BENCHMARK(Add);
BENCHMARK(Read);
BENCHMARK(FindAndRead);
BENCHMARK(AddByCommand);
BENCHMARK(AddWhileRead)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
