// Which processors the ranks are bound to: a core each, or an equal share of the cores.
//
// Thread: ptlrun's main thread.
// Source: Linux Documentation/admin-guide/cputopology.rst: thread_siblings_list names the processors of one core.
#include <algorithm>
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

std::vector<cpu_set_t> usable_cores() {
  cpu_set_t left;
  std::vector<cpu_set_t> cores;
  if (sched_getaffinity(0, sizeof left, &left) != 0) return cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &left)) continue;
    cpu_set_t core = core_of(cpu);
    CPU_AND(&core, &core, &left);
    cores.push_back(core);
    CPU_XOR(&left, &left, &core);
  }
  return cores;
}

}  // namespace

std::vector<cpu_set_t> processors_for(int ranks, Binding binding, bool engines_have_cores) {
  std::vector<cpu_set_t> cores = usable_cores();
  const size_t count = static_cast<size_t>(ranks);
  const size_t usable = cores.size() - std::min(cores.size(), engines_have_cores ? count : 0);
  if (binding == Binding::none || usable < count) return {};
  std::vector<cpu_set_t> all(count);
  for (size_t i = 0; i < count; ++i) {
    const bool shares = binding == Binding::share;
    CPU_ZERO(&all[i]);
    for (size_t core = shares ? i * usable / count : i; core < (shares ? (i + 1) * usable / count : i + 1); ++core)
      CPU_OR(&all[i], &all[i], &cores[core]);
  }
  return all;
}

}  // namespace portunus::launch
