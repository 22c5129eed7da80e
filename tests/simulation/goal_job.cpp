// goal_job.cpp: see goal_job.hpp.
#include "tests/simulation/goal_job.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "engine/goal/failure_notice.hpp"
#include "tests/goal/rig_portals.hpp"

namespace portunus::simulation {

using goal::rig_portals;

namespace {

// The layout of match bits: how wide the number is of a message among those with its tag, and this number.
constexpr int kWidthAt = 32;
uint64_t index_bits(uint64_t match_bits) {
  const uint64_t width = match_bits >> kWidthAt & 15;
  return width << kWidthAt | ((uint64_t{1} << 2 * width) - 1);
}
constexpr uint32_t kMostWords = 300;
constexpr uint64_t kMine = 4711;  // in memory that its program has taken back

struct WaitsForEver {};

bool is_failure_notice(uint64_t match_bits) { return (match_bits & goal::kFailureNotice) == goal::kFailureNotice; }

}  // namespace

GoalJob::GoalJob(uint64_t seed, Mutant mutant)
    : world_(draw_weather(seed), seed, mutant), ranks_(world_.ranks()), executions_(1 + draw(5)), gap_(draw(2) ? 2'000 : 100'000) {
  faults_left_ = draw(2) ? 0 : 1 + draw(2);
  gives_up_ = draw(6) == 0;
  rig_portals = {};
  rig_portals.settles = draw(2);
  rig_portals.meanwhile = [this] { return meanwhile(); };
  for (uint32_t count = 1 + draw(3), number = 0; number < count; ++number) scripts_.push_back(script(number, seed));
  for (uint32_t r = 0; r < world_.ranks(); ++r) {
    enter(r, "opening");
    ranks_[r].port = std::make_unique<goal::Port>();
    if (ranks_[r].port->open(0, 0) != PTL_OK) world_.net.violated("a port cannot be opened");
    for (const Script& each : scripts_) ranks_[r].copies.push_back({each.job.initial[r], nullptr});
  }
  plant();
}

GoalJob::~GoalJob() {
  for (Rank& rank : ranks_) abandon(rank);
  rig_portals = {};
}

// Plants faults between the program and the engine.
void GoalJob::plant() {
  Network& net = world_.net;
  rig_portals.parks = [&net](Command& command, ptl_size_t& threshold) {
    if (is_failure_notice(command.match_bits) && command.verb == Verb::put) return net.strikes(Mutant::notice_dropped, 3) ? 0 : 1;
    if (command.verb == Verb::put && net.strikes(Mutant::send_misled, 8)) command.target.rank = net.draw(net.weather.ranks);
    if (threshold > 1 && net.strikes(Mutant::threshold_early, 8)) --threshold;
    if (net.strikes(Mutant::threshold_late, 8)) ++threshold;
    if (net.strikes(Mutant::operation_forgotten, 8)) return 0;
    return command.verb == Verb::local && net.strikes(Mutant::operation_repeated, 8) ? 2 : 1;
  };
  rig_portals.grants = [&net](goal::Favour favour, ptl_me_t* me) {
    switch (favour) {
      case goal::Favour::repeat: return !net.strikes(Mutant::rearm_forgotten, 8);
      case goal::Favour::guard: return !net.strikes(Mutant::guard_forgotten, 8);
      case goal::Favour::watch: return !net.strikes(Mutant::watch_forgotten, 2);
      case goal::Favour::append: break;
    }
    if (is_failure_notice(me->match_bits)) return !net.strikes(Mutant::notice_unheard, 3);
    if (net.strikes(Mutant::index_ignored, 4)) me->ignore_bits |= index_bits(me->match_bits);
    return true;
  };
}

GoalJob::Script GoalJob::script(uint32_t number, uint64_t seed) {
  constexpr uint32_t kWords[] = {1, 4, 20, kMostWords};
  const bool shares = number > 0 && draw(3);
  Script made;
  made.context = shares ? scripts_[0].context : static_cast<uint16_t>(draw(0x10000));
  made.in_domain = shares ? scripts_[0].in_domain : number == 0 && draw(2);
  made.job = goal::RandomPrograms(seed * 16 + number).job(kWords[draw(4)], draw(2), world_.ranks(), 2 * number);
  made.job.buffer(world_.net.weather.eager);
  const auto epoch = static_cast<uint8_t>(draw(2) ? 0 : 250 + draw(6));
  for (uint32_t r = 0; r < world_.ranks(); ++r) {
    std::span<const goal::Touch> touches = made.job.touches[r];
    if (world_.net.strikes(Mutant::receive_early, 2)) touches = {};
    made.programs.push_back(goal::in_context(
        goal::compile(made.job.schedules[r], {.rank = r, .context = 0, .wildcards = {}, .touches = touches}), made.context, epoch));
  }
  if (draw(8) == 0)
    for (const auto& step : made.job.steps)
      if (!step.message && made.job.acts[step.rank][step.vertex].op != PTLX_COPY) made.breaks = {step.rank, step.vertex};
  std::vector<goal::Slots> memory = made.job.initial;
  for (uint64_t e = 0; e < executions_; ++e) {
    made.job.advance(memory);
    made.after.push_back(memory);
  }
  return made;
}

// From here on calls are this rank's.
void GoalJob::enter(uint32_t rank, const char* call) {
  rig_portals.current = &world_.node(rank);
  caller_ = rank;
  call_ = call;
  called_at_ = world_.net.now;
  world_.wake(rank);
}

// A call waits. Its own engine is not stepped for it, nor any other without a reason.
int GoalJob::meanwhile() {
  if (std::exchange(looks_, false)) return 0;
  if (world_.net.now > called_at_ + 8 * world_.net.weather.timeout + stopped_in_all_) {
    world_.net.violated("rank " + std::to_string(caller_) + " waits for ever in " + call_);
    if (unwinds_) throw WaitsForEver{};
    std::fprintf(stderr, "%s\n", world_.net.violation.c_str());
    std::_Exit(1);
  }
  world_.go_on_in_call();
  return 1;
}

void GoalJob::load(uint32_t rank, uint32_t which) {
  const Script& script = scripts_[which];
  Copy& copy = ranks_[rank].copies[which];
  enter(rank, "loading");
  std::vector<goal::Binding> bindings(script.job.schedules[rank].size());
  for (goal::VertexId v = 0; v < bindings.size(); ++v) {
    const goal::RandomJob::Act& act = script.job.acts[rank][v];
    const bool send = script.job.schedules[rank][v].kind == goal::Kind::send;
    bindings[v] = {.memory = copy.slots[send ? act.a : act.to].data(),
                   .a = copy.slots[act.a].data(),
                   .b = copy.slots[act.b].data(),
                   .count = script.job.words,
                   .op = act.op,
                   .type = PTL_UINT64_T};
    if (script.breaks != std::pair{rank, v}) continue;
    static uint64_t zeros[kMostWords];
    bindings[v].op = PTLX_DIV;
    bindings[v].b = zeros;
  }
  copy.program = std::make_unique<goal::LoadedProgram>(*ranks_[rank].port, script.programs[rank], std::move(bindings), nullptr);
  copy.program->bound_ahead(1, 0, false);
  if (copy.program->load() != PTL_OK) world_.net.violated("a program cannot be loaded");
}

uint64_t GoalJob::act(uint32_t rank) {
  ++acts_;
  Rank& mine = ranks_[rank];
  if (faults_left_ && one_in(30)) {
    --faults_left_;
    stopped_in_all_ += world_.strike(rank);
    if (!world_.alive(rank)) return kNever;
  }
  const uint64_t before = happened_;
  if (scripts_[0].in_domain && !mine.domain) {
    enter(rank, "opening a domain");
    GOAL_Group group{};
    group.size = static_cast<int>(world_.ranks());
    group.rank = static_cast<int>(rank);
    mine.domain = std::make_unique<goal::Domain>(*mine.port, group, scripts_[0].context);
    if (mine.domain->open() != PTL_OK) world_.net.violated("a domain cannot be opened");
    ++happened_;
  } else {
    go_on(rank, draw(static_cast<uint32_t>(scripts_.size())));
  }
  if (over(rank)) return kNever;
  mine.pause = happened_ != before ? gap_ : std::min(2 * mine.pause + 1, kMillisecond);
  return world_.net.now + 1 + draw(static_cast<uint32_t>(mine.pause));
}

// The next thing that this rank does with this schedule.
void GoalJob::go_on(uint32_t rank, uint32_t which) {
  Copy& copy = ranks_[rank].copies[which];
  if (over(copy)) return;
  if (!copy.program) {
    load(rank, which);
    ++happened_;
  } else if (!copy.program->running()) {
    enter(rank, "starting");
    if (copy.program->start() != PTL_OK) end(rank, which), copy.failed = true;
    ++happened_;
  } else if (gives_up_ && one_in(10)) {
    give_up(rank, which);
  } else {
    const uint64_t epoch = copy.program->epoch();
    bool ended = false;
    rig_portals.current = &world_.node(rank);  // no call that anything comes of: nobody wakes
    caller_ = rank, call_ = "looking", called_at_ = world_.net.now;
    looks_ = true;
    copy.failed = copy.program->test(ended) != PTL_OK;
    looks_ = false;
    if (!ended) return;
    ++happened_;
    world_.wake(rank);
    if (copy.failed) end(rank, which);
    else if (copy.slots != scripts_[which].after[epoch][rank])
      world_.net.violated("an execution computes something else than the reference at rank " + std::to_string(rank));
    else if (copy.program->mismatches()) world_.net.violated("a message is not as long as its receive");
  }
}

// It has failed: may it?
void GoalJob::end(uint32_t rank, uint32_t which) {
  if (!anything_lost())
    world_.net.violated("schedule " + std::to_string(which) + " fails without a reason at rank " + std::to_string(rank));
}

void GoalJob::give_up(uint32_t rank, uint32_t which) {
  Copy& copy = ranks_[rank].copies[which];
  --gives_up_;
  enter(rank, "giving up");
  copy.program->cancel();
  copy.failed = copy.given_up = true;
  for (auto& slot : copy.slots) std::fill(slot.begin(), slot.end(), kMine);
  ++happened_;
}

bool GoalJob::over(uint32_t rank) const {
  const Rank& mine = ranks_[rank];
  return std::all_of(mine.copies.begin(), mine.copies.end(), [&](const Copy& each) { return over(each); });
}

bool GoalJob::anything_lost() const {
  for (const Script& each : scripts_)
    if (each.breaks.first != kNobody) return true;
  for (uint32_t r = 0; r < world_.ranks(); ++r) {
    for (const Copy& copy : ranks_[r].copies)
      if (copy.given_up) return true;
    for (uint32_t other = 0; other < world_.ranks(); ++other)
      if (const_cast<World&>(world_).net.pair(r, other).ended_at != kNever) return true;
  }
  return false;
}

void GoalJob::run_out(uint64_t time) {
  for (const uint64_t until = world_.net.now + time; world_.net.now < until && world_.go_on(*this, until);) {
  }
}

// One has failed: all have.
void GoalJob::look_at_domain() {
  bool failed = false;
  each_living([&](uint32_t r) {
    rig_portals.current = &world_.node(r);
    failed = failed || (ranks_[r].domain && ranks_[r].domain->failed());
    for (uint32_t which = 0; which < scripts_.size(); ++which)
      failed = failed || (scripts_[which].in_domain && ranks_[r].copies[which].failed);
  });
  each_living([&](uint32_t r) {
    rig_portals.current = &world_.node(r);
    if (ranks_[r].domain && ranks_[r].domain->failed() != failed)
      world_.net.violated("a failure does not reach the domain of rank " + std::to_string(r));
    for (uint32_t which = 0; which < scripts_.size(); ++which) {
      Copy& copy = ranks_[r].copies[which];
      if (!failed || !scripts_[which].in_domain || copy.failed) continue;
      if (copy.program->start() == PTL_OK)
        world_.net.violated("a failure does not reach a schedule that stays at rank " + std::to_string(r));
      copy.failed = true;
    }
  });
}

void GoalJob::look_at_copies() {
  each_living([&](uint32_t r) {
    rig_portals.current = &world_.node(r);
    for (const Copy& copy : ranks_[r].copies) {
      ptl_ct_event_t told{};
      PtlCTGet(copy.program->failures(), &told);
      if (!copy.failed && told.success + told.failure == 0 && !copy.program->counters_are_full())
        world_.net.violated("a counter is not full after all executions");
      if (!copy.given_up) continue;
      for (const auto& slot : copy.slots)
        for (const uint64_t word : slot)
          if (word != kMine) return world_.net.violated("memory changes after its program was given up");
    }
  });
}

void GoalJob::clear_up() {
  const uint64_t time = 2 * world_.net.weather.timeout;
  unwinds_ = false;  // destructors wait
  each_living([&](uint32_t r) {
    for (Copy& copy : ranks_[r].copies) {
      enter(r, "freeing a schedule");
      copy.program.reset();
    }
    enter(r, "closing a domain");
    ranks_[r].domain.reset();
  });
  run_out(time);
  each_living([&](uint32_t r) {
    enter(r, "closing a port");
    ranks_[r].port.reset();
  });
  run_out(time);
}

// Never destroyed: a destructor would talk to an engine that is gone, or stuck.
void GoalJob::abandon(Rank& rank) {
  static auto& graveyard = *new std::vector<Rank>;
  if (rank.port) graveyard.push_back(std::move(rank));
}

std::string GoalJob::run() {
  Network& net = world_.net;
  const auto patience = [&] { return net.weather.timeout + stopped_in_all_; };
  try {
    uint64_t happened = 0, since = 0;
    for (;;) {
      if (happened != happened_) happened = happened_, since = net.now;
      if (!net.violation.empty()) return net.violation;
      if (!world_.go_on(*this, since + 4 * patience()) || net.now > since + 5 * patience()) break;
    }
    each_living([&](uint32_t r) {
      if (!over(r)) net.violated("a schedule never ends at rank " + std::to_string(r));
    });
    if (net.violation.empty()) look_at_domain();
    if (net.violation.empty()) run_out(net.weather.timeout);
    if (net.violation.empty()) look_at_copies();
    if (net.violation.empty()) clear_up();
  } catch (const WaitsForEver&) {
  }
  if (!net.violation.empty()) return net.violation;
  for (uint32_t r = 0; r < world_.ranks(); ++r)
    if (!world_.alive(r)) abandon(ranks_[r]);
  const std::string left = world_.close(anything_lost());
  if (!left.empty()) net.violated(left);
  return net.violation;
}

}  // namespace portunus::simulation
