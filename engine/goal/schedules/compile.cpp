// Schedule to counters and triggered operations: see compile.hpp for the rules.
//
// Thread: any; pure.
#include "engine/goal/schedules/compile.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>
#include <string>

#include "engine/goal/schedules/reduce.hpp"

namespace portunus::goal {

namespace {

constexpr uint64_t kIndexedClass = uint64_t{1} << 60;
constexpr uint64_t kSharedClass = uint64_t{2} << 60;
constexpr unsigned kSplitShift = 32;
constexpr uint32_t kSendsFirst = 8;  // more of them would keep receives waiting

// Class 1 bits, or nothing if tag and index do not fit into 32 bits together.
std::optional<uint64_t> indexed_id(uint32_t tag, uint32_t index) {
  const unsigned split = (static_cast<unsigned>(std::bit_width(index)) + 1) / 2;
  if (split > 15 || std::bit_width(tag) + 2 * split > 32) return std::nullopt;
  return kIndexedClass | uint64_t{split} << kSplitShift | uint64_t{tag} << 2 * split | index;
}

struct Counts {
  uint32_t finish = 0, start = 0;
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
  CounterId new_counter(uint32_t increments);
  [[nodiscard]] bool shared(VertexId v) const;
  void choose_early();
  void claim_joins();
  [[nodiscard]] Point start_of(VertexId v) const;
  void choose_completion(VertexId v);
  void emit(VertexId v);
  void advance_sends();
  void emit_nothing(VertexId v);
  void emit_early(VertexId v, Operation& entry);
  void emit_successors(VertexId v);
  void increment(Point when, CounterId counter) { program_.relays.push_back({when, counter}); }
  void address(VertexId v, Operation& operation) const;

  // The facts about a vertex, in the words of compile.hpp.
  struct Place {
    CounterId join = kNoCounter;      // where prerequisites meet, and the message of an early receive, if it has one
    CounterId complete = kNoCounter;  // what its end increments
    Point start, end;                 // `end` is set if it has a counter of its own
    bool early = false;
    bool meets = false;  // early, with prerequisites that meet the message in `join`
  };

