// The steps of each kind of collective in slots: see slot_call.hpp.
//
// Thread: as slot_call.hpp says.
#include "engine/goal/node/slot_call.hpp"

#include <cassert>
#include <numeric>

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
      given_(given(call.kind, bytes, size)),
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
    case GOAL_CALL_GATHERV:
      is_read_ = !is_root;
      if (!is_root) end_ = 0;
      break;
    case GOAL_CALL_SCAN:
    case GOAL_CALL_EXSCAN:
      is_read_ = rank + 1 < size;
      end_ = rank;
      break;
    default: everybodys_ = true;
  }
  next_ = first_;
}

size_t SlotCall::scattered_to(size_t rank) const {
  return (call_.counts ? call_.counts[rank] : call_.count) * local_size(type_of(call_.type));
}

size_t SlotCall::scattered_before() const {
  size_t bytes = 0;
  for (size_t i = 0; i < rank_; ++i) bytes += scattered_to(i);
  return bytes;
}

size_t SlotCall::contribution(const GOAL_Call& call, size_t bytes, size_t rank, size_t size) {
  if (!is_by_parts(call.kind)) return given(call.kind, bytes, size);
  const bool is_root = rank == static_cast<size_t>(call.root);
  if (call.kind == GOAL_CALL_GATHERV) return is_root ? 0 : sizeof(Part) + call.bytes;
  if (call.kind == GOAL_CALL_SCATTERV && !is_root) return 0;
  return size * sizeof(Part) + std::accumulate(call.in_sizes, call.in_sizes + size, size_t{0}) - call.in_sizes[rank];
}

void SlotCall::begin(Slots& slots, uint64_t taken) {
  if (gives_ && is_read_) give(slots.own(number_, given_), slots.room());
  slots.begin(number_, gives_, what_, taken);
}

void SlotCall::give(std::byte* to, size_t room) {
  if (is_by_parts(call_.kind)) return give_parts(to, room);
  assert(given_ <= room);
  const auto* const from = static_cast<const std::byte*>(call_.kind == GOAL_CALL_BCAST ? call_.out : call_.in);
  size_t before = bytes_, own = 0, behind = 0;
  if (call_.kind == GOAL_CALL_ALLTOALL || call_.kind == GOAL_CALL_SCATTER) {
    before = rank_ * bytes_, own = bytes_, behind = given_ - before;
  } else if (call_.kind == GOAL_CALL_REDUCE_SCATTER) {
    before = scattered_before(), own = scattered_to(rank_), behind = bytes_ - before - own;
  } else if (call_.kind == GOAL_CALL_ALLGATHERV) {
    before = call_.out_sizes[rank_];
  }
  if (before > 0) copy_run(to, from, before);
  if (behind > 0) copy_run(to + before, from + before + own, behind);
}

const std::byte* SlotCall::part_of(const Slots& slots, size_t from) const {
  return slots.data(from, number_, given_) + (rank_ - (rank_ > from ? 1 : 0)) * bytes_;
}

int SlotCall::take(const Slots& slots, const PeerMemory& others) const {
  if (meets_) return differs_ ? int{GOAL_MISMATCH} : int{GOAL_SUCCESS};
  for (size_t i = first_; i < end_; ++i)
    if ((i != rank_ || gives_) && slots.what(i, number_) != what_) return GOAL_MISMATCH;
  if (is_by_parts(call_.kind)) return take_parts(slots, others);
  if (bytes_ == 0) return GOAL_SUCCESS;
  const auto* in = static_cast<const std::byte*>(call_.in);
  auto* out = static_cast<std::byte*>(call_.out);
  const auto copy = [](std::byte* to, const std::byte* from, size_t bytes) {
    if (bytes > 0 && to != from) copy_run(to, from, bytes);
  };
  const auto data = [&](size_t rank) { return slots.data(rank, number_, given_); };
  size_t ranks = size_;
  switch (call_.kind) {
    case GOAL_CALL_BCAST:
      if (first_ < end_) copy_run(out, data(first_), bytes_);
      return GOAL_SUCCESS;
    case GOAL_CALL_SCATTER:
      if (first_ < end_) copy_run(out, part_of(slots, first_), bytes_);
      else if (out) copy(out, in + rank_ * bytes_, bytes_);
      return GOAL_SUCCESS;
    case GOAL_CALL_GATHER:
    case GOAL_CALL_ALLGATHER:
      for (size_t i = 0; i < end_; ++i) copy(out + i * bytes_, i == rank_ ? in : data(i), bytes_);
      return GOAL_SUCCESS;
    case GOAL_CALL_ALLTOALL:
      for (size_t i = 0; i < size_; ++i) copy(out + i * bytes_, i == rank_ ? in + rank_ * bytes_ : part_of(slots, i), bytes_);
      return GOAL_SUCCESS;
    case GOAL_CALL_ALLGATHERV:
      for (size_t i = 0; i < size_; ++i) copy(out + call_.out_places[i], i == rank_ ? in : data(i), call_.out_sizes[i]);
      return GOAL_SUCCESS;
    case GOAL_CALL_REDUCE: ranks = end_; break;
    case GOAL_CALL_SCAN: ranks = rank_ + 1; break;
    case GOAL_CALL_EXSCAN: ranks = rank_; break;
    default: break;
  }
  if (call_.kind != GOAL_CALL_REDUCE_SCATTER) {
    combine(call_, ranks, out, call_.count, [&](size_t i) { return i == rank_ ? in : data(i); });
    return GOAL_SUCCESS;
  }
  const size_t before = scattered_before();
  combine(call_, ranks, out, call_.counts ? call_.counts[rank_] : call_.count,
          [&](size_t i) { return i == rank_ ? in + before : data(i) + before - (i < rank_ ? scattered_to(i) : 0); });
  return GOAL_SUCCESS;
}

}  // namespace portunus::goal::node
