// build.cpp: see build.hpp.
#include "shmem/graph/build.hpp"

#include <algorithm>
#include <vector>

namespace portunus::shmem::graph {
namespace {

constexpr uint32_t kCollectiveTag = 0, kFirstGateTag = 1;

class ScheduleBuilder {
 public:
  ScheduleBuilder(const Plan& plan, GOAL_Schedule schedule)
      : plan_(plan), schedule_(schedule), group_(plan.group), spans_(plan.recording.nodes().size()) {
    group_.tag = kCollectiveTag;
  }

  int build() {
    bool collects = false, meets = false;
    for (const Node& node : nodes()) {
      if (!node.collective) continue;
      collects = true;
      meets = meets || GOAL_Call_meets(&node.collective->call) != 0;
    }
    if (collects) expose_all();
    for (NodeId id = 0; id < spans_.size(); ++id) try_to(add(nodes()[id], spans_[id]));
    for (NodeId id = 0; id < spans_.size(); ++id)
      for (const NodeId before : nodes()[id].after)
        if (code_ == GOAL_SUCCESS) code_ = GOAL_Requires(schedule_, spans_[id].begin, spans_[before].end);
    // GOAL tells 255 runs apart: no PE may get farther ahead of one that it sends to.
    if (collects && !meets && group_.size > 1) try_to(GOAL_Barrier(&schedule_, &group_, nullptr));
    return code_;
  }

 private:
  const std::deque<Node>& nodes() const { return plan_.recording.nodes(); }
  // The first failure counts.
  void try_to(int code) {
    if (code_ == GOAL_SUCCESS) code_ = code;
  }
  static GOAL_Buffer buffer(const std::vector<GOAL_Piece>& pieces) {
    if (pieces.empty()) return GOAL_User(nullptr);
    if (pieces.size() == 1) return {GOAL_USERSPACE, 0, pieces.front().place};
    return GOAL_Pieces(pieces.data(), static_cast<uint32_t>(pieces.size()));
  }
  int self() const { return group_.ranks[group_.rank]; }

  // Others put into memory while the schedule runs, and the program has what comes behind a gate: messages are received when their turn has
  // come.
  void expose_all() {
    constexpr uintptr_t kLowest = 4096, kHighest = uintptr_t{1} << 47;
    try_to(GOAL_Exposed(schedule_, reinterpret_cast<const void*>(kLowest), kHighest - kLowest));
  }

  int add(const Node& node, GOAL_Span& span) {
    int code = GOAL_SUCCESS;
    switch (node.what) {
      case What::access: {
        const auto messages = static_cast<uint32_t>(node.access->messages.size());
        code =
            GOAL_Park(schedule_, Access::park, node.access.get(), messages, buffer(node.memory), node.bytes, node.access->pe, &span.begin);
        break;
      }
      case What::await:
        code = GOAL_Park(schedule_, Await::park, node.await.get(), 1, buffer(node.memory), node.bytes, self(), &span.begin);
        break;
      case What::collective: return add_collective(node, span);
      case What::copy:
        code = GOAL_Local(schedule_, GOAL_COPY, GOAL_UINT8, buffer(node.memory), buffer(node.from), GOAL_User(nullptr), node.bytes,
                          &span.begin);
        break;
      case What::gated: {
        const uint32_t tag = kFirstGateTag + static_cast<uint32_t>(node.number);
        code = GOAL_Recv(schedule_, GOAL_User(nullptr), 0, self(), tag, &span.begin);
        plan_.gates[node.number].operation = span.begin;
        break;
      }
      case What::signal: code = GOAL_Timestamp(schedule_, GOAL_User(&plan_.signals[node.number]), &span.begin); break;
      case What::join: code = join(span.begin); break;
    }
    span.end = span.begin;
    return code;
  }

  int join(GOAL_Op& op) {
    return GOAL_Local(schedule_, GOAL_DELAY, GOAL_UINT8, GOAL_User(nullptr), GOAL_User(nullptr), GOAL_User(nullptr), 0, &op);
  }

  // The root of a broadcast has copied its data itself.
  int add_collective(const Node& node, GOAL_Span& span) {
    const GOAL_Call& call = node.collective->call;
    if (call.kind != GOAL_CALL_BCAST || (call.bytes > 0 && group_.size > 1)) return GOAL_Call_add(schedule_, &group_, &call, &span);
    const int code = join(span.begin);
    span.end = span.begin;
    return code;
  }

  const Plan& plan_;
  GOAL_Schedule schedule_;
  GOAL_Group group_;
  std::vector<GOAL_Span> spans_;
  int code_ = GOAL_SUCCESS;
};

}  // namespace

int build(const Plan& plan, GOAL_Schedule schedule) { return ScheduleBuilder(plan, schedule).build(); }

}  // namespace portunus::shmem::graph
