// store_wait.hpp: waiting until another rank of the node has stored to memory of a window that this process looks at.
//
// Thread: any. Cost: while the store is likely to come soon, looks at memory; events, as those of deaths, are taken after a millisecond.
#pragma once

#include <type_traits>

#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/long_waits.hpp"
#include "portals/portals4_ext.h"

namespace portunus::mpi::rma {

// For which memory of this rank threads sleep that wait so; other libraries of the process have other bits, see PtlxNodeWatch.
constexpr uint32_t kWatchBit = uint32_t{1} << 29;

// Returns when done(): PTL_OK, or the error of PtlxWait. `watched`: kWatchBit; 0 where only messages end the wait. `describe()`: the wait,
// for whoever looks for ranks that wait for one another.
template <class Done, class Describe>
int wait_for_store(uint32_t watched, Done&& done, Describe&& describe) {
  constexpr ptl_time_t kSoon = 1;  // in ms
  if (done()) return PTL_OK;
  device::enter_wait();
  const auto look = [](void* arg) -> int { return (*static_cast<std::remove_reference_t<Done>*>(arg))(); };
  void* const arg = &done;
  int code = PtlxWait(look, arg, watched, kSoon);
  if (code != PTL_CT_NONE_REACHED) return code;
  const device::PendingSteps events;
  for (bool again = false; (code = PtlxWait(look, arg, watched, device::kLongAsleep)) == PTL_CT_NONE_REACHED; again = true)
    device::long_waits::tell(describe(), again);
  return code;
}

}  // namespace portunus::mpi::rma
