// Dropping and sharing dependencies: see reduce.hpp.
//
// **Thread:** any; pure.
#include "engine/goal/reduce.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace portunus::goal {

std::vector<VertexId> topological_order(const Schedule& schedule) {
  std::vector<std::uint32_t> open(schedule.size());
  std::vector<VertexId> sorted;
  sorted.reserve(schedule.size());
  for (VertexId v = 0; v < schedule.size(); ++v) {
    open[v] = static_cast<std::uint32_t>(schedule.prerequisites(v).size());
    if (open[v] == 0) sorted.push_back(v);
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
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
  static constexpr std::size_t kSteps = 8;  // of the search, per dependency

  void drop_implied(VertexId v);
  void mark_implied(VertexId v);
  void share_prefix(VertexId v);
  [[nodiscard]] VertexId owner_of(std::uint64_t hash, std::span<const Edge> set) const;
  void own(std::uint64_t hash, VertexId v);
  void gather_dependents();

  const Schedule& schedule_;
  std::span<const VertexId> order_;
  LeanGraph& graph_;
  std::vector<std::uint32_t> position_;          // in the order
  std::vector<VertexId> started_, ended_;        // by whose search it is known to have happened
  std::vector<VertexId> work_;
  std::vector<Edge> now_;                        // what the current vertex waits for
  std::vector<Edge> sets_;                       // what joins wait for, before sharing
  struct Set {
    std::uint64_t hash;
    VertexId owner = kNoVertex;
    std::uint32_t first, count;
  };
  std::vector<Set> table_;                       // open addressing, a power of two long
};

Reducer::Reducer(const Schedule& schedule, std::span<const VertexId> order, LeanGraph& graph)
    : schedule_(schedule), order_(order), graph_(graph), position_(schedule.size()), started_(schedule.size(), kNoVertex),
      ended_(schedule.size(), kNoVertex) {
  std::size_t joins = 0;
  for (VertexId v = 0; v < schedule.size(); ++v) {
    position_[order[v]] = v;
    joins += schedule.prerequisites(v).size() > 1 ? 1 : 0;
  }
  table_.resize(std::bit_ceil(2 * joins + 1));
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
    graph_.before_first_[v] = {static_cast<std::uint32_t>(graph_.before_.size()), static_cast<std::uint32_t>(now_.size())};
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
  std::uint32_t first = position_[now_[0].vertex];
  for (const Edge e : now_) first = std::min(first, position_[e.vertex]);
  work_.clear();
  for (const Edge e : now_) work_.push_back(e.vertex);
  std::size_t budget = kSteps * now_.size();
  for (std::size_t i = 0; i < work_.size(); ++i) {
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

std::uint64_t mixed(std::uint64_t hash, Edge e) {
  hash = (hash ^ (std::uint64_t{e.vertex} << 1 | e.on_start)) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

VertexId Reducer::owner_of(std::uint64_t hash, std::span<const Edge> set) const {
  const auto same = [](Edge a, Edge b) { return a.vertex == b.vertex && a.on_start == b.on_start; };
  for (std::size_t i = hash & (table_.size() - 1); table_[i].owner != kNoVertex; i = (i + 1) & (table_.size() - 1)) {
    if (table_[i].hash != hash) continue;
    const auto theirs = std::span(sets_).subspan(table_[i].first, table_[i].count);
    if (std::ranges::equal(theirs, set, same)) return table_[i].owner;
  }
  return kNoVertex;
}

void Reducer::own(std::uint64_t hash, VertexId v) {
  std::size_t i = hash & (table_.size() - 1);
  while (table_[i].owner != kNoVertex) i = (i + 1) & (table_.size() - 1);
  table_[i] = {hash, v, static_cast<std::uint32_t>(sets_.size()), static_cast<std::uint32_t>(now_.size())};
  sets_.insert(sets_.end(), now_.begin(), now_.end());
}

// The start of a receive is not always a point of its own: they own no set.
void Reducer::share_prefix(VertexId v) {
  if (now_.size() < 2) return;
  std::uint64_t hash = 0;
  VertexId owner = kNoVertex;
  std::size_t length = 0;
  for (std::size_t n = 1; n <= now_.size(); ++n) {
    hash = mixed(hash, now_[n - 1]);
    if (n < 2) continue;
    const VertexId found = owner_of(hash, std::span(now_).first(n));
    if (found == kNoVertex) continue;
    owner = found;
    length = n;
  }
  if (schedule_[v].kind != Kind::recv && length < now_.size()) own(hash, v);
  if (owner == kNoVertex) return;
  now_.erase(now_.begin(), now_.begin() + static_cast<std::ptrdiff_t>(length) - 1);
  now_[0] = Edge{owner & kMaxVertices, 1};
}

void Reducer::gather_dependents() {
  graph_.after_first_.resize(schedule_.size());
  for (const Edge e : graph_.before_) ++graph_.after_first_[e.vertex].count;
  std::uint32_t next = 0;
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
