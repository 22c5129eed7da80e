// variables.cpp: see variables.hpp.
#include "engine/host/variables.hpp"

#include <cstdio>
#include <cstdlib>

#include "engine/host/launchers.hpp"

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
      {"PTL_FABRIC_PROVIDER", "tcp, shm, verbs ...", "the best that libfabric offers",
       "the libfabric provider; FI_PROVIDER=tcp stands for any of them for TCP"},
      {"PTL_FABRIC_INTERFACE", "names of network interfaces, as eth0,eth1", "the first that is up",
       "whose address names this process; of several each process uses the one nearest to its cores, and processes that several are "
       "equally near to are spread over these; devices without IPv4 addresses are dealt out alike, all of them"},
      {"PTL_PEER_TIMEOUT", "seconds, 1 to 86400", "30",
       "a peer whose host or network is silent for that long is lost; a process that dies is noticed sooner"},
      {"PTL_INFO", "1, 0", "0",
       "1: MPI_Init prints on rank 0 the settings in force, MPI_Finalize what the job has left behind; the start names variables that are "
       "set but not read any more, with what took their place"},
      {"PTL_DEBUG", "0, 1, or keys, as buffers,wire=5:100", "0",
       "explanations on stderr, checks, and switches for measuring: the keys below; 1: arguments, buffers and waits"},
      {"PTL_STDOUT", "line, block", "line in ranks of a launcher, else the program's",
       "what a program prints leaves it at the end of each line, or 4096 bytes at a time, which is faster; then a rank's last lines are "
       "lost with it"},
      {"PTL_TRACE", "name of a file, as trace.json", "no trace",
       "what happened when, for Perfetto (ui.perfetto.dev): the vertices of each execution of GOAL schedules, written at the end to "
       "trace.0.json (rank 0) ..., which makes schedules a little slower; what a VODCA program did with its views, to trace.views.0.json"},
      {"PTL_RECORD", "name of a file, as run.goal or run.bin", "no recording",
       "ptlrun writes the run of a program there as a GOAL schedule, as with --record"},
      {"PTL_COLLECTIVES", "as allreduce=ring,file=/etc/rules,nodes=off", "chosen by size and ranks",
       "algorithms of the GOAL collectives, whatever the table in engine/goal/collectives/choice.cpp says: one for a collective, whatever "
       "the size, also where the node's shared memory would do it; or a file of rules by size and ranks "
       "(engine/goal/collectives/README.md), as "
       "goaltune measures them, for what goes by messages; equal on all ranks"},
      {"MPIADI_EAGER_LIMIT", "bytes, with k, m, g", "the transport's",
       "MPI messages that are longer send their header alone first; shorter ones, where a transport takes less, are copied at the sender"},
      {"MPIADI_UNEXPECTED_LIMIT", "bytes, with k, m, g", "256m",
       "the most that messages without a receive may occupy on a rank, together with what is under way: senders wait before; from a "
       "quarter of it on they are asked to send headers alone; 512k at least"},
      {"SHMEM_SYMMETRIC_SIZE", "bytes, with k, m, g, t", "512m", "size of the symmetric heap of each PE; memory is taken as it is touched"},
      {"SHMEM_INFO", "any value", "not set", "prints version, variables in force, transports and where symmetric memory lies"},
      {"SHMEM_VERSION", "any value", "not set", "prints the version"},
      {"SHMEM_DEBUG", "any value", "not set",
       "checks arguments further than usual, and explains the first wrong one by PE, routine and value; "
       "prints how each PE is reached"},
      {"SHMEM_HUGE_PAGES", "1, 0", "0", "1: the symmetric heap lies in pages of 2 MiB, as far as the kernel has some (Linux 6.1)"},
      {"VDC_PAGES", "number, 1 to 1048576", "16384", "pages of 4096 bytes that the processes of a VODCA program share"},
      {"PEACE_SHARED", "bytes, with k, m, g", "0", "memory of peace_alloc that the node's processes can look at; reserved at the start"},
  };
  return kVariables;
}

std::span<const Variable> compiler_variables() {
  static constexpr Variable kVariables[] = {
      {"PTL_CC", "a command", "cc", "the compiler behind mpicc and oshcc, as -cc= names it for a call"},
      {"PTL_CXX", "a command", "c++", "the compiler behind mpicxx and oshcxx, as -cxx="},
      {"PTL_FC", "a command", "that of the build", "the compiler behind mpifort, as -fc="},
  };
  return kVariables;
}

std::span<const ReplacedVariable> replaced_variables() {
  static constexpr ReplacedVariable kReplaced[] = {
      {"PTL_NODE_CMA", "PTL_DEBUG=no-cma for 0"},
      {"PTL_NODE_WIRE", "PTL_DEBUG=wire=LATENCY:WIDTH"},
      {"PTL_FABRIC", "PTL_DEBUG=no-fabric for 0"},
      {"PTL_FABRIC_CONGESTION", "sysctl net.ipv4.tcp_congestion_control, or ip route ... congctl"},
      {"MPIADI_VERY_SHORT_LIMIT", "PTL_DEBUG=very-short=BYTES"},
      {"MPIADI_UNEXPECTED_BUFFER", "MPIADI_UNEXPECTED_LIMIT, a quarter of which it is"},
      {"MPIADI_NODE_COLLECTIVES", "PTL_DEBUG=no-node-collectives for 0"},
      {"MPIADI_BOARD", "PTL_DEBUG=no-node-collectives for 0"},
      {"MPIADI_INFO", "PTL_INFO"},
      {"VDC_CHECK", "PTL_DEBUG=views"},
      {"VDC_TRACE", "PTL_TRACE"},
      {"CCC_CHECK", "PTL_DEBUG=domains"},
      {"CCC_WAY", "PTL_DEBUG=ccc-schedule or ccc-laid-out"},
  };
  return kReplaced;
}

void tell_replaced_variables() {
  const auto place = exported_place();
  if (place && place->local_rank != 0) return;
  for (const ReplacedVariable& one : replaced_variables())
    if (std::getenv(one.name)) std::fprintf(stderr, "portals: %s is set, but not read any more; use %s\n", one.name, one.now);
}

}  // namespace portunus
