// faults.cpp: the simulation with sources in which faults are switched on one by one: is each found?
//
// A process for each, as some end in a crash or without an end, which is as good a sign.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/simulation/faults.hpp"
#include "tests/simulation/jobs.hpp"

namespace portunus {

namespace {
constexpr unsigned kNone = ~0u, kOneIn = 4;
unsigned planted_fault = kNone;
uint64_t struck = 0, chance = 1;
}  // namespace

// Called where the fault would be, of those in the engine. Its chance is its own, so that without it nothing changes.
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
  const Fault& fault = faults()[number];
  if (fault.work != Work::mpi) alarm(kSecondsEach);  // which has processes of its own, and limits for them
  planted_fault = number;
  setenv(kPlanted, std::to_string(number).c_str(), 1);
  Done done;
  for (uint64_t seed = fault.first_seed; seed < fault.first_seed + kMostSeeds; ++seed) {
    if (fault.by_death && !MpiJob::has_deaths(seed)) continue;
    chance = seed;
    const std::string violation = run(fault.work, seed, Mutant::none, done);
    if (violation.empty()) continue;
    std::printf("    found after %lu runs, seed %lu: %s\n", done.runs, seed, violation.c_str());
    return 0;
  }
  std::printf("    NOT FOUND after %lu runs\n", done.runs);
  if (fault.work != Work::mpi) std::printf("    it struck %lu times\n", struck);
  return 1;
}

bool find(unsigned number) {
  std::printf("%s: %s\n", faults()[number].name, faults()[number].text);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return std::perror("fork"), false;
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

// Arguments: the libraries of MPI's processes (or ""), then nothing for all faults, or the name of one.
int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s OBJECT [NAME]\n", argv[0]), 2;
  portunus::simulation::MpiJob::use(argv[1], false);
  const auto faults = portunus::simulation::faults();
  size_t looked = 0, found = 0;
  for (unsigned i = 0; i < faults.size(); ++i) {
    if (argc > 2 && std::string_view(argv[2]) != faults[i].name) continue;
    ++looked;
    found += portunus::find(i);
  }
  std::printf("%zu faults planted, %zu found\n", looked, found);
  return looked > 0 && found == looked ? 0 : 1;
}
