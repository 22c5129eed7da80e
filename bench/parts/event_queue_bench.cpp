// The event queue: ns to post and take a full event, to look at an empty queue, and to hand over between two cores.
#include <benchmark/benchmark.h>

#include <atomic>
#include <thread>

#include "engine/shared/event_queue.hpp"

namespace {

using namespace portunus;

struct Queue : EventQueue {
  explicit Queue(uint64_t count) : EventQueue() { open(count); }
  ~Queue() { close(); }
};

void PostTake(benchmark::State& state) {
  Queue queue(1024);
  ptl_event_t event{};
  event.type = PTL_EVENT_PUT;
  for (auto _ : state) {
    queue.post(event);
    benchmark::DoNotOptimize(queue.take(event));
  }
  state.SetItemsProcessed(state.iterations());
}

// The queue's memory is walked through: what the caches make of a large one.
void Burst(benchmark::State& state) {
  const int64_t burst = state.range(0);
  Queue queue(static_cast<uint64_t>(burst));
  ptl_event_t event{};
  for (auto _ : state) {
    for (int64_t i = 0; i < burst; ++i) queue.post(event);
    while (queue.take(event) == PTL_OK) benchmark::DoNotOptimize(event);
  }
  state.SetItemsProcessed(state.iterations() * burst);
}

// The price that a polling application pays as long as nothing happens.
void TakeFromEmpty(benchmark::State& state) {
  Queue queue(1024);
  ptl_event_t event;
  for (auto _ : state) benchmark::DoNotOptimize(queue.take(event));
}

// A writer that never waits for room beyond the count, a reader on another core; ns per event taken.
void HandOver(benchmark::State& state) {
  Queue queue(1024);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    ptl_event_t event{};
    while (!stop.load(std::memory_order_relaxed)) {
      if (queue.room() > 0) queue.post(event);
      else std::this_thread::yield();
    }
  });
  ptl_event_t event;
  for (auto _ : state) {
    while (queue.take(event) == PTL_EQ_EMPTY) std::this_thread::yield();
  }
  stop = true;
  writer.join();
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(PostTake);
BENCHMARK(Burst)->Arg(16)->Arg(1024)->Arg(65536);
BENCHMARK(TakeFromEmpty);
BENCHMARK(HandOver)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
