// The command queue: ns per command when one thread pushes and pops, and when two hand over to each other.
//
// PushPop: both ends on one thread, nothing contended: the least that an operation pays. Burst: as an application that
// issues many operations before the engine looks. HandOver: one or two producer threads against the consumer, on as many
// cores as there are.
#include <benchmark/benchmark.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine/shared/command_queue.hpp"

namespace {

using namespace portunus;

Command put_command() {
  Command command;
  command.verb = Verb::put;
  command.length = 8;
  return command;
}

void PushPop(benchmark::State& state) {
  CommandQueue queue;
  Command command = put_command();
  for (auto _ : state) {
    queue.push(command);
    queue.pop(command);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

void Burst(benchmark::State& state) {
  CommandQueue queue;
  Command command = put_command();
  const int64_t burst = state.range(0);
  for (auto _ : state) {
    for (int64_t i = 0; i < burst; ++i) queue.push(command);
    while (queue.pop(command)) benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * burst);
}

void HandOver(benchmark::State& state) {
  CommandQueue queue;
  std::atomic<bool> stop{false};
  const auto produce = [&] {
    const Command command = put_command();
    while (!stop.load(std::memory_order_relaxed)) {
      if (!queue.push(command)) std::this_thread::yield();
    }
  };
  std::vector<std::thread> producers;
  for (int64_t i = 0; i < state.range(0); ++i) producers.emplace_back(produce);
  Command command;
  for (auto _ : state) {
    while (!queue.pop(command)) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& producer : producers) producer.join();
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(PushPop);
BENCHMARK(Burst)->Arg(16)->Arg(256);
BENCHMARK(HandOver)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
