// request.cpp: from the start of a collective to its end; the table of requests.
#include "shmem/nonblocking/request.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "shmem/deaths.hpp"
#include "shmem/misuse.hpp"
#include "shmem/runtime.hpp"

namespace portunus::shmem {

namespace {

int take(GOAL_Started& started) {
  const int code = GOAL_Result(started);
  GOAL_Release(&started);
  return code;
}

}  // namespace

// The launch is a step, so that nothing is complete before it is over.
int Request::launch(Team& team, Task&& task) {
  assert(state_ == kFree && !started_ && !comparison_);
  team_ = &team;
  task_ = std::move(task);
  freed_ = has_sizes_ = false;
  differs_ = false;
  code_ = code_of_facts_ = GOAL_SUCCESS;
  const bool compares = runtime.debug && team.size() > 1;
  facts_of_all_.assign(compares ? static_cast<size_t>(team.size()) : 0, task_.facts);
  if (collects()) {
    const std::lock_guard lock(team.collectives->later.guard);
    team.collectives->later.waiting.reserve(team.collectives->later.waiting.size() + 1);
  }
  steps_.store(1 + (compares ? 1 : 0) + (task_.sends_nothing ? 0 : 1), std::memory_order_relaxed);
  state_.store(kUnderWay, std::memory_order_relaxed);
  int code = GOAL_SUCCESS;
  if (compares) {
    const GOAL_Call facts = call_of(GOAL_CALL_ALLGATHER, sizeof(CallFacts), &task_.facts, facts_of_all_.data());
    code = team.collectives->start(facts, facts_came, this, &comparison_);
  }
  const bool has_begun = compares && code == GOAL_SUCCESS;
  if (code == GOAL_SUCCESS && !task_.sends_nothing) code = start_call();
  if (code == GOAL_SUCCESS) one_is_over();
  else if (has_begun) must_succeed(code, "GOAL_Start", team.members);  // others wait for what is not there
  else team_ = nullptr, state_.store(kFree, std::memory_order_relaxed);
  return code;
}

// Its team is gone if that was destroyed.
int Request::launch(Run& run, Team* team) {
  assert(state_ == kFree && !started_ && !comparison_);
  team_ = team;
  run_ = &run;
  freed_ = false;
  differs_ = false;
  code_ = code_of_facts_ = GOAL_SUCCESS;
  steps_.store(1, std::memory_order_relaxed);
  state_.store(kUnderWay, std::memory_order_relaxed);
  const int code = run.begin(*this);
  if (code != GOAL_SUCCESS) team_ = nullptr, run_ = nullptr, state_.store(kFree, std::memory_order_relaxed);
  return code;
}

int Request::start_call() {
  Collectives& collectives = *team_->collectives;
  if (!collects()) return collectives.start(task_.call, call_ended, this, &started_);
  if (const int code = collectives.open_later(); code != GOAL_SUCCESS) return code;
  {
    const std::lock_guard lock(collectives.later.guard);
    collectives.later.waiting.push_back(this);
  }
  const int code =
      collectives.start(call_of(GOAL_CALL_ALLGATHER, sizeof(size_t), &task_.call.bytes, task_.sizes.data()), call_ended, this, &started_);
  if (code == GOAL_SUCCESS) return code;
  const std::lock_guard lock(collectives.later.guard);
  collectives.later.waiting.pop_back();
  return code;
}

void Request::call_ended(void* request) {
  auto& self = *static_cast<Request*>(request);
  const int code = take(self.started_);
  if (self.collects() && !self.has_sizes_) return self.sizes_came(code);
  self.code_ = code;
  self.finish();
}

void Request::facts_came(void* request) {
  auto& self = *static_cast<Request*>(request);
  self.code_of_facts_ = take(self.comparison_);
  if (self.code_of_facts_ != GOAL_SUCCESS || self.other_call() >= 0) self.differs_.store(true, std::memory_order_release);
  self.one_is_over();
}

int Request::other_call() const {
  const auto other =
      std::find_if(facts_of_all_.begin(), facts_of_all_.end(), [&](const CallFacts& facts) { return !(facts == task_.facts); });
  return other == facts_of_all_.end() ? -1 : static_cast<int>(other - facts_of_all_.begin());
}

// Starts the data of all whose turn has come. This request stays under way until its team is needed no more here.
void Request::sizes_came(int code) {
  steps_.fetch_add(1, std::memory_order_relaxed);
  {
    Collectives::Later& later = team_->collectives->later;
    const std::lock_guard lock(later.guard);
    code_ = code;
    has_sizes_ = true;
    while (!later.waiting.empty() && later.waiting.front()->has_sizes_) {
      Request& next = *later.waiting.front();
      later.waiting.erase(later.waiting.begin());
      next.start_data();
    }
  }
  one_is_over();
}

// After the start it may be complete already, and the request another one's.
void Request::start_data() {
  int code = code_;
  if (code == GOAL_SUCCESS) {
    begins_of(task_.sizes, task_.begins);
    task_.call.out_sizes = task_.sizes.data();
    task_.call.out_places = task_.begins.data();
    code = team_->collectives->start(task_.call, call_ended, this, &started_, true);
  }
  if (code == GOAL_SUCCESS) return;
  code_ = code;
  one_is_over();
}

void Request::finish() {
  if (code_ == GOAL_SUCCESS) {
    if (task_.packed) task_.elements.unpack(task_.dest, task_.stride, static_cast<const std::byte*>(task_.call.out));
    if (task_.cleared != 0) memset(task_.dest, 0, task_.cleared);
  }
  one_is_over();
}

void Request::one_is_over() {
  if (steps_.fetch_sub(1, std::memory_order_acq_rel) == 1) Requests::instance().conclude(*this);
}

int Request::take_end(const char* function) const {
  if (run_) return run_->finish(function);
  must_be_well();
  return 0;
}

void Request::must_be_well() const {
  if (!team_ || run_) return;  // which has waited for it
  if (differs_.load(std::memory_order_acquire)) {
    must_succeed(code_of_facts_, "GOAL_Start", team_->members);
    const int other = other_call();
    task_.facts.complain(facts_of_all_[static_cast<size_t>(other)], team_->members[other]);
  }
  if (is_complete()) must_succeed(code_, "GOAL_Start", team_->members);
}

// Steps follow one another while they find something to do, and for some two microseconds in vain: a wait gives the core up after each.
void Request::await_run() const {
  constexpr int kInVain = 32;
  struct Look {
    const Request& request;
    uint64_t seen;
  } look{*this, 0};
  const auto is_to_go_on = [](void* at) -> int {
    const Look& it = *static_cast<const Look*>(at);
    return it.request.is_complete() || it.request.run_->progress() != it.seen;
  };
  while (!is_complete()) {
    look.seen = run_->progress();
    for (int in_vain = 0; !is_complete() && in_vain < kInVain;) in_vain = PtlxProgress() > 0 ? 0 : in_vain + 1;
    if (!is_complete()) PtlxWait(is_to_go_on, &look, 0, PTL_TIME_FOREVER);
  }
}

void Request::await(const char* function) const {
  if (run_) {
    await_run();
  } else if (!is_decided()) {
    wait(
        function, 0, [&] { return is_decided(); }, &team_->members);
  }
}

void Request::must_be_hopeful(const char* function) const {
  if (run_) return;
  if (const int pe = dead_among(&team_->members); pe >= 0 && !is_decided()) misuse("%s waits for PE %d, which has died", function, pe);
}

Requests& Requests::instance() {
  // For threads that outlive main; where there is no memory, too.
  alignas(Requests) static std::byte place[sizeof(Requests)];
  static auto& all = *new (place) Requests;
  return all;
}

Request& Requests::claim() {
  const std::lock_guard lock(guard_);
  if (unused_.empty()) {
    if (all_.size() == size_t{1} << kNumberBits) throw std::bad_alloc();
    unused_.reserve(all_.size() + 1);
    all_.push_back(std::make_unique<Request>());
    all_.back()->number_ = all_.size() - 1;
    unused_.push_back(all_.back().get());
  }
  Request& request = *unused_.back();
  unused_.pop_back();
  ++request.uses_;
  return request;
}

void Requests::recycle(Request& request) {
  assert(unused_.size() < unused_.capacity());
  request.task_ = {};
  request.team_ = nullptr;
  request.run_ = nullptr;
  request.state_.store(Request::kFree, std::memory_order_relaxed);
  unused_.push_back(&request);
}

void Requests::give_back(Request& request) {
  const std::lock_guard lock(guard_);
  recycle(request);
}

void Requests::free(Request& request) {
  const std::lock_guard lock(guard_);
  if (request.is_complete()) recycle(request);
  else request.freed_ = true;
}

// A request that has failed stays, for the end of its team.
void Requests::conclude(Request& request) {
  const std::lock_guard lock(guard_);
  request.state_.store(Request::kComplete, std::memory_order_release);
  if (request.freed_ && request.is_well()) recycle(request);
}

shmemx_req_t Requests::handle_of(const Request& request) {
  return reinterpret_cast<shmemx_req_t>(request.uses_ << kNumberBits | request.number_);
}

Request* Requests::find(shmemx_req_t handle) {
  const auto word = reinterpret_cast<uintptr_t>(handle);
  const size_t number = word & ((size_t{1} << kNumberBits) - 1);
  const std::lock_guard lock(guard_);
  if (number >= all_.size()) return nullptr;
  Request& request = *all_[number];
  const bool is_one = request.uses_ == word >> kNumberBits && request.state_.load(std::memory_order_relaxed) != Request::kFree;
  return is_one && !request.freed_ ? &request : nullptr;
}

void Requests::forget(const Run& run) {
  const std::lock_guard lock(guard_);
  for (const auto& each : all_)
    if (each->run_ == &run) each->run_ = nullptr, each->team_ = nullptr;
}

void Requests::drain(const char* function, const Team* team) {
  for (;;) {
    Request* one = nullptr;
    bool freed = false;
    {
      const std::lock_guard lock(guard_);
      for (const auto& each : all_)
        if (team ? each->team_ == team : each->team_ || each->run_) one = each.get();
      if (one) freed = std::exchange(one->freed_, false);  // so that it stays
    }
    if (!one) break;
    one->await(function);
    one->must_be_well();
    const std::lock_guard lock(guard_);
    if (!team) one->run_ = nullptr;
    if (freed || !team) recycle(*one);
    else one->team_ = nullptr;
  }
  if (team) return;
  const std::lock_guard lock(guard_);
  for (const auto& each : all_)
    if (each->state_.load(std::memory_order_relaxed) != Request::kFree) recycle(*each);
}

}  // namespace portunus::shmem
