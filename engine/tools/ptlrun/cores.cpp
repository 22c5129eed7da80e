// Which processors the ranks are bound to with --bind core.
//
// Thread: ptlrun's main thread.
// Source: Linux Documentation/admin-guide/cputopology.rst: thread_siblings_list names the processors of one core.
#include <cstdlib>
#include <fstream>

#include "engine/tools/ptlrun/ranks.hpp"

namespace portunus::launch {
namespace {

// A list such as "0,4" or "0-1"; the processor alone when the kernel does not tell.
cpu_set_t core_of(int cpu) {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(cpu, &core);
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  std::string list;
  std::getline(file, list);
  for (const char* text = list.c_str(); *text != '\0';) {
    char* end = nullptr;
    const long first = std::strtol(text, &end, 10);
    if (end == text) break;
    const long last = *end == '-' ? std::strtol(end + 1, &end, 10) : first;
    for (long sibling = first; sibling <= last && sibling < CPU_SETSIZE; ++sibling) CPU_SET(static_cast<int>(sibling), &core);
    text = *end == ',' ? end + 1 : end;
  }
  return core;
}

}  // namespace

std::vector<cpu_set_t> cores_for(int ranks) {
  cpu_set_t left;
  if (sched_getaffinity(0, sizeof left, &left) != 0) return {};
  std::vector<cpu_set_t> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE && static_cast<int>(cores.size()) < ranks; ++cpu) {
    if (!CPU_ISSET(cpu, &left)) continue;
    cpu_set_t core = core_of(cpu);
    CPU_AND(&core, &core, &left);
    cores.push_back(core);
    CPU_XOR(&left, &left, &core);
  }
  if (static_cast<int>(cores.size()) < ranks) cores.clear();
  return cores;
}

}  // namespace portunus::launch
