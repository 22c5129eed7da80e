// topology.hpp: which core the engine thread gets. The only place that knows hwloc.
#pragma once

#include <bitset>
#include <vector>

namespace portunus {

using Processors = std::bitset<1024>;  // as many as cpu_set_t holds

struct Placement {
  std::vector<int> processors;  // those that this process may use, one of each core first
  int usable = 1;               // how many logical processors this process may use, second ones of cores included
  int engine_core = -1;         // one that no rank of this node needs, or -1
};

// Ranks 0 .. local_size-1 of the node are given the first processors, engine threads what is left: rank i's engine gets
// processor local_size + i if there is one. They are those of the cgroup to which the process is bound, and, if it is `launched`, its
// launcher: who is bound to one processor alone by a launcher leaves the others to engines. `wanted` >= 0 overrides the choice
// (checked against the machine: throws).
Placement place_engine(int local_rank, int local_size, int wanted, bool launched = false);

// Two waiting threads on one processor keep each other from running until the kernel's balancing notices, tenths of a second
// later. Moves the calling thread from `here` to the first processor not among `taken`, its own binding permitting; it is not bound
// there. Returns where it is now.
int move_aside(const Placement& placement, int here, const Processors& taken);

// Binds the calling thread. False when the system refuses.
bool bind_thread(int core);
// Asks for SCHED_FIFO, so that a woken engine thread runs at once. False when not permitted.
bool request_realtime();

}  // namespace portunus
