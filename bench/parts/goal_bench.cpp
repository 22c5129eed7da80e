// GOAL schedules before they run: reading, compiling, saving and loading, per vertex.
//
// Read: a text of a million operations. Compile: graph to program, hazards included; per_vertex is the time, program_bytes
// and block_bytes what the compiled schedule takes per vertex in memory and saved (the graph included). Shapes: Ring, the
// allreduce of 1024 ranks on one of them; Barrier, the dissemination of 65536 ranks with each round waiting for all before;
// Random, two prerequisites and a buffer of a few for each vertex.
#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "engine/goal/schedules/block.hpp"
#include "engine/goal/schedules/parse.hpp"

namespace {

using namespace portunus::goal;
using benchmark::Counter;

std::string text_of(int operations) {
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < operations / 2; ++i) {
    const std::string n = std::to_string(i);
    text += "s" + n + ": send 8b to 0 tag 1\nr" + n + ": recv 8b from 0 tag 1\nr" + n + " requires s" + n + "\n";
  }
  return text + "}\n";
}

void Read(benchmark::State& state) {
  const int operations = static_cast<int>(state.range(0));
  const std::string text = text_of(operations);
  for (auto _ : state) benchmark::DoNotOptimize(parse_goal(text).ranks.size());
  state.counters["per_vertex"] = Counter(operations, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

Plan ring(uint32_t ranks) {
  Builder b;
  const uint64_t piece = 1024;
  VertexId last_send = kNoVertex, last = kNoVertex;
  const Memory landing = b.scratch(piece);
  for (uint32_t step = 0; step < 2 * (ranks - 1); ++step) {
    const Memory out = argument(0, piece * (step % ranks)), in = argument(0, piece * ((step + ranks - 1) % ranks));
    const bool reduces = step < ranks - 1;
    const VertexId send = b.send(out, piece, 1), recv = b.recv(reduces ? landing : in, piece, ranks - 1);
    if (last != kNoVertex) b.after(send, last);
    if (last != kNoVertex) b.after(recv, last);
    last = recv;
    if (reduces) {
      last = b.local(PTLX_ADD, PTL_FLOAT, in, in, landing, piece / 4);
      b.after(last, recv);
    } else {
      b.after(recv, last_send);
    }
    last_send = send;
  }
  return b.finish();
}

Plan barrier(uint32_t rounds) {
  Builder b;
  std::vector<VertexId> received;
  for (uint32_t round = 0; round < rounds; ++round) {
    const VertexId send = b.send({}, 0, 1 + round);
    b.after(send, received);
    received.push_back(b.recv({}, 0, 100 + round));
  }
  return b.finish();
}

Plan random_graph(uint32_t vertices) {
  std::mt19937 random(1);
  Builder b;
  for (uint32_t v = 0; v < vertices; ++v) {
    const Memory memory = b.scratch(8);
    if (v % 3 == 0) b.send(memory, 8, random() % 16);
    else if (v % 3 == 1) b.recv(memory, 8, random() % 16);
    else b.local(PTLX_ADD, PTL_INT64_T, memory, memory, scratchpad(memory.place - 64), 1);
    if (v % 3 == 2) b.after(v, v - 1);
    for (uint32_t edges = v < 2 ? 0 : 2; edges > 0; --edges) b.after(v, v - 1 - random() % std::min(v, 40u));
  }
  return b.finish();
}

Plan plan_of(int shape) { return shape == 0 ? ring(1024) : shape == 1 ? barrier(16) : random_graph(100'000); }
constexpr const char* kShapes[] = {"Ring", "Barrier", "Random"};

void Compile(benchmark::State& state) {
  const Plan plan = plan_of(static_cast<int>(state.range(0)));
  std::shared_ptr<const Compiled> compiled;
  for (auto _ : state) {
    state.PauseTiming();
    Plan copy = plan;
    state.ResumeTiming();
    compiled = compile(std::move(copy), 0);
  }
  const double vertices = plan.graph.size();
  const Program& program = compiled->program;
  state.SetLabel(kShapes[state.range(0)]);
  state.counters["per_vertex"] = Counter(vertices, Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["program_bytes"] = static_cast<double>((program.early.size() + program.triggered.size()) * sizeof(Operation) +
                                                        program.relays.size() * sizeof(Relay) + 4 * program.increments.size()) /
                                    vertices;
  state.counters["block_bytes"] = static_cast<double>(save(*compiled).size()) / vertices;
}

void Save(benchmark::State& state) {
  const auto compiled = compile(plan_of(static_cast<int>(state.range(0))), 0);
  for (auto _ : state) benchmark::DoNotOptimize(save(*compiled).data());
  state.SetLabel(kShapes[state.range(0)]);
  state.counters["per_vertex"] = Counter(compiled->plan.graph.size(), Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void Load(benchmark::State& state) {
  const auto compiled = compile(plan_of(static_cast<int>(state.range(0))), 0);
  const std::vector<std::byte> block = save(*compiled);
  for (auto _ : state) benchmark::DoNotOptimize(load(block, 1024).get());
  state.SetLabel(kShapes[state.range(0)]);
  state.counters["per_vertex"] = Counter(compiled->plan.graph.size(), Counter::kIsIterationInvariantRate | Counter::kInvert);
}

BENCHMARK(Read)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(Compile)->DenseRange(0, 2);
BENCHMARK(Save)->DenseRange(0, 2);
BENCHMARK(Load)->DenseRange(0, 2);

}  // namespace

BENCHMARK_MAIN();
