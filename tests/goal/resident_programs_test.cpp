// Random programs, compiled, loaded and run by hand-stepped engines in random order: they end, with the data of the
// sequential reference and every counter at epochs * K; what could go wrong if a rule were left out does go wrong; and
// failures of operations and processes end in failures, neither in silence nor in wrong results.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <tuple>

#include <nlohmann/json.hpp>

#include "engine/goal/domain.hpp"
#include "engine/goal/schedules/validate.hpp"
#include "tests/allocation_probe.hpp"
#include "tests/goal/chaos_job.hpp"
#include "tests/support/thorough.hpp"

namespace portunus::goal {
namespace {

constexpr uint32_t kEpochsRun = 3;
constexpr uint32_t kShort = 4, kLong = 20;  // words of a message
constexpr size_t kEager = 64;               // bytes

struct Resident : ::testing::Test {
  ~Resident() override { rig_portals = {}; }

  static std::vector<Program> programs(const RandomJob& job, bool with_touches = true) {
    std::vector<Program> all;
    for (uint32_t r = 0; r < job.schedules.size(); ++r) {
      const std::span<const Touch> touches = with_touches ? std::span<const Touch>(job.touches[r]) : std::span<const Touch>();
      all.push_back(compile(job.schedules[r], {.rank = r, .context = 7, .wildcards = {}, .touches = touches}));
    }
    return all;
  }
  static bool waits_in_a_circle(const RandomJob& job) {
    try {
      validate(job.schedules, 0);
      return false;
    } catch (const ScheduleError&) {
      return true;
    }
  }
  static bool any_wrong(ChaosJob& chaos) {
    return std::ranges::any_of(chaos.ranks(), [](const ChaosJob::Rank& rank) { return rank.wrong; });
  }
  // How many of `runs` went wrong, with faults as they are set: no end, failure, or other data than the reference.
  static uint32_t bad_runs(uint32_t runs, bool with_touches = true, bool indexed = true) {
    uint32_t bad = 0;
    for (uint64_t seed = 1; seed <= runs; ++seed) {
      const RandomJob job = RandomPrograms(seed).job(kShort);
      std::vector<Program> all = programs(job, with_touches);
      if (!indexed) {
        for (Program& program : all)
          for (auto* operations : {&program.early, &program.triggered})
            for (Operation& o : *operations) o.match_bits &= ~((uint64_t{1} << 2 * (o.match_bits >> 32 & 15)) - 1) & ~(uint64_t{15} << 32);
      }
      ChaosJob chaos(job, std::move(all), seed, kEager, kEpochsRun);
      bad += !chaos.run() || any_wrong(chaos);
    }
    return bad;
  }
};

void expect_counters_full(ChaosJob& chaos, uint64_t seed) {
  for (ChaosJob::Rank& rank : chaos.ranks()) {
    rig_portals.current = rank.node.get();
    ASSERT_TRUE(rank.program->counters_are_full()) << "seed " << seed;
  }
}

TEST_F(Resident, EveryEpochComputesWhatTheReferenceDoesAndFillsEveryCounter) {
  uint64_t unexpected = 0;
  for (uint64_t seed = 1; seed <= test::runs(1500); ++seed) {
    const RandomJob job = RandomPrograms(seed).job(kShort);
    ChaosJob chaos(job, programs(job), seed, kEager, kEpochsRun);
    ASSERT_TRUE(chaos.run()) << "seed " << seed;
    ASSERT_FALSE(any_wrong(chaos)) << "seed " << seed;
    expect_counters_full(chaos, seed);
    for (ChaosJob::Rank& rank : chaos.ranks()) {
      ASSERT_FALSE(rank.failed) << "seed " << seed;
      PortalEntry& portal = *rank.node->engine.interface(0).portals[0];
      ASSERT_TRUE(portal.unexpected.empty()) << "seed " << seed;
      ASSERT_EQ(portal.priority.size(), 1u) << "seed " << seed;  // the one for failures of others
      unexpected += rank.node->engine.stats().unexpected.read();
    }
  }
  EXPECT_GT(unexpected, test::runs(3000));  // the runs would prove little if these were rare
}

// Early receives wait for nobody, so some circles of the schedules are none in execution.
TEST_F(Resident, LongMessagesEndIfNobodyWaitsInACircle) {
  uint32_t hangs = 0;
  for (uint64_t seed = 1; seed <= test::runs(400); ++seed) {
    const RandomJob job = RandomPrograms(seed).job(kLong, seed % 4 == 0);
    ChaosJob chaos(job, programs(job), seed, kEager, kEpochsRun);
    const bool ended = chaos.run();
    hangs += !ended;
    ASSERT_TRUE(ended || waits_in_a_circle(job)) << "seed " << seed;
    ASSERT_FALSE(any_wrong(chaos)) << "seed " << seed;
    if (ended) expect_counters_full(chaos, seed);
  }
  EXPECT_GE(hangs, test::runs(5));
}

TEST_F(Resident, LongMessagesEndInACircleTooIfTheirSendsAreBuffered) {
  uint32_t circles = 0;
  for (uint64_t seed = 1; seed <= test::runs(1000); ++seed) {
    RandomJob job = RandomPrograms(seed).job(kLong);
    circles += waits_in_a_circle(job);
    job.buffer(kEager);
    ChaosJob chaos(job, programs(job), seed, kEager, kEpochsRun);
    ASSERT_TRUE(chaos.run()) << "seed " << seed;
    ASSERT_FALSE(any_wrong(chaos)) << "seed " << seed;
    expect_counters_full(chaos, seed);
  }
  EXPECT_GT(circles, test::runs(300));
}

// Whatever sends to whom, in whatever order all happens.
TEST_F(Resident, RunsThatMayNotBeFarAheadOfOthersEndAllTheSame) {
  constexpr uint32_t kMany = 200;
  for (uint64_t seed = 1; seed <= test::runs(60); ++seed) {
    RandomJob job = RandomPrograms(seed).job(seed % 2 ? kShort : kLong);
    job.buffer(kEager);
    ChaosJob chaos(job, programs(job), seed, kEager, kMany, nullptr, 1);
    ASSERT_TRUE(chaos.run()) << "seed " << seed;
    ASSERT_FALSE(any_wrong(chaos)) << "seed " << seed;
    expect_counters_full(chaos, seed);
  }
}

// Runs of a sender end without its receiver, up to a bound; each that the receiver ends lets others begin. Copies under one context, which
// take turns and live for two runs, are bounded as one schedule is.
TEST_F(Resident, ARunThatWouldBeTooFarAheadOfItsReceiverBeginsWhenThatHasEndedOthers) {
  constexpr uint64_t kMost = 64 << 10, kSize = 64, kOccupied = kSize + 384, kRuns = 600;
  rig_portals.meanwhile = [] { return 0; };
  for (const uint32_t messages : {1u, 5u, 12u, 63u, 64u, 500u})
    for (const bool copies : {false, true}) {
      test::Rig rig(2);
      std::array<Port, 2> ports;
      std::array<std::vector<std::byte>, 2> memory;
      std::array<std::array<std::unique_ptr<LoadedProgram>, 2>, 2> programs;
      std::array<uint64_t, 2> ended{};
      const auto made = [&](uint32_t r, uint64_t run) {
        Schedule s;
        for (uint32_t i = 0; i < messages; ++i) r == 0 ? s.send(kSize, 1) : s.recv(kSize, 0);
        s.finish();
        memory[r].resize(kSize);
        Program program = in_context(compile(s, {.rank = r, .context = 0, .wildcards = {}, .touches = {}}), 7, static_cast<uint8_t>(run));
        Binding binding;
        binding.memory = memory[r].data();
        auto loaded = std::make_unique<LoadedProgram>(ports[r], std::move(program), std::vector<Binding>(s.size(), binding));
        loaded->bound_ahead(kMost, static_cast<uint8_t>(run), copies);
        EXPECT_EQ(loaded->load(), PTL_OK);
        return loaded;
      };
      // Begins the next run of a rank unless one is under way. Has one ended?
      const auto runs_on = [&](uint32_t r) {
        rig_portals.current = &rig[r];
        auto& program = programs[r][copies ? ended[r] % 2 : 0];
        if (!program || (copies && !program->running())) program = made(r, ended[r]);
        const int code = program->running() ? static_cast<int>(PTL_OK) : program->start();
        EXPECT_EQ(code, PTL_OK);
        rig.settle();
        rig_portals.current = &rig[r];
        bool over = false;
        EXPECT_EQ(program->test(over), PTL_OK);
        ended[r] += over;
        return over;
      };
      for (uint32_t r = 0; r < 2; ++r) {
        rig_portals.current = &rig[r];
        ASSERT_EQ(ports[r].open(0, 0), PTL_OK);
      }
      uint64_t most = 0;
      while (ended[1] < kRuns) {
        while (ended[0] < kRuns && runs_on(0)) most = std::max(most, ended[0] - ended[1]);
        ASSERT_LT(ended[1], ended[0]) << messages << " messages: a run waits that need not";
        ASSERT_TRUE(runs_on(1)) << messages << " messages";
      }
      // One run, or as many as one notice tells of, may have begun before the first that is counted.
      const uint64_t each = runs_a_notice(messages);
      EXPECT_LE(most, std::max(kMost / (messages * kOccupied), 2 * each) + each) << messages << " messages, copies: " << copies;
      EXPECT_LT(most, 256u) << messages << " messages, copies: " << copies;
      EXPECT_GE(most, std::min(2 * each, kRuns)) << messages << " messages, copies: " << copies;
      for (uint32_t r = 0; r < 2; ++r) {
        rig_portals.current = &rig[r];
        for (auto& program : programs[r]) program.reset();
        EXPECT_TRUE(rig[r].engine.interface(0).portals[0]->unexpected.empty());
        ports[r].close();
      }
    }
}

// Short messages and long ones, which are one to the plain scheme; sums take atomics of several parts.
TEST_F(Resident, PlainPortalsAloneComputeTheSame) {
  for (uint64_t seed = 1; seed <= test::runs(600); ++seed) {
    RandomJob job = RandomPrograms(seed).job(seed % 2 ? kShort : kLong);
    job.buffer(0);
    ChaosJobOf<PlainProgram> chaos(job, programs(job), seed, kEager, kEpochsRun);
    ASSERT_TRUE(chaos.run()) << "seed " << seed;
    for (auto& rank : chaos.ranks()) {
      ASSERT_FALSE(rank.wrong || rank.failed) << "seed " << seed;
      rig_portals.current = rank.node.get();
      ASSERT_TRUE(rank.program->counters_are_full()) << "seed " << seed;
    }
  }
}

// Dissemination: round k sends 2^k ranks ahead what all rounds before brought.
TEST_F(Resident, ABarrierRunsThousandsOfEpochsWithoutClaimingAnything) {
  constexpr uint32_t kRanks = 8, kMany = 2000;
  RandomJob barrier;
  barrier.schedules.resize(kRanks);
  barrier.touches.resize(kRanks);
  barrier.initial.assign(kRanks, Slots(1, std::vector<uint64_t>(1)));
  for (uint32_t r = 0; r < kRanks; ++r) {
    Schedule& s = barrier.schedules[r];
    std::vector<VertexId> received;
    for (uint32_t ahead = 1; ahead < kRanks; ahead *= 2) {
      const VertexId send = s.send(0, (r + ahead) % kRanks);
      for (const VertexId v : received) s.add_dependency(send, v);
      received.push_back(s.recv(0, (r + kRanks - ahead) % kRanks));
    }
    s.finish();
    barrier.acts.emplace_back(s.size());
  }
  ChaosJob chaos(barrier, programs(barrier), 1, kEager, kMany);
  chaos.run_for(1000);
  std::vector<std::array<uint64_t, 3>> claimed;
  const auto pools = [](ChaosJob::Rank& rank) {
    return std::array<uint64_t, 3>{rank.node->objects.triggers.used(), rank.node->objects.entries.used(),
                                   rank.node->objects.counters.used()};
  };
  for (ChaosJob::Rank& rank : chaos.ranks()) claimed.push_back(pools(rank));
  ASSERT_TRUE(chaos.run());
  for (uint32_t r = 0; r < kRanks; ++r) {
    rig_portals.current = chaos.ranks()[r].node.get();
    EXPECT_EQ(chaos.ranks()[r].program->epoch(), kMany);
    EXPECT_TRUE(chaos.ranks()[r].program->counters_are_full());
    EXPECT_EQ(pools(chaos.ranks()[r]), claimed[r]);
  }
}

// The same, by all ranks in turn: a million executions.
TEST_F(Resident, ABarrierRunsAMillionTimesWithoutAllocationAndEveryCounterHasWhatAMillionMake) {
  constexpr uint32_t kRanks = 4;
  const uint64_t many = test::runs(1'000'000);
  rig_portals.meanwhile = [] { return 0; };
  test::Rig rig(kRanks);
  std::vector<Port> ports(kRanks);
  std::vector<std::unique_ptr<LoadedProgram>> programs;
  for (uint32_t r = 0; r < kRanks; ++r) {
    Schedule s;
    const VertexId first = s.recv(0, (r + kRanks - 1) % kRanks);
    s.send(0, (r + 1) % kRanks);
    s.add_dependency(s.send(0, (r + 2) % kRanks), first);
    s.recv(0, (r + 2) % kRanks);
    s.finish();
    rig_portals.current = &rig[r];
    ASSERT_EQ(ports[r].open(0, 0), PTL_OK);
    programs.push_back(std::make_unique<LoadedProgram>(ports[r], compile(s, {.rank = r, .context = 0, .wildcards = {}, .touches = {}}),
                                                       std::vector<Binding>(s.size())));
    ASSERT_EQ(programs[r]->load(), PTL_OK);
  }
  size_t allocated = 0;
  for (uint64_t epoch = 0; epoch < many; ++epoch) {
    if (epoch == 300) allocated = allocation_probe::count;  // what grows once, has grown
    for (uint32_t r = 0; r < kRanks; ++r) {
      rig_portals.current = &rig[r];
      programs[r]->start();
    }
    rig.settle();
    for (uint32_t r = 0; r < kRanks; ++r) {
      bool ended = false;
      rig_portals.current = &rig[r];
      ASSERT_TRUE(programs[r]->test(ended) == PTL_OK && ended) << "epoch " << epoch;
    }
  }
  EXPECT_EQ(allocation_probe::count, allocated);
  for (uint32_t r = 0; r < kRanks; ++r) {
    rig_portals.current = &rig[r];
    EXPECT_EQ(programs[r]->epoch(), many);
    EXPECT_TRUE(programs[r]->counters_are_full());
    programs[r].reset();
    ports[r].close();
  }
}

// Beginning and end of vertices in microseconds, by rank, execution and vertex, as a trace file has them.
using Traced = std::map<std::tuple<uint32_t, uint32_t, VertexId>, std::pair<double, double>>;

Traced read_trace(const std::string& path) {
  Traced traced;
  std::ifstream file(path);
  const nlohmann::json document = nlohmann::json::parse(file);
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] != "X" || event["tid"] == 0) continue;
    const double begin = event["ts"];
    const auto& args = event["args"];
    const bool fresh =
        traced.try_emplace({event["pid"], args["execution"], args["vertex"]}, begin, begin + event["dur"].get<double>()).second;
    EXPECT_TRUE(fresh && !args.contains("ended"));
  }
  std::remove(path.c_str());
  return traced;
}

