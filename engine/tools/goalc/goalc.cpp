// goalc: compiles GOAL files and shows what comes of it. 'goalc --help' is its manual.
//
// Thread: one.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "engine/goal/schedules/annotate.hpp"
#include "engine/goal/schedules/binary.hpp"
#include "engine/goal/schedules/buffered.hpp"
#include "engine/goal/schedules/validate.hpp"
#include "engine/goal/schedules/write.hpp"
#include "engine/tools/command_line.hpp"
#include "engine/tools/goalc/join.hpp"
#include "engine/tools/goalc/print.hpp"
#include "engine/tools/goalc/simulate.hpp"
#include "engine/tools/input_file.hpp"

namespace {

using namespace portunus;

constexpr char kFooter[] =
    "FILE is a GOAL text, with annotations (//@) or without, or the simulators' binary form. Without options goalc prints, for\n"
    "each rank, the compiled form: what is appended before the start, then what happens when which counter reaches which\n"
    "threshold, and which counter that increments; what each rank takes of a network interface; and the critical path, for a\n"
    "machine of the given costs on which operations do not hold each other up.\n"
    "--export writes the compiled schedules for LogGOPSim: cpu 1 is the engine, each step of a chain and each local operation\n"
    "costs what it costs on this machine, measured now.\n"
    "--simulate: ranks and the network do one thing after the other, by the parameters of LogGOPS: --network L=,o=,g=,G=,O= in ns and S=\n"
    "in bytes (65536), or latency, overhead, bandwidth, topology with units (ptlsim --help); without it 2 us, 200 ns, 100 Gbit/s. calc is\n"
    "what the file says.\n"
    "Statuses: 0 done, 1 the file is wrong or cannot be read or written, 2 bad use.";

struct Options {
  std::string file, binary, records, output, simulated_network;
  std::optional<uint32_t> rank;
  std::optional<double> hop_ns;
  goalc::Network network;
  bool brief = false, dot = false, exports = false, text = false, simulate = false;
};

// An error, as a sentence for the user.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The status to end with, if there is nothing to do.
std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CommandLine line("goalc", "Compiles a GOAL schedule and prints the compiled form, what it takes, and its critical path.", kFooter);
  line.text("FILE", options.file, "the schedule");
  line.number("--rank", options.rank, "print the compiled form and resources of this rank only");
  line.flag("--brief", options.brief, "print no compiled form");
  auto* dot = line.flag("--dot", options.dot, "print the graph in Graphviz's language instead");
  auto* exports = line.flag("--export", options.exports, "print the compiled schedules for LogGOPSim instead", {dot});
  line.flag("--text", options.text, "print the schedule as GOAL text that txt2bin accepts instead", {dot, exports});
  line.text("--binary", options.binary, "write the schedule (with --export the compiled ones) to this file in binary form instead", {dot});
  line.flag("--simulate", options.simulate, "print how long the schedule takes on a simulated network instead", {dot, exports});
  line.text("--network", options.simulated_network, "of --simulate: KEY=VALUE,..., as ptlsim takes it");
  line.text("--records", options.records, "join what the ranks of a job have recorded in this folder, as ptlrun --record does (no FILE)");
  line.text("--output", options.output, "where --records writes the schedule: GOAL text, or the binary form if the name ends in .bin");
  line.positive("--latency", options.network.latency_ns, "nanoseconds from rank to rank (1500)");
  line.positive("--overhead", options.network.overhead_ns, "nanoseconds that a message costs at each end (200)");
  line.positive("--byte", options.network.byte_ns, "nanoseconds per byte (0.1)");
  line.positive("--hop", options.hop_ns, "nanoseconds from a counter to what it fires (default: measured)");
  if (const auto status = line.read_or_tell(argc, argv)) return status;
  if (options.records.empty() != options.output.empty()) {
    std::fprintf(stderr, "goalc: --records and --output go together; give both\n");
    return kBadUse;
  }
  if (!options.simulated_network.empty() && !options.simulate) {
    std::fprintf(stderr, "goalc: --network is that of --simulate; give both\n");
    return kBadUse;
  }
  if (!options.file.empty() || !options.records.empty()) return std::nullopt;
  std::fprintf(stderr, "goalc: no FILE was given; run 'goalc --help' for the options\n");
  return kBadUse;
}

std::string read_file(const std::string& path) {
  std::string bytes;
  if (const int cause = read_input(path, bytes))
    throw Failure(path + ": the file cannot be read (" + std::strerror(cause) + "); give the path of a GOAL file");
  return bytes;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (!file || std::fclose(file) != 0 || !written) {
    throw Failure(path + ": the file cannot be written (" + std::strerror(errno) + "); give a path that can");
  }
}

// `executed`: as they are run, with copies of messages that must not wait.
std::vector<goal::Plan> read_plans(const std::string& path, bool executed) {
  const std::string bytes = read_file(path);
  try {
    goal::GoalFile file = goal::read_goal(bytes);
    std::vector<goal::Plan> plans = goal::plans_of(std::move(file));
    std::vector<goal::Schedule> graphs;
    for (const goal::Plan& plan : plans) graphs.push_back(plan.graph);
    goal::validate(graphs);
    if (executed) goal::buffer_circles(plans);
    return plans;
  } catch (const goal::ScheduleError& error) {
    throw Failure(path + (error.line != 0 ? ":" : ": ") + error.what());
  }
}

