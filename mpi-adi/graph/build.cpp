// build.cpp: see build.hpp.
#include "mpi-adi/graph/build.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "mpi-adi/rma/window.hpp"

namespace portunus::mpi::graph {
namespace {

class ScheduleBuilder {
 public:
  ScheduleBuilder(const Plan& plan, GOAL_Schedule schedule)
      : plan_(plan), schedule_(schedule), group_(plan.group), spans_(plan.recording.nodes().size()) {
    group_.tag = kCollectiveTag;
  }

  int build() {
    for (const rma::Window* window : plan_.agreement.windows) expose(*window);
    if (plan_.gates) expose_behind_gates();
    std::vector<NodeId> receives;
    for (NodeId id = 0; id < spans_.size(); ++id) {
      if (node(id).what == What::receive) receives.push_back(id);
      else try_to(add(node(id), spans_[id]));
    }
    // Each sender's messages meet receives in their order, whatever order the program has.
    std::ranges::sort(receives, {}, [&](NodeId id) { return std::tuple(node(id).peer, node(id).match); });
    for (const NodeId id : receives) try_to(add_receive(node(id), spans_[id]));
    for (NodeId id = 0; id < spans_.size(); ++id)
      for (const NodeId before : node(id).after) require(spans_[id].begin, spans_[before].end);
    if (plan_.agreement.meets) try_to(GOAL_Barrier(&schedule_, &group_, nullptr));
    return code_;
  }

 private:
  const Node& node(NodeId id) const { return plan_.recording.nodes()[id]; }
  // The first failure counts.
  void try_to(int code) {
    if (code_ == GOAL_SUCCESS) code_ = code;
  }
  void require(GOAL_Op op, GOAL_Op before) { try_to(code_ == GOAL_SUCCESS ? GOAL_Requires(schedule_, op, before) : code_); }
  static GOAL_Buffer buffer(const Pieces& pieces) {
    if (pieces.empty()) return GOAL_User(nullptr);
    if (pieces.size() == 1) return {GOAL_USERSPACE, 0, pieces.front().place};
    return GOAL_Pieces(pieces.data(), static_cast<uint32_t>(pieces.size()));
  }
  int join(GOAL_Op& op) {
    return GOAL_Local(schedule_, GOAL_DELAY, GOAL_UINT8, GOAL_User(nullptr), GOAL_User(nullptr), GOAL_User(nullptr), 0, &op);
  }
  int peer_of(const Node& node) const { return plan_.comm.job_rank(node.peer); }

  // A message for memory of a window must not come before accesses of other ranks that its receive comes after.
  void expose(const rma::Window& window) {
    if (window.flavor == MPI_WIN_FLAVOR_DYNAMIC) expose_all();
    for (const rma::Member& member : window.members)
      if (member.mapped) try_to(GOAL_Exposed(schedule_, member.mapped, static_cast<size_t>(member.size)));
  }

  void expose_all() {
    constexpr uintptr_t kLowest = 4096, kHighest = uintptr_t{1} << 47;
    try_to(GOAL_Exposed(schedule_, reinterpret_cast<const void*>(kLowest), kHighest - kLowest));
  }
  // Memory that is received into behind a gate is the program's until it opens the gate.
  void expose_behind_gates() {
    std::vector<bool> behind(spans_.size());
    for (NodeId id = 0; id < spans_.size(); ++id) {
      const Node& one = node(id);
      behind[id] = std::ranges::any_of(one.after, [&](NodeId before) { return behind[before] || node(before).what == What::gated; });
      if (!behind[id]) continue;
      if (one.what == What::collective) return expose_all();
      if (one.what != What::receive) continue;
      for (const GOAL_Piece& piece : one.memory)
        if (piece.bytes > 0) try_to(GOAL_Exposed(schedule_, reinterpret_cast<const void*>(piece.place), piece.bytes));
    }
  }

  int add_access(const Node& node, GOAL_Op& op) {
    const auto messages = static_cast<uint32_t>(node.access->messages.size());
    return GOAL_Park(schedule_, RemoteAccess::park, node.access.get(), messages, buffer(node.memory), node.count, peer_of(node), &op);
  }

  int add(const Node& node, GOAL_Span& span) {
    int code = GOAL_SUCCESS;
    switch (node.what) {
      case What::send: return add_send(node, span);
      case What::receive: break;
      case What::local:
        code = GOAL_Local(schedule_, node.op, node.type, buffer(node.memory), buffer(node.a), buffer(node.b), node.count, &span.begin);
        break;
      case What::access: code = add_access(node, span.begin); break;
      case What::collective: return GOAL_Call_add(schedule_, &group_, &node.collective->call, &span);
      case What::gated:
        if (plan_.gates) {
          const uint32_t tag = kFirstGateTag + static_cast<uint32_t>(node.number);
          code = GOAL_Recv(schedule_, GOAL_User(nullptr), 0, plan_.comm.job_rank(plan_.comm.rank), tag, &span.begin);
          (*plan_.gates)[node.number].operation = span.begin;
          break;
        }
        [[fallthrough]];
      case What::join: code = join(span.begin); break;
      case What::signal: code = GOAL_Timestamp(schedule_, GOAL_User(&plan_.signals[node.number]), &span.begin); break;
    }
    span.end = span.begin;
    return code;
  }

  int add_send(const Node& node, GOAL_Span& span) {
    int code = GOAL_Send(schedule_, buffer(node.memory), node.count, peer_of(node), kMessageTag, &span.begin);
    span.end = span.begin;
    if (!node.synchronous || code != GOAL_SUCCESS) return code;
    GOAL_Op answer;
    code = GOAL_Recv(schedule_, GOAL_User(nullptr), 0, peer_of(node), kAnswerTag, &answer);
    if (code == GOAL_SUCCESS) code = join(span.end);
    if (code == GOAL_SUCCESS) code = GOAL_Requires(schedule_, span.end, span.begin);
    return code == GOAL_SUCCESS ? GOAL_Requires(schedule_, span.end, answer) : code;
  }

  // Memory behind a shorter message stays as it is.
  int add_receive(const Node& node, GOAL_Span& span) {
    Pieces pieces = node.memory;
    const size_t bytes = std::min(node.count, node.arrives);
    for (size_t left = bytes, i = 0; i < pieces.size(); left -= pieces[i++].bytes) pieces[i].bytes = std::min(pieces[i].bytes, left);
    std::erase_if(pieces, [](const GOAL_Piece& one) { return one.bytes == 0; });
    int code = GOAL_Recv(schedule_, buffer(pieces), bytes, peer_of(node), kMessageTag, &span.begin);
    span.end = span.begin;
    if (!node.synchronous || code != GOAL_SUCCESS) return code;
    GOAL_Op answer;
    code = GOAL_Send(schedule_, GOAL_User(nullptr), 0, peer_of(node), kAnswerTag, &answer);
    return code == GOAL_SUCCESS ? GOAL_Requires(schedule_, answer, span.end) : code;
  }

  const Plan& plan_;
  GOAL_Schedule schedule_;
  GOAL_Group group_;
  std::vector<GOAL_Span> spans_;
  int code_ = GOAL_SUCCESS;
};

}  // namespace

int build(const Plan& plan, GOAL_Schedule schedule) { return ScheduleBuilder(plan, schedule).build(); }

}  // namespace portunus::mpi::graph
