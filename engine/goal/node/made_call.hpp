// One call that is started again and again, on one rank, through slots that it alone has: so ranks may start several in different orders.
//
// Thread: one at a time, except that any thread that waits may end its run; the lock of PendingRuns guards the lane and the owner.
// Invariants: at most one run is under way. The owner is null once the group's collectives are gone.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/goal/goal_call.h"
#include "engine/goal/node/pending_runs.hpp"

namespace portunus::goal::node {

class Collectives;

struct MadeCall {
  // `tag`: of the agreement about the memory, before which the lane's slots get their sizes.
  MadeCall(Collectives& group, const GOAL_Call& what, size_t part, size_t rank, size_t size, uint32_t tag, const PeerMemory& others)
      : owner(&group), call(what), bytes(part), lane(rank, size, 0, 1, tag, others) {}
  ~MadeCall();  // nothing of it is under way
  MadeCall(const MadeCall&) = delete;
  MadeCall& operator=(const MadeCall&) = delete;

  Collectives* owner;
  GOAL_Call call;
  size_t bytes;  // of a rank's part or vector
  Lane lane;
  std::optional<Run> run;  // the last one
  size_t memory = 0;       // bytes, as counted against what all groups may have
};

}  // namespace portunus::goal::node
