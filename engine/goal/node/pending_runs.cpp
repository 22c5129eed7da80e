// Starting, looking and ending: see pending_runs.hpp.
//
// Thread: as pending_runs.hpp says.
#include "engine/goal/node/pending_runs.hpp"

#include <algorithm>
#include <cassert>

#include "engine/goal/node/collectives.hpp"

namespace portunus::goal::node {

void Ended::tell() {
  while (first_ != nullptr) {
    Run& run = *first_;
    first_ = run.next;
    run.ended(run.arg);  // may free it
  }
}

uint64_t Lane::taken_before(uint64_t number) const {
  uint64_t first = blocking_ == 0 ? number : std::min(number, blocking_);
  if (runs_.empty()) return first - 1;
  assert(runs_.front()->call.number() <= runs_.back()->call.number());
  const auto oldest = std::ranges::find_if(runs_, [](const Run* run) { return !run->has_taken; });
  if (oldest != runs_.end()) first = std::min(first, (*oldest)->call.number());
  return first - 1;
}

void Lane::begin(Run& run) {
  assert(!run.has_begun && run.call.number() > last_);
  last_ = run.call.number();
  run.call.begin(slots, taken_before(last_));
  run.has_begun = true;
}

void Lane::take(Run& run) {
  assert(run.has_begun && !run.has_taken);
  run.code = run.call.take(slots, others_);
  run.has_taken = true;
}

bool Lane::start(Run& run, Ended& ended) {
  bool is_there = false, news = false;
  if (all_begun() && may_begin(run.call)) {
    begin(run);
    is_there = run.call.is_there(slots);
    // One of the ranks that complete a run at the same time sees the others: each stores before it looks.
    if (!is_there && run.call.is_everybodys()) {
      std::atomic_thread_fence(std::memory_order_seq_cst);
      is_there = run.call.is_there(slots);
    }
    news = is_there || !run.call.is_everybodys();
  }
  if (is_there && runs_.empty()) {
    take(run);
    slots.note_taken(taken_before(last_ + 1));
    if (run.call.is_released(slots)) {
      ended.add(run);
      return true;
    }
  }
  runs_.push_back(&run);
  resize();
  if (is_there && !run.has_taken) look(ended);
  return news;
}

bool Lane::look(Ended& ended) {
  bool news = false;
  size_t kept = 0;
  for (size_t i = 0; i < runs_.size(); ++i) {
    Run& run = *runs_[i];
    if (!run.has_begun && may_begin(run.call)) {
      begin(run);
      news = true;
    }
    if (!run.has_begun) {  // nor may those behind it
      while (i < runs_.size()) runs_[kept++] = runs_[i++];
      break;
    }
    if (!run.has_taken && run.call.is_there(slots)) {
      take(run);
      news = true;
    }
    if (run.has_taken && run.call.is_released(slots)) ended.add(run);
    else runs_[kept++] = &run;
  }
  assert(kept <= runs_.size());
  runs_.resize(kept);
  if (news) slots.note_taken(taken_before(last_ + 1));
  resize();
  return news;
}

void Lane::fail(int code, Ended& ended) {
  for (Run* run : runs_) ended.add(*run, code);
  runs_.clear();
  resize();
}

void Lane::remove(Run& run) {
  std::erase(runs_, &run);
  resize();
}

PendingRuns& PendingRuns::instance() {
  static auto& all = *new PendingRuns;  // for threads that outlive main
  return all;
}

void PendingRuns::add(Collectives& one) {
  if (std::ranges::find(all_, &one) == all_.end()) all_.push_back(&one);
  any_.store(1, std::memory_order_release);
}

void PendingRuns::remove(Collectives& one) {
  if (all_.empty()) return;
  std::erase(all_, &one);
  any_.store(all_.empty() ? 0 : 1, std::memory_order_release);
}

bool PendingRuns::look() {
  Ended ended;
  bool news = false;
  {
    const std::lock_guard held(lock);
    for (size_t i = 0; i < all_.size();) {
      Collectives& one = *all_[i];
      news = one.look(ended) || news;
      if (i < all_.size() && all_[i] == &one) ++i;  // else it has nothing under way any more
    }
  }
  news = news || ended.any();
  ended.tell();
  return news;
}

}  // namespace portunus::goal::node
