// options.cpp: see options.hpp.
#include "engine/tools/ptlsim/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "engine/tools/command_line.hpp"

namespace portunus::ptlsim {
namespace {

constexpr char kAbout[] =
    "ptlsim: runs a program of MPI, OpenSHMEM or Portals with many ranks in one process, on a simulated network and a virtual clock.";
constexpr char kFooter[] =
    "ptlsim [OPTIONS] PROGRAM [ARGUMENTS]: PROGRAM is one that mpicc, mpicxx or mpifort has linked. Its clock, and MPI_Wtime, tell virtual "
    "time.\n"
    "--network: latency, overhead (of a call for each message), gap, hop with ns, us, ms; bandwidth with Mbit, Gbit; topology full,\n"
    "fat-tree:RANKS or fat-tree:RANKS:OVERSUBSCRIPTION (ranks below a switch, and how many share a link that goes up); or L, o, g, G, O\n"
    "in ns and S in bytes, as LogGOPS names them. Without it: latency=2us,overhead=200ns,bandwidth=100Gbit,topology=full.\n"
    "--compute: time that ranks compute is measured by the processor's clock, multiplied (scale=K), or zero. With zero equal command\n"
    "lines give equal runs. --seed, --explore: each seed is another order of messages; 0 is the network as it is.\n"
    "--same-output finds what depends on that order and fails nowhere, as a receive from any source; not if ranks print times.\n"
    "Times: 1.5ms, 20us, 3s. Statuses: that of the first rank that failed; 124 ranks wait for one another for ever, or --timeout; 128 + N "
    "signal N;\n"
    "1 other lines, with --same-output; 2 bad use, or a program that cannot be simulated.";

double number(const std::string& text, const std::string& whole, const std::string& option) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
    throw std::runtime_error(option + ": '" + whole + "' is not understood");
  return value;
}

uint32_t rank(const std::string& text, const std::string& whole, const std::string& option, uint32_t ranks) {
  const double value = number(text, whole, option);
  if (value != std::floor(value) || value >= ranks)
    throw std::runtime_error(option + ": '" + whole + "' names no rank of this job, which has " + std::to_string(ranks));
  return static_cast<uint32_t>(value);
}

uint64_t time_of(std::string text, const std::string& whole, const std::string& option) {
  double factor = 1e9;
  for (const auto& [unit, ns] : {std::pair("ns", 1.0), std::pair("us", 1e3), std::pair("ms", 1e6), std::pair("s", 1e9)})
    if (text.ends_with(unit)) {
      factor = ns;
      text.resize(text.size() - std::string(unit).size());
      break;
    }
  const double ns = number(text, whole, option) * factor;
  if (ns > 1e18) throw std::runtime_error(option + ": '" + whole + "' is too late");
  return static_cast<uint64_t>(ns);
}

// The words between commas.
std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

void read_misfortunes(JobOptions& job, const std::string& kills, const std::string& cuts, const std::string& slow) {
  for (const std::string& each : parts(kills)) {
    const size_t at = std::min(each.find('@'), each.size());
    job.misfortunes.push_back({Misfortune::Kind::kill, at == each.size() ? 0 : time_of(each.substr(at + 1), each, "--kill"),
                               rank(each.substr(0, at), each, "--kill", job.ranks), 0});
  }
  for (const std::string& each : parts(cuts)) {
    const size_t at = std::min(each.find('@'), each.size()), dash = each.find('-');
    if (dash == std::string::npos || dash > at) throw std::runtime_error("--cut: '" + each + "' is not A-B@TIME");
    job.misfortunes.push_back({Misfortune::Kind::cut, at == each.size() ? 0 : time_of(each.substr(at + 1), each, "--cut"),
                               rank(each.substr(0, dash), each, "--cut", job.ranks),
                               rank(each.substr(dash + 1, at - dash - 1), each, "--cut", job.ranks)});
    if (job.misfortunes.back().rank == job.misfortunes.back().other) throw std::runtime_error("--cut: '" + each + "' names one rank twice");
  }
  for (const std::string& each : parts(slow)) {
    const size_t equals = std::min(each.find('='), each.size());
    const double factor = equals == each.size() ? 0 : number(each.substr(equals + 1), each, "--slow");
    if (factor <= 0 || factor > 1e6) throw std::runtime_error("--slow: '" + each + "' is not RANK=FACTOR");
    job.slow[rank(each.substr(0, equals), each, "--slow", job.ranks)] = factor;
  }
  std::stable_sort(job.misfortunes.begin(), job.misfortunes.end(), [](const Misfortune& a, const Misfortune& b) { return a.at < b.at; });
}

double compute(const std::string& text) {
  if (text == "measured") return 1;
  if (text == "zero") return 0;
  if (text.starts_with("scale=")) return number(text.substr(6), text, "--compute");
  throw std::runtime_error("--compute: '" + text + "' is none of measured, zero and scale=FACTOR");
}

}  // namespace

