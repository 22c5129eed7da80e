// topology.hpp: which core the engine thread gets. The only place that knows hwloc.
#pragma once

#include <vector>

#include "engine/host/options.hpp"
#include "engine/host/seam.hpp"

namespace portunus {

struct Placement {
  std::vector<int> processors;  // those that this process may use, one of each core first
  int usable = 1;               // how many logical processors this process may use, second ones of cores included
  int engine_core = -1;         // the engine thread's own, or -1
};

// Ranks 0 .. local_size-1 of the node are given the first processors, and where `cores` asks for one each, rank i's engine thread gets
// processor local_size + i. They are those of the cgroup to which the process is bound, and, if it is `launched`, its launcher: who is
// bound to one processor alone by a launcher leaves the others to engines. Throws where a processor that was asked for is not there.
PORTUNUS_SEAM Placement place_engine(int local_rank, int local_size, const EngineCores& cores, bool launched = false);

// Lets the calling thread run wherever its process may, or, if it is `launched`, its launcher.
void free_thread(bool launched);
// Binds the calling thread. False when the system refuses.
bool bind_thread(int core);
// Asks for SCHED_FIFO, so that a woken engine thread runs at once. False when not permitted.
bool request_realtime();

}  // namespace portunus
