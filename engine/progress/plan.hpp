// plan.hpp: what the machine and the environment ask of waiting.
#pragma once

#include <cstdint>

namespace portunus {

// The forms of progress that PTL_PROGRESS names.
enum class ProgressMode : uint8_t { automatic, spin, park, offload, caller };

// Constant between begin and end of progress.
struct ProgressPlan {
  ProgressMode mode = ProgressMode::caller;  // not automatic
  bool engine_spins = false;                 // the engine thread never sleeps
  bool engine_has_core = false;
  bool spin_waits = false;      // waiters have a core each
  bool oversubscribed = false;  // more ranks than cores: polls give way, too
  bool by_socket = false;       // a network's descriptors wake the engine thread; without one, waiters
  bool must_poll = false;       // a network without a descriptor: sleep only briefly
  bool registered = false;      // heavy fences reach this process

  bool network_open() const { return by_socket || must_poll; }
  bool waiters_listen() const { return by_socket && mode == ProgressMode::caller; }
};

}  // namespace portunus
