// variables.cpp: see variables.hpp.
#include "engine/host/variables.hpp"

namespace portunus {

std::span<const Variable> environment_variables() {
  static constexpr Variable kVariables[] = {
      {"PTL_PROGRESS", "auto, spin, park, offload, caller", "auto",
       "who steps the engine while the application computes: its thread, spinning; its thread, asleep until it is needed; its thread only, "
       "never the application; no thread at all. auto: spin where PTL_ENGINE_CORES gives it a core, else park"},
      {"PTL_ENGINE_CORES", "0, 1, or a list of logical processors, as 2,3,8-9 or 3-3", "0",
       "cores of the engine threads' own, on which they spin: 1: one for each rank, of those that no rank needs; a list: by local rank. "
       "With 0 an engine thread sleeps until it is needed"},
      {"PTL_NODE", "1, 0", "1", "0: nothing goes through shared memory, everything crosses libfabric"},
      {"PTL_NODE_RING", "KiB, 64 to 1048576", "512",
       "size of the ring that a process's senders on its node share; 16 of them at a time have one of their "
       "own, an eighth as long but 128 KiB at least; where the job has at most 4 others there, each has 1 or 2 MiB"},
      {"PTL_NODE_CMA", "1, 0", "1", "0: bulk data on the node goes through memory that both map, not by the kernel's cross-memory attach"},
      {"PTL_NODE_WIRE", "LATENCY,WIDTH: us, 0 to 1000000, and bytes per us, 1 to 1000000", "no wire",
       "for measurements: messages between processes of a node take as long as on such a wire, and no "
       "processor time meanwhile; equal on all ranks; what SHMEM does by plain loads and stores is not "
       "delayed"},
      {"PTL_FABRIC", "1, 0", "1", "0: libfabric is never opened"},
      {"PTL_FABRIC_PROVIDER", "tcp, shm, verbs ...", "the best that libfabric offers",
       "the libfabric provider; FI_PROVIDER=tcp stands for any of them for TCP"},
      {"PTL_FABRIC_INTERFACE", "name of a network interface", "the first that is up", "whose address names this process"},
      {"PTL_PEER_TIMEOUT", "seconds, 1 to 86400", "30",
       "a peer whose host or network is silent for that long is lost; a process that dies is noticed sooner"},
      {"PTL_DEBUG", "0, 1, or keys, as buffers,leaks", "0",
       "what is looked at closer, and explained on stderr: arguments: each PTL_ARG_INVALID, by function, argument, why; buffers: MPI's "
       "that "
       "cannot be read to their end; 1: both of these; calls: collectives whose operations, roots, datatypes or order differ between "
       "ranks; leaks: what MPI_Finalize finds left"},
      {"PTL_STDOUT", "line, block", "line in ranks of a launcher, else the program's",
       "what a program prints leaves it at the end of each line, or 4096 bytes at a time, which is faster; then a rank's last lines are "
       "lost with it"},
      {"PTL_CC", "a command", "cc", "the compiler behind mpicc and oshcc"},
      {"PTL_CXX", "a command", "c++", "the compiler behind mpicxx and oshcxx"},
      {"PTL_APPNUM", "number", "set by ptlrun",
       "which of several programs that were started together this process runs, from 0: MPI_APPNUM"},
      {"PTL_TRACE", "name of a file, as trace.json", "no trace",
       "when each vertex of each execution of GOAL schedules began and ended, written at the end to "
       "trace.0.json (rank 0) ... for Perfetto (ui.perfetto.dev); makes schedules a little slower"},
      {"PTL_COLLECTIVES", "as allreduce=ring,file=/etc/rules,nodes=off", "chosen by size and ranks",
       "algorithms of the GOAL collectives, whatever the table in engine/goal/collectives/choice.cpp says: one for a collective, whatever "
       "the size, also where the node's shared memory would do it; or a file of rules by size and ranks (engine/goal/README.md), as "
       "goaltune measures them, for what goes by messages; equal on all ranks"},
      {"MPIADI_EAGER_LIMIT", "bytes, with k, m, g", "the transport's",
       "MPI messages that are longer send their header alone first; the transport's own limit holds in any "
       "case"},
      {"MPIADI_VERY_SHORT_LIMIT", "bytes, with k, m, g", "8k", "MPI sends up to this size are copied and complete at once"},
      {"MPIADI_UNEXPECTED_BUFFER", "bytes, with k, m, g", "64m",
       "what messages without a receive may occupy on a rank before their senders are asked to send headers "
       "alone"},
      {"MPIADI_UNEXPECTED_LIMIT", "bytes, with k, m, g", "256m", "and at most, together with what is under way; senders wait before"},
      {"MPIADI_NODE_COLLECTIVES", "1, 0", "1", "0: blocking collectives of MPI go by messages also where all ranks share a node"},
      {"MPIADI_INFO", "1, 0", "0", "1: MPI_Init prints on rank 0 what of these is in force, MPI_Finalize what the job has left behind"},
      {"SHMEM_SYMMETRIC_SIZE", "bytes, with k, m, g, t", "512m", "size of the symmetric heap of each PE; memory is taken as it is touched"},
      {"SHMEM_INFO", "any value", "not set", "prints version, variables in force, transports and where symmetric memory lies"},
      {"SHMEM_VERSION", "any value", "not set", "prints the version"},
      {"SHMEM_DEBUG", "any value", "not set",
       "checks arguments further than usual, and explains the first wrong one by PE, routine and value; "
       "prints how each PE is reached"},
      {"SHMEM_HUGE_PAGES", "1, 0", "0", "1: the symmetric heap lies in pages of 2 MiB, as far as the kernel has some (Linux 6.1)"},
      {"VDC_PAGES", "number, 1 to 1048576", "16384", "pages of 4096 bytes that the processes of a VODCA program share"},
      {"VDC_CHECK", "1, 0", "0",
       "1: finds mistakes in the use of views, at some cost: ids of barriers that differ, detected views that overlap, reads of a declared "
       "view that is not held"},
      {"VDC_TRACE", "name of a file, as views.json", "no trace", "when each process waited for views and moved their bytes, for Perfetto"},
      {"CCC_CHECK", "1, 0", "0",
       "1: finds two writers of one place, and indices and results that differ between PEs, in the domains of ccc.hpp"},
      {"CCC_WAY", "schedule, laid-out", "by what was measured",
       "for measuring: the one way in which messages of ccc.h's plans go; equal on all PEs"},
      {"PEACE_SHARED", "bytes, with k, m, g", "0", "memory of peace_alloc that the node's processes can look at; reserved at the start"},
  };
  return kVariables;
}

}  // namespace portunus
