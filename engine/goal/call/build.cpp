// build.cpp: from a GOAL_Call to the calls of goal_collectives.h.
#include "engine/goal/call/build.hpp"

#include <algorithm>
#include <numeric>

#include "engine/core/triggered/atomic_ops.hpp"
#include "engine/goal/calls.hpp"
#include "engine/goal/schedules/plan.hpp"

namespace portunus::goal {
namespace {

bool is_reduction(GOAL_Call_kind kind) { return kind >= GOAL_CALL_REDUCE && kind <= GOAL_CALL_EXSCAN; }
bool has_root(GOAL_Call_kind kind) {
  return kind == GOAL_CALL_BCAST || kind == GOAL_CALL_GATHER || kind == GOAL_CALL_SCATTER || kind == GOAL_CALL_REDUCE ||
         kind == GOAL_CALL_GATHERV || kind == GOAL_CALL_SCATTERV;
}

// This rank's own part among all parts at `all`.
const std::byte* own_part(const void* all, const GOAL_Call& call, const GOAL_Group& group) {
  return static_cast<const std::byte*>(all) + static_cast<size_t>(group.rank) * call.bytes;
}

}  // namespace

Shape shape_of(const GOAL_Call& call, bool starts, bool meets) {
  Shape shape{.kind = call.kind, .size = call.bytes, .starts = starts, .meets = meets};
  if (has_root(call.kind)) shape.root = call.root;
  if (is_reduction(call.kind)) {
    shape.type = call.type;
    shape.op = call.op;
    shape.size = call.count;
  }
  if (has_own_sizes(call)) shape.size = 0;
  return shape;
}

bool has_own_sizes(const GOAL_Call& call) {
  return call.kind >= GOAL_CALL_GATHERV || (call.kind == GOAL_CALL_REDUCE_SCATTER && call.counts != nullptr);
}

bool waits_for_all(const GOAL_Call& call) {
  switch (call.kind) {
    case GOAL_CALL_BARRIER: return true;
    case GOAL_CALL_ALLGATHER:
    case GOAL_CALL_ALLTOALL: return call.bytes > 0;
    case GOAL_CALL_ALLREDUCE: return call.count > 0;
    default: return false;
  }
}

Extents extents_of(const GOAL_Call& call, const GOAL_Group& group) {
  const size_t all = call.bytes * static_cast<size_t>(group.size), rank = static_cast<size_t>(group.rank);
  const bool is_root = group.rank == call.root;
  const size_t width = is_reduction(call.kind) ? local_size(type_of(call.type)) : 0, vector = call.count * width;
  const auto sum = [&](const size_t* sizes) { return std::accumulate(sizes, sizes + group.size, size_t{0}); };
  switch (call.kind) {
    case GOAL_CALL_BCAST: return {0, call.bytes};
    case GOAL_CALL_GATHER: return {call.bytes, is_root ? all : 0};
    case GOAL_CALL_SCATTER: return {is_root ? all : 0, call.bytes};
    case GOAL_CALL_ALLGATHER: return {call.bytes, all};
    case GOAL_CALL_ALLTOALL: return {all, all};
    case GOAL_CALL_REDUCE: return {vector, is_root ? vector : 0};
    case GOAL_CALL_REDUCE_SCATTER:
      if (call.counts) return {sum(call.counts) * width, call.counts[rank] * width};
      return {vector * static_cast<size_t>(group.size), vector};
    case GOAL_CALL_EXSCAN: return {vector, group.rank > 0 ? vector : 0};
    case GOAL_CALL_ALLREDUCE:
    case GOAL_CALL_SCAN: return {vector, vector};
    case GOAL_CALL_GATHERV: return {call.bytes, is_root ? sum(call.out_sizes) : 0};
    case GOAL_CALL_SCATTERV: return {is_root ? sum(call.in_sizes) : 0, is_root ? call.in_sizes[rank] : call.bytes};
    case GOAL_CALL_ALLGATHERV: return {call.out_sizes[rank], sum(call.out_sizes)};
    case GOAL_CALL_ALLTOALLV: return {sum(call.in_sizes), sum(call.out_sizes)};
    case GOAL_CALL_BARRIER: break;
  }
  return {};
}

Ends parts_of(const GOAL_Call& call, const GOAL_Group& group) {
  const bool is_root = group.rank == call.root, all = call.kind == GOAL_CALL_ALLTOALLV;
  Ends ends;
  if (all || (call.kind == GOAL_CALL_SCATTERV && is_root)) ends.in = {call.in_sizes, call.in_places};
  if (all || (call.kind == GOAL_CALL_GATHERV && is_root) || call.kind == GOAL_CALL_ALLGATHERV) ends.out = {call.out_sizes, call.out_places};
  return ends;
}

void write_details(const GOAL_Call& call, const GOAL_Group& group, bool places, Details& details) {
  details.clear();
  const auto add = [&](const auto* words) {
    if (words) details.insert(details.end(), words, words + group.size);
  };
  const auto [in, out] = parts_of(call, group);
  details.push_back(call.bytes);
  if (call.kind == GOAL_CALL_REDUCE_SCATTER) add(call.counts);
  for (const Parts& end : {in, out}) {
    add(end.sizes);
    if (places) add(end.places);
  }
}

size_t most_bytes(const GOAL_Call& call, const GOAL_Group& group) {
  if (has_own_sizes(call)) return 0;
  GOAL_Group root = group;
  root.rank = has_root(call.kind) ? call.root : group.size - 1;
  const Extents extents = extents_of(call, root);
  return std::max(extents.in, extents.out);
}

const char* refusal_of(const GOAL_Call& call, const GOAL_Group& group) {
  if (call.kind == GOAL_CALL_BARRIER) return nullptr;
  if (static_cast<unsigned>(call.kind) > GOAL_CALL_ALLTOALLV) return "there is no such collective";
  if (has_root(call.kind) && (call.root < 0 || call.root >= group.size)) return "the root is not one of the group";
  if (is_reduction(call.kind)) {
    if (static_cast<unsigned>(call.type) > GOAL_LONG_DOUBLE_LOC) return "there is no such type";
    if (static_cast<unsigned>(call.op) > GOAL_XOR || call.op == GOAL_SUB || call.op == GOAL_DIV ||
        !known(static_cast<ptlx_local_op_t>(call.op), type_of(call.type)))
      return "ranks are combined with ADD, MULT, MAX, MIN, AND, OR or XOR, as far as the type has it";
  }
  if (!has_own_sizes(call)) {
    const Extents extents = extents_of(call, group);
    const bool may_stay = call.kind == GOAL_CALL_SCATTER && group.rank == call.root;
    return (extents.in > 0 && !call.in) || (extents.out > 0 && !call.out && !may_stay) ? "a buffer has no memory" : nullptr;
  }
  const bool all = call.kind == GOAL_CALL_ALLTOALLV, is_root = group.rank == call.root;
  const bool gets = all || call.kind == GOAL_CALL_ALLGATHERV || (call.kind == GOAL_CALL_GATHERV && is_root);
  const bool gives = all || (call.kind == GOAL_CALL_SCATTERV && is_root);
  if ((gets && (!call.out_sizes || !call.out_places)) || (gives && (!call.in_sizes || !call.in_places)))
    return "the sizes or the places are NULL";
  return nullptr;
}

bool is_in_place(const GOAL_Call& call, const GOAL_Group& group) {
  const bool is_root = group.rank == call.root;
  const auto rank = static_cast<size_t>(group.rank);
  switch (call.kind) {
    case GOAL_CALL_GATHER: return is_root && call.in == own_part(call.out, call, group);
    case GOAL_CALL_ALLGATHER: return call.in == own_part(call.out, call, group);
    case GOAL_CALL_SCATTER: return is_root && (call.out == nullptr || call.out == own_part(call.in, call, group));
    case GOAL_CALL_REDUCE: return is_root && call.in == call.out;
    case GOAL_CALL_ALLREDUCE:
    case GOAL_CALL_SCAN: return call.in == call.out;
    case GOAL_CALL_EXSCAN: return group.rank > 0 && call.in == call.out;
    case GOAL_CALL_GATHERV: return is_root && call.in == static_cast<std::byte*>(call.out) + call.out_places[rank];
    case GOAL_CALL_ALLGATHERV: return call.in == static_cast<std::byte*>(call.out) + call.out_places[rank];
    case GOAL_CALL_SCATTERV:
      return is_root && (call.out == nullptr || call.out == static_cast<const std::byte*>(call.in) + call.in_places[rank]);
    default: return false;
  }
}

int build(GOAL_Schedule& schedule, const GOAL_Group& group, const GOAL_Call& call, GOAL_Buffer in, GOAL_Buffer out, GOAL_Span* span) {
  const size_t count = call.count;
  switch (call.kind) {
    case GOAL_CALL_BARRIER: return GOAL_Barrier(&schedule, &group, span);
    case GOAL_CALL_BCAST: return GOAL_Bcast(&schedule, &group, out, call.bytes, call.root, span);
    case GOAL_CALL_GATHER: return GOAL_Gather(&schedule, &group, in, out, call.bytes, call.root, span);
    case GOAL_CALL_SCATTER: return GOAL_Scatter(&schedule, &group, in, out, call.bytes, call.root, span);
    case GOAL_CALL_ALLGATHER: return GOAL_Allgather(&schedule, &group, in, out, call.bytes, span);
    case GOAL_CALL_ALLTOALL: return GOAL_Alltoall(&schedule, &group, in, out, call.bytes, span);
    case GOAL_CALL_REDUCE: return GOAL_Reduce(&schedule, &group, in, out, count, call.type, call.op, call.root, span);
    case GOAL_CALL_ALLREDUCE: return GOAL_Allreduce(&schedule, &group, in, out, count, call.type, call.op, span);
    case GOAL_CALL_REDUCE_SCATTER:
      if (call.counts) return GOAL_Reduce_scatter(&schedule, &group, in, out, call.counts, call.type, call.op, span);
      return GOAL_Reduce_scatter_block(&schedule, &group, in, out, count, call.type, call.op, span);
    case GOAL_CALL_SCAN: return GOAL_Scan(&schedule, &group, in, out, count, call.type, call.op, span);
    case GOAL_CALL_EXSCAN: return GOAL_Exscan(&schedule, &group, in, out, count, call.type, call.op, span);
    case GOAL_CALL_GATHERV: return GOAL_Gatherv(&schedule, &group, in, call.bytes, out, call.out_sizes, call.out_places, call.root, span);
    case GOAL_CALL_SCATTERV:
      return GOAL_Scatterv(&schedule, &group, in, call.in_sizes, call.in_places, out, extents_of(call, group).out, call.root, span);
    case GOAL_CALL_ALLGATHERV: return GOAL_Allgatherv(&schedule, &group, in, out, call.out_sizes, call.out_places, span);
    case GOAL_CALL_ALLTOALLV:
      return GOAL_Alltoallv(&schedule, &group, in, call.in_sizes, call.in_places, out, call.out_sizes, call.out_places, span);
  }
  return fail(GOAL_ERR_ARG, "there is no such collective");
}

}  // namespace portunus::goal
