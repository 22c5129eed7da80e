// Traces: see trace.hpp.
//
// Thread: as trace.hpp says.
#include "engine/goal/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/goal/program.hpp"
#include "engine/goal/schedules/annotate.hpp"
#include "engine/goal/schedules/plan.hpp"
#include "engine/host/clock.hpp"

namespace portunus::goal {

namespace {

using nlohmann::ordered_json;

constexpr uint32_t kLaneBits = 16;  // of a thread number; above them 1 + context

double microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

// Both sides of a message compute the same match bits, whose epoch the execution adds.
std::string flow_of(uint32_t source, uint32_t target, uint64_t match_bits) {
  char text[64];
  std::snprintf(text, sizeof text, "%u>%u:%llx", source, target, static_cast<unsigned long long>(match_bits));
  return text;
}

TracedProgram::Entry entry_of(const Operation& operation, const Binding& binding, uint32_t rank) {
  TracedProgram::Entry entry;
  const std::string bytes = std::to_string(operation.size) + " B";
  const std::string peer = operation.peer == kAnySource ? "any" : std::to_string(operation.peer);
  entry.peer = operation.peer;
  entry.bytes = operation.size;
  if (operation.action == Action::put) {
    entry.category = "send";
    entry.name = "send " + bytes + " to " + peer;
    entry.flow = flow_of(rank, operation.peer, operation.match_bits);
  } else if (operation.action == Action::append) {
    entry.category = "recv";
    entry.name = "recv " + bytes + " from " + peer;
    if (operation.peer != kAnySource && !operation.any_tag) entry.flow = flow_of(operation.peer, rank, operation.match_bits);
  } else if (operation.action == Action::parked) {
    entry.category = "program";
    entry.bytes = 0;
    entry.name = std::to_string(operation.size) + " of the program to " + peer;
  } else {
    const bool typed = binding.op < PTLX_TIMESTAMP;
    entry.category = "local";
    entry.bytes = typed ? binding.count * width_of(binding.type) : 0;
    entry.name = binding.op == PTLX_DELAY ? "delay " + std::to_string(operation.size) + " ns" : name_of(binding.op);
    if (typed) entry.name += " of " + std::to_string(binding.count) + " " + name_of(binding.type);
  }
  return entry;
}

// trace.json -> trace.3.json; without a suffix, the number comes last.
std::string path_of(const std::string& path, uint32_t rank) {
  const size_t slash = path.rfind('/'), dot = path.rfind('.');
  const bool suffix = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1) && dot > 0;
  return suffix ? path.substr(0, dot) + "." + std::to_string(rank) + path.substr(dot) : path + "." + std::to_string(rank);
}

// Writes the events of executions one after the other.
class Events {
 public:
  explicit Events(std::ostream& to) : to_(to) { to_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"; }
  void put(const ordered_json& event) {
    to_ << (first_ ? "" : ",\n") << event.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    first_ = false;
  }
  void name(const char* what, uint32_t rank, uint32_t thread, const std::string& text) {
    put({{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", thread}, {"args", {{"name", text}}}});
  }
  void execution(const Trace::Execution& e);
  void engine(const Trace::Execution& e, const ptlx_engine_info_t& before);
  void close(uint64_t left_out) {
    to_ << "\n],\"otherData\":{\"clock\":\"CLOCK_MONOTONIC\",\"executions_left_out\":" << left_out << "}}\n";
  }

 private:
  void vertex(const Trace::Execution& e, VertexId v, uint32_t thread);

  std::ostream& to_;
  bool first_ = true;
};

// Each vertex goes to the first lane that is free when it begins.
void Events::execution(const Trace::Execution& e) {
  const TracedProgram& program = *e.program;
  put({{"ph", "X"},
       {"name", "schedule " + std::to_string(program.context) + ", execution " + std::to_string(e.epoch)},
       {"cat", "execution"},
       {"pid", program.rank},
       {"tid", 0},
       {"ts", microseconds(e.begin)},
       {"dur", microseconds(e.end - e.begin)},
       {"args", {{"failed", e.failed}}}});
  std::vector<VertexId> order(e.stamps.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](VertexId v) { return e.stamps[v].begin == 0; });
  std::ranges::stable_sort(order, {}, [&](VertexId v) { return e.stamps[v].begin; });
  std::vector<uint64_t> free_at;
  for (const VertexId v : order) {
    const auto lane = std::ranges::find_if(free_at, [&](uint64_t until) { return until <= e.stamps[v].begin; });
    const auto number = static_cast<uint32_t>(lane - free_at.begin());
    if (lane == free_at.end()) free_at.push_back(0);
    free_at[number] = std::max(e.stamps[v].end == 0 ? e.end : e.stamps[v].end, e.stamps[v].begin + 1);
    vertex(e, v, (program.context + 1u) << kLaneBits | std::min(number, (1u << kLaneBits) - 1));
  }
}

void Events::vertex(const Trace::Execution& e, VertexId v, uint32_t thread) {
  const TracedProgram::Entry& entry = e.program->vertices[v];
  const Stamp& stamp = e.stamps[v];
  const uint64_t end = stamp.end == 0 ? e.end : stamp.end;
  ordered_json event{{"ph", "X"},
                     {"name", entry.label.empty() ? entry.name : entry.label},
                     {"cat", entry.category},
                     {"pid", e.program->rank},
                     {"tid", thread},
                     {"ts", microseconds(stamp.begin)},
                     {"dur", microseconds(end > stamp.begin ? end - stamp.begin : 0)}};
  ordered_json& args = event["args"] = {{"vertex", v}, {"what", entry.name}, {"bytes", entry.bytes}, {"execution", e.epoch}};
  if (stamp.end == 0) args["ended"] = false;
  put(event);
  if (entry.flow.empty() || stamp.end == 0) return;
  const bool sends = entry.category[0] == 's';
  ordered_json flow{{"ph", sends ? "s" : "f"},
                    {"name", "message"},
                    {"cat", "message"},
                    {"id", entry.flow + "/" + std::to_string(e.epoch)},
                    {"pid", e.program->rank},
                    {"tid", thread},
                    {"ts", microseconds(sends ? stamp.begin : end)}};
  if (!sends) flow["bp"] = "e";
  put(flow);
}

// The events that the engine counted between the ends of two executions.
void Events::engine(const Trace::Execution& e, const ptlx_engine_info_t& before) {
  const ptlx_engine_info_t& now = e.engine;
  put({{"ph", "C"},
       {"name", "engine, per execution"},
       {"pid", e.program->rank},
       {"tid", 0},
       {"ts", microseconds(e.end)},
       {"args",
        {{"steps", now.steps - before.steps},
         {"steps_by_engine", now.steps_by_engine - before.steps_by_engine},
         {"sends", now.sends - before.sends},
         {"arrivals", now.arrivals - before.arrivals},
         {"matches", now.matches - before.matches},
         {"triggers", now.triggers - before.triggers},
         {"rings", now.rings - before.rings},
         {"engine_cpu_us", microseconds(now.engine_cpu_ns - before.engine_cpu_ns)}}}});
}

}  // namespace

Program with_own_ends(Program program) {
  for (std::vector<Operation>* operations : {&program.early, &program.triggered}) {
    for (Operation& operation : *operations) {
      const CounterId whole = operation.counter;
      if (operation.action == Action::parked) continue;  // it has one
      if (whole != kFinish && program.increments[whole] == 1) continue;
      operation.counter = static_cast<CounterId>(program.increments.size());
      program.increments.push_back(1);
      program.relays.push_back({{operation.counter, 1}, whole});
    }
  }
  return program;
}

Trace* Trace::of_process() {
  const char* path = std::getenv("PTL_TRACE");
  if (!path || !*path) return nullptr;
  static Trace trace(path);
  return &trace;
}

void Trace::add(Execution execution) {
  written_ = false;
  if (stamps_ + execution.stamps.size() > kMostStamps) {
    ++left_out_;
    return;
  }
  stamps_ += execution.stamps.size();
  const bool failed = execution.failed;
  executions_.push_back(std::move(execution));
  if (failed) write();  // whoever fails may end without a word
}

void Trace::write() {
  if (std::exchange(written_, true) || executions_.empty()) return;
  const uint32_t rank = executions_.front().program->rank;
  const std::string path = path_of(path_, rank);
  const std::string part = path + ".part";  // half a trace, as a full disk leaves it, must not be taken for one
  errno = 0;
  std::ofstream file(part);
  Events events(file);
  events.name("process_name", rank, 0, "rank " + std::to_string(rank));
  events.name("thread_name", rank, 0, "application: start to end of wait");
  std::map<uint16_t, bool> named;
  ptlx_engine_info_t before = executions_.front().engine;
  for (const Execution& execution : executions_) {
    const uint16_t context = execution.program->context;
    if (!std::exchange(named[context], true))
      events.name("thread_name", rank, (context + 1u) << kLaneBits, "schedule " + std::to_string(context));
    events.execution(execution);
    events.engine(execution, std::exchange(before, execution.engine));
  }
  events.close(left_out_);
  file.close();
  if (file && std::rename(part.c_str(), path.c_str()) == 0) return;
  const std::string why = errno != 0 ? std::string(" (") + std::strerror(errno) + ")" : "";
  std::remove(part.c_str());
  std::fprintf(stderr, "portals: PTL_TRACE: '%s' cannot be written%s; name a file in a folder that can be written to and has room\n",
               path.c_str(), why.c_str());
}

ProgramTrace::ProgramTrace(Trace& trace, const Program& program, std::span<const Binding> bindings, uint32_t rank)
    : trace_(trace), program_(std::make_shared<TracedProgram>()), stamps_(bindings.size()) {
  program_->rank = rank;
  program_->context = program.context;
  program_->vertices.resize(bindings.size());
  for (const auto* operations : {&program.early, &program.triggered})
    for (const Operation& operation : *operations)
      program_->vertices[operation.vertex] = entry_of(operation, bindings[operation.vertex], rank);
}

void ProgramTrace::label_by(const Schedule& schedule) {
  for (VertexId v = 0; v < schedule.size(); ++v) program_->vertices[v].label = schedule.label(v);
}

void ProgramTrace::begin() {
  std::ranges::fill(stamps_, Stamp{});
  begin_ = now_ns();
}

void ProgramTrace::end(uint64_t epoch, bool failed) {
  Trace::Execution execution{
      .program = program_, .epoch = epoch, .begin = begin_, .end = now_ns(), .failed = failed, .stamps = stamps_, .engine = {}};
  PtlxEngineInfo(&execution.engine);
  trace_.add(std::move(execution));
}

}  // namespace portunus::goal
