// One rank's GOAL schedule: what it sends, receives and computes, and what waits for what.
//
// A vertex is an operation; an edge says that its dependent may begin only after its prerequisite finished
// ("requires") or began ("irequires"). Built with send/recv/calc/add and add_dependency, closed by finish(),
// then only read. Whether the ranks fit together is asked in validate.hpp.
//
// Thread: application threads, one at a time per object; the engine never sees a schedule.
// Invariants: after finish() the graph has no cycle, no two edges join the same pair of vertices, and both
// edge lists are sorted by vertex. Vertex ids are the order of creation, which is program order.
// Source: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language", ICPP 2009; the text language of
// LogGOPSim.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace portunus::goal {

using VertexId = uint32_t;

inline constexpr VertexId kNoVertex = 0xffffffff;
inline constexpr uint32_t kAnySource = 0xffffffff;  // a receive's peer, written -1
inline constexpr uint32_t kAnyTag = 0xffffffff;     // a receive's tag, written -1
inline constexpr uint32_t kMaxVertices = 0x7fffffff;

// A place in a GOAL text, both numbers from 1, columns in bytes; line 0 for schedules built by calls.
struct Position {
  uint32_t line = 0;
  uint32_t column = 0;
};

// Something in a schedule that cannot be executed. what() is "LINE:COLUMN: MESSAGE", or the message alone
// where there is no text.
struct ScheduleError : std::runtime_error {
  ScheduleError(Position where, const std::string& sentence);
  uint32_t line;
  uint32_t column;
  std::string message;
};

// Operations wait for each other in a circle.
struct CycleError : ScheduleError {
  using ScheduleError::ScheduleError;
};

// calc passes time; local work of the engine on memory, and operations that the program parks itself, are described by a Plan (plan.hpp).
enum class Kind : uint8_t { send, recv, calc, local, parked };

struct Vertex {
  uint64_t size = 0;  // bytes; nanoseconds for calc; how many successes are the end of what is parked
  uint32_t peer = 0;  // destination of a send or of what is parked, source of a receive
  uint32_t tag = 0;   // of what is parked: its number in Plan::parked
  Position where;
  uint32_t label_offset = 0;  // set by Schedule::add
  uint32_t label_length = 0;
  Kind kind = Kind::calc;
  uint8_t cpu = 0;
  uint8_t nic = 0;
  uint32_t needs = 0;  // starts when so many of what it waits for have happened; 0: all

  [[nodiscard]] bool is_message() const { return kind <= Kind::recv; }
};
static_assert(sizeof(Vertex) == 40);

// The event of the prerequisite that the dependent of an edge waits for.
enum class After : uint8_t { finish, start };

// The far end of an edge, seen from one of its vertices.
struct Edge {
  uint32_t vertex : 31;
  uint32_t on_start : 1;  // 1 for irequires
};
static_assert(sizeof(Edge) == 4);

class Schedule {
 public:
  VertexId send(uint64_t bytes, uint32_t peer, uint32_t tag = 0);
  VertexId recv(uint64_t bytes, uint32_t peer, uint32_t tag = 0);
  VertexId calc(uint64_t duration_ns);

  // Adds an operation; throws ScheduleError if the label is taken. An empty label is no label.
  VertexId add(const Vertex& vertex, std::string_view label);

  // `dependent` may begin only after `prerequisite` finished or started. A pair may be given twice; finish
  // includes start.
  void add_dependency(VertexId dependent, VertexId prerequisite, After after = After::finish);

  // v starts when `count` of what it waits for have happened (1: any of them), not all.
  void set_needs(VertexId v, uint32_t count);

  // Says what a vertex is after all: a reader may know it only after the graph. At any time.
  void amend(VertexId v, Kind kind, uint64_t size);

  // Builds the edge lists. Throws ScheduleError naming the operations that wait for each other in a circle, or one that
  // needs more than it waits for.
  void finish();

  // Throws ScheduleError naming an operation that needs more than it waits for.
  void refuse_starving() const;

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(vertices_.size()); }
  [[nodiscard]] std::span<const Vertex> vertices() const { return vertices_; }
  [[nodiscard]] const Vertex& operator[](VertexId v) const { return vertices_[v]; }

  // The vertices that v waits for, and those that wait for v. Valid after finish().
  [[nodiscard]] std::span<const Edge> prerequisites(VertexId v) const { return prerequisites_.row(v); }
  [[nodiscard]] std::span<const Edge> dependents(VertexId v) const { return dependents_.row(v); }
  // Does v start before everything that it waits for has happened?
  [[nodiscard]] bool is_choice(VertexId v) const { return vertices_[v].needs != 0 && vertices_[v].needs < prerequisites(v).size(); }
  [[nodiscard]] uint64_t num_edges() const { return prerequisites_.edges.size(); }
  // Does everything wait only for what was created before it?
  [[nodiscard]] bool is_in_order() const { return in_order_; }

  [[nodiscard]] std::string_view label(VertexId v) const;
  // The vertex with this label, or kNoVertex.
  [[nodiscard]] VertexId find(std::string_view label) const;
  // How an error names the operation: kind, label and place, as far as they are known.
  [[nodiscard]] std::string describe(VertexId v) const;

 private:
  struct Rows {  // compressed sparse rows: row v is edges[first[v] .. first[v + 1])
    std::vector<uint32_t> first;
    std::vector<Edge> edges;
    [[nodiscard]] std::span<const Edge> row(VertexId v) const { return std::span(edges).subspan(first[v], first[v + 1] - first[v]); }
  };
  struct Pending {
    VertexId dependent;
    Edge prerequisite;
  };

  struct Slot {
    uint32_t hash = 0;
    VertexId vertex = kNoVertex;
  };

  size_t slot_of(std::string_view label, uint32_t hash) const;
  void grow_index();
  void gather_prerequisites();
  void gather_dependents();
  void refuse_cycles() const;

  std::vector<Vertex> vertices_;
  std::string labels_;       // the text of all labels, one after the other
  std::vector<Slot> index_;  // open addressing by label, a power of two long, at most half full
  uint32_t num_labels_ = 0;
  std::vector<Pending> pending_;  // until finish()
  Rows prerequisites_;
  Rows dependents_;
  bool in_order_ = true;
};

}  // namespace portunus::goal
