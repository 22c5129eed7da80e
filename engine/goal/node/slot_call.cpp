// The steps of each kind of collective in slots: see slot_call.hpp.
//
// Thread: as slot_call.hpp says.
#include "engine/goal/node/slot_call.hpp"

#include <cassert>

#include "engine/goal/node/choice.hpp"
#include "engine/goal/node/combine.hpp"
#include "engine/host/copy_run.hpp"

namespace portunus::goal::node {

namespace {

// The lengths that all ranks must say alike.
uint64_t digest_of_lengths(const GOAL_Call& call, size_t bytes, size_t size) {
  const size_t* const each = call.kind == GOAL_CALL_ALLGATHERV       ? call.out_sizes
                             : call.kind == GOAL_CALL_REDUCE_SCATTER ? call.counts
                                                                     : nullptr;
  uint64_t digest = bytes;
  for (size_t i = 0; each != nullptr && i < size; ++i) digest = digest * 31 + each[i];
  return digest;
}

}  // namespace

SlotCall::SlotCall(const GOAL_Call& call, size_t bytes, uint64_t what, size_t rank, size_t size, uint64_t number)
    : call_(call),
      bytes_(bytes),
      rank_(rank),
      size_(size),
      number_(number),
      what_(what | digest_of_lengths(call, bytes, size) << 40),
      end_(size) {
  const auto root = static_cast<size_t>(call.root);
  const bool is_root = rank == root;
  switch (call.kind) {
    case GOAL_CALL_BARRIER:
      gives_ = false;
      meets_ = everybodys_ = true;
      break;
    case GOAL_CALL_BCAST:
    case GOAL_CALL_SCATTER:
    case GOAL_CALL_SCATTERV:
      gives_ = is_root;
      first_ = root;
      end_ = is_root ? root : root + 1;
      break;
    case GOAL_CALL_GATHER:
    case GOAL_CALL_REDUCE:
      if (!is_root) end_ = 0;
      break;
    case GOAL_CALL_GATHERV:
      gives_ = !is_root;
      if (!is_root) end_ = 0;
      break;
    case GOAL_CALL_SCAN:
    case GOAL_CALL_EXSCAN: end_ = rank; break;
    default: everybodys_ = true;
  }
  next_ = first_;
}

size_t SlotCall::scattered_to(size_t rank) const {
  return (call_.counts ? call_.counts[rank] : call_.count) * local_size(type_of(call_.type));
}

void SlotCall::begin(Slots& slots, uint64_t taken) {
  if (gives_) {
    std::byte* const to = slots.own(number_);
    const auto* const from = static_cast<const std::byte*>(call_.kind == GOAL_CALL_BCAST ? call_.out : call_.in);
    assert(is_by_parts(call_.kind) || bytes_ <= slots.room());
    if (is_by_parts(call_.kind)) {
      give_parts(to, slots.room());
    } else if (call_.kind == GOAL_CALL_ALLTOALL || call_.kind == GOAL_CALL_SCATTER) {  // but for its own part
      const size_t before = rank_ * bytes_, behind = (size_ - rank_ - 1) * bytes_;
      if (before > 0) copy_run(to, from, before);
      if (behind > 0) copy_run(to + before + bytes_, from + before + bytes_, behind);
    } else if (const size_t bytes = call_.kind == GOAL_CALL_ALLGATHERV ? call_.out_sizes[rank_] : bytes_; bytes > 0) {
      copy_run(to, from, bytes);
    }
  }
  slots.begin(number_, gives_, what_, taken);
}

int SlotCall::take(const Slots& slots, const PeerMemory& others) const {
  if (meets_) return differs_ ? int{GOAL_MISMATCH} : int{GOAL_SUCCESS};
  for (size_t i = first_; i < end_; ++i)
    if ((i != rank_ || gives_) && slots.what(i, number_) != what_) return GOAL_MISMATCH;
  if (is_by_parts(call_.kind)) return take_parts(slots, others);
  if (bytes_ == 0) return GOAL_SUCCESS;
  auto* out = static_cast<std::byte*>(call_.out);
  size_t ranks = size_;
  switch (call_.kind) {
    case GOAL_CALL_BCAST:
      if (first_ < end_) copy_run(out, slots.data(first_, number_), bytes_);
      return GOAL_SUCCESS;
    case GOAL_CALL_SCATTER:
      if (out)
        copy_run(out, (first_ < end_ ? slots.data(first_, number_) : static_cast<const std::byte*>(call_.in)) + rank_ * bytes_, bytes_);
      return GOAL_SUCCESS;
    case GOAL_CALL_GATHER:
    case GOAL_CALL_ALLGATHER:
      for (size_t i = 0; i < end_; ++i) copy_run(out + i * bytes_, slots.data(i, number_), bytes_);
      return GOAL_SUCCESS;
    case GOAL_CALL_ALLTOALL:
      for (size_t i = 0; i < size_; ++i) {
        const std::byte* from = i == rank_ ? static_cast<const std::byte*>(call_.in) : slots.data(i, number_);
        copy_run(out + i * bytes_, from + rank_ * bytes_, bytes_);
      }
      return GOAL_SUCCESS;
    case GOAL_CALL_ALLGATHERV:
      for (size_t i = 0; i < size_; ++i)
        if (call_.out_sizes[i] > 0) copy_run(out + call_.out_places[i], slots.data(i, number_), call_.out_sizes[i]);
      return GOAL_SUCCESS;
    case GOAL_CALL_REDUCE: ranks = end_; break;
    case GOAL_CALL_SCAN: ranks = rank_ + 1; break;
    case GOAL_CALL_EXSCAN: ranks = rank_; break;
    default: break;
  }
  size_t bytes = bytes_, from = 0;
  if (call_.kind == GOAL_CALL_REDUCE_SCATTER) {
    bytes = scattered_to(rank_);
    for (size_t i = 0; i < rank_; ++i) from += scattered_to(i);
  }
  if (ranks == 0 || bytes == 0) return GOAL_SUCCESS;
  copy_run(out, slots.data(0, number_) + from, bytes);
  for (size_t i = 1; i < ranks; ++i) combine_block(call_, out, slots.data(i, number_) + from, bytes);
  return GOAL_SUCCESS;
}

}  // namespace portunus::goal::node
