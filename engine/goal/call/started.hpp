// started.hpp: calls that go on by themselves, and how their users learn that they have ended.
//
// Calls through memory tell their ends by themselves (node/pending_runs.hpp). Schedules that are under way stand in one list, which a
// poller looks through (PtlxPollerAdd): an end shows in a word of each. Those that run through memory of the node say when there is
// something to look for, so that who waits for them steps the engine alone.
//
// Thread: of one object one at a time, except that any thread that waits may find that it has ended. The list has a lock, which nobody
// waits under. Invariants: an object is in the list exactly from its start until its end is told, or it is given up.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/goal/call/execution.hpp"
#include "engine/goal/node/made_call.hpp"

struct goal_started {
  GOAL_Call call;
  // One of the three.
  std::unique_ptr<portunus::goal::node::MadeCall> made;
  std::optional<portunus::goal::node::Run> on_node;
  std::shared_ptr<portunus::goal::Execution> execution;
  void (*ended)(void*) = nullptr;
  void* arg = nullptr;
  std::atomic<bool> is_listed{false};  // by StartedSchedules

  goal_started() = default;
  goal_started(const goal_started&) = delete;
  goal_started& operator=(const goal_started&) = delete;
  ~goal_started();

  // Runs what was made. GOAL_* codes.
  int start();
  // GOAL_* codes, as GOAL_Result.
  int result();
  // True: ended() will not be called.
  bool give_up();

 private:
  // The last run through memory; nullptr: none.
  portunus::goal::node::Run* run();
};

namespace portunus::goal {

class StartedSchedules {
 public:
  static StartedSchedules& instance();
  // Threads that wait look from now on. False: there is no room for another poller.
  bool open() { return PtlxPollerAdd(&poller_) == PTL_OK; }
  // The poller's word, for who tells it of ends.
  std::atomic<uint32_t>& word() { return any_; }
  // Its execution runs. False: it has ended already, and nobody else tells.
  bool add(goal_started& one);
  // False: it has ended, and its user was told, or is being told.
  bool remove(goal_started& one);

 private:
  bool look();  // true: one has ended

  std::mutex lock_;
  void forget(const goal_started& one) { silent_ -= one.execution->tells_ends() ? 0 : 1; }

  std::vector<goal_started*> all_;
  size_t silent_ = 0;  // of these, those that say nothing when they end
  std::atomic<uint32_t> any_{0};
  const ptlx_poller_t poller_{[](void* all) { return static_cast<int>(static_cast<StartedSchedules*>(all)->look()); }, this,
                              reinterpret_cast<const uint32_t*>(&any_), 0};
};

}  // namespace portunus::goal
