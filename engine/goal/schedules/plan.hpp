// A schedule together with what its operations work on: what a program builds and the compiler takes.
//
//     Builder b;
//     const Memory box = b.scratch(8);
//     const VertexId in = b.recv(box, 8, left), add = b.local(PTLX_ADD, PTL_INT64_T, user(&sum), user(&sum), box, 1);
//     b.after(add, in);
//     const Plan plan = b.finish();      // then compile.hpp, instance.hpp
//
// Memory is named, not pointed at, so that a plan may be built in one place and executed in another: as bytes of the
// schedule's scratchpad, which every instance has one of; as bytes of its argument number k, memory that is given with
// the instance; or as an address of this process. Arguments and addresses of one instance that are different names must
// be different memory: the compiler takes overlapping names only for hazards.
//
// Thread: application threads, one at a time per object.
// Invariants: works has one element per vertex of graph; a piece is never itself made of pieces.
// Source: the calls of ESPGOAL: Schneider, Eckelmann, Hoefler, Rehm, "Kernel-based offload of collective operations",
// Euro-Par 2011.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "engine/goal/schedules/schedule.hpp"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::goal {

enum class Space : uint8_t { none, user, scratch, argument, pieces };

// The address at which an operation's bytes begin, or of which pieces they consist.
struct Memory {
  Space space = Space::none;
  uint32_t number = 0;  // which argument; how many pieces
  uint64_t place = 0;   // address; offset; index of the first piece in Plan::pieces
  friend bool operator==(const Memory&, const Memory&) = default;
};
static_assert(sizeof(Memory) == 16);

inline Memory user(const void* address) { return {Space::user, 0, reinterpret_cast<uintptr_t>(address)}; }
inline Memory scratchpad(uint64_t offset) { return {Space::scratch, 0, offset}; }
inline Memory argument(uint32_t number, uint64_t offset = 0) { return {Space::argument, number, offset}; }
// Not for memory in pieces.
inline Memory operator+(Memory m, uint64_t bytes) { return {m.space, m.number, m.place + bytes}; }

struct Piece {
  Memory at;
  uint64_t bytes = 0;
};

// Triggered operations that a function of the program parks, as GOAL_Park says.
struct Parked {
  int (*park)(void* argument, ptl_handle_ct_t trigger, ptl_size_t threshold, ptl_handle_ct_t counter) = nullptr;
  void* argument = nullptr;
};

// The operands of a vertex. Sends, receives and what is parked use `memory` alone; local work all of it.
struct Work {
  Memory memory;  // source of a send, else the destination
  Memory a, b;
  uint64_t count = 0;  // elements; bytes of what is parked
  ptlx_local_op_t op = PTLX_COPY;
  ptl_datatype_t type = PTL_UINT8_T;
  bool exact = false;  // a message that has as many bytes as its receive
};

inline constexpr uint32_t kMaxArguments = 1024;

struct Plan {
  Schedule graph;  // finished
  std::vector<Work> works;
  std::vector<Piece> pieces;
  std::vector<Parked> parked;
  std::vector<Piece> exposed;  // which others change while it runs
  uint64_t scratch_bytes = 0;
  std::vector<uint64_t> argument_bytes;  // how much of each argument is used

  // Bytes of each of the memories of v: the message, the elements, or what is parked.
  [[nodiscard]] uint64_t bytes(VertexId v) const;
  // Calls f(memory, bytes, written) for each contiguous range that v works on.
  template <class F>
  void each_range(VertexId v, F&& f) const;
  // The pieces of a memory that consists of some.
  [[nodiscard]] std::span<const Piece> pieces_of(const Memory& m) const { return std::span(pieces).subspan(m.place, m.number); }
  // Throws ScheduleError if an operation leaves the scratchpad or is not as it must be. Sets argument_bytes.
  void check();
};

// Bytes of one element; 0 for types that local work does not know.
[[nodiscard]] uint32_t width_of(ptl_datatype_t type);
[[nodiscard]] bool known(ptlx_local_op_t op, ptl_datatype_t type);
// Which of a and b the operation has.
[[nodiscard]] inline bool has_a(ptlx_local_op_t op) { return op < PTLX_TIMESTAMP; }
[[nodiscard]] inline bool has_b(ptlx_local_op_t op) { return op < PTLX_COPY; }

// Throws ScheduleError for what can never be an operation, and std::bad_alloc.
class Builder {
 public:
  VertexId send(const Memory& from, uint64_t bytes, uint32_t peer, uint32_t tag = 0);
  VertexId recv(const Memory& to, uint64_t bytes, uint32_t peer, uint32_t tag = 0);
  // dst[i] = a[i] op b[i]; dst may be a or b, but must not overlap them otherwise.
  VertexId local(ptlx_local_op_t op, ptl_datatype_t type, const Memory& dst, const Memory& a, const Memory& b, uint64_t count);
  VertexId copy(const Memory& to, const Memory& from, uint64_t bytes);
  VertexId timestamp(const Memory& to);  // writes CLOCK_MONOTONIC nanoseconds as uint64_t
  VertexId delay(uint64_t duration_ns);
  // Promises that the message has as many bytes as its receive.
  void exact(VertexId message) { plan_.works[message].exact = true; }
  // Ends when `count` successes have been counted. It reads and writes `memory`.
  VertexId parked(const Parked& operations, uint32_t count, uint32_t peer, const Memory& memory, uint64_t bytes);
  VertexId join() { return delay(0); }  // nothing: ends when what it waits for has; costs no operation
  VertexId add(const Vertex& vertex, std::string_view label, const Work& work);

  void after(VertexId v, VertexId prerequisite) { plan_.graph.add_dependency(v, prerequisite); }
  void after(VertexId v, std::span<const VertexId> prerequisites);
  void after(VertexId v, std::initializer_list<VertexId> prerequisites) { after(v, std::span(prerequisites)); }
  void after_start(VertexId v, VertexId prerequisite) { plan_.graph.add_dependency(v, prerequisite, After::start); }
  // v starts when `count` of what it waits for has happened, not all.
  void needs(VertexId v, uint32_t count) { plan_.graph.set_needs(v, count); }

  // Fresh bytes of the scratchpad.
  Memory scratch(uint64_t bytes, uint64_t alignment = 64);
  // Sets the size of the scratchpad for those who divide it themselves. Throws ScheduleError.
  void scratch_bytes(uint64_t bytes);
  // Memory made of pieces, in their order.
  Memory pieces(std::span<const Piece> pieces);

  // Others change these bytes while the plan is executed. Not for memory in pieces.
  void expose(const Memory& memory, uint64_t bytes) { plan_.exposed.push_back({memory, bytes}); }

  [[nodiscard]] const Plan& plan() const { return plan_; }
  // Closes the graph: throws ScheduleError for cycles and for work outside of the scratchpad.
  [[nodiscard]] Plan finish();

 private:
  Plan plan_;
};

template <class F>
void Plan::each_range(VertexId v, F&& f) const {
  const uint64_t size = bytes(v);
  const auto visit = [&](const Memory& m, bool written) {
    if (m.space != Space::pieces) return f(m, size, written);
    for (const Piece& piece : pieces_of(m)) f(piece.at, piece.bytes, written);
  };
  const Work& work = works[v];
  if (graph[v].is_message()) return visit(work.memory, graph[v].kind == Kind::recv);
  if (graph[v].kind == Kind::calc) return;
  visit(work.memory, true);
  if (graph[v].kind == Kind::parked) return;
  if (has_a(work.op)) visit(work.a, false);
  if (has_b(work.op)) visit(work.b, false);
}

}  // namespace portunus::goal
