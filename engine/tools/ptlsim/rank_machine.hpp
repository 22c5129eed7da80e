// rank_machine.hpp: what a rank's copy of the libraries has in place of an operating system. Thread: one.
#pragma once

#include "engine/simulation/machine.hpp"

namespace portunus::ptlsim {

class RankMachine : public simulation::Machine {
 public:
  // The rank has waited for long: the call, and what it waits for.
  virtual void waits(const char* call, const char* what) = 0;

 protected:
  ~RankMachine() = default;
};

}  // namespace portunus::ptlsim

using PtlsimSetMachine = void(portunus::ptlsim::RankMachine*);
