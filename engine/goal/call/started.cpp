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
  any_.store(1, std::memory_order_release);
  return true;
}

bool StartedSchedules::remove(goal_started& one) {
  if (!one.is_listed.load(std::memory_order_acquire)) return false;  // pairs with look
  const std::lock_guard held(lock_);
  const bool found = std::erase(all_, &one) > 0;
  any_.store(all_.empty() ? 0 : 1, std::memory_order_release);
  return found;
}

bool StartedSchedules::look() {
  bool any = false;
  while (any_.load(std::memory_order_relaxed) != 0) {
    void (*ended)(void*) = nullptr;
    void* arg = nullptr;
    {
      const std::lock_guard held(lock_);
      for (size_t i = 0; i < all_.size() && !ended; ++i) {
        if (!all_[i]->execution->has_ended()) continue;
        ended = all_[i]->ended;
        arg = all_[i]->arg;
        all_[i]->is_listed.store(false, std::memory_order_release);
        all_.erase(all_.begin() + static_cast<ptrdiff_t>(i));
      }
      any_.store(all_.empty() ? 0 : 1, std::memory_order_release);
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
  delete on_node;
}

int goal_started::start() {
  if (made) return made->owner ? made->owner->restart(*made, ended, arg) : int{GOAL_ERR_FAILED};
  if (const int code = execution->start(call); code != GOAL_SUCCESS) return code;
  if (!StartedSchedules::instance().add(*this)) ended(arg);
  return GOAL_SUCCESS;
}

node::Run* goal_started::run() { return !made ? on_node : made->run ? &*made->run : nullptr; }

int goal_started::result() {
  if (execution) return execution->take(call);
  const node::Run* const last = run();
  return last ? last->code : int{GOAL_ERR_FAILED};
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
