// report.cpp: options, percentiles and JSON of the pair programs.
#include "bench/pairs/report.hpp"

#include <getopt.h>
#include <portals4.h>
#include <portals4_ext.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/host/clock.hpp"

namespace portunus::bench {
namespace {

using nlohmann::ordered_json;

constexpr char kHelp[] =
    "usage: %s [--seconds S] [--json FILE] [--commit TEXT]\n"
    "\n"
    "%s\n"
    "\n"
    "  --seconds S    time spent on each point (0.2)\n"
    "  --json FILE    write the results there as JSON\n"
    "  --commit TEXT  what is measured, for the JSON file\n"
    "\n"
    "pNN: NN of 100 samples were at least this good. Each latency sample is half of one round trip, or one call, and\n"
    "includes one reading of the clock (clock_ns in the JSON file).\n";

[[noreturn]] void refuse(const char* program, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s; run '%s --help'\n", program, sentence.c_str(), program);
  std::exit(2);
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double clock_cost_ns() {
  constexpr int kReadings = 10000;
  const uint64_t begin = now_ns();
  for (int i = 0; i < kReadings; ++i) now_ns();
  return static_cast<double>(now_ns() - begin) / kReadings;
}

ordered_json context(const Options& options) {
  double load[3] = {-1, -1, -1};
  if (getloadavg(load, 3) < 1) load[0] = -1;
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "gcc " __VERSION__;
#endif
  return {{"machine", {{"cpu", cpu_model()}, {"cores", std::thread::hardware_concurrency()}}},
          {"commit", options.commit},
          {"compiler", compiler},
          {"load_average", load[0]},
          {"clock_ns", clock_cost_ns()}};
}

// `samples` in ascending order; `good` of 100 are at least as good as the answer.
double percentile(const std::vector<double>& samples, double good, bool small_is_good) {
  const double share = (small_is_good ? good : 100 - good) / 100;
  return samples[static_cast<size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
}

bool engine_info(ptlx_engine_info_t& info) {
  info = {};
  return PtlxEngineInfo(&info) == PTL_OK;
}

}  // namespace

struct Report::Document {
  ordered_json context;
  ordered_json results = ordered_json::array();
};

Options read_options(int argc, char** argv, const char* what) {
  Options options;
  const char* program = argv[0];
  if (const char* slash = std::strrchr(program, '/')) program = slash + 1;
  const option known[] = {{"seconds", required_argument, nullptr, 's'},
                          {"json", required_argument, nullptr, 'j'},
                          {"commit", required_argument, nullptr, 'c'},
                          {"help", no_argument, nullptr, 'h'},
                          {nullptr, 0, nullptr, 0}};
  opterr = 0;
  for (int which; (which = getopt_long(argc, argv, ":h", known, nullptr)) != -1;) {
    char* end = nullptr;
    switch (which) {
      case 'h': std::printf(kHelp, program, what); std::exit(0);
      case 'j': options.json = optarg; break;
      case 'c': options.commit = optarg; break;
      case 's':
        options.seconds = std::strtod(optarg, &end);
        if (end == optarg || *end || !(options.seconds > 0 && options.seconds <= 3600))
          refuse(program, std::string("--seconds was given '") + optarg + "'; give the seconds for each point, e.g. 0.2");
        break;
      case ':': refuse(program, std::string("option '") + argv[optind - 1] + "' needs a value");
      default: refuse(program, std::string("unknown option '") + argv[optind - 1] + "'");
    }
  }
  if (optind < argc) refuse(program, std::string("unknown word '") + argv[optind] + "'");
  return options;
}

Report::Report(const Options& options, bool active, std::string transport)
    : options_(options), active_(active), transport_(std::move(transport)) {
  if (!active_) return;
  document_ = std::make_unique<Document>();
  document_->context = context(options_);
}

Report::~Report() = default;

void Report::begin() {
  ptlx_engine_info_t info;
  engine_began_ns_ = active_ && engine_info(info) ? info.engine_cpu_ns : 0;
  began_ns_ = now_ns();
}

void Report::add(Result result) {
  if (!active_) return;
  const double wall_s = static_cast<double>(now_ns() - began_ns_) * 1e-9;
  std::sort(result.samples.begin(), result.samples.end());
  const std::string metric = result.metric;
  const bool small_is_good = metric == "latency" || metric == "ratio" || metric == "busy";
  const char* unit = metric == "latency" ? "us" : metric == "rate" ? "1/s" : metric == "bandwidth" ? "GB/s" : metric == "ratio" ? "x" : "%";
  ordered_json line = {
      {"bench", result.bench}, {"transport", transport_}, {"size", result.size}, {"metric", result.metric}, {"unit", unit}, {"value", 0}};
  for (const int good : {50, 90, 99}) {
    line["p" + std::to_string(good)] = percentile(result.samples, good, small_is_good);
  }
  line["value"] = result.value.value_or(line["p50"].get<double>());
  line["samples"] = result.samples.size();
  line["placement"] = {{"rank0_cores", allowed_cores()}};
  ptlx_engine_info_t info;
  if (engine_info(info)) {
    line["placement"]["engine_core"] = info.engine_core;
    line["placement"]["oversubscribed"] = info.oversubscribed != 0;
    line["engine"] = {
        {"progress", info.progress}, {"cpu_s", static_cast<double>(info.engine_cpu_ns - engine_began_ns_) * 1e-9}, {"wall_s", wall_s}};
  } else {
    line["engine"] = nullptr;
  }
  std::printf("%-16s %-12s %9zu B  %-9s %12.6g %-4s  p50 %-10.5g p90 %-10.5g p99 %-10.5g\n", result.bench, transport_.c_str(), result.size,
              result.metric, line["value"].get<double>(), unit, line["p50"].get<double>(), line["p90"].get<double>(),
              line["p99"].get<double>());
  std::fflush(stdout);
  document_->results.push_back(std::move(line));
}

bool Report::write() {
  if (!active_ || options_.json.empty()) return true;
  std::ofstream file(options_.json);
  file << ordered_json{{"context", document_->context}, {"results", document_->results}}.dump(1) << '\n';
  file.close();
  if (file) return true;
  std::fprintf(stderr, "the results could not be written to '%s'; give --json a file in a folder that can be written to\n",
               options_.json.c_str());
  return false;
}

std::string transport_to(unsigned int ni_options, int rank) {
  std::string name = "unknown";
  ptl_handle_ni_t ni;
  ptl_process_t peer{};
  peer.rank = static_cast<ptl_rank_t>(rank);
  if (PtlInit() != PTL_OK) return name;
  if (PtlNIInit(PTL_IFACE_DEFAULT, ni_options, PTL_PID_ANY, nullptr, nullptr, &ni) == PTL_OK) {
    const char* found;
    if (PtlxTransport(ni, peer, &found) != PTLX_TRANSPORT_NONE) name = found;
    PtlNIFini(ni);
  }
  PtlFini();
  return name;
}

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cores.push_back(i);
  }
  return cores;
}

void require_two_ranks(int ranks, const char* program) {
  if (ranks == 2) return;
  const std::string sentence = std::string(program) + " measures two ranks, but there are " + std::to_string(ranks) +
                               "; start it with 'ptlrun -n 2 " + program + "'";
  PtlxJobAbort(2, sentence.c_str());
}

}  // namespace portunus::bench
