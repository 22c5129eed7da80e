// The steps of each kind of collective in slots: see slot_call.hpp.
//
// Thread: as slot_call.hpp says.
#include "engine/goal/node/slot_call.hpp"

#include "engine/goal/node/combine.hpp"
#include "engine/host/copy_run.hpp"

namespace portunus::goal::node {

SlotCall::SlotCall(const GOAL_Call& call, size_t bytes, uint64_t what, size_t rank, size_t size, uint64_t number)
    : call_(call), bytes_(bytes), rank_(rank), size_(size), number_(number), what_(what | uint64_t{bytes} << 40), end_(size) {
  const auto root = static_cast<size_t>(call.root);
  const bool is_root = rank == root;
  switch (call.kind) {
    case GOAL_CALL_BARRIER:
      gives_ = false;
      meets_ = everybodys_ = true;
      break;
    case GOAL_CALL_BCAST:
    case GOAL_CALL_SCATTER:
      gives_ = is_root;
      first_ = root;
      end_ = is_root ? root : root + 1;
      break;
    case GOAL_CALL_GATHER:
    case GOAL_CALL_REDUCE:
      if (!is_root) end_ = 0;
      break;
    case GOAL_CALL_SCAN:
    case GOAL_CALL_EXSCAN: end_ = rank; break;
    default: everybodys_ = true;
  }
  next_ = first_;
}

void SlotCall::begin(Slots& slots, uint64_t taken) const {
  static constexpr std::byte kNothing{};
  const bool to_each = call_.kind == GOAL_CALL_ALLTOALL || call_.kind == GOAL_CALL_SCATTER;
  const size_t bytes = to_each ? size_ * bytes_ : bytes_;
  const void* data = call_.kind == GOAL_CALL_BCAST ? call_.out : call_.in;
  slots.begin(number_,
              !gives_     ? nullptr
              : bytes > 0 ? data
                          : &kNothing,
              bytes, what_, taken, to_each ? rank_ * bytes_ : 0, to_each ? bytes_ : 0);
}

bool SlotCall::take(const Slots& slots) const {
  for (size_t i = 0; meets_ && i < size_; ++i)
    if (slots.has_begun_another(i, number_, what_)) return false;
  if (meets_) return true;
  for (size_t i = first_; i < end_; ++i)
    if (slots.what(i, number_) != what_) return false;
  if (bytes_ == 0) return true;
  auto* out = static_cast<std::byte*>(call_.out);
  size_t ranks = size_;
  switch (call_.kind) {
    case GOAL_CALL_BCAST:
      if (first_ < end_) copy_run(out, slots.data(first_, number_), bytes_);
      return true;
    case GOAL_CALL_SCATTER:
      if (out)
        copy_run(out, (first_ < end_ ? slots.data(first_, number_) : static_cast<const std::byte*>(call_.in)) + rank_ * bytes_, bytes_);
      return true;
    case GOAL_CALL_GATHER:
    case GOAL_CALL_ALLGATHER:
      for (size_t i = 0; i < end_; ++i) copy_run(out + i * bytes_, slots.data(i, number_), bytes_);
      return true;
    case GOAL_CALL_ALLTOALL:
      for (size_t i = 0; i < size_; ++i) {
        const std::byte* from = i == rank_ ? static_cast<const std::byte*>(call_.in) : slots.data(i, number_);
        copy_run(out + i * bytes_, from + rank_ * bytes_, bytes_);
      }
      return true;
    case GOAL_CALL_REDUCE: ranks = end_; break;
    case GOAL_CALL_SCAN: ranks = rank_ + 1; break;
    case GOAL_CALL_EXSCAN: ranks = rank_; break;
    default: break;
  }
  if (ranks == 0) return true;
  copy_run(out, slots.data(0, number_), bytes_);
  for (size_t i = 1; i < ranks; ++i) combine_block(call_, out, slots.data(i, number_), bytes_);
  return true;
}

}  // namespace portunus::goal::node
