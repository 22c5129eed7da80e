// Sleeping, waking and giving up: see waiting.hpp.
//
// Thread: as waiting.hpp says.
#include "engine/goal/node/waiting.hpp"

#include <cstring>

#include "engine/goal/goal_call.h"
#include "engine/goal/library.hpp"

namespace portunus::goal::node {

namespace {

constexpr ptl_time_t kLimit = PTLX_TIME_ASLEEP(1000);  // until a rank asks whether there is hope, and again

}  // namespace

Waiting::~Waiting() {
  for (const ptlx_watch_t& watch : watches_) PtlxNodeUnwatch(&watch);
}

bool Waiting::prepare(const GOAL_Group& group) {
  const ptl_handle_ni_t ni = Library::instance().port().ni();
  self_ = static_cast<size_t>(group.rank);
  watches_.resize(static_cast<size_t>(group.size));
  ptlx_engine_info_t engine;
  if (PtlxEngineInfo(&engine) != PTL_OK || deaths_.open(ni) != PTL_OK) return false;
  crowded_ = engine.oversubscribed != 0;
  has_engine_ = std::strcmp(engine.progress, "spin") == 0 || std::strcmp(engine.progress, "offload") == 0;
  for (size_t i = 0; i < watches_.size(); ++i) {
    const ptl_process_t member = client::process(static_cast<ptl_rank_t>(group.ranks ? group.ranks[i] : static_cast<int>(i)));
    if (PtlxNodeWatch(ni, member, &watches_[i]) != PTL_OK) return false;
    if (i == self_) continue;
    if (PtlxTransport(ni, member, nullptr) != PTLX_TRANSPORT_NODE) return false;
    if (deaths_.watch(member) != PTL_OK) return false;
  }
  return true;
}

bool Waiting::lost() const { return deaths_.any() || (domain_ && GOAL_Domain_failed(domain_)); }

void Waiting::ring() const {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the loads come after the store, see PtlxNodeRing
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (i == self_) continue;
    if (std::atomic_ref<uint32_t>(*watches_[i].watched).load(std::memory_order_relaxed) & kWatchBit) PtlxNodeRing(&watches_[i]);
  }
}

bool Waiting::sleep(bool (*ready)(void*), void* arg) {
  struct Sleeper {
    bool (*ready)(void*);
    void* arg;
    const Waiting& waiting;
    bool is_ready = false;
  } sleeper{ready, arg, *this};
  const auto done = [](void* at) -> int {
    auto& self = *static_cast<Sleeper*>(at);
    return (self.is_ready = self.ready(self.arg)) || self.waiting.lost();
  };
  for (bool again = false; PtlxWait(done, &sleeper, kWatchBit, kLimit) == PTL_CT_NONE_REACHED; again = true)
    if (abort_(again)) {
      given_up_.store(true, std::memory_order_relaxed);
      return false;
    }
  return sleeper.is_ready;
}

int await_end(GOAL_Schedule schedule, unsigned runs, const AbortPredicate& abort) {
  uint32_t finish, failures;
  uint64_t each;
  if (const int code = GOAL_Counters(schedule, &finish, &each, &failures); code != GOAL_SUCCESS) return code;
  const ptl_size_t end = runs * each;
  ptl_ct_event_t count;
  unsigned which;
  for (bool again = false; each > 0 && PtlCTPoll(&finish, &end, 1, kLimit, &count, &which) == PTL_CT_NONE_REACHED; again = true)
    if (abort(again)) return GOAL_ABANDONED;
  return GOAL_SUCCESS;
}

}  // namespace portunus::goal::node
