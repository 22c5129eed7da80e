// started.cpp: the list of schedules that are under way.
#include "engine/goal/call/started.hpp"

#include "engine/goal/node/collectives.hpp"

namespace portunus::goal {

StartedSchedules& StartedSchedules::instance() {
  static auto& all = *new StartedSchedules;  // for threads that outlive main
  return all;
}

bool StartedSchedules::add(goal_started& one) {
  const std::lock_guard held(lock_);
  if (one.execution->has_ended()) return false;
  all_.push_back(&one);
  one.is_listed.store(true, std::memory_order_relaxed);
  if (one.execution->tells_ends()) return true;
  ++silent_;
  any_.store(1, std::memory_order_release);
  return true;
}

bool StartedSchedules::remove(goal_started& one) {
  if (!one.is_listed.load(std::memory_order_acquire)) return false;  // pairs with look
  const std::lock_guard held(lock_);
  const bool found = std::erase(all_, &one) > 0;
  if (found) forget(one);
  if (all_.empty()) any_.store(0, std::memory_order_release);
  return found;
}

bool StartedSchedules::look() {
  if (any_.load(std::memory_order_relaxed) == 0) return false;
  bool any = false;
  for (bool more = true; more;) {
    void (*ended)(void*) = nullptr;
    void* arg = nullptr;
    {
      const std::lock_guard held(lock_);
      if (silent_ == 0) any_.exchange(0, std::memory_order_acq_rel);  // who ends after this look says so again
      for (size_t i = 0; i < all_.size() && !ended; ++i) {
        if (!all_[i]->execution->has_ended()) continue;
        ended = all_[i]->ended;
        arg = all_[i]->arg;
        all_[i]->is_listed.store(false, std::memory_order_release);
        forget(*all_[i]);
        all_.erase(all_.begin() + static_cast<ptrdiff_t>(i));
      }
      more = ended && !all_.empty();
      if (all_.empty()) any_.store(0, std::memory_order_release);
    }
    if (!ended) break;
    any = true;
    ended(arg);  // may free it
  }
  return any;
}

}  // namespace portunus::goal

using namespace portunus::goal;

goal_started::~goal_started() {
  if (!give_up() && execution && execution->busy()) execution->end();
}

int goal_started::start() {
  if (made) return made->owner ? made->owner->restart(*made, ended, arg) : int{GOAL_ERR_FAILED};
  if (const int code = execution->start(call); code != GOAL_SUCCESS) return code;
  if (!StartedSchedules::instance().add(*this)) ended(arg);
  return GOAL_SUCCESS;
}

node::Run* goal_started::run() {
  if (made) return made->last();
  return on_node ? &*on_node : nullptr;
}

int goal_started::result() {
  if (execution) return execution->take(call);
  const node::Run* const last = run();
  if (last == nullptr) return GOAL_ERR_FAILED;
  return made ? made->code() : last->code;
}

bool goal_started::give_up() {
  if (execution) {
    if (!StartedSchedules::instance().remove(*this)) return false;
    execution->cancel();
    return true;
  }
  node::Run* const last = run();
  if (last == nullptr) return false;
  const std::lock_guard held(node::PendingRuns::instance().lock);
  if (last->owner == nullptr) return false;
  last->owner->remove(*last);
  last->owner = nullptr;
  last->code = GOAL_ERR_FAILED;
  return true;
}
