// rank_side.cpp: what a rank's own copy of the libraries has beside them: where its machine is set, and where it tells of long waits.
//
// Linked before the libraries' objects, as engine/simulation/seams.cpp is. Thread: one.
#include "engine/simulation/seams.hpp"
#include "engine/tools/ptlsim/rank_machine.hpp"
#include "portals/portals4_ext.h"

using portunus::ptlsim::RankMachine;

extern "C" {

[[gnu::visibility("default")]] PtlsimSetMachine ptlsim_set_machine;
void ptlsim_set_machine(RankMachine* machine) { portunus::simulation::machine = machine; }

int PtlxTellWait(const ptlx_long_wait_t* wait) {
  static_cast<RankMachine*>(portunus::simulation::machine)->waits(wait->call, wait->what);
  return PTL_OK;
}

}  // extern "C"
