// goaltune: measures the algorithms of collectives on a machine and writes which to use. 'goaltune --help' is its manual.
//
// Every rank makes the same list of points. Rank 0 says what is measured, keeps the times, prints them and writes the file.
//
// Thread: one.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/goal/library.hpp"
#include "engine/tools/command_line.hpp"
#include "engine/tools/goaltune/job.hpp"
#include "engine/tools/goaltune/network.hpp"
#include "engine/tools/goaltune/report.hpp"
#include "engine/tools/goaltune/winners.hpp"

namespace {

using namespace portunus;
using namespace portunus::goaltune;
using goal::collectives::Choices;
using goal::collectives::Collective;
using goal::collectives::kCollectives;

constexpr char kFooter[] =
    "Start it as the programs that it is for: with as many ranks, on as many nodes, and with the same variables.\n"
    "    ptlrun -n 8 goaltune -o rules && PTL_COLLECTIVES=file=rules ptlrun -n 8 PROGRAM\n"
    "With one rank on each node it measures what goes between nodes, with all ranks on one node what goes within it.\n"
    "Groups of 2, 4, 8 .. ranks are the first ranks of the job; the others sleep meanwhile. Times are those of one\n"
    "execution of a schedule that stays, with a barrier behind it, less the barrier: medians of several rounds in which\n"
    "the algorithms take turns. More seconds make them steadier. Rules are few: one algorithm serves as long as it takes\n"
    "at most --margin percent longer than the best one, or that may be doubted: +- in the table is how far half of the\n"
    "rounds were from the middle.\n"
    "Sizes are those of the vector (bcast, reduce, allreduce, reduce_scatter), of each rank (gather, scatter), of all\n"
    "ranks together (allgather, allgatherv), from each rank to each (alltoall).\n"
    "The table on stdout says what is chosen now (by the built-in table, or by PTL_COLLECTIVES) and how much longer than\n"
    "the best that took.\n"
    "--network prints, in a line, what goalc --simulate and ptlsim take as --network: L, o and g in ns, G in ns for each byte, by\n"
    "messages of 8 bytes to --most between the first rank and the last. Longer ones than S are announced first.\n"
    "Statuses: 0 done, 1 it could not be measured or written, 2 bad use; else that of the launcher.";

struct Options {
  std::string output, only;
  double seconds = 60, margin = 5;
  bool network = false;
  uint32_t least = 8, most = 4 << 20, step = 4, rounds = 7;
};

std::optional<Said> parse_options(int argc, char** argv, Options& options, std::vector<Collective>& collectives) {
  CommandLine line("goaltune", "Measures the algorithms of GOAL collectives and writes rules for PTL_COLLECTIVES.", kFooter);
  auto* output = line.text("-o,--output", options.output, "the file of rules (default: they are printed behind the table)");
  line.positive("--seconds", options.seconds, "about how long to measure (default 60); each point is measured at least three times");
  auto* only = line.text("--only", options.only, "collectives, with commas between (default: all)");
  line.flag("--network", options.network, "measure the network between the first and the last rank instead", {output, only});
  line.number("--least", options.least, "smallest size in bytes (default 8)", 8, 1 << 30);
  line.number("--most", options.most, "how many bytes a rank has at most (default 4194304)", 8, 1 << 30);
  line.number("--step", options.step, "from each size to the next (default 4)", 2, 1024);
  line.number("--rounds", options.rounds, "how often the algorithms take turns at each point (default 7)", 3, 31);
  line.positive("--margin", options.margin, "how many percent better another algorithm must be (default 5)");
  if (auto said = line.read(argc, argv)) return said;
  for (std::string rest = options.only; !rest.empty();) {
    const std::string name = rest.substr(0, rest.find(','));
    rest.erase(0, name.size() + 1);
    const std::optional<Collective> collective = goal::collectives::collective_named(name);
    if (!collective)
      return Said{kBadUse, "--only '" + name + "': the collectives with a choice are " + goal::collectives::names_of_collectives()};
    collectives.push_back(*collective);
  }
  for (size_t i = 0; options.only.empty() && i < kCollectives; ++i) collectives.push_back(static_cast<Collective>(i));
  if (options.network && options.most < 1024)
    return Said{kBadUse, "--network needs messages of more than one size; give a --most from 1024 on"};
  if (options.least > options.most) return Said{kBadUse, "--least is larger than --most; no size is left"};
  return std::nullopt;
}

std::string machine() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') std::snprintf(name, sizeof name, "unknown");
  cpu_set_t usable;
  const int cores = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 0;
  return std::string(name) + ", " + std::to_string(cores) + " usable processors on the node of rank 0";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[32] = {};
  if (gmtime_r(&now, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

// The transport that carries messages from rank 0 to the others.
std::string transport(int ranks) {
  std::set<std::string> names;
  for (int i = 1; i < ranks; ++i) {
    ptl_process_t peer{};
    peer.rank = static_cast<ptl_rank_t>(i);
    const char* name = "none";
    PtlxTransport(goal::Library::instance().port().ni(), peer, &name);
    names.insert(name);
  }
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

Facts facts_of(const GOAL_Group& world, const Options& options) {
  Facts facts;
  facts.machine = machine();
  facts.ranks = world.size;
  std::map<int, int> nodes;
  for (int i = 0; i < world.size; ++i) ++nodes[world.nodes[i]];
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  facts.least_per_node = std::ranges::min_element(nodes, fewer)->second;
  facts.most_per_node = std::ranges::max_element(nodes, fewer)->second;
  facts.transport = transport(world.size);
  ptlx_engine_info_t engine{};
  facts.crowded = PtlxEngineInfo(&engine) == PTL_OK && engine.oversubscribed != 0;
  facts.date = today();
  facts.margin = options.margin / 100;
  return facts;
}

// Rank 0.
int lead(Job& job, std::vector<Point>& points, const GOAL_Group& world, const Options& options) {
  std::fprintf(stderr, "goaltune: %zu points in about %.0f s\n", points.size(), options.seconds);
  job.measure(options.seconds, options.rounds, [&](size_t i) {
    const bool is_new = i == 0 || points[i].collective != points[i - 1].collective || points[i].ranks != points[i - 1].ranks;
    if (is_new)
      std::fprintf(stderr, "goaltune: point %zu of %zu: %s among %u ranks\n", i + 1, points.size(), name_of(points[i].collective).data(),
                   points[i].ranks);
  });
  const auto rules = rules_from(points, options.margin / 100);
  print_table(points, Choices::environment(), std::getenv(Choices::kVariable) ? Choices::kVariable : "built-in", rules,
              options.margin / 100);
  const std::string text = file_text(facts_of(world, options), rules);
  if (options.output.empty()) {
    std::printf("\n%s", text.c_str());
    return told("goaltune", 0);
  }
  const std::string problem = write_file(options.output, text);
  if (!problem.empty()) throw Failure(problem);
  std::fprintf(stderr, "goaltune: %zu rules in %s\n", rules.size(), options.output.c_str());
  return told("goaltune", 0);
}

int measure_and_tell_network(const GOAL_Group& world, size_t most) {
  if (world.rank != 0 && world.rank != world.size - 1) return 0;
  const MeasuredNetwork network = measure_network(world.rank, world.size, most, [](size_t bytes, double ns) {
    std::fprintf(stderr, "goaltune: %8zu bytes: %.2f us\n", bytes, ns / 1000);
  });
  if (world.rank != 0) return 0;
  std::printf("%s\n", network_text(network).c_str());
  return told("goaltune", 0);
}

int measure(const Options& options, const std::vector<Collective>& collectives) {
  GOAL_Group world{};
  check(GOAL_World(&world));
  if (options.network) return measure_and_tell_network(world, options.most);
  std::vector<Point> points =
      points_of(collectives, static_cast<uint32_t>(world.size), {.least = options.least, .most = options.most, .step = options.step});
  for (Point& point : points) point.place = goal::Library::instance().places(static_cast<int>(point.ranks), nullptr).all;
  Job job(world.rank, world.size, points, options.most);
  if (world.rank == 0) return lead(job, points, world, options);
  job.serve();
  return 0;
}

// A reason that keeps this rank from measuring, or the help that was asked for.
std::optional<Said> prepare(int argc, char** argv, const ptlx_job_t& job, Options& options, std::vector<Collective>& collectives) {
  if (auto said = parse_options(argc, argv, options, collectives)) return said;
  if (job.size < 2) return Said{kBadUse, "there are no other ranks to measure with; start it as 'ptlrun -n 8 goaltune -o rules'"};
  try {
    static_cast<void>(Choices::environment());
  } catch (const std::invalid_argument& error) {
    return Said{1, error.what()};
  }
  if (job.rank != 0 || options.output.empty()) return std::nullopt;
  const std::string problem = cannot_write(options.output);
  return problem.empty() ? std::nullopt : std::optional(Said{1, problem});
}

// Collective over the job: the lowest rank that has something to say, or none. What all of them find is said once.
std::optional<int> speaker(const ptlx_job_t& job, bool has) {
  std::vector<uint8_t> all(static_cast<size_t>(job.size));
  const uint8_t mine = has ? 1 : 0;
  if (PtlxJobShare("goaltune.said", &mine, sizeof mine, all.data()) != PTL_OK)
    throw Failure("the other ranks do not answer; has one of them ended?");
  const auto first = std::ranges::find(all, uint8_t{1});
  return first == all.end() ? std::nullopt : std::optional(static_cast<int>(first - all.begin()));
}

// The status of this rank, when one has spoken and before any ends.
int say(const ptlx_job_t& job, const std::optional<Said>& said, int speaker) {
  int status = said ? said->status : 0;
  if (job.rank == speaker && said) {
    if (status == 0) std::fputs(said->text.c_str(), stdout);
    else std::fprintf(stderr, "goaltune: %s\n", said->text.c_str());
    status = told("goaltune", status);
  }
  PtlxJobFence();
  PtlxJobFini();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  ptlx_job_t job{};
  if (PtlxJobInit(&job) != PTL_OK) return 1;
  const auto end_job = [&](const char* sentence) {
    std::fflush(stdout);
    PtlxJobAbort(1, ("goaltune: rank " + std::to_string(job.rank) + ": " + sentence).c_str());
  };
  try {
    Options options;
    std::vector<Collective> collectives;
    const std::optional<Said> said = prepare(argc, argv, job, options, collectives);
    if (const std::optional<int> who = speaker(job, said.has_value())) return say(job, said, *who);
    check(GOAL_Init(nullptr, nullptr));
    const int status = measure(options, collectives);
    check(GOAL_Finalize());
    PtlxJobFini();
    return status;
  } catch (const std::bad_alloc&) {
    end_job("there is not enough memory; use a smaller --most or fewer ranks");
  } catch (const std::exception& error) {
    end_job(error.what());
  }
  return 1;
}
