// Barrier, bcast and allreduce at 256 to 65536 ranks, alltoall at 256: the time to write them down, to export them for simulators, and
// to execute them as graphs; the sizes; and whether they end with the number of messages that their algorithms have.
//
// Thread: one.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "engine/goal/schedules/binary.hpp"
#include "engine/goal/schedules/write.hpp"
#include "engine/host/clock.hpp"
#include "tests/support/collective_graphs.hpp"
#include "tests/support/graph_run.hpp"

namespace {

using namespace portunus;
using namespace portunus::goal;
using namespace portunus::goal::collectives;
using nlohmann::ordered_json;

constexpr const char* kHelp =
    "usage: %s [--ranks N] [--json FILE] [--out FOLDER]\n"
    "Writes collectives of 256, 1024, 4096 ... N ranks (65536), exports and executes them as graphs.\n"
    "  --out FOLDER  keeps the exported files, NAME.RANKS.goal and .bin\n";

struct Options {
  uint32_t ranks = 65536;
  std::string json, folder;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--help") {
      std::printf(kHelp, argv[0]);
      std::exit(0);
    }
    char* end = nullptr;
    if (i + 1 < argc && name == "--json") options.json = argv[i + 1];
    else if (i + 1 < argc && name == "--out") options.folder = argv[i + 1];
    else if (i + 1 < argc && name == "--ranks") options.ranks = static_cast<uint32_t>(std::strtoul(argv[i + 1], &end, 10));
    if ((end && *end) || options.ranks < 1024 || options.ranks > 1 << 20 || (name != "--json" && name != "--out" && name != "--ranks") ||
        i + 1 == argc) {
      std::fprintf(stderr, "scale: '%s' is not understood; --ranks takes 1024 to 1048576, 'scale --help' names the options\n",
                   name.c_str());
      std::exit(2);
    }
  }
  return options;
}

double seconds_since(uint64_t begin_ns) { return static_cast<double>(now_ns() - begin_ns) * 1e-9; }

// False, with a sentence, if the file cannot be written.
bool keep(const std::string& folder, const std::string& name, const std::string& content) {
  if (folder.empty()) return true;
  std::ofstream file(folder + "/" + name, std::ios::binary);
  file << content;
  file.close();
  if (!file) std::fprintf(stderr, "scale: '%s/%s' cannot be written; give --out a folder with room\n", folder.c_str(), name.c_str());
  return static_cast<bool>(file);
}

// One collective at one size. False if it is not as it must be.
bool measure(const KnownCollective& collective, uint32_t ranks, const Options& options, ordered_json& results) {
  uint64_t begin = now_ns();
  const std::vector<Schedule> graphs = graphs_of(collective, ranks);
  const double written_s = seconds_since(begin);
  const std::string name = std::string(collective.name) + "." + std::to_string(ranks);

  begin = now_ns();
  const std::string text = write_goal(graphs, {.distinct_tags = true, .cost = {}});
  const double text_s = seconds_since(begin);
  bool good = keep(options.folder, name + ".goal", text);
  begin = now_ns();
  const std::string binary = write_binary_goal(graphs);
  const double binary_s = seconds_since(begin);
  good = keep(options.folder, name + ".bin", binary) && good;

  begin = now_ns();
  const GraphRun run = GraphRunner(graphs).run();
  const double run_s = seconds_since(begin);
  const bool right = run.ended && run.messages == collective.messages(ranks) && run.rounds == collective.rounds(ranks);
  std::printf(
      "%-10s %6u ranks: %8llu operations %8llu messages %2llu rounds, %s; written in %.3f s, text %.3f s %.1f MB, "
      "binary %.3f s %.1f MB, executed in %.3f s\n",
      collective.name, ranks, static_cast<unsigned long long>(run.operations), static_cast<unsigned long long>(run.messages),
      static_cast<unsigned long long>(run.rounds), right ? "as they must be" : "WRONG", written_s, text_s,
      static_cast<double>(text.size()) * 1e-6, binary_s, static_cast<double>(binary.size()) * 1e-6, run_s);
  const auto add = [&](const char* what, const char* metric, const char* unit, double value) {
    results.push_back({{"bench", std::string("scale/") + collective.name + "/" + what},
                       {"transport", "none"},
                       {"size", ranks},
                       {"metric", metric},
                       {"unit", unit},
                       {"value", value}});
  };
  add("build", "time", "ns", written_s * 1e9);
  add("text", "time", "ns", text_s * 1e9);
  add("text", "bytes", "B", static_cast<double>(text.size()));
  add("binary", "time", "ns", binary_s * 1e9);
  add("binary", "bytes", "B", static_cast<double>(binary.size()));
  add("execute", "time", "ns", run_s * 1e9);
  add("messages", "count", "1", static_cast<double>(run.messages));
  add("rounds", "count", "1", static_cast<double>(run.rounds));
  uint64_t edges = 0;
  for (const Schedule& graph : graphs) edges += graph.num_edges();
  add("dependencies", "count", "1", static_cast<double>(edges));
  return good && right;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  ordered_json results = ordered_json::array();
  bool good = true;
  for (uint32_t ranks = 256; ranks <= options.ranks; ranks *= 4) {
    for (const KnownCollective& collective : kKnownCollectives)
      if (ranks <= collective.most_ranks) good = measure(collective, ranks, options, results) && good;
  }
  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << results.dump(1) << '\n';
    file.close();
    if (!file) {
      std::fprintf(stderr, "scale: '%s' cannot be written; give --json a file in a folder that can be written to\n", options.json.c_str());
      return 1;
    }
  }
  return good ? 0 : 1;
}
