// Making a group's memory, choosing the way of a call, and what goes through slots: see collectives.hpp.
//
// Thread: as collectives.hpp says.
#include "engine/goal/node/collectives.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "engine/atomic_ops.hpp"
#include "engine/goal/calls.hpp"
#include "engine/goal/collectives/choice.hpp"
#include "engine/goal/node/choice.hpp"
#include "portals/portals4_ext.h"

namespace portunus::goal::node {

namespace {

constexpr size_t kMostRanks = 128;
constexpr unsigned kCallsPerStep = 32;
constexpr unsigned kEarlyCalls = 4;  // a group that is used less is not worth any memory
// Of all groups of a process: many groups must not fill the node's shared memory.
constexpr size_t kMostMemory = size_t{48} << 20;
std::atomic<size_t> memory_in_use{0};

constexpr uint32_t kSlotsTag = GOAL_NODE_TAGS, kRoomsTag = GOAL_NODE_TAGS + 1;

bool is_reduction(GOAL_Node_kind kind) { return kind >= GOAL_NODE_REDUCE && kind <= GOAL_NODE_EXSCAN; }

// A rank's part or vector, in bytes; of those whose parts differ, nothing that all would know.
size_t bytes_of(const GOAL_Node_call& call) { return is_reduction(call.kind) ? call.count * local_size(type_of(call.type)) : call.bytes; }

bool is_collective_of_one_root(GOAL_Node_kind kind) {
  return kind == GOAL_NODE_BCAST || kind == GOAL_NODE_GATHER || kind == GOAL_NODE_SCATTER || kind == GOAL_NODE_REDUCE ||
         kind == GOAL_NODE_GATHERV || kind == GOAL_NODE_SCATTERV;
}

// What all ranks must say of a call, apart from its size.
uint64_t digest(const GOAL_Node_call& call) {
  uint64_t what = static_cast<uint64_t>(call.kind);
  if (is_collective_of_one_root(call.kind)) what |= uint64_t{static_cast<uint32_t>(call.root)} << 32;
  if (is_reduction(call.kind)) what |= static_cast<uint64_t>(call.type) << 16 | static_cast<uint64_t>(call.op) << 24;
  return what;
}

std::vector<int> ranks_of(const GOAL_Group& group) {
  std::vector<int> ranks(static_cast<size_t>(group.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (group.ranks) std::copy_n(group.ranks, ranks.size(), ranks.begin());
  return ranks;
}

bool on_one_node(const GOAL_Group& group) {
  return !group.nodes || std::all_of(group.nodes, group.nodes + group.size, [&](int node) { return node == group.nodes[0]; });
}

}  // namespace

Collectives::Collectives(const GOAL_Group& group, unsigned context, GOAL_Domain domain, Hopeless hopeless)
    : ranks_(ranks_of(group)),
      group_{group.rank, group.size, ranks_.data(), nullptr, 0, GOAL_AUTO},
      rank_(static_cast<size_t>(group.rank)),
      size_(static_cast<size_t>(group.size)),
      context_(context),
      hopeless_(hopeless),
      waiting_(domain, hopeless),
      slots_(rank_, size_, waiting_),
      rooms_(rank_, size_, waiting_) {
  if (size_ < 2 || size_ > kMostRanks || !on_one_node(group)) slots_state_ = rooms_state_ = State::none;
}

Collectives::~Collectives() { memory_in_use.fetch_sub(memory_, std::memory_order_relaxed); }

int Collectives::failure() {
  slots_state_ = rooms_state_ = State::failed;
  return code_ = waiting_.given_up() ? int{GOAL_NODE_HOPELESS} : int{GOAL_ERR_FAILED};
}

// The first agreement also says whether all can share memory at all, and where cores are few.
int Collectives::prepare(Agreement& agreement, bool& may) {
  if (prepared_) return GOAL_SUCCESS;
  prepared_ = true;
  may = waiting_.prepare(group_) && may;
  const int code = agreement.tell({may, waiting_.crowded(), 0, 0});
  may = agreement.all_well();
  crowded_ = std::ranges::any_of(agreement.all, [](const Record& one) { return one.crowded != 0; });
  return code;
}

template <class Kind>
bool Collectives::has(Kind& kind, State& state, unsigned& calls, uint32_t tag) {
  if (state != State::early) [[likely]]
    return state == State::here;
  if (++calls < kEarlyCalls) return false;
  const size_t bytes = size_ * kind.bytes_each();
  bool may = memory_in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kMostMemory;
  memory_ += bytes;
  GOAL_Group group = group_;
  group.tag = tag;
  Agreement agreement(group, context_, hopeless_);
  code_ = prepare(agreement, may);
  if (code_ == GOAL_SUCCESS && may) code_ = kind.make(agreement, group, may);
  state = code_ != GOAL_SUCCESS ? State::failed : kind.made() ? State::here : State::none;
  if (state == State::none) {
    memory_in_use.fetch_sub(bytes, std::memory_order_relaxed);
    memory_ -= bytes;
  }
  return state == State::here;
}

bool Collectives::is_forced(GOAL_Node_kind kind) {
  using collectives::Choices, collectives::Collective;
  static const Choices choices = [] {
    try {
      return Choices::environment();
    } catch (const std::invalid_argument&) {
      return Choices();  // GOAL_Init says what is wrong
    }
  }();
  switch (kind) {
    case GOAL_NODE_BARRIER: return choices.is_forced(Collective::barrier);
    case GOAL_NODE_BCAST: return choices.is_forced(Collective::bcast);
    case GOAL_NODE_GATHER: return choices.is_forced(Collective::gather);
    case GOAL_NODE_SCATTER: return choices.is_forced(Collective::scatter);
    case GOAL_NODE_ALLGATHER: return choices.is_forced(Collective::allgather);
    case GOAL_NODE_ALLTOALL: return choices.is_forced(Collective::alltoall);
    case GOAL_NODE_REDUCE: return choices.is_forced(Collective::reduce);
    case GOAL_NODE_ALLREDUCE: return choices.is_forced(Collective::allreduce);
    case GOAL_NODE_REDUCE_SCATTER: return choices.is_forced(Collective::reduce_scatter);
    case GOAL_NODE_ALLGATHERV: return choices.is_forced(Collective::allgatherv);
    default: return false;
  }
}

int Collectives::run(const GOAL_Node_call& call) {
  if (is_forced(call.kind)) [[unlikely]]
    return GOAL_NODE_NOT_TAKEN;
  const size_t bytes = bytes_of(call);
  const bool is_short = fits_slots(call.kind, bytes, size_);
  const bool here = has(slots_, slots_state_, short_calls_, kSlotsTag) && (is_short || has(rooms_, rooms_state_, long_calls_, kRoomsTag));
  if (!here) [[unlikely]]
    return slots_state_ == State::failed || rooms_state_ == State::failed ? code_ : int{GOAL_NODE_NOT_TAKEN};
  // Nothing here looks at the engine unless it waits long; what else is under way must go on by calls alone where there is no engine
  // thread.
  if (++calls_ % kCallsPerStep == 0) PtlxProgress();
  const End end = is_short ? in_slots(call, bytes) : in_rooms(call, digest(call), bytes);
  if (end == End::well) [[likely]]
    return GOAL_SUCCESS;
  return end == End::mismatch ? int{GOAL_NODE_MISMATCH} : failure();
}

Collectives::End Collectives::in_rooms(const GOAL_Node_call& call, uint64_t what, size_t bytes) {
  const bool parts = is_reduction(call.kind) && in_parts(call.kind, bytes, size_, crowded_);
  switch (call.kind) {
    case GOAL_NODE_BCAST: return bcast(call, what);
    case GOAL_NODE_GATHER: return spread(call, what, false);
    case GOAL_NODE_SCATTER: return scatter(call, what);
    case GOAL_NODE_ALLGATHER: return spread(call, what, true);
    case GOAL_NODE_ALLTOALL: return alltoall(call, what);
    case GOAL_NODE_REDUCE: return parts ? reduce_in_parts(call, what, false) : reduce(call, what, bytes, false);
    case GOAL_NODE_ALLREDUCE: return parts ? reduce_in_parts(call, what, true) : reduce(call, what, bytes, true);
    case GOAL_NODE_REDUCE_SCATTER: return reduce_scatter(call, what);
    case GOAL_NODE_SCAN:
    case GOAL_NODE_EXSCAN: return prefix(call, what, bytes);
    case GOAL_NODE_GATHERV: return gather_uneven(call, what);
    case GOAL_NODE_SCATTERV: return scatter_uneven(call, what);
    case GOAL_NODE_ALLGATHERV: return allgather_uneven(call, what);
    default: return alltoall_uneven(call, what);
  }
}

Collectives::End Collectives::in_slots(const GOAL_Node_call& call, size_t bytes) {
  const auto root = static_cast<size_t>(call.root);
  const uint64_t what = digest(call) | uint64_t{bytes} << 48;
  const bool is_root = rank_ == root;
  bool all = false, from_root = false, from_lower = false;  // whose contributions this rank needs
  bool gives = true;
  switch (call.kind) {
    case GOAL_NODE_BARRIER:
      if (!slots_.begin(nullptr, 0, 0) || !slots_.await_begun_by_all()) return End::never;
      waiting_.ring();  // by the last to come, as below
      return End::well;
    case GOAL_NODE_BCAST:
    case GOAL_NODE_SCATTER:
      gives = is_root;
      from_root = !is_root;
      break;
    case GOAL_NODE_GATHER:
    case GOAL_NODE_REDUCE: all = is_root; break;
    case GOAL_NODE_SCAN:
    case GOAL_NODE_EXSCAN: from_lower = true; break;
    default: all = true;
  }
  const void* mine = call.kind == GOAL_NODE_BCAST ? call.out : call.in;
  const size_t given = call.kind == GOAL_NODE_ALLTOALL || call.kind == GOAL_NODE_SCATTER ? size_ * bytes : bytes;
  static constexpr std::byte kNothing{};
  if (!slots_.begin(gives ? (given > 0 ? mine : &kNothing) : nullptr, given, what)) return End::never;
  const bool everybody = all && call.kind != GOAL_NODE_GATHER && call.kind != GOAL_NODE_REDUCE;
  if (!everybody) waiting_.ring();
  if (all && !slots_.await_all()) return End::never;
  if (from_root && !slots_.await(root)) return End::never;
  for (size_t i = 0; from_lower && i < rank_; ++i)
    if (!slots_.await(i)) return End::never;
  // Whoever finds all of them there need not have slept; the last to come never has. Sleepers are rung once, not by each
  // that comes.
  if (everybody) waiting_.ring();
  const size_t end = all ? size_ : from_lower ? rank_ : 0;
  for (size_t i = 0; i < end; ++i)
    if (slots_.what(i) != what) return End::mismatch;
  if (from_root && slots_.what(root) != what) return End::mismatch;
  if (bytes > 0) take_from_slots(call, bytes);
  return End::well;
}

// What this rank gets, of contributions that are there.
void Collectives::take_from_slots(const GOAL_Node_call& call, size_t bytes) {
  const auto root = static_cast<size_t>(call.root);
  auto* out = static_cast<std::byte*>(call.out);
  size_t ranks = size_;
  switch (call.kind) {
    case GOAL_NODE_BCAST:
      if (rank_ != root) std::memcpy(out, slots_.data(root), bytes);
      return;
    case GOAL_NODE_SCATTER:
      if (out)
        std::memcpy(out, rank_ == root ? static_cast<const std::byte*>(call.in) + rank_ * bytes : slots_.data(root) + rank_ * bytes, bytes);
      return;
    case GOAL_NODE_GATHER:
      if (rank_ != root) return;
      [[fallthrough]];
    case GOAL_NODE_ALLGATHER:
      for (size_t i = 0; i < size_; ++i) std::memcpy(out + i * bytes, slots_.data(i), bytes);
      return;
    case GOAL_NODE_ALLTOALL:
      for (size_t i = 0; i < size_; ++i) std::memcpy(out + i * bytes, slots_.data(i) + rank_ * bytes, bytes);
      return;
    case GOAL_NODE_REDUCE:
      if (rank_ != root) return;
      break;
    case GOAL_NODE_SCAN: ranks = rank_ + 1; break;
    case GOAL_NODE_EXSCAN: ranks = rank_; break;
    default: break;
  }
  if (ranks == 0) return;
  std::memcpy(out, slots_.data(0), bytes);
  for (size_t i = 1; i < ranks; ++i) combine_block(call, out, slots_.data(i), bytes);
}

}  // namespace portunus::goal::node
