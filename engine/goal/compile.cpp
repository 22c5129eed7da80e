// Schedule to counters and triggered operations: see compile.hpp for the rules.
//
// **Thread:** any; pure.
#include "engine/goal/compile.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <unordered_map>

namespace portunus::goal {

namespace {

constexpr std::uint64_t kIndexedClass = std::uint64_t{1} << 60;
constexpr std::uint64_t kSharedClass = std::uint64_t{2} << 60;
constexpr unsigned kContextShift = 44;
constexpr unsigned kSplitShift = 32;

// Class 1 bits, or nothing if tag and index do not fit into 32 bits together.
std::optional<std::uint64_t> indexed_id(std::uint32_t tag, std::uint32_t index) {
  const unsigned split = (static_cast<unsigned>(std::bit_width(index)) + 1) / 2;
  if (split > 15 || std::bit_width(tag) + 2 * split > 32) return std::nullopt;
  return kIndexedClass | std::uint64_t{split} << kSplitShift | std::uint64_t{tag} << 2 * split | index;
}

struct Counts {
  std::uint32_t finish = 0, start = 0;
};

Counts count(std::span<const Edge> edges) {
  Counts counts;
  for (const Edge e : edges) ++(e.on_start ? counts.start : counts.finish);
  return counts;
}

class Compiler {
 public:
  Compiler(const Schedule& schedule, const CompileOptions& options);
  Program run();

 private:
  CounterId new_counter(std::uint32_t increments);
  [[nodiscard]] bool shared(VertexId v) const;
  void choose_early();
  void claim_joins();
  [[nodiscard]] Point start_of(VertexId v) const;
  void choose_completion(VertexId v);
  void emit(VertexId v);
  void emit_early(VertexId v, Operation& entry);
  void emit_successors(VertexId v);
  void increment(Point when, CounterId counter) { program_.triggered.push_back({.when = when, .counter = counter}); }
  void address(VertexId v, Operation& operation) const;
  [[nodiscard]] std::vector<VertexId> order() const;

  // The facts about a vertex, in the words of compile.hpp.
  struct Place {
    CounterId join = kNoCounter;      // where prerequisites meet, and the message of an early receive, if it has one
    CounterId complete = kNoCounter;  // what its end increments
    Point start, end;                 // `end` is set if it has a counter of its own
    bool early = false;
    bool meets = false;               // early, with prerequisites that meet the message in `join`
  };