std::optional<Options> read_options(int argc, char** argv, int& status) {
  Options options;
  std::string network, how, kills, cuts, slow;
  uint32_t seed = 0;
  bool untagged = false;
  std::optional<double> timeout;
  CommandLine line("ptlsim", kAbout, kFooter);
  line.number("-n", options.job.ranks, "ranks", 1, 65'536);
  line.text("--network", network, "what it is like: KEY=VALUE,...");
  line.text("--compute", how, "what computing takes: measured (without this option), zero, scale=FACTOR");
  line.number("--seed", seed, "of all that chance decides", 0, ~0u);
  line.seconds("--explore", options.explore, "try seeds for so long, and tell the first that fails; computing takes no time");
  line.flag("--same-output", options.same_output, "with --explore: a seed with which a rank prints other lines fails, too");
  line.text("--kill", kills, "ranks that die: RANK@TIME,...");
  line.text("--cut", cuts, "pairs that lose each other: A-B@TIME,...");
  line.text("--slow", slow, "ranks that are slower: RANK=FACTOR,...");
  line.text("--record", options.record, "write the run as a GOAL schedule to this file (.bin: in binary form)");
  line.text("--trace", options.job.trace, "write what happened when to this file, as JSON for Perfetto (ui.perfetto.dev)");
  line.seconds("--timeout", timeout, "end a run that takes longer, of real time, and tell what its ranks do then");
  line.flag("--untagged", untagged, "print lines of ranks as they are, without [RANK] before them");
  line.flag("--progress", options.job.progress, "tell each second how far it is, and in the end what it took");
  line.command(options.job.command);
  if (const auto said = line.read_or_tell(argc, argv)) {
    status = *said;
    return std::nullopt;
  }
  if (!options.job.command.empty() && options.job.command[0] == "--") options.job.command.erase(options.job.command.begin());
  if (!options.job.command.empty() && options.job.command[0].starts_with('-'))
    throw std::runtime_error("there is no option " + options.job.command[0] + "; run 'ptlsim --help' for those there are");
  if (options.job.command.empty()) throw std::runtime_error("which program? run 'ptlsim --help' for the options");
  if (options.explore && !(*options.explore > 0 && *options.explore < 1e7)) throw std::runtime_error("--explore needs seconds");
  if (timeout && !(*timeout > 0 && *timeout < 1e7)) throw std::runtime_error("--timeout needs seconds");
  if (options.explore && (timeout || !options.record.empty() || !options.job.trace.empty()))
    throw std::runtime_error("--explore takes neither --record, --trace nor --timeout; replay a seed with them");
  if (options.same_output && !options.explore) throw std::runtime_error("--same-output is for --explore");
  options.job.timeout = timeout.value_or(0);
  options.job.network = NetworkModel::read(network);
  options.job.compute = how.empty() ? (options.explore ? 0 : 1) : compute(how);
  options.job.seed = seed;
  options.job.tagged = !untagged;
  read_misfortunes(options.job, kills, cuts, slow);
  return options;
}

}  // namespace portunus::ptlsim