  const Schedule& schedule_;
  const CompileOptions& options_;
  std::vector<uint32_t> index_;
  std::vector<VertexId> order_;
  LeanGraph graph_;
  std::vector<Place> places_;
  Program program_;
};

Compiler::Compiler(const Schedule& schedule, const CompileOptions& options)
    : schedule_(schedule),
      options_(options),
      index_(running_indices(schedule)),
      order_(topological_order(schedule)),
      graph_(schedule, order_),
      places_(schedule.size()) {}

Program Compiler::run() {
  program_.context = options_.context;
  new_counter(1);  // kStart
  new_counter(0);  // kFinish
  choose_early();
  claim_joins();
  for (const VertexId v : order_) emit(v);
  assert(program_.increments.size() > kFinish && program_.increments[kStart] == 1);
  advance_sends();
  // The most selective entries first: they must not find their message taken by one that could have had another.
  const auto freedom = [](const Operation& entry) { return (entry.peer == kAnySource ? 2 : 0) + (entry.any_tag ? 1 : 0); };
  std::stable_sort(program_.early.begin(), program_.early.end(), [&](const Operation& a, const Operation& b) {
    return std::pair(freedom(a), a.vertex) < std::pair(freedom(b), b.vertex);
  });
  return std::move(program_);
}

// Others wait for what is sent first, and nobody for the entries that are appended meanwhile.
void Compiler::advance_sends() {
  const auto waits_for_nothing = [this](const Operation& o) { return o.action == Action::put && graph_.prerequisites(o.vertex).empty(); };
  auto end = program_.triggered.begin();
  uint32_t count = 0;
  for (auto o = program_.triggered.begin(); o != program_.triggered.end(); ++o) {
    if (!waits_for_nothing(*o)) continue;
    if (++count > kSendsFirst) return;
    end = o + 1;
  }
  std::stable_partition(program_.triggered.begin(), end, waits_for_nothing);
  assert(count <= program_.triggered.size());
  program_.sends_first = count;
}

CounterId Compiler::new_counter(uint32_t increments) {
  program_.increments.push_back(increments);
  return static_cast<CounterId>(program_.increments.size() - 1);
}

// Is this message or receive of the class that receives of any source or tag may take?
bool Compiler::shared(VertexId v) const {
  const Vertex& vertex = schedule_[v];
  if (vertex.kind == Kind::recv && (vertex.peer == kAnySource || vertex.tag == kAnyTag)) return true;
  if (options_.wildcards.empty() || !vertex.is_message()) return false;
  return vertex.kind == Kind::send ? options_.wildcards[vertex.peer].cover(options_.rank, vertex.tag)
                                   : options_.wildcards[options_.rank].cover(vertex.peer, vertex.tag);
}

// Receives that share messages must be appended in the order that the schedule asks for, or one could take the
// message that another one, which comes first, waits for.
void Compiler::choose_early() {
  std::vector<bool> harmless;
  if (!options_.touches.empty()) harmless = free_of_hazards(schedule_, options_.touches, order_);
  for (VertexId v = 0; v < schedule_.size(); ++v) {
    if (schedule_[v].kind != Kind::recv || (!harmless.empty() && !harmless[v])) continue;
    places_[v].early = graph_.prerequisites(v).empty() || (!shared(v) && !schedule_.is_choice(v));
  }
}

void Compiler::claim_joins() {
  for (VertexId v = 0; v < schedule_.size(); ++v) {
    Place& place = places_[v];
    const auto before = static_cast<uint32_t>(graph_.prerequisites(v).size());
    // The message, where something waits for the start of v, must not be mistaken for a prerequisite.
    place.meets = place.early && before > 0 && count(graph_.dependents(v)).start == 0;
    if (place.meets) place.join = new_counter(before + 1);
    else if (before > 1) place.join = new_counter(before);
    if (schedule_.is_choice(v)) {
      increment({place.join, before}, kFinish);
      ++program_.increments[kFinish];
    }
  }
}

Point Compiler::start_of(VertexId v) const {
  const std::span<const Edge> before = graph_.prerequisites(v);
  if (before.empty()) return {kStart, 1};
  if (places_[v].join != kNoCounter) {
    return {places_[v].join, schedule_.is_choice(v) ? schedule_[v].needs : static_cast<uint32_t>(before.size())};
  }
  const Place& only = places_[before[0].vertex];
  assert(before.size() == 1 && (before[0].on_start ? only.start : only.end).counter != kNoCounter);
  return before[0].on_start ? only.start : only.end;
}

// The one counter that the end of v increments by itself; other counters hang on that one.
void Compiler::choose_completion(VertexId v) {
  Place& place = places_[v];
  const Counts after = count(graph_.dependents(v));
  if (schedule_[v].kind == Kind::parked) {
    place.complete = new_counter(static_cast<uint32_t>(schedule_[v].size));
    place.end = {place.complete, program_.increments[place.complete]};
    if (after.finish > 0) return;
    ++program_.increments[kFinish];
    return increment(place.end, kFinish);
  }
  if (after.finish == 0) {
    place.complete = kFinish;
    ++program_.increments[kFinish];
    return;
  }
  if (after.finish == 1) {
    const auto only = std::ranges::find_if(graph_.dependents(v), [](Edge e) { return e.on_start == 0; });
    place.complete = places_[only->vertex].join;
    if (place.complete != kNoCounter) return;
  }
  place.complete = new_counter(1);
  place.end = {place.complete, 1};
}

// Something that takes no time and does nothing only hands on.
void Compiler::emit_nothing(VertexId v) {
  Place& place = places_[v];
  place.start = place.end = start_of(v);
  emit_successors(v);
  if (count(graph_.dependents(v)).finish > 0) return;
  ++program_.increments[kFinish];
  increment(place.end, kFinish);
}

void Compiler::emit(VertexId v) {
  if (schedule_[v].kind == Kind::calc && schedule_[v].size == 0) return emit_nothing(v);
  Place& place = places_[v];
  Operation operation{.vertex = v, .size = schedule_[v].size};
  switch (schedule_[v].kind) {
    case Kind::send: operation.action = Action::put; break;
    case Kind::recv: operation.action = Action::append; break;
    case Kind::calc:
    case Kind::local: operation.action = Action::local; break;
    case Kind::parked:
      operation.action = Action::parked;
      operation.peer = schedule_[v].peer;
      break;
  }
  if (schedule_[v].is_message()) address(v, operation);
  if (!place.meets) place.start = start_of(v);
  if (place.early && !graph_.prerequisites(v).empty()) {
    emit_early(v, operation);
  } else {
    choose_completion(v);
    operation.when = place.start;
    operation.counter = place.complete;
    assert(operation.when.counter < program_.increments.size() && operation.counter < program_.increments.size());
    assert(operation.when.threshold <= std::max(program_.increments[operation.when.counter], 1u));
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
  assert(both < program_.increments.size() && program_.increments[both] >= 2);
  place.end = {both, program_.increments[both]};
  entry.counter = both;
  program_.early.push_back(entry);
  if (count(graph_.dependents(v)).finish > 0) return;
  ++program_.increments[kFinish];
  increment(place.end, kFinish);
}

// The join counters that start and end of v increment. Dependents without one hang on the same points themselves.
void Compiler::emit_successors(VertexId v) {
  const Place& place = places_[v];
  for (const Edge e : graph_.dependents(v)) {
    const CounterId join = places_[e.vertex].join;
    if (join == kNoCounter) continue;
    if (e.on_start) increment(place.start, join);
    else if (place.end.counter != kNoCounter) increment(place.end, join);
  }
}

void Compiler::address(VertexId v, Operation& operation) const {
  const Vertex& vertex = schedule_[v];
  operation.peer = vertex.peer;
  uint64_t bits = kSharedClass | vertex.tag;
  if (shared(v)) {
    if (vertex.kind == Kind::recv && vertex.tag == kAnyTag) {
      bits = kSharedClass;
      operation.any_tag = true;
    }
  } else {
    const std::optional<uint64_t> id = indexed_id(vertex.tag, index_[v]);
    if (!id) {
      throw ScheduleError(vertex.where, "the " + schedule_.describe(v) + " is number " + std::to_string(index_[v] + 1) +
                                            " of its peer and tag, and a tag as large as " + std::to_string(vertex.tag) +
                                            " has no room for so many messages; use smaller or more tags");
    }
    bits = *id;
  }
  operation.match_bits = bits | uint64_t{options_.context} << kContextShift;
}

}  // namespace

std::vector<uint32_t> running_indices(const Schedule& schedule) {
  std::vector<uint32_t> index(schedule.size());
  struct Class {
    uint64_t peer_and_tag = 0;
    uint32_t count = 0;
    Kind kind = Kind::calc;
  };
  std::vector<Class> classes(64);  // open addressing, at most half full
  const auto find = [](std::vector<Class>& in, uint64_t key, Kind kind) -> Class& {
    size_t i = ((key ^ key >> 23) * 0x9e3779b97f4a7c15 + static_cast<size_t>(kind)) >> 20 & (in.size() - 1);
    while (in[i].count != 0 && (in[i].peer_and_tag != key || in[i].kind != kind)) i = (i + 1) & (in.size() - 1);
    return in[i];
  };
  size_t used = 0;
  for (VertexId v = 0; v < schedule.size(); ++v) {
    const Vertex& vertex = schedule[v];
    if (!vertex.is_message()) continue;
    const uint64_t key = uint64_t{vertex.peer} << 32 | vertex.tag;
    Class& found = find(classes, key, vertex.kind);
    index[v] = found.count;
    found = {key, found.count + 1, vertex.kind};
    if (index[v] > 0 || 2 * ++used < classes.size()) continue;
    std::vector<Class> larger(2 * classes.size());
    for (const Class& one : classes)
      if (one.count != 0) find(larger, one.peer_and_tag, one.kind) = one;
    classes.swap(larger);
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

bool Wildcards::cover(uint32_t source, uint32_t tag) const { return all_ || tags_.contains(tag) || sources_.contains(source); }

Program in_context(Program program, uint16_t context, uint8_t epoch, uint32_t tag) {
  const uint64_t change = uint64_t(program.context ^ context) << kContextShift | uint64_t{epoch} << kEpochShift;
  for (std::vector<Operation>* operations : {&program.early, &program.triggered}) {
    for (Operation& operation : *operations) {
      if (operation.action != Action::put && operation.action != Action::append) continue;
      const uint64_t moved = uint64_t{tag} << 2 * (operation.match_bits >> kSplitShift & 15);
      if ((operation.match_bits & kAnyTagBits) + moved > kAnyTagBits)
        throw ScheduleError({}, "there are too many messages for a tag so large");
      operation.match_bits = (operation.match_bits ^ change) + moved;
    }
  }
  program.context = context;
  return program;
}

Program compile(const Schedule& schedule, const CompileOptions& options) { return Compiler(schedule, options).run(); }

}  // namespace portunus::goal