TEST_F(Resident, ATracedProgramComputesTheSameAndTellsOfEachVertexWhenItBeganAndEnded) {
  constexpr double kRounding = 0.001;
  const std::string path = "/tmp/trace_test." + std::to_string(getpid()) + ".json";
  for (uint64_t seed = 1; seed <= test::runs(150); ++seed) {
    const RandomJob job = RandomPrograms(seed).job(kShort);
    Trace trace(path);
    ChaosJob chaos(job, programs(job), seed, kEager, kEpochsRun, &trace);
    ASSERT_TRUE(chaos.run()) << "seed " << seed;
    ASSERT_FALSE(any_wrong(chaos)) << "seed " << seed;
    expect_counters_full(chaos, seed);
    trace.write();
    // Named after the rank whose execution was the first to end.
    std::string name;
    for (size_t r = 0; r < job.schedules.size(); ++r) {
      const std::string candidate = path.substr(0, path.size() - 4) + std::to_string(r) + ".json";
      if (access(candidate.c_str(), F_OK) == 0) name = candidate;
    }
    ASSERT_NE(name, "") << "seed " << seed;
    Traced traced = read_trace(name);
    for (uint32_t r = 0; r < job.schedules.size(); ++r) {
      const Schedule& schedule = job.schedules[r];
      for (uint32_t epoch = 0; epoch < kEpochsRun; ++epoch) {
        for (VertexId v = 0; v < schedule.size(); ++v) {
          ASSERT_EQ(traced.contains({r, epoch, v}), schedule[v].kind != Kind::calc || schedule[v].size > 0) << "seed " << seed;
          if (!traced.contains({r, epoch, v})) continue;
          const auto [begin, end] = traced[{r, epoch, v}];
          EXPECT_LE(begin, end + kRounding);
          if (schedule[v].kind == Kind::recv) continue;  // posted as early as may be
          for (const Edge e : schedule.prerequisites(v)) {
            if (!traced.contains({r, epoch, e.vertex})) continue;
            const auto [earlier_begin, earlier_end] = traced[{r, epoch, e.vertex}];
            EXPECT_LE(e.on_start ? earlier_begin : earlier_end, begin + kRounding) << "seed " << seed << " vertex " << v;
          }
        }
      }
    }
  }
}

