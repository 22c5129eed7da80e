// One call that is started again and again, on one rank, through slots that it alone has: so ranks may start several in different orders.
//
// An ALLREDUCE whose work is worth dividing is two: each rank combines a part, and the parts go to all.
//
// Thread: one at a time, except that any thread that waits may end its run; the lock of PendingRuns guards the lane and the owner.
// Invariants: at most one run is under way. The owner is null once the group's collectives are gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "engine/goal/goal_call.h"
#include "engine/goal/node/pending_runs.hpp"

namespace portunus::goal::node {

class Collectives;

struct MadeCall {
  // `tag`: of the agreement about the memory, before which the lane's slots get their sizes.
  MadeCall(Collectives& group, const GOAL_Call& what, size_t part, size_t rank, size_t size, uint32_t tag, const PeerMemory& others)
      : owner(&group), call(what), bytes(part), lane(rank, size, 0, 1, tag, others) {}
  ~MadeCall();  // nothing of it is under way
  // The run that is under way, or the last one; nullptr: it was never started.
  Run* last() {
    std::optional<Run>& one = now.load(std::memory_order_acquire)->run;  // pairs with go_on
    return one ? &*one : nullptr;
  }
  // After its end.
  [[nodiscard]] int code() { return run->code != GOAL_SUCCESS ? run->code : last()->code; }
  MadeCall(const MadeCall&) = delete;
  MadeCall& operator=(const MadeCall&) = delete;

  Collectives* owner;
  GOAL_Call call;
  size_t bytes;                // of a rank's part or vector
  bool is_everybodys = false;  // all ranks make this one; else they are told when they start it
  Lane lane;
  std::optional<Run> run;  // the last one
  size_t memory = 0;       // bytes, as counted against what all groups may have

  // The call that follows each run, the arrays that both point to, and whom to tell then.
  struct Shares {
    std::vector<size_t> counts, sizes;
    std::vector<ptrdiff_t> places;
  };
  std::unique_ptr<Shares> shares;
  std::unique_ptr<MadeCall> then;
  std::atomic<MadeCall*> now{this};  // this one or `then`, which is under way or was the last
  void (*ended)(void*) = nullptr;
  void* arg = nullptr;
};

}  // namespace portunus::goal::node
