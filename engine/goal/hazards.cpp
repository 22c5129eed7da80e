// Which receives may be appended before their time: free_of_hazards() of compile.hpp.
//
// **Thread:** any; pure.
#include <algorithm>
#include <utility>

#include "engine/goal/compile.hpp"
#include "engine/goal/reduce.hpp"

namespace portunus::goal {

namespace {

using Pair = std::pair<VertexId, VertexId>;  // a receive, and another vertex with a hand on its memory

// Sweeps over the memory. A receive with which anything earlier in the order shares memory is not harmless, whatever else
// does: it drops out, so that memory that is used again and again is no more work than memory that is used once.
class Sweep {
 public:
  Sweep(const Schedule& schedule, std::span<const std::uint32_t> position) : schedule_(schedule), position_(position), lost_(schedule.size()) {}

  void run(std::span<const Touch> touches) {
    std::vector<Placed> sorted;
    sorted.reserve(touches.size());
    for (const Touch& touch : touches) {
      if (touch.range.begin < touch.range.end) sorted.push_back({touch.range.begin, touch.range.end, position_[touch.vertex], touch.vertex});
    }
    const auto order = [](const Placed& a, const Placed& b) { return a.begin != b.begin ? a.begin < b.begin : a.position < b.position; };
    if (!std::ranges::is_sorted(sorted, order)) std::ranges::sort(sorted, order);
    for (const Placed& at : sorted) meet({at.vertex, {at.begin, at.end}});
    std::erase_if(pairs_, [this](const Pair& pair) { return lost_[pair.first]; });
    std::ranges::sort(pairs_);
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  }
  // Of the receives that are not lost: who else has a hand on their memory.
  [[nodiscard]] std::span<const Pair> pairs() const { return pairs_; }
  [[nodiscard]] bool lost(VertexId v) const { return lost_[v]; }

 private:
  struct Placed {  // a touch, with its vertex's place in the order beside it
    std::uint64_t begin, end;
    std::uint32_t position;
    VertexId vertex;
  };

  void meet(const Touch& touch) {
    if (touch.range.begin >= next_end_) close(touch.range.begin);
    std::erase_if(hopeful_, [&](const Touch& t) {
      if (!lost_[t.vertex]) weigh(t.vertex, touch.vertex);
      return lost_[t.vertex];
    });
    const VertexId v = touch.vertex;
    const bool receives = schedule_[v].kind == Kind::recv;
    for (std::size_t i = 0; receives && !lost_[v] && i < open_.size(); ++i) weigh(v, open_[i].vertex);
    open_.push_back(touch);
    if (receives && !lost_[v]) hopeful_.push_back(touch);
    next_end_ = std::min(next_end_, touch.range.end);
  }

  // Forgets ranges that end before `begin`.
  void close(std::uint64_t begin) {
    const auto ended = [begin](const Touch& t) { return t.range.end <= begin; };
    std::erase_if(open_, ended);
    std::erase_if(hopeful_, ended);
    next_end_ = ~std::uint64_t{0};
    for (const Touch& t : open_) next_end_ = std::min(next_end_, t.range.end);
  }

  // `other` has a hand on the memory of the receive v.
  void weigh(VertexId v, VertexId other) {
    if (v == other) return;
    if (position_[other] < position_[v]) lost_[v] = true;
    else pairs_.emplace_back(v, other);
  }

  const Schedule& schedule_;
  std::span<const std::uint32_t> position_;
  std::vector<bool> lost_;
  std::vector<Touch> open_, hopeful_;  // ranges that reach beyond the current begin; of these, of receives not lost
  std::uint64_t next_end_ = ~std::uint64_t{0};
  std::vector<Pair> pairs_;
};

// Finds out whether vertices start after another one ended, by walking from it as far as need be.
class Walk {
 public:
  Walk(const Schedule& schedule, std::span<const std::uint32_t> position)
      : schedule_(schedule), position_(position), visited_by_(schedule.size(), kNoVertex) {}

  // Does the second of each pair start after the first, which is v, ended?
  bool all_follow(VertexId v, std::span<const Pair> pairs) {
    std::uint32_t last = 0;
    for (const Pair& pair : pairs) last = std::max(last, position_[pair.second]);
    std::size_t missing = pairs.size();
    work_.clear();
    const auto visit = [&](Edge e) {
      const VertexId w = e.vertex;
      if (visited_by_[w] == v || position_[w] > last || schedule_.is_choice(w)) return;
      visited_by_[w] = v;
      work_.push_back(w);
      if (std::ranges::binary_search(pairs, Pair{v, w})) --missing;
    };
    for (const Edge e : schedule_.dependents(v)) {
      if (!e.on_start) visit(e);  // the first step must be one from v's end
    }
    for (std::size_t i = 0; i < work_.size() && missing > 0; ++i) {
      for (const Edge e : schedule_.dependents(work_[i])) visit(e);
    }
    return missing == 0;
  }

 private:
  const Schedule& schedule_;
  std::span<const std::uint32_t> position_;  // of each vertex in an order in which prerequisites come first
  std::vector<VertexId> visited_by_, work_;
};

}  // namespace

std::vector<bool> free_of_hazards(const Schedule& schedule, std::span<const Touch> touches, std::span<const VertexId> order) {
  std::vector<std::uint32_t> position(schedule.size());
  for (VertexId i = 0; i < order.size(); ++i) position[order[i]] = i;
  Sweep sweep(schedule, position);
  sweep.run(touches);
  std::vector<bool> harmless(schedule.size());
  for (VertexId v = 0; v < schedule.size(); ++v) harmless[v] = schedule[v].kind == Kind::recv && !sweep.lost(v);
  const std::span<const Pair> pairs = sweep.pairs();
  Walk walk(schedule, position);
  for (std::size_t first = 0; first < pairs.size();) {
    std::size_t end = first;
    while (end < pairs.size() && pairs[end].first == pairs[first].first) ++end;
    const VertexId v = pairs[first].first;
    harmless[v] = walk.all_follow(v, pairs.subspan(first, end - first));
    first = end;
  }
  return harmless;
}

}  // namespace portunus::goal
