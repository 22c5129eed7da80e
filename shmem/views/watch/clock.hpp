// clock.hpp: seconds since some moment in the past, for limits of time.
//
// Thread: any. Cost: some 20 ns.
#pragma once

#include <ctime>

namespace portunus::views {

inline double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace portunus::views