TEST_F(Resident, CountingAnUnexpectedMessageBeforeItIsCopiedWouldBeNoticed) {
  rig_portals.complete_unexpected = false;
  EXPECT_GT(bad_runs(100), 50u);
}

TEST_F(Resident, MatchingWithoutTheIndexOfAMessageWouldBeNoticed) { EXPECT_GT(bad_runs(100, true, false), 30u); }

TEST_F(Resident, AppendingEveryReceiveEarlyWouldBeNoticed) { EXPECT_GT(bad_runs(100, false), 50u); }

struct Outcome {
  uint32_t hangs = 0, wrong = 0, failed = 0, unharmed = 0;
};

// In each run one operation divides by zero.
Outcome with_a_failing_operation(uint32_t runs, uint32_t words) {
  Outcome outcome;
  for (uint64_t seed = 1; outcome.hangs + outcome.wrong + outcome.failed + outcome.unharmed < runs; ++seed) {
    RandomPrograms random(seed);
    RandomJob job = random.job(words, false);
    std::vector<std::pair<uint32_t, VertexId>> candidates;
    for (const RandomJob::Step& s : job.steps)
      if (!s.message) candidates.emplace_back(s.rank, s.vertex);
    if (candidates.empty()) continue;
    const auto [rank, vertex] = candidates[random.draw(static_cast<uint32_t>(candidates.size()))];
    std::vector<Program> all = Resident::programs(job);
    const RandomJob reference = job;
    job.acts[rank][vertex].op = PTLX_DIV;
    ChaosJob chaos(job, std::move(all), seed, kEager, kEpochsRun);
    std::vector<Slots> memory = reference.initial;
    for (uint32_t e = 0; e < kEpochsRun; ++e) {
      reference.advance(memory);
      for (uint32_t r = 0; r < memory.size(); ++r) chaos.ranks()[r].after[e] = memory[r];
    }
    const bool over = chaos.run();
    const bool failed = std::ranges::any_of(chaos.ranks(), [](const ChaosJob::Rank& r) { return r.failed; });
    if (!over) ++outcome.hangs;
    else if (Resident::any_wrong(chaos)) ++outcome.wrong;
    else if (failed) ++outcome.failed;
    else ++outcome.unharmed;
  }
  return outcome;
}

