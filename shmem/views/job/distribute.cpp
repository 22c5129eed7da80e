// distribute.cpp: through the stage, a part of the block that no view owns.
#include "shmem/views/job/distribute.hpp"

#include <algorithm>

#include "engine/goal/copy.hpp"
#include "shmem/views/library.hpp"

namespace portunus::views {

void distribute(void* variable, size_t bytes) {
  constexpr unsigned kId = ~0u - 1;
  for (size_t done = 0; done < bytes; done += kStage) {
    char* const at = static_cast<char*>(variable) + done;
    const size_t part = std::min(kStage, bytes - done);
    if (library.me == 0) copy_run(library.own_block + library.layout.stage, at, part);
    meet(kId);
    if (library.me != 0) {
      if (const char* there = library.net.near(0, library.layout.stage)) copy_run(at, there, part);
      else if (!library.net.get(0, library.layout.stage, at, part)) {
        library.net.clear();
        refuse(VDCX_ERR_LOST, "process 0 has died");
      }
    }
    meet(kId);
  }
}

}  // namespace portunus::views