using Programs = std::vector<std::shared_ptr<const goal::Compiled>>;

Programs compile_all(const std::vector<goal::Plan>& plans) {
  std::vector<goal::Wildcards> wildcards;
  for (const goal::Plan& plan : plans) wildcards.emplace_back(plan.graph);
  Programs programs;
  for (uint32_t r = 0; r < plans.size(); ++r) programs.push_back(goal::compile(plans[r], r, wildcards));
  return programs;
}

void print_compiled(const Options& options, const std::vector<goal::Plan>& plans, goalc::Costs& costs) {
  const Programs programs = compile_all(plans);
  const uint32_t first = options.rank.value_or(0);
  const std::span<const std::shared_ptr<const goal::Compiled>> chosen =
      std::span(programs).subspan(first, options.rank ? 1 : programs.size());
  if (!options.brief) {
    for (size_t i = 0; i < chosen.size(); ++i) {
      std::printf("rank %zu\n%s\n", first + i, goalc::compiled_form(*chosen[i]).c_str());
    }
  }
  std::printf("%s\n%s", goalc::resources(chosen, first).c_str(), goalc::path_text(plans, goalc::critical_path(plans, costs)).c_str());
}

void print_or_write(const Options& options, const std::vector<goal::Plan>& plans, goalc::Costs& costs) {
  if (!options.exports && options.binary.empty()) {
    const auto cost = [&](const goal::Plan& plan, goal::VertexId v) { return static_cast<uint64_t>(costs.work_ns(plan, v)); };
    std::fputs(goal::write_goal(std::span(plans), {.distinct_tags = false, .cost = cost}).c_str(), stdout);
    return;
  }
  std::vector<goal::Schedule> schedules;
  if (options.exports) {
    const bool exact = std::ranges::none_of(plans, [](const goal::Plan& plan) { return goal::has_wildcards(plan.graph); });
    for (const auto& compiled : compile_all(plans)) schedules.push_back(goalc::exported(*compiled, costs, exact));
  } else {
    for (const goal::Plan& plan : plans) schedules.push_back(plan.graph);
  }
  if (!options.binary.empty()) return write_file(options.binary, goal::write_binary_goal(schedules));
  std::fputs(goal::write_goal(std::span<const goal::Schedule>(schedules), {.distinct_tags = false, .cost = {}}).c_str(), stdout);
}

// A file whose records have been cut is written, too, and says so.
int join(const Options& options) {
  const goalc::Joined joined = goalc::join_records(options.records);
  goal::validate(joined.ranks);
  std::string text = "// Recorded by ptlrun --record: calc is what a rank computed between two calls, in ns.\n// The program took " +
                     std::to_string(joined.took_ns) + " ns from the end of its initialisation to its last call.\n";
  for (const std::string& remark : joined.remarks) {
    std::fprintf(stderr, "goalc: %s: %s\n", options.output.c_str(), remark.c_str());
    text += "// " + remark + ".\n";
  }
  const std::span<const goal::Schedule> ranks = joined.ranks;
  write_file(options.output, options.output.ends_with(".bin") ? goal::write_binary_goal(ranks) : text + goal::write_goal(ranks));
  return 0;
}

void print_simulated(const Options& options, const std::vector<goal::Plan>& plans, goalc::Costs& costs) {
  ptlsim::NetworkModel network = ptlsim::NetworkModel::read(options.simulated_network);
  if (network.rendezvous == 0) network.rendezvous = 65'536;
  std::fputs(goalc::simulated_text(goalc::simulate(plans, network, costs), options.rank).c_str(), stdout);
}

int run(const Options& options) {
  if (!options.records.empty()) return join(options);
  const bool as_written = options.text || options.simulate || (!options.binary.empty() && !options.exports);
  const std::vector<goal::Plan> plans = read_plans(options.file, !as_written);
  if (options.rank && *options.rank >= plans.size()) {
    throw Failure("there is no rank " + std::to_string(*options.rank) + "; ranks go from 0 to " + std::to_string(plans.size() - 1));
  }
  goalc::Costs costs(options.network, options.hop_ns);
  if (options.simulate) {
    print_simulated(options, plans, costs);
  } else if (options.dot) {
    std::fputs(goalc::dot(plans, goalc::critical_path(plans, costs)).c_str(), stdout);
  } else if (options.exports || options.text || !options.binary.empty()) {
    print_or_write(options, plans, costs);
  } else {
    print_compiled(options, plans, costs);
  }
  if (std::fflush(stdout) != 0) throw Failure(std::string("the output cannot be written (") + std::strerror(errno) + ")");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const std::optional<int> status = parse_options(argc, argv, options)) return *status;
  try {
    return told("goalc", run(options));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "goalc: there is not enough memory for this schedule; use a smaller one\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "goalc: %s\n", error.what());
  }
  return 1;
}
