// Triggered operations on hand-stepped engines: arming and running measured apart; per_hop is the time of one of them.
//
// Every hop of a chain is one command parked on one counter and run when that counter rises. CountHop: counter to
// counter within one engine. PutHop: an 8-byte put to the other process of a rig, matched there, whose arrival counts
// and fires the next one back: what one hop of a compiled schedule costs without its transport. Arm: parking alone.
// OneCounter: all commands wait for the same counter, thresholds ascending, released by one add.
#include <benchmark/benchmark.h>

#include <vector>

#include "engine/host/clock.hpp"
#include "tests/support/rig.hpp"

namespace {

using namespace portunus;
using portunus::test::Rig;

Command add_one(uint32_t ct) {
  Command command;
  command.verb = Verb::counter_add;
  command.handle = ct;
  command.extra.count = {1, 0};
  return command;
}

void report_per_hop(benchmark::State& state, int64_t hops) {
  using benchmark::Counter;
  state.counters["per_hop"] = Counter(static_cast<double>(hops), Counter::kIsIterationInvariantRate | Counter::kInvert);
}

// Lets `prepare` run outside of the measured time; what counts is from the first add to the last hop.
template <class Prepare, class Run>
void measure_hops(benchmark::State& state, int64_t hops, Prepare prepare, Run run) {
  uint64_t round = 0;
  for (auto _ : state) {
    prepare(++round);
    const uint64_t begin = now_ns();
    run(round);
    state.SetIterationTime(static_cast<double>(now_ns() - begin) * 1e-9);
  }
  report_per_hop(state, hops);
}

void CountHop(benchmark::State& state) {
  const auto hops = static_cast<size_t>(state.range(0));
  Rig rig(1);
  std::vector<uint32_t> cts(hops + 1);
  for (uint32_t& ct : cts) ct = rig[0].counter();
  measure_hops(
      state, state.range(0),
      [&](uint64_t round) {
        for (size_t i = 0; i < hops; ++i) rig[0].arm(add_one(cts[i + 1]), cts[i], round);
      },
      [&](uint64_t round) {
        rig[0].add(cts[0], 1);
        rig.settle();
        if (rig[0].value(cts[hops]).success != round) state.SkipWithError("the chain stopped");
      });
}

void PutHop(benchmark::State& state) {
  const auto hops = static_cast<uint64_t>(state.range(0));
  Rig rig(2);
  uint32_t arrived[2];
  uint64_t words[2] = {1, 1};
  for (size_t rank : {0, 1}) {
    arrived[rank] = rig[rank].counter();
    rig[rank].portal();
    rig[rank].append({.start = &words[rank],
                      .length = 8,
                      .options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM,
                      .ct = arrived[rank]});
  }
  // Rank 0 puts at 1, 2 .. arrivals (the first one is the start), rank 1 answers each.
  measure_hops(
      state, state.range(0),
      [&](uint64_t round) {
        const uint64_t base = (round - 1) * (hops / 2 + 1);
        const uint64_t answered = (round - 1) * (hops / 2);
        for (uint64_t i = 1; i <= hops / 2; ++i) {
          rig[0].arm(rig[0].put(&words[0], 8, 1), arrived[0], base + i);
          rig[1].arm(rig[1].put(&words[1], 8, 0), arrived[1], answered + i);
        }
      },
      [&](uint64_t round) {
        rig[0].add(arrived[0], 1);
        rig.settle();
        if (rig[0].value(arrived[0]).success != round * (hops / 2 + 1)) state.SkipWithError("the chain stopped");
      });
}

void Arm(benchmark::State& state) {
  Rig rig(1);
  const uint32_t ct = rig[0].counter(), seen = rig[0].counter();
  const int64_t batch = 4096;
  uint64_t threshold = 0;
  for (auto _ : state) {
    const uint64_t begin = now_ns();
    for (int64_t i = 0; i < batch; ++i) rig[0].arm(add_one(seen), ct, ++threshold);
    state.SetIterationTime(static_cast<double>(now_ns() - begin) * 1e-9);
    rig[0].add(ct, static_cast<uint64_t>(batch));
    rig.settle();
  }
  report_per_hop(state, batch);
}

void OneCounter(benchmark::State& state) {
  const auto parked = static_cast<uint64_t>(state.range(0));
  Rig rig(1);
  const uint32_t ct = rig[0].counter(), seen = rig[0].counter();
  measure_hops(
      state, state.range(0),
      [&](uint64_t round) {
        for (uint64_t i = 1; i <= parked; ++i) rig[0].arm(add_one(seen), ct, (round - 1) * parked + i);
      },
      [&](uint64_t round) {
        rig[0].add(ct, parked);
        rig.settle();
        if (rig[0].value(seen).success != round * parked) state.SkipWithError("not all ran");
      });
}

BENCHMARK(CountHop)->Arg(16)->Arg(1024)->Arg(65536)->UseManualTime();
BENCHMARK(PutHop)->Arg(16)->Arg(1024)->UseManualTime();
BENCHMARK(Arm)->UseManualTime();
BENCHMARK(OneCounter)->Arg(16)->Arg(1024)->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
