// process_table.hpp: how a debugger that has started ptlrun finds the ranks of this host: it reads a table in ptlrun's memory.
//
// The debugger writes MPIR_being_debugged before main begins, and stops ptlrun in MPIR_Breakpoint. Ranks of MPI wait meanwhile until it has
// attached to them and written their MPIR_debug_gate (mpi-adi/debugger/).
// Thread: ptlrun's only thread. Source: MPI Forum, The MPIR Process Acquisition Interface 1.0.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace portunus::launch::debugger {

// The variable by which ranks know that they wait.
inline constexpr const char* kVariable = "PTL_DEBUGGER_COMES";

struct RankSeen {
  std::string program;
  pid_t pid;
};

bool is_there();
// All ranks of this host have started. Returns when the debugger lets ptlrun go on; at once where there is none.
void show(const std::string& host, const std::vector<RankSeen>& ranks);

}  // namespace portunus::launch::debugger
