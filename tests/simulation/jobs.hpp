// jobs.hpp: one run of any work, by its name. Thread: one.
#pragma once

#include <string>

#include "tests/simulation/flow_job.hpp"
#include "tests/simulation/goal_job.hpp"
#include "tests/simulation/mpi_job.hpp"
#include "tests/simulation/portals_job.hpp"

namespace portunus::simulation {

struct Done {
  uint64_t runs = 0, acts = 0, struck = 0;
};

template <class Job>
std::string run(uint64_t seed, Mutant mutant, Done& done) {
  Job job(seed, mutant);
  std::string violation = job.run();
  done.acts += job.acts();
  done.struck += job.struck();
  ++done.runs;
  return violation;
}

// One seed; what went wrong.
inline std::string run(Work work, uint64_t seed, Mutant mutant, Done& done) {
  switch (work) {
    case Work::portals: return run<PortalsJob>(seed, mutant, done);
    case Work::goal: return run<GoalJob>(seed, mutant, done);
    case Work::flow: return run<FlowJob>(seed, mutant, done);
    case Work::mpi: return run<MpiJob>(seed, mutant, done);
  }
  return "";
}

}  // namespace portunus::simulation
