// The schedule of one rank: see schedule.hpp.
//
// Thread: application threads.
// Invariants: index_ holds exactly the labelled vertices; before finish() the rows are empty.
#include "engine/goal/schedules/schedule.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "engine/goal/schedules/cycle.hpp"

namespace portunus::goal {

namespace {

std::string place(Position where) { return std::to_string(where.line) + ":" + std::to_string(where.column); }

// A hash over words of the label, the last of which overlaps the one before it.
uint32_t hash_of(std::string_view label) {
  const auto word = [&](size_t at) {
    uint32_t bytes = 0;
    std::memcpy(&bytes, label.data() + at, sizeof bytes);
    return bytes;
  };
  uint64_t h = label.size();
  const auto mix = [&h](uint64_t bytes) {
    h = (h ^ bytes) * 0x9e3779b97f4a7c15;
    h ^= h >> 32;
  };
  if (label.size() < sizeof(uint32_t)) {
    for (const char c : label) h = h << 8 | static_cast<unsigned char>(c);
  } else {
    for (size_t at = 0; at + sizeof(uint32_t) < label.size(); at += sizeof(uint32_t)) mix(word(at));
    mix(word(label.size() - sizeof(uint32_t)));
  }
  mix(0);
  return static_cast<uint32_t>(h);
}

const char* name(Kind kind) {
  switch (kind) {
    case Kind::send: return "send";
    case Kind::recv: return "recv";
    case Kind::calc: return "calc";
    case Kind::local: return "local operation";
    case Kind::parked: return "operation of the program";
  }
  return "operation";
}

}  // namespace

ScheduleError::ScheduleError(Position where, const std::string& sentence)
    : std::runtime_error(where.line == 0 ? sentence : place(where) + ": " + sentence),
      line(where.line),
      column(where.column),
      message(sentence) {}

VertexId Schedule::send(uint64_t bytes, uint32_t peer, uint32_t tag) {
  Vertex v;
  v.kind = Kind::send;
  v.size = bytes;
  v.peer = peer;
  v.tag = tag;
  return add(v, {});
}

VertexId Schedule::recv(uint64_t bytes, uint32_t peer, uint32_t tag) {
  Vertex v;
  v.kind = Kind::recv;
  v.size = bytes;
  v.peer = peer;
  v.tag = tag;
  return add(v, {});
}

VertexId Schedule::calc(uint64_t duration_ns) {
  Vertex v;
  v.kind = Kind::calc;
  v.size = duration_ns;
  return add(v, {});
}

VertexId Schedule::add(const Vertex& vertex, std::string_view label) {
  if (vertices_.size() == kMaxVertices || labels_.size() + label.size() > 0xffffffff) {
    throw ScheduleError(vertex.where,
                        "the schedule of one rank holds at most 2147483647 operations and 4 GiB of "
                        "labels; spread the work over more ranks or drop labels");
  }
  const VertexId v = size();
  Vertex stored = vertex;
  stored.label_offset = static_cast<uint32_t>(labels_.size());
  stored.label_length = static_cast<uint32_t>(label.size());
  if (!label.empty()) {
    if (2 * (num_labels_ + size_t{1}) > index_.size()) grow_index();
    const uint32_t hash = hash_of(label);
    Slot& slot = index_[slot_of(label, hash)];
    if (slot.vertex != kNoVertex) {
      throw ScheduleError(vertex.where, "the label \"" + std::string(label) + "\" is already that of the " + describe(slot.vertex) +
                                            "; give one of the two another label");
    }
    assert(2 * size_t{num_labels_} < index_.size());
    slot = {hash, v};
    ++num_labels_;
    labels_ += label;
  }
  vertices_.push_back(stored);
  return v;
}

void Schedule::add_dependency(VertexId dependent, VertexId prerequisite, After after) {
  assert(dependent < size() && prerequisite < size());
  if (pending_.size() == 0xffffffff) {
    throw ScheduleError(vertices_[dependent].where,
                        "the schedule of one rank holds at most 4294967295 "
                        "dependencies; leave out those that others imply");
  }
  pending_.push_back({dependent, Edge{prerequisite & kMaxVertices, after == After::start ? 1u : 0u}});
}

void Schedule::set_needs(VertexId v, uint32_t count) {
  assert(v < size());
  vertices_[v].needs = count;
}

void Schedule::amend(VertexId v, Kind kind, uint64_t size) {
  assert(v < vertices_.size());
  vertices_[v].kind = kind;
  vertices_[v].size = size;
}

void Schedule::finish() {
  gather_prerequisites();
  pending_ = {};
  gather_dependents();
  vertices_.shrink_to_fit();
  labels_.shrink_to_fit();
  refuse_cycles();
  refuse_starving();
}

// Sorts the dependencies by dependent and keeps one per pair. "requires" stands before "irequires" in the
// order, so the stronger one of a pair stays.
void Schedule::gather_prerequisites() {
  Rows& rows = prerequisites_;
  std::vector<uint32_t> next(vertices_.size() + 1);
  for (const Pending& p : pending_) ++next[p.dependent + 1];
  for (size_t v = 1; v < next.size(); ++v) next[v] += next[v - 1];
  rows.first = next;
  rows.edges.resize(pending_.size());
  for (const Pending& p : pending_) rows.edges[next[p.dependent]++] = p.prerequisite;

  uint32_t kept = 0;
  for (VertexId v = 0; v < size(); ++v) {
    const auto begin = rows.edges.begin() + rows.first[v];
    const auto end = rows.edges.begin() + rows.first[v + 1];
    auto last = end;
    if (end - begin > 1) {
      std::sort(begin, end, [](Edge a, Edge b) { return a.vertex != b.vertex ? a.vertex < b.vertex : a.on_start < b.on_start; });
      last = std::unique(begin, end, [](Edge a, Edge b) { return a.vertex == b.vertex; });
    }
    // Rows only move towards the front, so the row after this one is still untouched.
    rows.first[v] = kept;
    for (auto e = begin; e != last; ++e) rows.edges[kept++] = *e;
    if (kept > rows.first[v] && rows.edges[kept - 1].vertex >= v) in_order_ = false;
  }
  rows.first[size()] = kept;
  rows.edges.resize(kept);
  rows.edges.shrink_to_fit();
}

void Schedule::gather_dependents() {
  std::vector<uint32_t> next(vertices_.size() + 1);
  for (const Edge e : prerequisites_.edges) ++next[e.vertex + 1];
  for (size_t v = 1; v < next.size(); ++v) next[v] += next[v - 1];
  dependents_.first = next;
  dependents_.edges.resize(prerequisites_.edges.size());
  for (VertexId v = 0; v < size(); ++v) {
    for (const Edge e : prerequisites(v)) dependents_.edges[next[e.vertex]++] = Edge{v & kMaxVertices, e.on_start};
  }
}

void Schedule::refuse_cycles() const {
  if (in_order_) return;
  // From dependent to prerequisite, so that the sentence reads in the order of the text's "requires".
  const std::vector<VertexId> cycle = find_cycle(size(), [&](VertexId v, auto&& visit) {
    for (const Edge e : prerequisites(v)) visit(VertexId{e.vertex});
  });
  if (cycle.empty()) return;
  std::string sentence;
  if (cycle.size() == 1) {
    sentence = "the " + describe(cycle[0]) + " waits for itself";
  } else {
    sentence = "operations wait for each other in a circle: the " + describe(cycle[0]);
    for (size_t i = 1; i < std::min(cycle.size(), kCycleNames); ++i) {
      sentence += " waits for the " + describe(cycle[i]) + ", which";
    }
    if (cycle.size() > kCycleNames) sentence += " waits (" + std::to_string(cycle.size() - kCycleNames) + " more), which";
    sentence += " waits for the first";
  }
  throw CycleError(vertices_[cycle[0]].where, sentence + "; remove one of these dependencies");
}

void Schedule::refuse_starving() const {
  for (VertexId v = 0; v < size(); ++v) {
    const size_t waits_for = prerequisites(v).size();
    if (vertices_[v].needs <= waits_for) continue;
    throw ScheduleError(vertices_[v].where, "the " + describe(v) + " needs " + std::to_string(vertices_[v].needs) +
                                                " of what it waits for, which is only " + std::to_string(waits_for) +
                                                "; let it wait for more, or need less");
  }
}

std::string_view Schedule::label(VertexId v) const {
  return std::string_view(labels_).substr(vertices_[v].label_offset, vertices_[v].label_length);
}

VertexId Schedule::find(std::string_view label) const {
  return label.empty() || index_.empty() ? kNoVertex : index_[slot_of(label, hash_of(label))].vertex;
}

std::string Schedule::describe(VertexId v) const {
  std::string text = name(vertices_[v].kind);
  if (vertices_[v].label_length != 0) text += " \"" + std::string(label(v)) + "\"";
  if (vertices_[v].where.line != 0) return text + " (" + place(vertices_[v].where) + ")";
  return vertices_[v].label_length != 0 ? text : text + " number " + std::to_string(v);
}

// The slot of the label, or the one that it would get.
size_t Schedule::slot_of(std::string_view wanted, uint32_t hash) const {
  size_t i = hash & (index_.size() - 1);
  while (index_[i].vertex != kNoVertex && (index_[i].hash != hash || label(index_[i].vertex) != wanted)) i = (i + 1) & (index_.size() - 1);
  return i;
}

void Schedule::grow_index() {
  std::vector<Slot> larger(std::max<size_t>(16, 2 * index_.size()));
  for (const Slot& slot : index_) {
    if (slot.vertex == kNoVertex) continue;
    size_t i = slot.hash & (larger.size() - 1);
    while (larger[i].vertex != kNoVertex) i = (i + 1) & (larger.size() - 1);
    larger[i] = slot;
  }
  index_ = std::move(larger);
}

}  // namespace portunus::goal
