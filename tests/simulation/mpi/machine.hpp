// machine.hpp: what a simulated MPI process of the tests has: a machine, and somebody who listens to what its program does.
//
// Thread: one; acts may hand the processor to other processes before it returns.
#pragma once

#include <cstdint>

#include "engine/simulation/machine.hpp"

namespace portunus::simulation {

struct Plan;
struct History;

class TestMachine : public Machine {
 public:
  // The program goes on to `what` (a literal; `number`: of a message or collective): for whoever looks at a job that stands still. Time
  // passes here.
  virtual void acts(const char* what, uint64_t number = 0) = 0;
  virtual void notes(const char* what, uint64_t number) = 0;  // only tells
  virtual uint32_t draw(uint32_t below) = 0;
  virtual void violated(const char* what) = 0;

 protected:
  ~TestMachine() = default;
};

}  // namespace portunus::simulation

// The function that the object exports: performs one rank's part of the plan, from MPI_Init to MPI_Finalize.
using SimulatedRank = void(portunus::simulation::TestMachine& machine, const portunus::simulation::Plan& plan,
                           portunus::simulation::History& history, int rank);
extern "C" [[gnu::visibility("default")]] SimulatedRank simulated_rank;
