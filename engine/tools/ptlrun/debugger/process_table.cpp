// process_table.cpp: see process_table.hpp. The names are the interface's, and exported, so that a debugger finds them in a stripped
// ptlrun, too.
#include "engine/tools/ptlrun/debugger/process_table.hpp"

struct MPIR_PROCDESC {
  const char* host_name;
  const char* executable_name;
  int pid;
};
constexpr int kDebugSpawned = 1;

extern "C" {
#define PTLRUN_FOR_DEBUGGERS __attribute__((visibility("default"), used))
PTLRUN_FOR_DEBUGGERS MPIR_PROCDESC* MPIR_proctable = nullptr;
PTLRUN_FOR_DEBUGGERS int MPIR_proctable_size = 0;
PTLRUN_FOR_DEBUGGERS volatile int MPIR_being_debugged = 0, MPIR_debug_state = 0;
PTLRUN_FOR_DEBUGGERS int MPIR_i_am_starter = 1;  // ptlrun is no rank itself
PTLRUN_FOR_DEBUGGERS __attribute__((noinline)) void MPIR_Breakpoint();
void MPIR_Breakpoint() { asm volatile("" ::: "memory"); }
}

namespace portunus::launch::debugger {

bool is_there() { return MPIR_being_debugged != 0; }

void show(const std::string& host, const std::vector<RankSeen>& ranks) {
  static auto& kept_host = *new std::string;
  static auto& kept = *new std::vector<RankSeen>;
  static auto& table = *new std::vector<MPIR_PROCDESC>;
  if (!is_there()) return;
  kept_host = host;
  kept = ranks;
  for (const RankSeen& rank : kept) table.push_back({kept_host.c_str(), rank.program.c_str(), rank.pid});
  MPIR_proctable = table.data();
  MPIR_proctable_size = static_cast<int>(table.size());
  MPIR_debug_state = kDebugSpawned;
  MPIR_Breakpoint();
}

}  // namespace portunus::launch::debugger
