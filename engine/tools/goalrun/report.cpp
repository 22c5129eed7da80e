// The table of goalrun, for people or as CSV, and its last line.
//
// Thread: as report.hpp says.
#include "engine/tools/goalrun/report.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace portunus::goalrun {

namespace {

std::vector<Outcome> collect(const ptlx_job_t& job) {
  std::vector<Outcome> outcomes(static_cast<size_t>(job.size));
  for (int rank = 0; rank < job.size; ++rank) {
    size_t size = sizeof(Outcome);
    const int code = PtlxJobGet(rank, "goalrun.outcome", &outcomes[static_cast<size_t>(rank)], &size);
    if (code != PTL_OK || size != sizeof(Outcome)) throw Failure("the times of rank " + std::to_string(rank) + " cannot be had");
  }
  return outcomes;
}

double median_of(const std::vector<Outcome>& outcomes, double (*value)(const Outcome&)) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes) values.push_back(value(outcome));
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// How much of the schedule's own time passed beside the computation: 1 = all, 0 = nothing.
double overlap(const Outcome& outcome, uint32_t compute_us) {
  const double alone = outcome.undisturbed.median;
  const double added = outcome.completion.median - compute_us;
  return alone <= 0 ? 0 : std::clamp(1 - added / alone, 0.0, 1.0);
}

Outcome over_all(const std::vector<Outcome>& outcomes) {
  Outcome all = outcomes.front();
  for (const Outcome& outcome : outcomes) {
    all.completion.least = std::min(all.completion.least, outcome.completion.least);
    all.completion.most = std::max(all.completion.most, outcome.completion.most);
  }
  all.completion.median = median_of(outcomes, [](const Outcome& o) { return o.completion.median; });
  all.waiting.median = median_of(outcomes, [](const Outcome& o) { return o.waiting.median; });
  all.undisturbed.median = median_of(outcomes, [](const Outcome& o) { return o.undisturbed.median; });
  return all;
}

void print_row(const std::string& name, const Outcome& outcome, const Options& options) {
  const Times& t = outcome.completion;
  if (options.csv) {
    std::printf("%s,%s,%" PRIu32 ",%" PRIu32 ",%.3f,%.3f,%.3f,%.3f,", options.file.c_str(), name.c_str(), options.repeat,
                options.compute_us, t.least, t.median, t.most, outcome.waiting.median);
    if (options.compute_us != 0) std::printf("%.3f", overlap(outcome, options.compute_us));
    std::printf("\n");
    return;
  }
  std::printf("%5s %12.2f %12.2f %12.2f %12.2f", name.c_str(), t.least, t.median, t.most, outcome.waiting.median);
  if (options.compute_us != 0) std::printf(" %8.2f", overlap(outcome, options.compute_us));
  std::printf("\n");
}

void print_head(const Options& options) {
  if (options.csv) {
    std::printf("file,rank,epochs,compute_us,min_us,median_us,max_us,wait_us,overlap\n");
    return;
  }
  std::printf("%5s %12s %12s %12s %12s%s\n", "rank", "min us", "median us", "max us", "in wait us",
              options.compute_us != 0 ? "  overlap" : "");
}

template <class Value>
std::string joined(const std::vector<Outcome>& outcomes, Value&& value) {
  std::set<std::string> names;
  for (const Outcome& outcome : outcomes) {
    for (std::string rest = value(outcome); !rest.empty();) {
      const size_t length = std::min(rest.find('+'), rest.size());
      names.insert(rest.substr(0, length));
      rest.erase(0, length + 1);
    }
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : "+") + name;
  return text.empty() ? "none" : text;
}

// The cores of the engines: "cores 1,3", "unbound", or both.
std::string placement(const std::vector<Outcome>& outcomes) {
  std::string cores;
  bool unbound = false;
  for (const Outcome& outcome : outcomes) {
    if (outcome.core < 0) unbound = true;
    else cores += (cores.empty() ? "cores:" : ",") + std::to_string(outcome.core);
  }
  if (cores.empty()) return "unbound";
  return unbound ? cores + "+unbound" : cores;
}

}  // namespace

void print_report(const goal::GoalFile& file, const Options& options, const ptlx_job_t& job) {
  const std::vector<Outcome> outcomes = collect(job);
  uint64_t operations = 0;
  for (const goal::Schedule& schedule : file.ranks) operations += schedule.size();
  print_head(options);
  for (size_t rank = 0; rank < outcomes.size(); ++rank) print_row(std::to_string(rank), outcomes[rank], options);
  print_row("all", over_all(outcomes), options);
  std::fprintf(options.csv ? stderr : stdout,
               "goalrun: ok %s: ranks %d, operations %" PRIu64 ", epochs %" PRIu32
               ", payload %s, transport %s, progress %s, "
               "engines %s%s\n",
               options.file.c_str(), job.size, operations, options.repeat, options.check ? "checked" : "not checked",
               joined(outcomes, [](const Outcome& o) { return std::string(o.transports); }).c_str(),
               joined(outcomes, [](const Outcome& o) { return std::string(o.progress); }).c_str(), placement(outcomes).c_str(),
               outcomes.front().oversubscribed != 0 ? ", more ranks than cores" : "");
  std::fflush(nullptr);
}

}  // namespace portunus::goalrun
