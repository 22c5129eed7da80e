// engine_faults.cpp: the simulation with an engine in which faults are switched on one by one (engine_faults.py): is each found?
//
// A process for each, as some end in a crash or without an end, which is as good a sign.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/simulation/engine_faults.hpp"
#include "tests/simulation/jobs.hpp"

namespace portunus {

namespace {
constexpr unsigned kNone = ~0u, kOneIn = 4;
unsigned planted_fault = kNone;
uint64_t struck = 0, chance = 1;
}  // namespace

// Called where the fault would be. Its chance is its own, so that without it nothing changes.
bool planted(unsigned fault) {
  if (fault != planted_fault) return false;
  chance = chance * 6364136223846793005u + 1442695040888963407u;
  if ((chance >> 33) % kOneIn != 0) return false;
  ++struck;
  return true;
}

namespace {

using namespace simulation;

constexpr uint64_t kMostSeeds = 2'000;
constexpr unsigned kSecondsEach = 60;

// In a process of its own. 0: found.
int look_for(unsigned number) {
  const EngineFault& fault = engine_faults()[number];
  alarm(kSecondsEach);
  planted_fault = number;
  Done done;
  for (uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    chance = seed;
    const std::string violation = run(fault.work, seed, Mutant::none, done);
    if (violation.empty()) continue;
    std::printf("    found after %lu runs: %s\n", done.runs, violation.c_str());
    return 0;
  }
  std::printf("    NOT FOUND after %lu runs; it struck %lu times\n", done.runs, struck);
  return 1;
}

bool find(unsigned number) {
  std::printf("%s: %s\n", engine_faults()[number].name, engine_faults()[number].text);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return std::perror("engine_faults: fork"), false;
  if (child == 0) {
    const int code = look_for(number);
    std::fflush(stdout);
    _exit(code);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status)) std::printf("    found: its process ends by signal %d\n", WTERMSIG(status));
  return WIFSIGNALED(status) || WEXITSTATUS(status) == 0;
}

}  // namespace
}  // namespace portunus

// Without arguments all; else the one that is named.
int main(int argc, char** argv) {
  const auto faults = portunus::simulation::engine_faults();
  size_t looked = 0, found = 0;
  for (unsigned i = 0; i < faults.size(); ++i) {
    if (argc > 1 && std::string_view(argv[1]) != faults[i].name) continue;
    ++looked;
    found += portunus::find(i);
  }
  std::printf("%zu faults planted in the engine, %zu found\n", looked, found);
  return looked > 0 && found == looked ? 0 : 1;
}
