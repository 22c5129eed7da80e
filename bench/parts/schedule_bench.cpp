// Compiled schedules on hand-stepped engines. The time is one hop or one start; what it is for, the name says.
//
// ResidentHop: one increment of a counter by an operation that waits on another and then waits again: a hop of a compiled
// schedule within one engine. Start of an 8-rank barrier that is resident, by the thread that calls: HandOver until what
// is to happen is in the engine's ready queue, which is what a thread pays if another one steps; Inline until the
// engine has appended the entries and sent the first message, which it pays if it steps itself; both without reading the clock, least_ns of
// all. Epoch: one barrier of all 8 ranks, without transport: the engines' work, divided by the ranks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/goal/program.hpp"
#include "engine/host/clock.hpp"
#include "tests/goal/rig_portals.hpp"

namespace {

using namespace portunus;
using namespace portunus::goal;

void ResidentHop(benchmark::State& state) {
  const auto hops = static_cast<size_t>(state.range(0));
  test::Rig rig(1);
  std::vector<uint32_t> cts(hops + 1);
  for (uint32_t& ct : cts) {
    ct = rig[0].counter();
    rig[0].objects.counters.find(ct)->stride = 1;
  }
  for (size_t i = 0; i < hops; ++i) {
    Command command;
    command.verb = Verb::counter_add;
    command.handle = cts[i + 1];
    command.extra.count = {1, 0};
    rig[0].arm(command, cts[i], 1);
  }
  for (auto _ : state) {
    rig[0].add(cts[0], 1);
    rig.settle();
  }
  if (rig[0].value(cts[hops]).success != static_cast<uint64_t>(state.iterations())) state.SkipWithError("the chain stopped");
  state.counters["per_hop"] =
      benchmark::Counter(static_cast<double>(hops), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

constexpr uint32_t kRanks = 8;

class Barrier {
 public:
  Barrier() : rig_(kRanks), ports_(kRanks) {
    for (uint32_t r = 0; r < kRanks; ++r) {
      Schedule s;
      std::vector<VertexId> received;
      for (uint32_t ahead = 1; ahead < kRanks; ahead *= 2) {
        const VertexId send = s.send(0, (r + ahead) % kRanks);
        for (const VertexId v : received) s.add_dependency(send, v);
        received.push_back(s.recv(0, (r + kRanks - ahead) % kRanks));
      }
      s.finish();
      rig_portals.current = &rig_[r];
      ports_[r].open(0, 0);
      programs_.push_back(std::make_unique<LoadedProgram>(ports_[r], compile(s, {.rank = r, .context = 0, .wildcards = {}, .touches = {}}),
                                                          std::vector<Binding>(s.size())));
      programs_.back()->load();
    }
  }
  ~Barrier() {
    for (uint32_t r = 0; r < kRanks; ++r) {
      rig_portals.current = &rig_[r];
      programs_[r].reset();
      ports_[r].close();
    }
  }
  LoadedProgram& program(uint32_t r) {
    rig_portals.current = &rig_[r];
    return *programs_[r];
  }
  test::Node& node(uint32_t r) { return rig_[r]; }
  void start(uint32_t r) { program(r).start(); }
  bool finish() {
    rig_.settle();
    bool all = true;
    for (uint32_t r = 0; r < kRanks; ++r) {
      bool ended = false;
      all = program(r).test(ended) == PTL_OK && ended && all;
    }
    return all;
  }

 private:
  test::Rig rig_;
  std::vector<Port> ports_;
  std::vector<std::unique_ptr<LoadedProgram>> programs_;
};

void start_of_rank_0(benchmark::State& state, bool in_line) {
  rig_portals = {};
  rig_portals.meanwhile = [] { return 0; };
  rig_portals.settles = in_line;
  Barrier barrier;
  uint64_t clock = UINT64_MAX, least = UINT64_MAX;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t begin = now_ns();
    clock = std::min(clock, now_ns() - begin);
  }
  for (auto _ : state) {
    for (uint32_t r = 1; r < kRanks; ++r) barrier.start(r);
    LoadedProgram& program = barrier.program(0);
    const uint64_t begin = now_ns();
    program.start();
    const uint64_t took = now_ns() - begin;
    least = std::min(least, took);
    state.SetIterationTime(static_cast<double>(took - std::min(took, clock)) * 1e-9);
    if (!barrier.finish()) state.SkipWithError("a barrier did not end");
  }
  state.counters["least_ns"] = static_cast<double>(least - std::min(least, clock));
}
void StartHandOver(benchmark::State& state) { start_of_rank_0(state, false); }
void StartInline(benchmark::State& state) { start_of_rank_0(state, true); }

void Epoch(benchmark::State& state) {
  rig_portals = {};
  rig_portals.meanwhile = [] { return 0; };
  Barrier barrier;
  for (auto _ : state) {
    for (uint32_t r = 0; r < kRanks; ++r) barrier.start(r);
    if (!barrier.finish()) state.SkipWithError("a barrier did not end");
  }
  state.counters["per_rank"] = benchmark::Counter(kRanks, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK(ResidentHop)->Arg(16)->Arg(1024);
BENCHMARK(StartHandOver)->UseManualTime();
BENCHMARK(StartInline)->UseManualTime();
BENCHMARK(Epoch);

}  // namespace

BENCHMARK_MAIN();
