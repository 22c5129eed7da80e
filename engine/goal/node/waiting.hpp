// How a rank waits for another one of its node, and how that one wakes it: the only place in the node collectives where
// anybody waits.
//
// A rank that stores a word which another may wait for calls ring() behind the store, before it waits itself or leaves. Whoever waits
// does so in PtlxWait, and asks now and then whether it should go on. What was started and not waited for goes on meanwhile
// (pending_runs.hpp).
//
// Thread: one at a time per object.
// Invariants: what ready() reads is stored with release by the other rank, before it rings.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "engine/client/deaths.hpp"
#include "engine/goal/goal_domain.h"
#include "portals/portals4_ext.h"

namespace portunus::goal::node {

// The bit of the process's watch that stands for this memory.
inline constexpr uint32_t kWatchBit = 0x80000000u;

// Asked by a rank that has waited for long: true: what it waits for will never be. `again`: not for the first time in this wait.
struct AbortPredicate {
  int (*ask)(void*, int) = nullptr;
  void* arg = nullptr;
  [[nodiscard]] bool operator()(bool again) const { return ask && ask(arg, again) != 0; }
};

class Waiting {
 public:
  // `domain`: whose failure ends all waiting, or nullptr.
  Waiting(GOAL_Domain domain, AbortPredicate abort) : domain_(domain), abort_(abort) {}
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // Whether this rank can wake all others of the group, through memory, and learns of their deaths.
  bool prepare(const GOAL_Group& group);
  // Ranks outnumber cores here: a spinning one may keep off the one that it waits for.
  [[nodiscard]] bool crowded() const { return crowded_; }
  // This rank's engine runs on a core that nobody else needs.
  [[nodiscard]] bool has_engine() const { return has_engine_; }

  // False: it will never be: lost() or given_up() says why.
  template <class Ready>
  bool until(Ready&& ready) {
    if (ready()) return true;
    return sleep([](void* arg) { return (*static_cast<std::remove_reference_t<Ready>*>(arg))(); }, &ready);
  }
  // After a store: wakes those who sleep.
  void ring() const;

  [[nodiscard]] bool lost() const;  // a rank of the group has ended, or the domain has failed
  [[nodiscard]] bool given_up() const { return given_up_.load(std::memory_order_relaxed); }

 private:
  bool sleep(bool (*ready)(void*), void* arg);

  GOAL_Domain domain_;
  AbortPredicate abort_;
  bool crowded_ = false, has_engine_ = false;
  std::atomic<bool> given_up_{false};  // by any thread that waits; of itself
  size_t self_ = 0;
  client::Deaths deaths_;              // of ranks of the group
  std::vector<ptlx_watch_t> watches_;  // by rank
};

// Waits until so many executions have ended: GOAL_SUCCESS, also if one has failed, or GOAL_ABANDONED: it goes on.
int await_end(GOAL_Schedule schedule, unsigned runs, const AbortPredicate& abort);

}  // namespace portunus::goal::node
