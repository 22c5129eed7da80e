// Dropping and sharing dependencies: see reduce.hpp.
//
// Thread: any; pure.
#include "engine/goal/schedules/reduce.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace portunus::goal {

std::vector<VertexId> topological_order(const Schedule& schedule) {
  std::vector<VertexId> sorted(schedule.size());
  if (schedule.is_in_order()) {
    std::iota(sorted.begin(), sorted.end(), VertexId{0});
    return sorted;
  }
  sorted.clear();
  std::vector<uint32_t> open(schedule.size());
  for (VertexId v = 0; v < schedule.size(); ++v) {
    open[v] = static_cast<uint32_t>(schedule.prerequisites(v).size());
    if (open[v] == 0) sorted.push_back(v);
  }
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (const Edge e : schedule.dependents(sorted[i])) {
      if (--open[e.vertex] == 0) sorted.push_back(e.vertex);
    }
  }
  return sorted;
}

class Reducer {
 public:
  Reducer(const Schedule& schedule, std::span<const VertexId> order, LeanGraph& graph);
  void run();

 private:
  static constexpr size_t kSteps = 8;    // of the search, per dependency
  static constexpr size_t kOwners = 32;  // that are compared with a join

  void drop_implied(VertexId v);
  void mark_implied(VertexId v);
  void share_prefix(VertexId v);
  void own(VertexId v);
  void gather_dependents();

  const Schedule& schedule_;
  std::span<const VertexId> order_;
  LeanGraph& graph_;
  std::vector<uint32_t> position_;         // in the order
  std::vector<VertexId> started_, ended_;  // by whose search it is known to have happened
  std::vector<VertexId> work_;
  std::vector<Edge> now_;    // what the current vertex waits for
  std::vector<Edge> edges_;  // what joins wait for, before sharing
  struct Set {
    VertexId owner;
    uint32_t first, count;  // in edges_
    uint32_t before;        // the one before it that begins with the same vertex
  };
  std::vector<Set> sets_;
  std::vector<uint32_t> last_set_;  // that begins with the vertex
};

Reducer::Reducer(const Schedule& schedule, std::span<const VertexId> order, LeanGraph& graph)
    : schedule_(schedule),
      order_(order),
      graph_(graph),
      position_(schedule.size()),
      started_(schedule.size(), kNoVertex),
      ended_(schedule.size(), kNoVertex),
      last_set_(schedule.size(), kNoVertex) {
  for (VertexId v = 0; v < schedule.size(); ++v) position_[order[v]] = v;
}

void Reducer::run() {
  graph_.before_first_.resize(schedule_.size());
  graph_.before_.reserve(schedule_.num_edges());
  for (const VertexId v : order_) {
    const std::span<const Edge> all = schedule_.prerequisites(v);
    now_.assign(all.begin(), all.end());
    if (now_.size() > 1 && !schedule_.is_choice(v)) {
      drop_implied(v);
      share_prefix(v);
    }
    graph_.before_first_[v] = {static_cast<uint32_t>(graph_.before_.size()), static_cast<uint32_t>(now_.size())};
    graph_.before_.insert(graph_.before_.end(), now_.begin(), now_.end());
  }
  gather_dependents();
}

void Reducer::drop_implied(VertexId v) {
  mark_implied(v);
  std::erase_if(now_, [&](Edge e) { return e.on_start ? started_[e.vertex] == v : ended_[e.vertex] == v; });
}

// Marks what must have happened because something that v waits for has started. No more than one of two that imply each
// other can be marked, for the graph has no circle.
void Reducer::mark_implied(VertexId v) {
  uint32_t first = position_[now_[0].vertex];
  for (const Edge e : now_) first = std::min(first, position_[e.vertex]);
  work_.clear();
  for (const Edge e : now_) work_.push_back(e.vertex);
  size_t budget = kSteps * now_.size();
  for (size_t i = 0; i < work_.size(); ++i) {
    const VertexId at = work_[i];
    if (position_[at] <= first || schedule_.is_choice(at)) continue;
    for (const Edge e : graph_.prerequisites(at)) {
      if (budget-- == 0) return;
      if (!e.on_start) ended_[e.vertex] = v;
      if (started_[e.vertex] == v) continue;
      started_[e.vertex] = v;
      work_.push_back(e.vertex);
    }
  }
}

void Reducer::own(VertexId v) {
  uint32_t& last = last_set_[now_[0].vertex];
  sets_.push_back({v, static_cast<uint32_t>(edges_.size()), static_cast<uint32_t>(now_.size()), last});
  last = static_cast<uint32_t>(sets_.size() - 1);
  edges_.insert(edges_.end(), now_.begin(), now_.end());
}

// The start of a receive is not always a point of its own: they own no set.
void Reducer::share_prefix(VertexId v) {
  if (now_.size() < 2) return;
  const auto same = [](Edge a, Edge b) { return a.vertex == b.vertex && a.on_start == b.on_start; };
  VertexId owner = kNoVertex;
  size_t length = 0, compared = 0;
  for (uint32_t i = last_set_[now_[0].vertex]; i != kNoVertex && compared < kOwners && length < now_.size();
       i = sets_[i].before, ++compared) {
    const Set& set = sets_[i];
    if (set.count <= length || set.count > now_.size()) continue;
    if (!std::equal(now_.begin(), now_.begin() + set.count, edges_.begin() + set.first, same)) continue;
    owner = set.owner;
    length = set.count;
  }
  if (schedule_[v].kind != Kind::recv && length < now_.size()) own(v);
  if (owner == kNoVertex) return;
  now_.erase(now_.begin(), now_.begin() + static_cast<std::ptrdiff_t>(length) - 1);
  now_[0] = Edge{owner & kMaxVertices, 1};
}

void Reducer::gather_dependents() {
  graph_.after_first_.resize(schedule_.size());
  for (const Edge e : graph_.before_) ++graph_.after_first_[e.vertex].count;
  uint32_t next = 0;
  for (LeanGraph::Extent& extent : graph_.after_first_) {
    extent.first = next;
    next += std::exchange(extent.count, 0);
  }
  graph_.after_.resize(graph_.before_.size());
  for (VertexId v = 0; v < schedule_.size(); ++v) {
    for (const Edge e : graph_.prerequisites(v)) {
      LeanGraph::Extent& extent = graph_.after_first_[e.vertex];
      graph_.after_[extent.first + extent.count++] = Edge{v & kMaxVertices, e.on_start};
    }
  }
}

LeanGraph::LeanGraph(const Schedule& schedule, std::span<const VertexId> order) { Reducer(schedule, order, *this).run(); }

}  // namespace portunus::goal
