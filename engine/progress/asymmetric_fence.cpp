// asymmetric_fence.cpp: see asymmetric_fence.hpp.
#include "engine/progress/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace portunus {
namespace {

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

bool register_asymmetric_fences() {
  static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
  return registered;
}

void heavy_fence_on_node() { membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

}  // namespace portunus
