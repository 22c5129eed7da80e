// Longest paths over the events of all ranks: see path.hpp.
//
// Thread: any.
#include "engine/tools/goalc/path.hpp"

#include <algorithm>
#include <array>
#include <compare>

#include "engine/goal/schedules/compile.hpp"

namespace portunus::goalc {

namespace {

using goal::Kind;
constexpr uint32_t kNone = 0xffffffff;

// One end of a message; both ends are equal but for `number`.
struct End {
  uint32_t source, target, tag, index, number;
  auto operator<=>(const End&) const = default;
  [[nodiscard]] std::array<uint32_t, 4> message() const { return {source, target, tag, index}; }
};

// Event 2n is the start of operation n, counted through all ranks, and 2n + 1 its end.
class Events {
 public:
  Events(std::span<const goal::Plan> ranks, Costs& costs);
  std::vector<Step> longest();

 private:
  void match();
  [[nodiscard]] uint32_t rank_of(uint32_t number) const;
  template <class Visit>
  void each_before(uint32_t event, Visit&& visit) const;
  template <class Visit>
  void each_after(uint32_t event, Visit&& visit) const;
  void evaluate(uint32_t event);

  std::span<const goal::Plan> ranks_;
  Costs& costs_;
  std::vector<uint32_t> first_;    // number of each rank's first operation, and the end
  std::vector<uint32_t> partner_;  // the other end of each message
  std::vector<double> when_;
  std::vector<uint32_t> because_;  // the event that decided
};

Events::Events(std::span<const goal::Plan> ranks, Costs& costs) : ranks_(ranks), costs_(costs), first_(1, 0) {
  for (const goal::Plan& plan : ranks_) first_.push_back(first_.back() + plan.graph.size());
  partner_.assign(first_.back(), kNone);
  when_.assign(2 * size_t{first_.back()}, 0);
  because_.assign(when_.size(), kNone);
  match();
}

void Events::match() {
  std::vector<End> sends, recvs;
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    const goal::Schedule& graph = ranks_[r].graph;
    const std::vector<uint32_t> index = goal::running_indices(graph);
    for (goal::VertexId v = 0; v < graph.size(); ++v) {
      const goal::Vertex& vertex = graph[v];
      if (vertex.kind == Kind::send) sends.push_back({r, vertex.peer, vertex.tag, index[v], first_[r] + v});
      if (vertex.kind == Kind::recv) recvs.push_back({vertex.peer, r, vertex.tag, index[v], first_[r] + v});
    }
  }
  std::ranges::sort(sends);
  std::ranges::sort(recvs);
  for (size_t i = 0, k = 0; i < sends.size() && k < recvs.size();) {
    if (sends[i].message() < recvs[k].message()) {
      ++i;
    } else if (recvs[k].message() < sends[i].message()) {
      ++k;
    } else {
      partner_[sends[i].number] = recvs[k].number;
      partner_[recvs[k++].number] = sends[i++].number;
    }
  }
}

uint32_t Events::rank_of(uint32_t number) const {
  return static_cast<uint32_t>(std::ranges::upper_bound(first_, number) - first_.begin() - 1);
}

template <class Visit>
void Events::each_before(uint32_t event, Visit&& visit) const {
  const uint32_t number = event / 2, rank = rank_of(number);
  const goal::Schedule& graph = ranks_[rank].graph;
  if (event % 2 == 0) {
    for (const goal::Edge e : graph.prerequisites(number - first_[rank])) visit(2 * (first_[rank] + e.vertex) + 1 - e.on_start);
    return;
  }
  visit(event - 1);
  if (graph[number - first_[rank]].kind == Kind::recv && partner_[number] != kNone) visit(2 * partner_[number]);
}

template <class Visit>
void Events::each_after(uint32_t event, Visit&& visit) const {
  const uint32_t number = event / 2, rank = rank_of(number);
  const goal::Schedule& graph = ranks_[rank].graph;
  for (const goal::Edge e : graph.dependents(number - first_[rank])) {
    if ((event % 2 == 0) == (e.on_start == 1)) visit(2 * (first_[rank] + e.vertex));
  }
  if (event % 2 != 0) return;
  visit(event + 1);
  if (graph[number - first_[rank]].kind == Kind::send && partner_[number] != kNone) visit(2 * partner_[number] + 1);
}

void Events::evaluate(uint32_t event) {
  const uint32_t number = event / 2, rank = rank_of(number);
  const goal::Plan& plan = ranks_[rank];
  const goal::VertexId v = number - first_[rank];
  const goal::Vertex& vertex = plan.graph[v];
  if (event % 2 == 0) {
    std::vector<std::pair<double, uint32_t>> before;
    each_before(event, [&](uint32_t earlier) { before.emplace_back(when_[earlier], earlier); });
    const bool nothing = vertex.kind == Kind::calc && vertex.size == 0;
    if (!nothing) when_[event] = costs_.hop_ns();
    if (before.empty()) return;
    std::ranges::sort(before);
    const auto& [time, earlier] = before[plan.graph.is_choice(v) ? vertex.needs - 1 : before.size() - 1];
    when_[event] += time;
    because_[event] = earlier;
    return;
  }
  const Network& net = costs_.network;
  when_[event] = when_[event - 1] + (vertex.kind == Kind::send ? net.overhead_ns : costs_.work_ns(plan, v));
  because_[event] = event - 1;
  if (vertex.kind != Kind::recv || partner_[number] == kNone) return;
  const double arrives = when_[2 * partner_[number]] + net.overhead_ns + net.latency_ns + net.byte_ns * static_cast<double>(vertex.size);
  if (arrives > when_[event]) {
    when_[event] = arrives;
    because_[event] = 2 * partner_[number];
  }
  when_[event] += net.overhead_ns;
}

std::vector<Step> Events::longest() {
  std::vector<uint32_t> open(when_.size()), ready;
  for (uint32_t e = 0; e < open.size(); ++e) {
    each_before(e, [&](uint32_t) { ++open[e]; });
    if (open[e] == 0) ready.push_back(e);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    evaluate(ready[i]);
    each_after(ready[i], [&](uint32_t later) {
      if (--open[later] == 0) ready.push_back(later);
    });
  }
  std::vector<Step> path;
  if (when_.empty()) return path;
  auto event = static_cast<uint32_t>(std::ranges::max_element(when_) - when_.begin());
  for (; event != kNone; event = because_[event]) {
    const uint32_t number = event / 2, rank = rank_of(number);
    if (!path.empty() && path.back().rank == rank && path.back().vertex == number - first_[rank]) continue;
    path.push_back({rank, number - first_[rank], when_[2 * number], when_[2 * number + 1]});
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace

std::vector<Step> critical_path(std::span<const goal::Plan> ranks, Costs& costs) { return Events(ranks, costs).longest(); }

}  // namespace portunus::goalc