  const Schedule& schedule_;
  const CompileOptions& options_;
  std::vector<std::uint32_t> index_;
  std::vector<Place> places_;
  Program program_;
};

Compiler::Compiler(const Schedule& schedule, const CompileOptions& options)
    : schedule_(schedule), options_(options), index_(running_indices(schedule)), places_(schedule.size()) {}

Program Compiler::run() {
  new_counter(1);  // kStart
  new_counter(0);  // kFinish
  choose_early();
  claim_joins();
  for (const VertexId v : order()) emit(v);
  // The most selective entries first: they must not find their message taken by one that could have had another.
  const auto freedom = [](const Operation& entry) {
    return (entry.peer == kAnySource ? 2 : 0) + (entry.ignore_bits != 0 ? 1 : 0);
  };
  std::stable_sort(program_.early.begin(), program_.early.end(), [&](const Operation& a, const Operation& b) {
    return std::pair(freedom(a), a.vertex) < std::pair(freedom(b), b.vertex);
  });
  return std::move(program_);
}

CounterId Compiler::new_counter(std::uint32_t increments) {
  program_.increments.push_back(increments);
  return static_cast<CounterId>(program_.increments.size() - 1);
}

// Is this message or receive of the class that receives of any source or tag may take?
bool Compiler::shared(VertexId v) const {
  const Vertex& vertex = schedule_[v];
  if (vertex.kind == Kind::recv && (vertex.peer == kAnySource || vertex.tag == kAnyTag)) return true;
  if (options_.wildcards.empty() || vertex.kind == Kind::calc) return false;
  return vertex.kind == Kind::send ? options_.wildcards[vertex.peer].cover(options_.rank, vertex.tag)
                                   : options_.wildcards[options_.rank].cover(vertex.peer, vertex.tag);
}

// Receives that share messages must be appended in the order that the schedule asks for, or one could take the
// message that another one, which comes first, waits for.
void Compiler::choose_early() {
  std::vector<bool> harmless;
  if (!options_.footprints.empty()) harmless = free_of_hazards(schedule_, options_.footprints);
  for (VertexId v = 0; v < schedule_.size(); ++v) {
    if (schedule_[v].kind != Kind::recv || (!harmless.empty() && !harmless[v])) continue;
    places_[v].early = schedule_.prerequisites(v).empty() || !shared(v);
  }
}

void Compiler::claim_joins() {
  for (VertexId v = 0; v < schedule_.size(); ++v) {
    Place& place = places_[v];
    const auto before = static_cast<std::uint32_t>(schedule_.prerequisites(v).size());
    // Where something waits for the start of v, the message must not be mistaken for a prerequisite.
    place.meets = place.early && before > 0 && count(schedule_.dependents(v)).start == 0;
    if (place.meets) place.join = new_counter(before + 1);
    else if (before > 1) place.join = new_counter(before);
  }
}

// Vertices in an order in which prerequisites come first.
std::vector<VertexId> Compiler::order() const {
  std::vector<std::uint32_t> open(schedule_.size());
  std::vector<VertexId> sorted;
  sorted.reserve(schedule_.size());
  for (VertexId v = 0; v < schedule_.size(); ++v) {
    open[v] = static_cast<std::uint32_t>(schedule_.prerequisites(v).size());
    if (open[v] == 0) sorted.push_back(v);
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (const Edge e : schedule_.dependents(sorted[i])) {
      if (--open[e.vertex] == 0) sorted.push_back(e.vertex);
    }
  }
  return sorted;
}

Point Compiler::start_of(VertexId v) const {
  const std::span<const Edge> before = schedule_.prerequisites(v);
  if (before.empty()) return {kStart, 1};
  if (places_[v].join != kNoCounter) return {places_[v].join, static_cast<std::uint32_t>(before.size())};
  const Place& only = places_[before[0].vertex];
  return before[0].on_start ? only.start : only.end;
}

// The one counter that the end of v increments by itself; other counters hang on that one.
void Compiler::choose_completion(VertexId v) {
  Place& place = places_[v];
  const Counts after = count(schedule_.dependents(v));
  if (after.finish == 0) {
    place.complete = kFinish;
    ++program_.increments[kFinish];
    return;
  }
  if (after.finish == 1) {
    const auto only = std::ranges::find_if(schedule_.dependents(v), [](Edge e) { return e.on_start == 0; });
    place.complete = places_[only->vertex].join;
    if (place.complete != kNoCounter) return;
  }
  place.complete = new_counter(1);
  place.end = {place.complete, 1};
}

void Compiler::emit(VertexId v) {
  Place& place = places_[v];
  Operation operation{.vertex = v, .size = schedule_[v].size};
  switch (schedule_[v].kind) {
    case Kind::send: operation.action = Action::put; break;
    case Kind::recv: operation.action = Action::append; break;
    case Kind::calc: operation.action = Action::local; break;
  }
  if (operation.action != Action::local) address(v, operation);
  if (!place.meets) place.start = start_of(v);
  if (place.early && !schedule_.prerequisites(v).empty()) {
    emit_early(v, operation);
  } else {
    choose_completion(v);
    operation.when = place.start;
    operation.counter = place.complete;
    (place.early ? program_.early : program_.triggered).push_back(operation);
  }
  emit_successors(v);
}

// An early receive with prerequisites ends when they and the message are there, in whatever order.
void Compiler::emit_early(VertexId v, Operation& entry) {
  Place& place = places_[v];
  CounterId both = place.join;
  if (!place.meets) {
    both = new_counter(2);
    increment(place.start, both);
  }
  place.end = {both, program_.increments[both]};
  entry.counter = both;
  program_.early.push_back(entry);
  if (count(schedule_.dependents(v)).finish > 0) return;
  ++program_.increments[kFinish];
  increment(place.end, kFinish);
}

// The join counters that start and end of v increment. Dependents without one hang on the same points themselves.
void Compiler::emit_successors(VertexId v) {
  const Place& place = places_[v];
  for (const Edge e : schedule_.dependents(v)) {
    const CounterId join = places_[e.vertex].join;
    if (join == kNoCounter) continue;
    if (e.on_start) increment(place.start, join);
    else if (place.end.counter != kNoCounter) increment(place.end, join);
  }
}

void Compiler::address(VertexId v, Operation& operation) const {
  const Vertex& vertex = schedule_[v];
  operation.peer = vertex.peer;
  std::uint64_t bits = kSharedClass | vertex.tag;
  if (shared(v)) {
    if (vertex.kind == Kind::recv && vertex.tag == kAnyTag) {
      bits = kSharedClass;
      operation.ignore_bits = kAnyTagBits;
    }
  } else {
    const std::optional<std::uint64_t> id = indexed_id(vertex.tag, index_[v]);
    if (!id) {
      throw ScheduleError(vertex.where, "the " + schedule_.describe(v) + " is number " + std::to_string(index_[v] + 1) +
                                            " of its peer and tag, and a tag as large as " + std::to_string(vertex.tag) +
                                            " has no room for so many messages; use smaller or more tags");
    }
    bits = *id;
  }
  operation.match_bits = bits | std::uint64_t{options_.context} << kContextShift;
}

// One memory range of one vertex.
struct Touch {
  Range range;
  VertexId vertex;
  bool receives;  // the range is where a message lands
};

std::vector<Touch> touches(const Schedule& schedule, std::span<const Footprint> footprints) {
  std::vector<Touch> all;
  const auto add = [&](const Range& range, VertexId v, bool receives) {
    if (range.begin < range.end) all.push_back({range, v, receives});
  };
  for (VertexId v = 0; v < schedule.size(); ++v) {
    add(footprints[v].writes, v, schedule[v].kind == Kind::recv);
    for (const Range& read : footprints[v].reads) add(read, v, false);
  }
  std::ranges::sort(all, {}, [](const Touch& t) { return t.range.begin; });
  return all;
}

// Does each of `others` start after v ended? The first step of the way must be one from v's end.
bool all_follow(const Schedule& schedule, VertexId v, const std::vector<VertexId>& others, std::vector<VertexId>& visited_by) {
  std::vector<VertexId> work;
  const auto visit = [&](VertexId w) {
    if (visited_by[w] == v) return;
    visited_by[w] = v;
    work.push_back(w);
  };
  for (const Edge e : schedule.dependents(v)) {
    if (!e.on_start) visit(e.vertex);
  }
  while (!work.empty()) {
    const VertexId w = work.back();
    work.pop_back();
    for (const Edge e : schedule.dependents(w)) visit(e.vertex);
  }
  return std::ranges::all_of(others, [&](VertexId w) { return visited_by[w] == v; });
}

}  // namespace

std::vector<bool> free_of_hazards(const Schedule& schedule, std::span<const Footprint> footprints) {
  std::vector<bool> harmless(schedule.size());
  std::vector<std::vector<VertexId>> neighbours(schedule.size());  // of receives: who else touches the memory
  std::vector<Touch> open;                                         // ranges that reach beyond the current begin
  for (const Touch& touch : touches(schedule, footprints)) {
    std::erase_if(open, [&](const Touch& t) { return t.range.end <= touch.range.begin; });
    for (const Touch& other : open) {
      if (other.vertex == touch.vertex) continue;
      if (other.receives) neighbours[other.vertex].push_back(touch.vertex);
      if (touch.receives) neighbours[touch.vertex].push_back(other.vertex);
    }
    open.push_back(touch);
  }
  std::vector<VertexId> visited_by(schedule.size(), kNoVertex);
  for (VertexId v = 0; v < schedule.size(); ++v) {
    if (schedule[v].kind != Kind::recv) continue;
    harmless[v] = neighbours[v].empty() || all_follow(schedule, v, neighbours[v], visited_by);
  }
  return harmless;
}

std::vector<std::uint32_t> running_indices(const Schedule& schedule) {
  std::vector<std::uint32_t> index(schedule.size());
  std::unordered_map<std::uint64_t, std::uint32_t> sends, recvs;
  for (VertexId v = 0; v < schedule.size(); ++v) {
    const Vertex& vertex = schedule[v];
    if (vertex.kind == Kind::calc) continue;
    auto& seen = vertex.kind == Kind::send ? sends : recvs;
    index[v] = seen[std::uint64_t{vertex.peer} << 32 | vertex.tag]++;
  }
  return index;
}

Wildcards::Wildcards(const Schedule& receiver) {
  for (const Vertex& vertex : receiver.vertices()) {
    if (vertex.kind != Kind::recv) continue;
    const bool any_source = vertex.peer == kAnySource, any_tag = vertex.tag == kAnyTag;
    if (any_source && any_tag) all_ = true;
    else if (any_source) tags_.insert(vertex.tag);
    else if (any_tag) sources_.insert(vertex.peer);
  }
}

bool Wildcards::cover(std::uint32_t source, std::uint32_t tag) const {
  return all_ || tags_.contains(tag) || sources_.contains(source);
}

Program compile(const Schedule& schedule, const CompileOptions& options) { return Compiler(schedule, options).run(); }

}  // namespace portunus::goal
