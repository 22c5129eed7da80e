// allocation_refusal.hpp: refuses one allocation of the calling thread, the n-th from when it is armed. Threads of engines are served.
//
// Included by one source of an executable, as allocation_probe.hpp is, which defines spares().
#pragma once

#include <dlfcn.h>
#include <execinfo.h>

#include <string_view>

#include "tests/allocation_probe.hpp"

namespace portunus::allocation_refusal {

// State of the calling thread alone: the engine's thread is another.
inline thread_local bool armed = false, reached = false, refused = false;
inline thread_local int before = 0;

// Whether what this function allocates, and what it calls, is served.
bool spares(std::string_view function);

inline bool is_spared() {
  void* at[64];
  for (int i = backtrace(at, 64); i-- > 0;)
    if (Dl_info of; dladdr(at[i], &of) != 0 && of.dli_sname != nullptr && spares(of.dli_sname)) return true;
  return false;
}

inline bool refuses() {
  if (!armed || before-- != 0) return false;
  armed = false;
  reached = true;
  return refused = !is_spared();
}
inline const auto asked = allocation_probe::refuses = refuses;

}  // namespace portunus::allocation_refusal
