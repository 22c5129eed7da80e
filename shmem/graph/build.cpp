// build.cpp: see build.hpp.
#include "shmem/graph/build.hpp"

#include <algorithm>

namespace portunus::shmem::graph {
namespace {

constexpr uint32_t kCollectiveTag = 0, kFirstGateTag = 4;

GOAL_Buffer buffer(const std::vector<GOAL_Piece>& pieces) {
  if (pieces.empty()) return GOAL_User(nullptr);
  if (pieces.size() == 1) return {GOAL_USERSPACE, 0, pieces.front().place};
  return GOAL_Pieces(pieces.data(), static_cast<uint32_t>(pieces.size()));
}

}  // namespace

ScheduleBuilder::ScheduleBuilder(const Plan& plan, GOAL_Schedule schedule)
    : plan_(plan), schedule_(schedule), group_(plan.group), spans_(plan.recording.nodes().size()) {
  group_.tag = kCollectiveTag;
}

int ScheduleBuilder::build() {
  try_to(prepare());
  for (NodeId id = 0; id < spans_.size(); ++id) try_to(add(nodes()[id], spans_[id]));
  for (NodeId id = 0; id < spans_.size(); ++id)
    for (const NodeId before : nodes()[id].after)
      if (code_ == GOAL_SUCCESS) code_ = GOAL_Requires(schedule_, spans_[id].begin, spans_[before].end);
  try_to(add_meeting());
  return code_;
}

// Others put into memory while a schedule with collectives runs, and the program has what comes behind a gate: messages are received when
// their turn has come.
int ScheduleBuilder::prepare() {
  constexpr uintptr_t kLowest = 4096, kHighest = uintptr_t{1} << 47;
  const bool collects = std::ranges::any_of(nodes(), [](const Node& node) { return node.collective != nullptr; });
  return collects ? GOAL_Exposed(schedule_, reinterpret_cast<const void*>(kLowest), kHighest - kLowest) : GOAL_SUCCESS;
}

// GOAL tells 255 runs apart: no PE may get farther ahead of one that it sends to.
int ScheduleBuilder::add_meeting() {
  bool collects = false, meets = false;
  for (const Node& node : nodes()) {
    if (!node.collective) continue;
    collects = true;
    meets = meets || GOAL_Call_meets(&node.collective->call) != 0;
  }
  return collects && !meets && group_.size > 1 ? GOAL_Barrier(&schedule_, &group_, nullptr) : GOAL_SUCCESS;
}

int ScheduleBuilder::add(const Node& node, GOAL_Span& span) {
  int code = GOAL_SUCCESS;
  switch (node.what) {
    case What::access: return add_access(node, span);
    case What::await: return add_await(node, span);
    case What::collective: return add_collective(node, span);
    case What::gated: return add_gate(node, span);
    case What::join: return add_join(span);
    case What::copy:
      code =
          GOAL_Local(schedule_, GOAL_COPY, GOAL_UINT8, buffer(node.memory), buffer(node.from), GOAL_User(nullptr), node.bytes, &span.begin);
      break;
    case What::signal: code = GOAL_Timestamp(schedule_, GOAL_User(&plan_.signals[node.number]), &span.begin); break;
  }
  span.end = span.begin;
  return code;
}

int ScheduleBuilder::add_join(GOAL_Span& span) {
  const GOAL_Buffer none = GOAL_User(nullptr);
  const int code = GOAL_Local(schedule_, GOAL_DELAY, GOAL_UINT8, none, none, none, 0, &span.begin);
  span.end = span.begin;
  return code;
}

int ScheduleBuilder::add_access(const Node& node, GOAL_Span& span) {
  Access& access = *node.access;
  const int code = GOAL_Park(schedule_, Access::park, &access, access.counts(), buffer(node.memory), node.bytes, access.pe, &span.begin);
  span.end = span.begin;
  return code;
}

int ScheduleBuilder::add_await(const Node& node, GOAL_Span& span) {
  const int code = GOAL_Park(schedule_, Await::park, node.await.get(), 1, buffer(node.memory), node.bytes, self(), &span.begin);
  span.end = span.begin;
  return code;
}

int ScheduleBuilder::add_gate(const Node& node, GOAL_Span& span) {
  const uint32_t tag = kFirstGateTag + static_cast<uint32_t>(node.number);
  const int code = GOAL_Recv(schedule_, GOAL_User(nullptr), 0, self(), tag, &span.begin);
  plan_.gates[node.number].operation = span.begin;
  span.end = span.begin;
  return code;
}

// The root of a broadcast has copied its data itself.
int ScheduleBuilder::add_collective(const Node& node, GOAL_Span& span) {
  const GOAL_Call& call = node.collective->call;
  if (call.kind == GOAL_CALL_BCAST && (call.bytes == 0 || group_.size == 1)) return add_join(span);
  return GOAL_Call_add(schedule_, &group_, &call, &span);
}

}  // namespace portunus::shmem::graph
