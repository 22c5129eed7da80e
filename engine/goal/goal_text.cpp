// goal_text.cpp: a schedule of the program as GOAL text: see GOAL_Text in goal_call.h.
//
// Thread: as goal.h says.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/goal/calls.hpp"
#include "engine/goal/goal_call.h"
#include "engine/goal/schedules/annotate.hpp"
#include "engine/goal/schedules/write.hpp"

namespace portunus::goal {
namespace {

// Gives each range of addresses a place in the scratchpad; ranges that overlap stay as they are to one another.
class Places {
 public:
  explicit Places(const Plan& plan) {
    for (VertexId v = 0; v < plan.graph.size(); ++v) {
      plan.each_range(v, [&](const Memory& at, uint64_t bytes, bool) {
        if (at.space == Space::user && bytes > 0) add(at.place, at.place + bytes);
      });
    }
    for (auto& [begin, range] : ranges_) {
      range.offset = end_ + (begin - end_) % kAlignment;
      end_ = range.offset + range.end - begin;
    }
  }
  // `from` is how long the scratchpad is without them.
  [[nodiscard]] Memory place_of(const Memory& memory, uint64_t from) const {
    if (memory.space != Space::user) return memory;
    auto found = ranges_.upper_bound(memory.place);
    if (found == ranges_.begin()) return scratchpad(0);  // of nothing
    --found;
    const uint64_t inside = std::min(memory.place - found->first, found->second.end - found->first);
    return scratchpad(from + found->second.offset + inside);
  }
  [[nodiscard]] uint64_t bytes() const { return end_; }

 private:
  static constexpr uint64_t kAlignment = 64;
  struct Range {
    uint64_t end, offset;
  };
  void add(uint64_t begin, uint64_t end) {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second.end >= begin) --at;
    for (; at != ranges_.end() && at->first <= end; at = ranges_.erase(at)) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second.end);
    }
    ranges_[begin] = {end, 0};
  }

  std::map<uint64_t, Range> ranges_;
  uint64_t end_ = 0;
};

// The number in the group of a rank of the job.
uint32_t number_of(uint32_t rank, const GOAL_Group& group) {
  if (!group.ranks && rank < static_cast<uint32_t>(group.size)) return rank;
  const int* const end = group.ranks ? group.ranks + group.size : nullptr;
  const int* const found = group.ranks ? std::find(group.ranks, end, static_cast<int>(rank)) : end;
  if (found == end) throw ScheduleError({}, "a message goes to rank " + std::to_string(rank) + " of the job, which is not in the group");
  return static_cast<uint32_t>(found - group.ranks);
}

Plan in_scratchpad(const Plan& plan, const GOAL_Group& group) {
  const Places places(plan);
  const uint64_t from = (plan.scratch_bytes + 63) / 64 * 64;
  Builder builder;
  builder.scratch_bytes(from + places.bytes());
  const auto moved = [&](const Memory& memory) {
    if (memory.space != Space::pieces) return places.place_of(memory, from);
    std::vector<Piece> pieces;
    for (const Piece& piece : plan.pieces_of(memory)) pieces.push_back({places.place_of(piece.at, from), piece.bytes});
    return builder.pieces(pieces);
  };
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    Vertex vertex = plan.graph[v];
    if (vertex.is_message()) vertex.peer = number_of(vertex.peer, group);
    Work work = plan.works[v];
    if (vertex.kind == Kind::local && has_a(work.op) && *name_of(work.type) == '?')
      throw ScheduleError({}, "the text has no word for a type that the schedule computes with");
    work.memory = moved(work.memory);
    work.a = moved(work.a);
    work.b = moved(work.b);
    builder.add(vertex, plan.graph.label(v), work);
  }
  for (VertexId v = 0; v < plan.graph.size(); ++v) {
    for (const Edge e : plan.graph.prerequisites(v)) {
      if (e.on_start) builder.after_start(v, e.vertex);
      else builder.after(v, e.vertex);
    }
  }
  return builder.finish();
}

}  // namespace
}  // namespace portunus::goal

using namespace portunus::goal;

extern "C" int GOAL_Text(GOAL_Schedule schedule, const GOAL_Group* group, char* text, size_t* bytes) try {
  if (!group || !bytes) return fail(GOAL_ERR_ARG, "the group or the size is NULL");
  if (const int code = must_be_open(schedule); code != GOAL_SUCCESS) return code;
  return guarded([&] {
    Builder copy = schedule->builder;
    if (!copy.plan().parked.empty()) return fail(GOAL_ERR_ARG, "the text has no word for operations that the program parks itself");
    const std::string written = write_rank(static_cast<size_t>(group->rank), in_scratchpad(copy.finish(), *group));
    const size_t room = std::exchange(*bytes, written.size());
    if (!text) return int{GOAL_SUCCESS};
    if (room < written.size())
      return fail(GOAL_ERR_NO_SPACE, "the text has " + std::to_string(written.size()) + " bytes; there is less room");
    std::memcpy(text, written.data(), written.size());
    return int{GOAL_SUCCESS};
  });
}
GOAL_BARRIER
