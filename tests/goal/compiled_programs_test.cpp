// Random schedules of several ranks, compiled and executed by a model in random order: they end, in the order that the
// schedules ask for, with the right messages, memory and counters.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/goal/schedules/validate.hpp"
#include "tests/goal/compiled_model.hpp"
#include "tests/support/thorough.hpp"

namespace portunus::goal {
namespace {

struct Footprint {
  Range writes{}, reads{};
};
using Footprints = std::vector<Footprint>;
constexpr uint32_t kEpochsRun = 3;

struct Job {
  std::vector<Schedule> schedules;
  std::vector<Footprints> footprints;
  std::vector<std::vector<std::array<VertexId, 2>>> conflicts;  // per rank: the second starts after the first ended
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  // Every vertex depends on earlier ones only, and a send is created before its receive: such a job always ends.
  Job job() {
    Job job;
    const uint32_t ranks = 2 + draw(3);
    job.schedules.resize(ranks);
    job.footprints.resize(ranks);
    job.conflicts.resize(ranks);
    for (uint32_t left = 1 + draw(30); left > 0; --left) {
      const uint32_t from = draw(ranks), to = draw(ranks), tag = draw(2);
      if (draw(6) == 0) {
        gather(job, from);
        continue;
      }
      if (draw(4) == 0) {
        job.schedules[from].calc(1 + draw(100));
        finish_vertex(job, from);
        continue;
      }
      job.schedules[from].send(8, to, tag);
      finish_vertex(job, from);
      job.schedules[to].recv(8, from, tag);
      finish_vertex(job, to);
    }
    for (Schedule& s : job.schedules) s.finish();
    return job;
  }

 private:
  uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  Range slot() {
    const uint64_t begin = 8 * draw(6);
    return {begin, begin + 8};
  }

  // A vertex without memory that waits for several, for all or for some; often one of no time.
  void gather(Job& job, uint32_t rank) {
    Schedule& s = job.schedules[rank];
    const VertexId v = s.calc(draw(2));
    std::set<VertexId> chosen;
    for (uint32_t edges = std::min(v, draw(6)); edges > 0; --edges) chosen.insert(draw(v));
    for (const VertexId w : chosen) s.add_dependency(v, w, draw(4) == 0 ? After::start : After::finish);
    if (!chosen.empty() && draw(2) == 0) s.set_needs(v, 1 + draw(static_cast<uint32_t>(chosen.size())));
    job.footprints[rank].push_back({});
  }

  void finish_vertex(Job& job, uint32_t rank) {
    Schedule& s = job.schedules[rank];
    const VertexId v = s.size() - 1;
    for (uint32_t edges = v == 0 ? 0 : draw(3); edges > 0; --edges)
      s.add_dependency(v, draw(v), draw(3) == 0 ? After::start : After::finish);
    Footprint f;
    if (s[v].kind != Kind::send) f.writes = slot();
    if (s[v].kind != Kind::recv) f.reads = slot();
    Footprints& all = job.footprints[rank];
    for (VertexId w = 0; w < v; ++w) {
      if (f.writes.begin == f.writes.end ? !same(all[w].writes, f.reads)
                                         : !same(all[w].writes, f.writes) && !same(all[w].writes, f.reads) && !same(all[w].reads, f.writes))
        continue;
      s.add_dependency(v, w);
      job.conflicts[rank].push_back({w, v});
    }
    all.push_back(f);
  }

  static bool same(const Range& a, const Range& b) { return a.begin < a.end && b.begin < b.end && a.begin == b.begin; }

