// A job of hand-stepped engines, each with the program of its rank loaded as in a real process, on a network of chance.
//
// Thread: one.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "engine/goal/program.hpp"
#include "engine/measurement/plain_program.hpp"
#include "tests/goal/random_programs.hpp"
#include "tests/goal/rig_portals.hpp"
#include "tests/support/chaos.hpp"

namespace portunus::goal {

template <class Loaded>
class ChaosJobOf {
 public:
  struct Rank {
    std::unique_ptr<test::Node> node;
    Port port;
    std::unique_ptr<Loaded> program;
    Slots slots;
    std::vector<Slots> after;  // the reference after each epoch
    bool failed = false, dead = false, wrong = false;
    [[nodiscard]] bool over(uint64_t epochs) const { return failed || dead || (program->epoch() == epochs && !program->running()); }
  };

  // Messages of more than `eager` bytes wait for their receive.
  ChaosJobOf(const RandomJob& job, std::vector<Program> programs, uint64_t seed, size_t eager, uint32_t epochs, Trace* trace = nullptr,
             uint64_t most_ahead = 0)
      : trace_(trace),
        most_ahead_(most_ahead),
        hub_(static_cast<uint32_t>(programs.size()), seed, eager),
        epochs_(epochs),
        eagerness_(1 + hub_.draw(20)),
        ranks_(programs.size()) {
    rig_portals.meanwhile = [this] { return step_engine(); };
    std::vector<ptl_process_t> map(ranks_.size());
    for (uint32_t r = 0; r < map.size(); ++r) map[r].phys = {test::ChaosHub::id(r).nid, test::ChaosHub::id(r).pid};
    std::vector<Slots> memory = job.initial;
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      rank.node = std::make_unique<test::Node>(test::ChaosHub::id(r));
      rank.node->engine.peers().add_transport(std::make_unique<test::ChaosTransport>(rank.node->engine, hub_, r));
      rank.node->open(PTL_NI_MATCHING | PTL_NI_LOGICAL, map);
      rank.slots = memory[r];
      rig_portals.current = rank.node.get();
      rank.port.open(0, 0);
    }
    for (uint32_t e = 0; e < epochs; ++e) {
      job.advance(memory);
      for (uint32_t r = 0; r < ranks_.size(); ++r) ranks_[r].after.push_back(memory[r]);
    }
    for (uint32_t r = 0; r < ranks_.size(); ++r) load(job, r, std::move(programs[r]));
  }
  ~ChaosJobOf() {
    for (Rank& rank : ranks_) {
      rig_portals.current = rank.node.get();
      if (rank.dead) graveyard().push_back(std::move(rank.program));  // its engine is gone as far as anyone knows
      rank.program.reset();
    }
    for (Rank& rank : ranks_) {
      rig_portals.current = rank.node.get();
      rank.port.close();
    }
  }

  // Runs until all epochs of all ranks are over, or nothing can happen any more: false.
  bool run() {
    for (uint64_t quiet = 0; quiet < 64;) {
      for (int i = 0; i < 64; ++i) step();
      bool over = true, still = true;
      for (Rank& rank : ranks_) {
        over = over && rank.over(epochs_);
        still = still && (rank.dead || (rank.node->engine.idle() && !rank.node->engine.busy()));
      }
      if (over) return true;
      quiet = still ? quiet + 1 : 0;
    }
    return false;
  }
  void run_for(uint64_t steps) {
    while (steps-- > 0) step();
  }
  void kill(uint32_t rank) { hub_.dead[rank] = ranks_[rank].dead = true; }

  std::vector<Rank>& ranks() { return ranks_; }
  test::ChaosHub& hub() { return hub_; }

 private:
  static constexpr uint64_t kMaxAtomic = 64;

  // Never destroyed: a destructor would talk to the engine.
  static std::vector<std::unique_ptr<Loaded>>& graveyard() {
    static auto& all = *new std::vector<std::unique_ptr<Loaded>>;
    return all;
  }

  void load(const RandomJob& job, uint32_t r, Program program) {
    Rank& rank = ranks_[r];
    std::vector<Binding> bindings(job.schedules[r].size());
    for (VertexId v = 0; v < bindings.size(); ++v) {
      const RandomJob::Act& act = job.acts[r][v];
      const Kind kind = job.schedules[r][v].kind;
      bindings[v] = {.memory = rank.slots[kind == Kind::send ? act.a : act.to].data(),
                     .a = rank.slots[act.a].data(),
                     .b = act.op == PTLX_DIV ? zeros().data() : rank.slots[act.b].data(),
                     .count = job.words,
                     .op = act.op,
                     .type = PTL_UINT64_T};
    }
    rig_portals.current = rank.node.get();
    if constexpr (std::is_same_v<Loaded, PlainProgram>) {
      rank.program = std::make_unique<Loaded>(0, 1, std::move(program), std::move(bindings), kMaxAtomic);
    } else {
      rank.program = std::make_unique<Loaded>(rank.port, std::move(program), std::move(bindings), trace_);
      if (most_ahead_ > 0) rank.program->bound_ahead(most_ahead_, 0, false);
    }
    EXPECT_EQ(rank.program->load(), PTL_OK);
  }
  static std::vector<uint64_t>& zeros() {
    static std::vector<uint64_t> zeros(4096);
    return zeros;
  }

  void step() {
    if (hub_.draw(20) >= eagerness_) {
      step_engine();
      return;
    }
    Rank& rank = ranks_[hub_.draw(static_cast<uint32_t>(ranks_.size()))];
    if (!rank.over(epochs_)) act(rank);
  }
  int step_engine() {
    Rank& rank = ranks_[hub_.draw(static_cast<uint32_t>(ranks_.size()))];
    return rank.dead ? 0 : rank.node->engine.step(++now_);
  }
  // The next act of this rank's program: start, or look.
  void act(Rank& rank) {
    rig_portals.current = rank.node.get();
    if (!rank.program->running()) {
      rank.failed = rank.program->start() != PTL_OK;
      return;
    }
    bool ended = false;
    const uint64_t epoch = rank.program->epoch();
    if (rank.program->test(ended) != PTL_OK) rank.failed = true;
    else if (ended && rank.slots != rank.after[epoch]) rank.wrong = true;
  }

  Trace* trace_;
  uint64_t most_ahead_;  // bytes; 0: without a bound
  test::ChaosHub hub_;
  uint32_t epochs_;
  uint32_t eagerness_;  // of 20 steps, how many are the programs'
  uint64_t now_ = 0;
  std::vector<Rank> ranks_;
};
using ChaosJob = ChaosJobOf<LoadedProgram>;

}  // namespace portunus::goal
