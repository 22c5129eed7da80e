// execution.cpp: making and running what one call takes.
#include "engine/goal/call/execution.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <mutex>
#include <utility>

#include "engine/goal/calls.hpp"
#include "engine/goal/library.hpp"
#include "engine/host/copy_run.hpp"

namespace portunus::goal {
namespace {

void copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0 && to != nullptr && to != from) copy_run(to, from, bytes);
}

// Between the memory of a call and a packed copy: f(the part's place in the call's memory, in the copy, bytes).
template <class Byte, class F>
void each_part(const Parts& parts, size_t ranks, Byte* memory, std::byte* packed, F&& f) {
  for (size_t i = 0; i < ranks; packed += parts.sizes[i++])
    if (parts.sizes[i] > 0) f(memory + parts.places[i], packed, parts.sizes[i]);
}

}  // namespace

Execution::Execution(const GOAL_Call& call, const GOAL_Group& group, bool copies, Details details)
    : group_(group),
      extents_(extents_of(call, group)),
      details_(std::move(details)),
      in_place_(!copies && is_in_place(call, group)),
      is_root_(call.kind == GOAL_CALL_BCAST && group.rank == call.root),
      in_(call.in),
      out_(call.out) {
  if (!copies) return;
  own_in_.reset(new std::byte[extents_.in + 1]);
  own_out_.reset(new std::byte[extents_.out + 1]);
}

Execution::Execution(const GOAL_Group& group, GOAL_Schedule schedule)
    : group_(group), details_(), in_place_(false), is_root_(false), in_(nullptr), out_(nullptr), schedule_(schedule), owns_(false) {
  GOAL_Mismatches(schedule_, &mismatches_);
}

Execution::~Execution() {
  in_all_.fetch_sub(bytes_, std::memory_order_relaxed);
  if (schedule_ != nullptr && owns_) GOAL_Free(&schedule_);
}

// The parts follow one another in a copy; else the first one in memory is what their places count from.
Execution::Region Execution::region(const Parts& parts, std::byte* own, const void* given, size_t bytes) const {
  auto* const start = copies() ? own : static_cast<std::byte*>(const_cast<void*>(given));
  if (parts.sizes == nullptr) return {start, bytes, {}};
  const auto ranks = static_cast<size_t>(group_.size);
  ptrdiff_t lowest = PTRDIFF_MAX, highest = PTRDIFF_MIN, packed = 0;
  std::vector<ptrdiff_t> places(ranks, 0);
  for (size_t i = 0; i < ranks; ++i) {
    if (parts.sizes[i] == 0) continue;
    const auto size = static_cast<ptrdiff_t>(parts.sizes[i]);
    places[i] = copies() ? std::exchange(packed, packed + size) : parts.places[i];
    lowest = std::min(lowest, places[i]);
    highest = std::max(highest, places[i] + size);
  }
  if (lowest > highest) return {start, 0, places};
  for (size_t i = 0; i < ranks; ++i)
    if (parts.sizes[i] > 0) places[i] -= lowest;
  return {start + lowest, static_cast<size_t>(highest - lowest), places};
}

int Execution::make(const GOAL_Call& call, const Binding& binding) {
  const std::lock_guard lock(Library::instance().guard);
  int code = GOAL_Create(&schedule_);
  if (code != GOAL_SUCCESS) return code;
  GOAL_Buffer in = GOAL_Arg(0, 0), out = GOAL_Arg(1, 0);
  if (in_place_) (call.kind == GOAL_CALL_SCATTER || call.kind == GOAL_CALL_SCATTERV ? out : in) = GOAL_InPlace();
  const auto [from, to] = regions(call);
  GOAL_Call placed = call;
  placed.in_places = from.places.data();
  placed.out_places = to.places.data();
  code = build(schedule_, group_, placed, in, out);
  if (code == GOAL_SUCCESS && binding.meets) code = GOAL_Barrier(&schedule_, &group_, nullptr);
  return code == GOAL_SUCCESS ? compile(call, binding) : code;
}

