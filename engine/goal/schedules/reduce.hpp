// The dependencies that a compiled schedule needs counters for: those that others do not imply, and equal sets of them once.
//
//   - What v waits for is dropped if something else that v waits for cannot have happened without it. The search for that
//     has a budget per dependency, so the work is linear; what it does not find costs a counter increment, no more.
//   - If the first of what v waits for, in the order of the program, are all that an earlier u waits for, v waits for the
//     start of u in their place: u starts when they have happened. So a barrier of k rounds, each waiting for all before it,
//     takes k joins of two instead of k * k / 2 increments.
//
// Choices (Schedule::is_choice) keep their dependencies, and imply nothing.
//
// Thread: any; pure.
// Invariants: whatever had to happen before the start or end of a vertex still has to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/goal/schedules/schedule.hpp"

namespace portunus::goal {

// The vertices in an order in which prerequisites come first: that of the program, if it is one.
[[nodiscard]] std::vector<VertexId> topological_order(const Schedule& schedule);

class LeanGraph {
 public:
  LeanGraph(const Schedule& schedule, std::span<const VertexId> order);
  [[nodiscard]] std::span<const Edge> prerequisites(VertexId v) const { return row(before_, before_first_, v); }
  [[nodiscard]] std::span<const Edge> dependents(VertexId v) const { return row(after_, after_first_, v); }

 private:
  friend class Reducer;
  struct Extent {
    uint32_t first = 0, count = 0;
  };
  static std::span<const Edge> row(const std::vector<Edge>& edges, const std::vector<Extent>& extents, VertexId v) {
    return std::span(edges).subspan(extents[v].first, extents[v].count);
  }

  std::vector<Edge> before_, after_;
  std::vector<Extent> before_first_, after_first_;  // rows by vertex
};

}  // namespace portunus::goal