TEST_F(Resident, AFailedOperationFailsEveryRankThatDependsOnItAndGivesNobodyAWrongResult) {
  for (const uint32_t words : {kShort, kLong}) {
    const Outcome outcome = with_a_failing_operation(250, words);
    EXPECT_EQ(outcome.hangs, 0u);
    EXPECT_EQ(outcome.wrong, 0u);
    EXPECT_EQ(outcome.failed, 250u);
  }
}

TEST_F(Resident, IfFailuresReleasedWhatWaitsResultsWouldBeWrong) {
  rig_portals.guard = false;
  EXPECT_GT(with_a_failing_operation(100, kShort).wrong, 50u);
}

TEST_F(Resident, IfFailuresWereNotToldOthersWouldWaitForEver) {
  rig_portals.tells_failures = false;
  EXPECT_GT(with_a_failing_operation(100, kShort).hangs, 30u);
}

TEST_F(Resident, TheEndOfAProcessEndsEverybodyElseWellOrInAFailure) {
  uint32_t failures = 0;
  for (uint64_t seed = 1; seed <= test::runs(400); ++seed) {
    RandomPrograms random(seed);
    const RandomJob job = random.job(seed % 2 ? kShort : kLong, false);
    ChaosJob chaos(job, programs(job), seed, kEager, kEpochsRun);
    chaos.run_for(random.draw(300));
    chaos.kill(random.draw(static_cast<uint32_t>(chaos.ranks().size())));
    ASSERT_TRUE(chaos.run()) << "seed " << seed;
    ASSERT_FALSE(any_wrong(chaos)) << "seed " << seed;
    for (ChaosJob::Rank& rank : chaos.ranks()) failures += rank.failed;
  }
  EXPECT_GT(failures, test::runs(200));
}