int Execution::make_like(const Execution& original, const GOAL_Call& call, const Binding& binding) {
  assert(is_like(original));
  const std::lock_guard lock(Library::instance().guard);
  const int code = GOAL_Clone(original.schedule_, &schedule_);
  return code == GOAL_SUCCESS ? compile(call, binding) : code;
}

int Execution::compile(const GOAL_Call& call, const Binding& binding) {
  const auto [in, out] = regions(call);
  schedule_->tag = binding.tag;
  schedule_->meets = true;  // its group meets after so many calls (team.hpp)
  int code = GOAL_Context(schedule_, binding.context);
  if (code == GOAL_SUCCESS) code = GOAL_Epoch(schedule_, binding.epoch);
  if (code == GOAL_SUCCESS) code = GOAL_Bind(schedule_, 0, in.start, in.bytes);
  if (code == GOAL_SUCCESS) code = GOAL_Bind(schedule_, 1, out.start, out.bytes);
  if (code == GOAL_SUCCESS) code = GOAL_Compile(schedule_);
  if (code == GOAL_SUCCESS) code = GOAL_Mismatches(schedule_, &mismatches_);
  if (code != GOAL_SUCCESS) return code;
  bytes_ = schedule_->compiled->plan.scratch_bytes + (copies() ? extents_.in + extents_.out : 0);
  in_all_.fetch_add(bytes_, std::memory_order_relaxed);
  return code;
}

int Execution::start(const GOAL_Call& call) {
  assert(!busy());
  if (copies()) {
    if (const Parts parts = has_parts() ? parts_of(call, group_).in : Parts{}; parts.sizes) [[unlikely]]
      each_part(parts, ranks(), static_cast<const std::byte*>(call.in), own_in_.get(),
                [](const std::byte* from, std::byte* to, size_t bytes) { copy(to, from, bytes); });
    else copy(own_in_.get(), call.in, extents_.in);
    if (is_root_) copy(own_out_.get(), call.out, extents_.out);
  }
  ++runs_;
  busy_.store(true, std::memory_order_relaxed);
  result_ = GOAL_Run(schedule_, &run_);
  if (result_ != GOAL_SUCCESS) busy_.store(false, std::memory_order_relaxed);
  return result_;
}

bool Execution::has_ended() const {
  return schedule_->with_program([](const auto& program) { return program.has_ended(); });
}

void Execution::tell_ends(std::atomic<uint32_t>& word) {
  if (!schedule_->on_node) return;
  schedule_->on_node->tell_ends(word);
  tells_ends_ = true;
}

int Execution::wait(const node::AbortPredicate& abort) {
  const int code = node::await_end(schedule_, runs_, abort);
  if (code == GOAL_ABANDONED) cancel();
  return code;
}

int Execution::end() {
  const int code = conclude();
  busy_.store(false, std::memory_order_release);
  return code;
}

int Execution::take(const GOAL_Call& call) {
  const int code = conclude();
  if (code == GOAL_SUCCESS && copies() && !is_root_) {
    if (const Parts parts = has_parts() ? parts_of(call, group_).out : Parts{}; parts.sizes) [[unlikely]]
      each_part(parts, ranks(), static_cast<std::byte*>(call.out), own_out_.get(),
                [](std::byte* to, const std::byte* from, size_t bytes) { copy(to, from, bytes); });
    else copy(call.out, own_out_.get(), extents_.out);
  }
  busy_.store(false, std::memory_order_release);
  return code;
}

int Execution::conclude() {
  assert(busy() || result_ != GOAL_SUCCESS);
  if (result_ == GOAL_SUCCESS) result_ = GOAL_Wait(&run_);
  const uint64_t mismatches = std::atomic_ref<const uint64_t>(*mismatches_).load(std::memory_order_relaxed);  // ordered by the wait
  if (result_ != GOAL_SUCCESS || mismatches == mismatches_told_) [[likely]]
    return result_;
  assert(mismatches > mismatches_told_);
  mismatches_told_ = mismatches;
  return GOAL_MISMATCH;
}

void Execution::cancel() {
  {
    const std::lock_guard lock(Library::instance().guard);
    GOAL_Cancel(&run_);
  }
  result_ = GOAL_ERR_FAILED;
  busy_.store(false, std::memory_order_release);
}

}  // namespace portunus::goal
