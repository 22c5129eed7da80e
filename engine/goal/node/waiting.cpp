// Sleeping, waking and giving up: see waiting.hpp.
//
// Thread: as waiting.hpp says.
#include "engine/goal/node/waiting.hpp"

#include <cstring>

#include "engine/goal/goal_node.h"
#include "engine/goal/library.hpp"

namespace portunus::goal::node {

namespace {

constexpr uint32_t kWatchBit = GOAL_NODE_WATCH;
constexpr ptl_time_t kSlice = 1;          // milliseconds between two looks of GOAL_Node_attend
constexpr ptl_time_t kFirstLimit = 1000;  // milliseconds until a rank asks whether there is hope, and again after twice as long

// wait(limit), in slices while there is something to attend to.
template <class Wait>
int wait_attending(ptl_time_t limit, Wait&& wait) {
  int (*const look)(void) = attend.load(std::memory_order_acquire);  // pairs with GOAL_Node_attend
  for (; look != nullptr && limit > kSlice && look() != 0; limit -= kSlice)
    if (const int code = wait(kSlice); code != PTL_CT_NONE_REACHED) return code;
  return wait(limit);
}

}  // namespace

constinit std::atomic<int (*)(void)> attend{nullptr};

Waiting::~Waiting() {
  for (const ptlx_watch_t& watch : watches_) PtlxNodeUnwatch(&watch);
  if (deaths_ != PTL_CT_NONE) PtlCTFree(deaths_);
}

bool Waiting::prepare(const GOAL_Group& group) {
  const ptl_handle_ni_t ni = Library::instance().port().ni();
  self_ = static_cast<size_t>(group.rank);
  watches_.resize(static_cast<size_t>(group.size));
  ptlx_engine_info_t engine;
  if (PtlxEngineInfo(&engine) != PTL_OK || PtlCTAlloc(ni, &deaths_) != PTL_OK) return false;
  crowded_ = engine.oversubscribed != 0;
  has_engine_ = std::strcmp(engine.progress, "spin") == 0 || std::strcmp(engine.progress, "offload") == 0;
  for (size_t i = 0; i < watches_.size(); ++i) {
    ptl_process_t member{};
    member.rank = static_cast<ptl_rank_t>(group.ranks ? group.ranks[i] : static_cast<int>(i));
    if (PtlxNodeWatch(ni, member, &watches_[i]) != PTL_OK) return false;
    if (i == self_) continue;
    if (PtlxTransport(ni, member, nullptr) != PTLX_TRANSPORT_NODE) return false;
    if (PtlxCTWatch(deaths_, member) != PTL_OK) return false;
  }
  return true;
}

bool Waiting::lost() const {
  ptl_ct_event_t count;
  return PtlxCTPeek(deaths_, &count) != PTL_OK || count.failure > 0 || (domain_ && GOAL_Domain_failed(domain_));
}

void Waiting::ring() const {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the loads come after the store, see PtlxNodeRing
  for (size_t i = 0; i < watches_.size(); ++i) {
    if (i == self_) continue;
    if (std::atomic_ref<uint32_t>(*watches_[i].watched).load(std::memory_order_relaxed) & kWatchBit) PtlxNodeRing(&watches_[i]);
  }
}

void Waiting::ring_own() const {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (std::atomic_ref<uint32_t>(*watches_[self_].watched).load(std::memory_order_relaxed) & kWatchBit) PtlxNodeRing(&watches_[self_]);
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
  const auto wait = [&](ptl_time_t limit) { return PtlxWait(done, &sleeper, kWatchBit, limit); };
  for (ptl_time_t limit = kFirstLimit; wait_attending(limit, wait) == PTL_CT_NONE_REACHED; limit *= 2)
    if (hopeless_()) {
      given_up_.store(true, std::memory_order_relaxed);
      return false;
    }
  return sleeper.is_ready;
}

int await_run(GOAL_Schedule schedule, GOAL_Request& run, unsigned runs, const Hopeless& hopeless) {
  uint32_t finish, failures;
  uint64_t each;
  if (const int code = GOAL_Counters(schedule, &finish, &each, &failures); code != GOAL_SUCCESS) return code;
  const ptl_size_t end = runs * each;
  ptl_ct_event_t count;
  unsigned which;
  const auto wait = [&](ptl_time_t limit) { return PtlCTPoll(&finish, &end, 1, limit, &count, &which); };
  for (ptl_time_t limit = kFirstLimit; each > 0 && wait_attending(limit, wait) == PTL_CT_NONE_REACHED; limit *= 2)
    if (hopeless()) return GOAL_NODE_HOPELESS;
  return GOAL_Wait(&run);
}

}  // namespace portunus::goal::node