  std::mt19937_64 random_;
};

// The n-th send of each (source, target, tag), by n.
std::map<std::array<uint32_t, 3>, std::vector<VertexId>> sends_of(const Job& job) {
  std::map<std::array<uint32_t, 3>, std::vector<VertexId>> sends;
  for (uint32_t r = 0; r < job.schedules.size(); ++r) {
    for (VertexId v = 0; v < job.schedules[r].size(); ++v) {
      const Vertex& vertex = job.schedules[r][v];
      if (vertex.kind == Kind::send) sends[{r, vertex.peer, vertex.tag}].push_back(v);
    }
  }
  return sends;
}

struct Verdict {
  bool ended = false, counters = false, matched = true, ordered = true, memory = true;
  uint64_t unexpected = 0, early = 0, receives = 0;
  [[nodiscard]] bool good() const { return ended && counters && matched && ordered && memory; }
};

std::vector<Program> programs_of(const Job& job, bool with_footprints) {
  std::vector<Program> programs;
  for (uint32_t r = 0; r < job.schedules.size(); ++r) {
    std::vector<Touch> touches;
    for (VertexId v = 0; with_footprints && v < job.schedules[r].size(); ++v) {
      touches.push_back({v, job.footprints[r][v].writes});
      touches.push_back({v, job.footprints[r][v].reads});
    }
    programs.push_back(compile(job.schedules[r], {.rank = r, .context = 0, .wildcards = {}, .touches = touches}));
  }
  return programs;
}

// When one rank's vertices started and ended in one epoch, as the schedule understands it.
void judge_order(const Job& job, uint32_t rank, const Program& program, const Model& model, uint32_t epoch, Verdict& verdict) {
  const Schedule& s = job.schedules[rank];
  std::set<VertexId> early;
  for (const Operation& o : program.early) early.insert(o.vertex);
  std::vector<uint64_t> started(s.size()), ended(s.size());
  for (VertexId v = 0; v < s.size(); ++v) {
    const Model::Moments& m = model.at(rank, v, epoch);
    std::vector<uint64_t> before;
    for (const Edge e : s.prerequisites(v)) before.push_back(e.on_start ? started[e.vertex] : ended[e.vertex]);
    std::ranges::sort(before);
    const uint64_t allowed = before.empty() ? 0 : before[s.is_choice(v) ? s[v].needs - 1 : before.size() - 1];
    if (s[v].kind == Kind::calc && s[v].size == 0) {
      started[v] = ended[v] = allowed;
      continue;
    }
    started[v] = early.contains(v) ? std::max(allowed, m.began) : m.began;
    ended[v] = std::max(m.ended, started[v]);
    if (m.ended == 0 || started[v] < allowed) verdict.ordered = false;
  }
  for (const auto& [first, second] : job.conflicts[rank]) {
    const Model::Moments& later = model.at(rank, second, epoch);
    const uint64_t touches = s[second].kind == Kind::recv ? later.ended : later.began;
    if (touches < ended[first]) verdict.memory = false;
  }
}

void judge_matching(const Job& job, const Model& model, Verdict& verdict) {
  const auto sends = sends_of(job);
  for (uint32_t r = 0; r < job.schedules.size(); ++r) {
    const Schedule& s = job.schedules[r];
    const std::vector<uint32_t> index = running_indices(s);
    for (VertexId v = 0; v < s.size(); ++v) {
      if (s[v].kind != Kind::recv) continue;
      const VertexId expected = sends.at({s[v].peer, r, s[v].tag})[index[v]];
      for (uint32_t epoch = 0; epoch < kEpochsRun; ++epoch) {
        const Model::Moments& m = model.at(r, v, epoch);
        if (m.source != s[v].peer || m.send != expected || m.of_epoch != epoch) verdict.matched = false;
      }
    }
  }
}

Verdict execute(const Job& job, bool with_footprints, uint64_t seed, bool match_epochs = true) {
  const std::vector<Program> programs = programs_of(job, with_footprints);
  Model model(job.schedules, programs, seed);
  model.match_epochs = match_epochs;
  Verdict verdict;
  verdict.ended = model.run(kEpochsRun) && model.leftovers() == 0;
  verdict.unexpected = model.unexpected();
  if (!verdict.ended) return verdict;
  verdict.counters = true;
  for (uint32_t r = 0; r < programs.size(); ++r) {
    for (CounterId c = 0; c < programs[r].increments.size(); ++c) {
      if (model.counter(r, c) != uint64_t{kEpochsRun} * programs[r].increments[c]) verdict.counters = false;
    }
    for (uint32_t epoch = 0; epoch < kEpochsRun; ++epoch) judge_order(job, r, programs[r], model, epoch, verdict);
    verdict.early += programs[r].early.size();
    verdict.receives +=
        static_cast<uint64_t>(std::ranges::count(job.schedules[r].vertices(), Kind::recv, [](const Vertex& v) { return v.kind; }));
  }
  judge_matching(job, model, verdict);
  return verdict;
}

TEST(CompiledPrograms, EndInOrderWithEveryCounterFullHoweverTheyInterleave) {
  uint64_t unexpected = 0, early = 0, receives = 0;
  for (uint64_t seed = 1; seed <= test::runs(4000); ++seed) {
    const Job job = Generator(seed).job();
    ASSERT_NO_THROW(validate(job.schedules)) << "seed " << seed;
    const Verdict verdict = execute(job, true, seed * 31 + 7);
    ASSERT_TRUE(verdict.good()) << "seed " << seed << ": ended " << verdict.ended << ", counters " << verdict.counters << ", matched "
                                << verdict.matched << ", ordered " << verdict.ordered << ", memory " << verdict.memory;
    unexpected += verdict.unexpected;
    early += verdict.early;
    receives += verdict.receives;
  }
  // The runs would prove little if these were rare.
  EXPECT_GT(unexpected, test::runs(10000));
  EXPECT_GT(early, receives / 10);
  EXPECT_LT(early, receives * 9 / 10);
}

TEST(CompiledPrograms, WithMemoryOfTheirOwnReceivesAreAllEarly) {
  for (uint64_t seed = 1; seed <= test::runs(2000); ++seed) {
    const Job job = Generator(seed).job();
    const Verdict verdict = execute(job, false, seed);
    ASSERT_TRUE(verdict.ended && verdict.counters && verdict.matched && verdict.ordered) << "seed " << seed;
    ASSERT_EQ(verdict.early, verdict.receives);
  }
}

TEST(CompiledPrograms, AppendingEveryReceiveEarlyWouldOverwriteMemoryInUse) {
  uint32_t corrupted = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) corrupted += !execute(Generator(seed).job(), false, seed).memory;
  EXPECT_GT(corrupted, 50u);
}

// A message of the next epoch may overtake one of this epoch on a network without order. Without
// the epoch in its match bits it would be taken for that.
TEST(CompiledPrograms, MatchingWithoutTheEpochWouldMixMessagesOfDifferentEpochs) {
  uint32_t bad = 0;
  for (uint64_t seed = 1; seed <= 1000; ++seed) bad += !execute(Generator(seed).job(), true, seed, false).good();
  EXPECT_GT(bad, 5u);
}

// All ranks but 0 send to it; it takes what comes, some of it only after something else.
TEST(CompiledPrograms, ReceivesOfAnySourceTakeEveryMessageOnce) {
  for (uint64_t seed = 1; seed <= test::runs(1000); ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Schedule> schedules(2 + random() % 3);
    for (uint32_t r = 1; r < schedules.size(); ++r) {
      for (uint64_t n = 1 + random() % 3; n > 0; --n) {
        schedules[r].send(8, 0, static_cast<uint32_t>(random() % 2));
        const VertexId v = schedules[0].recv(8, kAnySource, kAnyTag);
        if (v > 0 && random() % 2) schedules[0].add_dependency(v, static_cast<VertexId>(random() % v));
      }
    }
    std::vector<Wildcards> wildcards;
    for (Schedule& s : schedules) {
      s.finish();
      wildcards.emplace_back(s);
    }
    ASSERT_NO_THROW(validate(schedules));
    std::vector<Program> programs;
    for (uint32_t r = 0; r < schedules.size(); ++r)
      programs.push_back(compile(schedules[r], {.rank = r, .context = 0, .wildcards = wildcards, .touches = {}}));
    Model model(schedules, programs, seed);
    ASSERT_TRUE(model.run(kEpochsRun)) << "seed " << seed;
    EXPECT_EQ(model.leftovers(), 0u);
    for (uint32_t epoch = 0; epoch < kEpochsRun; ++epoch) {
      std::set<std::pair<uint32_t, VertexId>> taken;
      for (VertexId v = 0; v < schedules[0].size(); ++v) {
        const Model::Moments& m = model.at(0, v, epoch);
        EXPECT_TRUE(taken.insert({m.source, m.send}).second) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace portunus::goal
