// Executing a compiled schedule and measuring it: see rank.hpp.
//
// Thread: one, which between start and wait makes no call at all.
#include "engine/tools/goalrun/rank.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/goal/instance.hpp"
#include "engine/measurement/plain_program.hpp"
#include "engine/tools/goalrun/memory.hpp"
#include "engine/tools/goalrun/payload.hpp"

namespace portunus::goalrun {

namespace {

using Clock = std::chrono::steady_clock;
constexpr ptl_pt_index_t kPlainPort = 1;
constexpr uint64_t kFenceEvery = 128;  // epochs; bounds how far a rank that only sends can run ahead

void must(int code, const std::string& what) {
  if (code != PTL_OK) throw Failure(what + " failed with Portals code " + std::to_string(code));
}

// Everything of the library that a run needs, given back in reverse order.
class Library {
 public:
  Library() {
    must(PtlInit(), "starting Portals");
    ptl_ni_limits_t most{};
    most.max_entries = most.max_unexpected_headers = most.max_mds = most.max_cts = INT_MAX;
    most.max_list_size = most.max_triggered_ops = most.max_iovecs = INT_MAX;
    most.max_eqs = 1;
    most.max_pt_index = kPlainPort;
    most.max_msg_size = PTL_SIZE_MAX;
    most.max_atomic_size = most.max_fetch_atomic_size = most.max_volatile_size = PTL_SIZE_MAX;
    most.max_waw_ordered_size = most.max_war_ordered_size = PTL_SIZE_MAX;
    must(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, &most, &limits_, &ni_), "opening the network");
    must(PtlxJobMap(ni_), "exchanging addresses with the other ranks");
    must(port_.open(ni_, 0), "opening the portal table entry");
  }
  ~Library() {
    port_.close();
    if (ni_ != PTL_INVALID_HANDLE) PtlNIFini(ni_);
    PtlFini();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] const goal::Port& port() const { return port_; }
  [[nodiscard]] ptl_handle_ni_t ni() const { return ni_; }
  [[nodiscard]] const ptl_ni_limits_t& limits() const { return limits_; }

 private:
  ptl_handle_ni_t ni_ = PTL_INVALID_HANDLE;
  ptl_ni_limits_t limits_{};
  goal::Port port_;
};

class Run {
 public:
  Run(const goal::GoalFile& file, std::vector<goal::Plan> plans, const Options& options, const ptlx_job_t& job);
  Outcome outcome();

 private:
  void load(const goal::Program& program);
  void load(goal::Plan plan, const ptlx_job_t& job);
  void must_load(const goal::Program& program, int code);
  template <class F>
  auto by_program(F&& f) {
    return plain_ ? f(*plain_) : f(*program_);
  }
  void epoch();
  int wait_busily();
  void measure(uint32_t compute_us, Times& completion, Times& waiting);
  void describe_place(Outcome& outcome) const;

