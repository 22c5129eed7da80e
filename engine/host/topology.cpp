// topology.cpp: see topology.hpp.
#include "engine/host/topology.hpp"

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/host/parent_of.hpp"

namespace portunus {
namespace {

// Logical processors by core, first threads of all cores before second threads: neighbours share no core.
std::vector<int> processors() {
  std::vector<int> list;
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return list;
  hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(topology) == 0) {
    hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(topology);
    const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    for (unsigned thread = 0, found = 1; found; ++thread) {
      found = 0;
      for (int i = 0; i < cores; ++i) {
        hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
        if (thread >= core->arity) continue;
        found = 1;
        const int number = static_cast<int>(core->children[thread]->os_index);
        if (hwloc_bitmap_isset(allowed, static_cast<unsigned>(number))) list.push_back(number);
      }
    }
    if (list.empty()) {
      const int units = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
      for (int i = 0; i < units; ++i)
        list.push_back(static_cast<int>(hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, static_cast<unsigned>(i))->os_index));
    }
  }
  hwloc_topology_destroy(topology);
  return list;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Launchers name a rank in its environment, which scripts, debuggers and profilers between both hand on.
pid_t launcher_of_this() {
  std::vector<std::string> names;
  for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "PMI_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(name)) names.push_back('\0' + std::string(name) + '=' + value + '\0');
  const auto is_of_this_rank = [&](pid_t process) {
    const std::string all = '\0' + text_of("/proc/" + std::to_string(process) + "/environ");
    return !names.empty() && std::ranges::all_of(names, [&](const std::string& one) { return all.find(one) != std::string::npos; });
  };
  pid_t process = getppid();
  while (process > 1 && is_of_this_rank(process)) process = parent_of(process);
  return process;
}

// A launcher binds each rank to a part of what it may use itself, and its own binding is its user's wish.
cpu_set_t permitted(bool launched) {
  cpu_set_t mine, launchers;
  CPU_ZERO(&mine);
  CPU_ZERO(&launchers);
  sched_getaffinity(0, sizeof mine, &mine);
  if (launched && sched_getaffinity(launcher_of_this(), sizeof launchers, &launchers) == 0) CPU_OR(&mine, &mine, &launchers);
  return mine;
}

}  // namespace

Placement place_engine(int local_rank, int local_size, const EngineCores& cores, bool launched) {
  Placement placement;
  placement.processors = processors();
  std::vector<int>& list = placement.processors;
  const std::vector<int> all = list;
  if (const cpu_set_t allowed = permitted(launched); CPU_COUNT(&allowed) > 0)
    std::erase_if(list, [&](int number) { return !CPU_ISSET(static_cast<unsigned>(number), &allowed); });
  placement.usable = list.empty() ? 1 : static_cast<int>(list.size());
  const auto rank = static_cast<size_t>(local_rank);
  if (cores.each) {
    const size_t at = static_cast<size_t>(local_size) + rank;
    if (at >= list.size())
      throw std::invalid_argument("PTL_ENGINE_CORES=1: " + std::to_string(local_size) + " ranks and as many engines need " +
                                  std::to_string(2 * local_size) + " cores here, and " + std::to_string(list.size()) +
                                  " may be used; start fewer ranks, or give the engines none");
    placement.engine_core = list[at];
  } else if (!cores.processors.empty()) {
    if (rank >= cores.processors.size() || std::ranges::find(all, cores.processors[rank]) == all.end())
      throw std::invalid_argument("PTL_ENGINE_CORES: " +
                                  (rank < cores.processors.size()
                                       ? "this process may not use processor " + std::to_string(cores.processors[rank])
                                       : "the list has no processor for local rank " + std::to_string(local_rank)) +
                                  "; see `hwloc-ls` or taskset -p $$");
    placement.engine_core = cores.processors[rank];
  }
  return placement;
}

void free_thread(bool launched) {
  const cpu_set_t allowed = permitted(launched);
  pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
}

bool bind_thread(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

bool request_realtime() {
  sched_param param{};
  param.sched_priority = 1;
  return pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == 0;
}

}  // namespace portunus
