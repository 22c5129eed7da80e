// simulate.cpp: whole jobs in one process, run after run from seeds that replay: see usage().
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/simulation/jobs.hpp"
#include "tests/support/thorough.hpp"

namespace {

using namespace portunus::simulation;

constexpr const char* kUsage =
    R"(usage: simulate [--work NAME,..] [--seed N] [--seconds N] [--runs N] [--mutants] [--mutant NAME] [--tell] [--object FILE]

Runs jobs of 2 to 5 engines in this process, over a simulated network and on a clock of its own: random Portals programs against a
ledger of what they were promised, random GOAL schedules against what they must compute, floods of portals with flow control, and random MPI programs against a sequential model.

  --work NAME   only these of portals, goal, flow and mpi; else each seed runs all

  --seed N      begin with this seed (1); each run takes the next
  --seconds N   go on for so long (20)
  --runs N      stop after so many seeds
  --mutants     plant each fault of the list, and see that each is found
  --mutant NAME plant this one
  --tell        mpi: tell on stdout what each rank does, and where each waits if the job stands still
  --object FILE mpi: libraries and program of a rank (libmpi_rank.so, where this program is)

A violation is told with the seed that shows it again, by `--work NAME --seed N --runs 1`; the exit status then is 1.
)";

struct Options {
  uint64_t seed = 1, seconds = 20, runs = ~uint64_t{0};
  bool mutants = false;
  Mutant mutant = Mutant::none;
  std::array<bool, kWorks> works{true, true, true, true};
  bool tells = false;
  std::string object;
};

int search(const Options& options) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  Done done;
  uint64_t seed = options.seed;
  for (; seed - options.seed < options.runs && std::chrono::steady_clock::now() < end; ++seed) {
    for (size_t work = 0; work < kWorks; ++work) {
      const std::string violation = options.works[work] ? run(static_cast<Work>(work), seed, options.mutant, done) : "";
      if (violation.empty()) continue;
      std::printf("--work %s --seed %lu: %s\n", kWorkNames[work], seed, violation.c_str());
      return 1;
    }
  }
  std::printf("%lu runs, %lu acts of programs, seeds %lu to %lu: nothing violated\n", done.runs, done.acts, options.seed, seed - 1);
  return 0;
}

int plant(const Options& options) {
  constexpr uint64_t kMost = 3'000;  // seeds
  int missed = 0;
  for (size_t i = 1; i < kMutantTexts.size(); ++i) {
    Done done;
    std::string violation;
    uint64_t seed = options.seed;
    for (; violation.empty() && seed < options.seed + kMost; ++seed) violation = run(kMutantWorks[i], seed, static_cast<Mutant>(i), done);
    missed += violation.empty();
    std::printf("%s\n    %s after %lu runs: %s\n", kMutantTexts[i], violation.empty() ? "NOT FOUND" : "found", done.runs,
                violation.c_str());
    if (violation.empty()) std::printf("    it struck %lu times\n", done.struck);
  }
  std::printf("%zu faults planted, %zu found\n", kMutantTexts.size() - 1, kMutantTexts.size() - 1 - static_cast<size_t>(missed));
  return missed == 0 ? 0 : 1;
}

bool number(const char* text, uint64_t& value) {
  if (!text) return false;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  return error == std::errc{} && rest == end && rest != text;
}

// The libraries of MPI processes lie where this program does.
std::string object_beside(const std::string& program) {
  const size_t slash = program.rfind('/');
  return (slash == std::string::npos ? "." : program.substr(0, slash)) + "/libmpi_rank.so";
}

bool read(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view what = argv[i];
    const char* const next = i + 1 < argc ? argv[i + 1] : nullptr;
    if (what == "--tell") {
      options.tells = true;
      continue;
    }
    if (what == "--mutants") {
      options.mutants = true;
      continue;
    }
    ++i;
    if (!next) return false;
    uint64_t* const value = what == "--seed"      ? &options.seed
                            : what == "--seconds" ? &options.seconds
                            : what == "--runs"    ? &options.runs
                                                  : nullptr;
    if (value && !number(next, *value)) return false;
    if (value) continue;
    if (what == "--work") {
      const std::string list = ',' + std::string(next) + ',';
      for (size_t work = 0; work < kWorks; ++work) options.works[work] = list.find(',' + std::string(kWorkNames[work]) + ',') != list.npos;
      if (std::count(options.works.begin(), options.works.end(), true) == 0) return false;
      continue;
    }
    if (what == "--object") {
      options.object = next;
      continue;
    }
    size_t which = 1;
    while (which < kMutantTexts.size() && !std::string_view(kMutantTexts[which]).starts_with(std::string(next) + ':')) ++which;
    if (what != "--mutant" || which == kMutantTexts.size()) return false;
    options.mutant = static_cast<Mutant>(which);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc == 2 && !std::strcmp(argv[1], "--help")) return std::printf("%s", kUsage), 0;
  Options options;
  if (portunus::test::kSanitized) options.seconds = 5;
  if (!read(argc, argv, options)) {
    std::fprintf(stderr, "simulate: a mistake on the command line\n%s", kUsage);
    return 2;
  }
  if (options.object.empty()) options.object = object_beside(argv[0]);
  portunus::simulation::MpiJob::use(options.object, options.tells);
  return options.mutants ? plant(options) : search(options);
}