// One process, whose port is closed after everything that is declared behind it is gone.
struct ResidentAlone : Resident {
  test::Rig rig{1};
  Port port;

  void SetUp() override {
    rig_portals.current = &rig[0];
    rig_portals.meanwhile = [this] { return rig.settle(); };
    ASSERT_EQ(port.open(0, 0), PTL_OK);
  }
  void TearDown() override { port.close(); }
};

// A rank that failed for a reason of its own must not be the only one that hears what it says.
TEST_F(ResidentAlone, ARevocationReachesEveryScheduleOfItsOwnProcessIfNobodyElseIsThere) {
  GOAL_Group alone{};
  alone.size = 1;
  constexpr uint16_t kContext = 7;
  Domain domain(port, alone, kContext);
  ASSERT_EQ(domain.open(), PTL_OK);
  Schedule s;
  s.recv(0, 0);
  s.send(0, 0);
  s.finish();
  std::vector<std::unique_ptr<LoadedProgram>> programs;
  for (int i = 0; i < 3; ++i) {
    const Program program = compile(s, {.rank = 0, .context = kContext, .wildcards = {}, .touches = {}});
    programs.push_back(std::make_unique<LoadedProgram>(port, program, std::vector<Binding>(s.size())));
    ASSERT_EQ(programs.back()->load(), PTL_OK);
  }
  domain.revoke();
  rig.settle();
  for (auto& program : programs) EXPECT_EQ(program->start(), PTL_FAIL);
}

