// mpi_job.hpp: random MPI programs on the libraries as they are shipped, each run in a child of this process. Thread: one.
//
// The program of a seed is mpi/plan.hpp's, or, one time in four, one that outlives ranks (mpi/survivors.cpp). Processes and network are
// mpi/processes.hpp's. A child that crashes, hangs or complains by a sanitizer is a violation, too.
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/mutants.hpp"

namespace portunus::simulation {

class MpiJob {
 public:
  // The object with the libraries, and whether to tell on stdout what each rank does; before the first run.
  static void use(const std::string& object, bool tells);
  static bool has_deaths(uint64_t seed);

  MpiJob(uint64_t seed, Mutant mutant) : seed_(seed), mutant_(mutant) {}
  std::string run();
  uint64_t acts() const { return result_.acts; }
  uint64_t struck() const { return result_.struck; }
  uint64_t trace() const { return result_.trace; }

 private:
  struct Result {
    uint64_t acts, struck, trace, turns;
    bool ended;
    char violation[2'000];
  };
  void go(Result& result) const;

  uint64_t seed_;
  Mutant mutant_;
  Result result_{};
};

}  // namespace portunus::simulation