  const Options& options_;
  const goal::Schedule& schedule_;
  std::vector<goal::Wildcards> wildcards_;
  std::optional<Payload> payload_;        // of a file without annotations ..
  std::optional<ArgumentMemory> memory_;  // .. and of one with them
  std::optional<Library> library_;
  std::optional<goal::LoadedProgram> loaded_;
  std::optional<goal::Instance> instance_;
  std::optional<goal::PlainProgram> plain_;
  goal::LoadedProgram* program_ = nullptr;     // one of these, unless plain_ is there
  double completion_us_ = 0, waiting_us_ = 0;  // of the last epoch
  std::chrono::microseconds compute_{0};
};

void refuse_too_large(uint64_t bytes, int local_size) {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  const uint64_t memory = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (bytes <= memory / static_cast<unsigned>(local_size)) return;
  throw Failure("the messages of this rank need " + std::to_string(bytes) + " bytes of memory, more than its part of the " +
                std::to_string(memory) + " that this node has; use smaller messages or more nodes");
}

Run::Run(const goal::GoalFile& file, std::vector<goal::Plan> plans, const Options& options, const ptlx_job_t& job)
    : options_(options), schedule_(file.ranks[static_cast<size_t>(job.rank)]) {
  const auto rank = static_cast<uint32_t>(job.rank);
  for (const goal::Schedule& schedule : file.ranks) wildcards_.emplace_back(schedule);
  if (!plans.empty()) {
    load(std::move(plans[rank]), job);
    return;
  }
  const goal::Program program = goal::compile(schedule_, {.rank = rank, .context = 0, .wildcards = wildcards_, .touches = {}});
  refuse_too_large(Payload::bytes_needed(schedule_, options.check), job.local_size);
  payload_.emplace(file, rank, wildcards_, options.check);
  library_.emplace();
  load(program);
}

void Run::load(const goal::Program& program) {
  std::vector<goal::Binding> bindings(schedule_.size());
  for (goal::VertexId v = 0; v < schedule_.size(); ++v) bindings[v].memory = payload_->buffer(v);
  if (options_.plain) {
    const int code = plain_.emplace(library_->ni(), kPlainPort, program, std::move(bindings), library_->limits().max_atomic_size).load();
    if (code == PTL_ARG_INVALID)
      throw Failure("it receives from any source or any tag, which plain Portals cannot; run it without --plain");
    return must_load(program, code);
  }
  program_ = &loaded_.emplace(library_->port(), program, std::move(bindings));
  if (goal::ProgramTrace* trace = program_->trace()) trace->label_by(schedule_);
  must_load(program, program_->load());
}

// As the annotations say.
void Run::load(goal::Plan plan, const ptlx_job_t& job) {
  uint64_t bytes = plan.scratch_bytes;
  for (const uint64_t argument : plan.argument_bytes) bytes = argument > UINT64_MAX / 4 - bytes / 2 ? UINT64_MAX / 2 : bytes + 2 * argument;
  refuse_too_large(bytes, job.local_size);
  memory_.emplace(plan, job.rank, options_.input);
  const auto compiled = goal::compile(std::move(plan), static_cast<uint32_t>(job.rank), wildcards_);
  library_.emplace();
  instance_.emplace(library_->port(), compiled, memory_->arguments(), uint16_t{0});
  program_ = &instance_->program();
  must_load(compiled->program, instance_->load());
}

void Run::must_load(const goal::Program& program, int code) {
  const ptl_ni_limits_t& limits = library_->limits();
  if (code == PTL_NO_SPACE) {
    throw Failure("its schedule compiles to " + std::to_string(program.increments.size()) + " counters, " +
                  std::to_string(program.early.size()) + " early entries and " +
                  std::to_string(program.triggered.size() + program.relays.size()) + " triggered operations, but an interface has only " +
                  std::to_string(limits.max_cts) + ", " + std::to_string(limits.max_entries) + " and " +
                  std::to_string(limits.max_triggered_ops) + "; divide the schedule");
  }
  must(code, "loading the compiled schedule");
}

int Run::wait_busily() {
  bool ended = false;
  int code = PTL_OK;
  while (!ended && code == PTL_OK) code = program_->test(ended);
  return code;
}

void Run::epoch() {
  if (by_program([](auto& program) { return program.epoch(); }) % kFenceEvery == 0) must(PtlxJobFence(), "waiting for the other ranks");
  if (memory_) memory_->fill();
  else if (options_.check) payload_->fill(by_program([](auto& program) { return program.epoch(); }));
  const Clock::time_point begin = Clock::now();
  must(by_program([](auto& program) { return program.start(); }), "starting the schedule");
  const Clock::time_point computed = begin + compute_;
  while (compute_.count() != 0 && Clock::now() < computed) {
  }
  const Clock::time_point wait = Clock::now();
  const int code = options_.busy ? wait_busily() : by_program([](auto& program) { return program.wait(); });
  const Clock::time_point end = Clock::now();
  if (code == PTL_FAIL) throw Failure("a message or an operation of the schedule failed; has a rank ended too early?");
  must(code, "waiting for the schedule");
  completion_us_ = std::chrono::duration<double, std::micro>(end - begin).count();
  waiting_us_ = std::chrono::duration<double, std::micro>(end - wait).count();
  if (memory_ || !options_.check) return;
  const std::string complaint = payload_->check(by_program([](auto& program) { return program.epoch(); }) - 1);
  if (!complaint.empty()) throw Failure(complaint);
}

Times summary(std::vector<double>& values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  const double median = values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {values.front(), median, values.back()};
}

void Run::measure(uint32_t compute_us, Times& completion, Times& waiting) {
  compute_ = std::chrono::microseconds(compute_us);
  std::vector<double> completions, waits;
  for (uint32_t i = 0; i < options_.repeat; ++i) {
    epoch();
    completions.push_back(completion_us_);
    waits.push_back(waiting_us_);
  }
  if (!by_program([](auto& program) { return program.counters_are_full(); }))
    throw Failure("a counter does not have what so many executions make of it; this is a defect of the engine");
  completion = summary(completions);
  waiting = summary(waits);
}

template <size_t kRoom>
void put_text(char (&to)[kRoom], std::string_view text) {
  const size_t length = std::min(text.size(), kRoom - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

void Run::describe_place(Outcome& outcome) const {
  ptlx_engine_info_t info{};
  must(PtlxEngineInfo(&info), "asking the engine");
  outcome.core = info.engine_core;
  outcome.oversubscribed = info.oversubscribed;
  put_text(outcome.progress, info.progress);
  std::set<std::string> names;
  for (const goal::Vertex& vertex : schedule_.vertices()) {
    if (!vertex.is_message() || vertex.peer == goal::kAnySource) continue;
    ptl_process_t peer{};
    peer.rank = vertex.peer;
    const char* name;
    if (PtlxTransport(library_->ni(), peer, &name) != PTLX_TRANSPORT_NONE) names.insert(name);
  }
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : "+") + name;
  put_text(outcome.transports, joined);
}

Outcome Run::outcome() {
  Outcome outcome;
  must(PtlxJobFence(), "waiting for the other ranks");  // before it, a message could find no portal table entry
  epoch();                                              // connections, caches
  Times unused;
  if (options_.compute_us != 0) measure(0, outcome.undisturbed, unused);
  measure(options_.compute_us, outcome.completion, outcome.waiting);
  if (memory_) memory_->write(options_.output);
  describe_place(outcome);
  return outcome;
}

}  // namespace

Outcome execute(const goal::GoalFile& file, std::vector<goal::Plan> plans, const Options& options, const ptlx_job_t& job) {
  // On a node a thread of the engine's own would be woken for messages that the application's, which looks all the time, takes. Between
  // hosts programs sleep while they wait, and have that thread take what comes.
  if (options.busy && options.compute_us == 0 && job.local_size == job.size) setenv("PTL_PROGRESS", "caller", 0);
  Run run(file, std::move(plans), options, job);
  const Outcome mine = run.outcome();
  must(PtlxJobPut("goalrun.outcome", &mine, sizeof mine), "publishing the times");
  must(PtlxJobFence(), "waiting for the other ranks");
  return mine;
}

}  // namespace portunus::goalrun
