// Which receives may be appended before their time: free_of_hazards() of compile.hpp.
//
// Thread: any; pure.
#include <algorithm>
#include <array>

#include "engine/goal/schedules/compile.hpp"
#include "engine/goal/schedules/reduce.hpp"

namespace portunus::goal {

namespace {

struct Placed {  // a touch, with its vertex's place in the order beside it
  uint64_t begin, end;
  uint32_t position;
  VertexId vertex;
};

// By begin, and among equals by position. Long lists that are in order of position already are sorted by bytes of `begin`, as far as these
// differ.
void sort_by_place(std::vector<Placed>& touches) {
  constexpr size_t kShort = 200;
  const auto order = [](const Placed& a, const Placed& b) { return a.begin != b.begin ? a.begin < b.begin : a.position < b.position; };
  if (std::ranges::is_sorted(touches, order)) return;
  if (touches.size() < kShort || !std::ranges::is_sorted(touches, {}, &Placed::position)) {
    std::ranges::sort(touches, order);
    return;
  }
  uint64_t differ = 0;
  for (const Placed& touch : touches) differ |= touch.begin ^ touches[0].begin;
  std::vector<Placed> other(touches.size());
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if ((differ >> shift & 0xff) == 0) continue;
    std::array<uint32_t, 257> next{};
    for (const Placed& touch : touches) ++next[(touch.begin >> shift & 0xff) + 1];
    for (size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
    for (const Placed& touch : touches) other[next[touch.begin >> shift & 0xff]++] = touch;
    touches.swap(other);
  }
}

// Sweeps over the memory. A receive with which anything earlier in the order shares memory is not harmless, whatever else
// does: it drops out, so that memory that is used again and again is no more work than memory that is used once.
class Sweep {
 public:
  Sweep(const Schedule& schedule, std::span<const uint32_t> position)
      : schedule_(schedule), position_(position), lost_(schedule.size()), last_(schedule.size(), kNone) {}

  void run(std::span<const Touch> touches) {
    std::vector<Placed> sorted;
    sorted.reserve(touches.size());
    for (const Touch& touch : touches) {
      if (touch.range.begin < touch.range.end && touch.vertex != kNoVertex)
        sorted.push_back({touch.range.begin, touch.range.end, position_[touch.vertex], touch.vertex});
    }
    sort_by_place(sorted);
    for (const Touch& touch : touches)
      if (touch.vertex == kNoVertex) lose_within(touch.range, sorted);
    for (const Placed& at : sorted) meet(at);
  }
  [[nodiscard]] bool lost(VertexId v) const { return lost_[v] != 0; }
  // The others that have a hand on the memory of a receive that is not lost, each once, ascending.
  void others_of(VertexId v, std::vector<VertexId>& others) const {
    others.clear();
    for (uint32_t i = last_[v]; i != kNone; i = shared_[i].before) others.push_back(shared_[i].other);
    if (others.size() < 2) return;
    std::ranges::sort(others);
    others.erase(std::unique(others.begin(), others.end()), others.end());
  }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Shared {
    VertexId other;
    uint32_t before;  // of the same receive
  };

  // Others change this range.
  void lose_within(const Range& range, std::span<const Placed> touches) {
    for (const Placed& touch : touches)
      if (touch.begin < range.end && range.begin < touch.end) lost_[touch.vertex] = 1;
  }

  void meet(const Placed& touch) {
    if (touch.begin >= next_end_) close(touch.begin);
    if (!hopeful_.empty()) {
      std::erase_if(hopeful_, [&](const Placed& t) {
        if (!lost(t.vertex)) weigh(t.vertex, touch.vertex);
        return lost(t.vertex);
      });
    }
    const VertexId v = touch.vertex;
    const bool receives = schedule_[v].kind == Kind::recv;
    for (size_t i = 0; receives && !lost(v) && i < open_.size(); ++i) weigh(v, open_[i].vertex);
    open_.push_back(touch);
    if (receives && !lost(v)) hopeful_.push_back(touch);
    next_end_ = std::min(next_end_, touch.end);
    last_end_ = std::max(last_end_, touch.end);
  }

  // Forgets ranges that end before `begin`.
  void close(uint64_t begin) {
    if (begin >= last_end_) {
      open_.clear();
      hopeful_.clear();
    } else {
      const auto ended = [begin](const Placed& t) { return t.end <= begin; };
      std::erase_if(open_, ended);
      std::erase_if(hopeful_, ended);
    }
    next_end_ = ~uint64_t{0};
    for (const Placed& t : open_) next_end_ = std::min(next_end_, t.end);
  }

  // `other` has a hand on the memory of the receive v.
  void weigh(VertexId v, VertexId other) {
    if (v == other) return;
    if (position_[other] < position_[v]) {
      lost_[v] = 1;
      return;
    }
    shared_.push_back({other, last_[v]});
    last_[v] = static_cast<uint32_t>(shared_.size() - 1);
  }

  const Schedule& schedule_;
  std::span<const uint32_t> position_;
  std::vector<uint8_t> lost_;
  std::vector<Placed> open_, hopeful_;               // ranges that reach beyond the current begin; of these, of receives not lost
  uint64_t next_end_ = ~uint64_t{0}, last_end_ = 0;  // of the open ones
  std::vector<Shared> shared_;
  std::vector<uint32_t> last_;  // of each receive, in shared_
};

// Finds out whether vertices start after another one ended, by walking from it as far as need be.
class Walk {
 public:
  Walk(const Schedule& schedule, std::span<const uint32_t> position)
      : schedule_(schedule), position_(position), visited_by_(schedule.size(), kNoVertex) {}

  // Do all the others, ascending, start after v ended?
  bool all_follow(VertexId v, std::span<const VertexId> others) {
    uint32_t last = 0;
    for (const VertexId other : others) last = std::max(last, position_[other]);
    size_t missing = others.size();
    work_.clear();
    const auto visit = [&](Edge e) {
      const VertexId w = e.vertex;
      if (visited_by_[w] == v || position_[w] > last || schedule_.is_choice(w)) return;
      visited_by_[w] = v;
      work_.push_back(w);
      if (std::ranges::binary_search(others, w)) --missing;
    };
    for (const Edge e : schedule_.dependents(v)) {
      if (!e.on_start) visit(e);  // the first step must be one from v's end
    }
    for (size_t i = 0; i < work_.size() && missing > 0; ++i) {
      for (const Edge e : schedule_.dependents(work_[i])) visit(e);
    }
    return missing == 0;
  }

 private:
  const Schedule& schedule_;
  std::span<const uint32_t> position_;  // of each vertex in an order in which prerequisites come first
  std::vector<VertexId> visited_by_, work_;
};

}  // namespace

std::vector<bool> free_of_hazards(const Schedule& schedule, std::span<const Touch> touches, std::span<const VertexId> order) {
  std::vector<uint32_t> position(schedule.size());
  for (VertexId i = 0; i < order.size(); ++i) position[order[i]] = i;
  Sweep sweep(schedule, position);
  sweep.run(touches);
  std::vector<bool> harmless(schedule.size());
  std::vector<VertexId> others;
  Walk walk(schedule, position);
  for (VertexId v = 0; v < schedule.size(); ++v) {
    if (schedule[v].kind != Kind::recv || sweep.lost(v)) continue;
    sweep.others_of(v, others);
    harmless[v] = others.empty() || walk.all_follow(v, others);
  }
  return harmless;
}

}  // namespace portunus::goal
