// topology.hpp: which core the engine thread gets. The only place that knows hwloc.
#pragma once

namespace portunus {

struct Placement {
  int usable = 1;        // logical processors this process may use (cgroup and machine, not its own binding)
  int engine_core = -1;  // one that no rank of this node needs, or -1
};

// Ranks 0 .. local_size-1 of the node are given the first processors, engine threads what is left: rank i's engine gets
// processor local_size + i if there is one. `wanted` >= 0 overrides the choice (checked against the machine: throws).
Placement place_engine(int local_rank, int local_size, int wanted);

// Binds the calling thread. False when the system refuses.
bool bind_thread(int core);
// Asks for SCHED_FIFO, so that a woken engine thread runs at once. False when not permitted.
bool request_realtime();

}  // namespace portunus