// A failed send is to be seen on its counter before what the engine has parked on failures runs.
TEST_F(ResidentAlone, AWaitThatAFailureEndsHasFailedThoughNothingThatFollowsFailuresHasRunYet) {
  Schedule s;
  s.recv(0, 0);
  s.finish();
  LoadedProgram program(port, compile(s, {.rank = 0, .context = 7, .wildcards = {}, .touches = {}}), std::vector<Binding>(s.size()));
  ASSERT_EQ(program.load(), PTL_OK);
  ASSERT_EQ(program.start(), PTL_OK);
  rig_portals.settles = false;
  PtlCTInc(program.counters()[kFinish], {0, 1});
  EXPECT_EQ(program.wait(), PTL_FAIL);
  EXPECT_EQ(program.epoch(), 0u);
  EXPECT_EQ(program.start(), PTL_FAIL);
  rig.settle();
}

TEST_F(Resident, GivingUpAtAnyMomentLeavesMemoryAloneAndEndsTheOthers) {
  for (uint64_t seed = 1; seed <= test::runs(300); ++seed) {
    RandomPrograms random(seed);
    const RandomJob job = random.job(seed % 2 ? kShort : kLong, false);
    ChaosJob chaos(job, programs(job), seed, kEager, kEpochsRun);
    chaos.run_for(random.draw(300));
    ChaosJob::Rank& quitter = chaos.ranks()[random.draw(static_cast<uint32_t>(chaos.ranks().size()))];
    if (quitter.over(kEpochsRun) || !quitter.program->running()) continue;
    rig_portals.current = quitter.node.get();
    quitter.program->cancel();
    quitter.failed = true;
    for (auto& slot : quitter.slots) std::ranges::fill(slot, 4711);
    const Slots mine = quitter.slots;
    ASSERT_TRUE(chaos.run()) << "seed " << seed;
    ASSERT_FALSE(any_wrong(chaos)) << "seed " << seed;
    ASSERT_EQ(quitter.slots, mine) << "seed " << seed;
  }
}

}  // namespace
}  // namespace portunus::goal
