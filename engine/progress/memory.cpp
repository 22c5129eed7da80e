// memory.cpp: see memory.hpp.
#include "engine/progress/memory.hpp"

#include <time.h>

namespace portunus {

uint32_t coarse_stamp() {
#if defined(__x86_64__)
  return static_cast<uint32_t>(__builtin_ia32_rdtsc() >> 10) | 1;
#else
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint32_t>((static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec)) >> 8) | 1;
#endif
}

}  // namespace portunus
