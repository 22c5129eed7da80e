// ptlstat: the live counters of another process's engine. 'ptlstat --help' is its manual.
//
// It maps the page that the engine counts into (engine/host/stats_page.hpp), read-only: the process is not stopped, not slowed,
// and does not know.
//
// Thread: one.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/host/clock.hpp"
#include "engine/host/stats_page.hpp"
#include "engine/tools/command_line.hpp"

namespace {

using namespace portunus;
using nlohmann::ordered_json;

constexpr char kFooter[] =
    "Without PID: lists the processes that run an engine and whose counters you may read.\n"
    "Counters start at 0 with the engine (the first PtlNIInit); a parked engine counts nothing and costs nothing.\n"
    "Statuses: 0 done, or the watched process has ended; 1 the counters cannot be read; 2 bad use.";

struct Value {
  const char* name;
  const char* text;
  uint64_t count;
};

// The engine's, then those of libraries above it.
std::vector<Value> values_of(const StatsPage& page) {
  std::vector<Value> values = {
#define X(name, text) {#name, text, page.stats.name.read()},
      PORTUNUS_STATS(X)
#undef X
  };
  const uint32_t count = std::min(page.added_count.load(std::memory_order_acquire), StatsPage::kMostAdded);
  for (uint32_t i = 0; i < count; ++i)
    values.push_back({page.added[i].name, page.added[i].text, page.added[i].value.load(std::memory_order_relaxed)});
  return values;
}

std::string dotted(uint32_t nid) {
  return std::to_string(nid >> 24) + "." + std::to_string(nid >> 16 & 255) + "." + std::to_string(nid >> 8 & 255) + "." +
         std::to_string(nid & 255);
}

std::string command_of(pid_t process) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
  return name;
}

// The facts, and the counters as they are now.
ordered_json snapshot(pid_t process, const ForeignStats& foreign) {
  const StatsPage& page = foreign.page();
  ordered_json all = {{"process", process},
                      {"command", command_of(process)},
                      {"nid", dotted(page.nid)},
                      {"pid", page.pid},
                      {"progress", page.progress},
                      {"engine_core", page.engine_core},
                      {"realtime", page.realtime.load(std::memory_order_relaxed) != 0},
                      {"transports", page.transports},
                      {"seconds", static_cast<double>(now_ns() - page.started_ns) * 1e-9},
                      {"engine_cpu_seconds", static_cast<double>(foreign.engine_cpu_ns()) * 1e-9}};
  ordered_json& counters = all["counters"];
  for (const Value& value : values_of(page)) counters[value.name] = value.count;
  return all;
}

void print_facts(const ordered_json& now) {
  const int core = now["engine_core"].get<int>();
  std::printf("process %d (%s), nid %s, pid %u, by %s\n", now["process"].get<int>(), now["command"].get<std::string>().c_str(),
              now["nid"].get<std::string>().c_str(), now["pid"].get<unsigned>(), now["transports"].get<std::string>().c_str());
  std::printf("engine: %s, %s%s; %.1f s old, %.3f s of processor time\n", now["progress"].get<std::string>().c_str(),
              core < 0 ? "no core of its own" : ("core " + std::to_string(core)).c_str(), now["realtime"].get<bool>() ? ", real-time" : "",
              now["seconds"].get<double>(), now["engine_cpu_seconds"].get<double>());
}

void print_table(const StatsPage& page, const std::vector<Value>* before, double seconds) {
  std::printf("%-16s %20s%s  %s\n", "counter", "value", before ? "         per second" : "", "what it counts");
  const std::vector<Value> now = values_of(page);
  for (size_t i = 0; i < now.size(); ++i) {
    std::printf("%-16s %20llu", now[i].name, static_cast<unsigned long long>(now[i].count));
    if (before) std::printf(" %18.1f", static_cast<double>(now[i].count - (i < before->size() ? (*before)[i].count : 0)) / seconds);
    std::printf("  %s\n", now[i].text);
  }
}

void sleep_until(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  timespec left{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

// Again and again until the process ends.
int watch(pid_t process, const ForeignStats& foreign, double seconds, bool json) {
  std::vector<Value> before = values_of(foreign.page());
  while (foreign.alive()) {
    const uint64_t begin = now_ns();
    sleep_until(seconds);
    if (json) {
      std::printf("%s\n", snapshot(process, foreign).dump().c_str());
    } else {
      print_table(foreign.page(), &before, static_cast<double>(now_ns() - begin) * 1e-9);
      std::printf("\n");
    }
    if (std::fflush(stdout) != 0) return 0;  // nobody reads any more
    before = values_of(foreign.page());
  }
  std::fprintf(stderr, "ptlstat: process %d has ended\n", static_cast<int>(process));
  return 0;
}

int list(bool json) {
  ordered_json all = ordered_json::array();
  if (DIR* folder = opendir("/proc")) {
    while (const dirent* entry = readdir(folder)) {
      const long number = std::atol(entry->d_name);
      if (number <= 0) continue;
      try {
        all.push_back(snapshot(static_cast<pid_t>(number), ForeignStats(static_cast<pid_t>(number))));
      } catch (const std::runtime_error&) {  // no engine in it, or not ours
      }
    }
    closedir(folder);
  }
  if (json) {
    std::printf("%s\n", all.dump(2).c_str());
    return 0;
  }
  for (const ordered_json& one : all) print_facts(one);
  if (all.empty()) std::printf("no process of yours runs a Portals engine\n");
  return 0;
}

int run(int argc, char** argv) {
  CommandLine line("ptlstat", "Shows what the Portals engine of a running process has counted, without disturbing it.", kFooter);
  std::string process_word;
  std::optional<double> seconds;
  bool json = false;
  line.text("PID", process_word, "number of the process");
  line.seconds("--watch", seconds, "again every SECONDS, with rates, until the process ends");
  line.flag("--json", json, "print JSON; with --watch, one line each time");
  if (const auto status = line.read_or_tell(argc, argv)) return *status;
  if (seconds && (process_word.empty() || !std::isfinite(*seconds) || *seconds < 0.01 || *seconds > 1e6)) {
    std::fprintf(stderr, "ptlstat: --watch needs a PID and 0.01 to 1000000 seconds; run 'ptlstat --help' for the options\n");
    return kBadUse;
  }
  if (process_word.empty()) return list(json);
  char* end = nullptr;
  const long process = std::strtol(process_word.c_str(), &end, 10);
  if (*end != '\0' || process <= 0 || process > INT_MAX) {
    std::fprintf(stderr, "ptlstat: '%s' is no process number; run 'ptlstat' alone for a list\n", process_word.c_str());
    return kBadUse;
  }
  const ForeignStats foreign(static_cast<pid_t>(process));
  const ordered_json now = snapshot(static_cast<pid_t>(process), foreign);
  if (json && !seconds) {
    std::printf("%s\n", now.dump(2).c_str());
    return 0;
  }
  if (!json) {
    print_facts(now);
    if (!seconds) print_table(foreign.page(), nullptr, 0);
  }
  return seconds ? watch(static_cast<pid_t>(process), foreign, *seconds, json) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return told("ptlstat", run(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ptlstat: %s\n", error.what());
    return 1;
  }
}
