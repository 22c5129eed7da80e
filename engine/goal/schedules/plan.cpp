// Building and checking plans: see plan.hpp.
//
// Thread: application threads.
#include "engine/goal/schedules/plan.hpp"

#include <algorithm>
#include <cassert>
#include <string>

namespace portunus::goal {

namespace {

constexpr uint64_t kWidestElement = 32;            // a long double and a place
constexpr uint64_t kMaxBytes = uint64_t{1} << 62;  // so that sums of an offset and a size do not overflow

void check_scratchpad(uint64_t bytes) {
  if (bytes > kMaxBytes) throw ScheduleError({}, "the scratchpad would be larger than memory; use less of it");
}

bool is_bitwise(ptlx_local_op_t op) { return op == PTLX_AND || op == PTLX_OR || op == PTLX_XOR; }

// Checks one contiguous range; `what` begins the sentence.
void check_range(Plan& plan, VertexId v, const Memory& m, uint64_t bytes) {
  const auto fail = [&](const std::string& problem) {
    throw ScheduleError(plan.graph[v].where, "the " + plan.graph.describe(v) + " " + problem);
  };
  if (bytes > kMaxBytes || m.place > kMaxBytes) fail("works on more bytes than memory can hold; make it smaller");
  const std::string range = "works on bytes " + std::to_string(m.place) + " to " + std::to_string(m.place + bytes) + " of ";
  switch (m.space) {
    case Space::user:
      if (m.place == 0 && bytes > 0) fail("has no memory; give it an address");
      return;
    case Space::scratch:
      if (m.place + bytes > plan.scratch_bytes) {
        fail(range + "the scratchpad, which has " + std::to_string(plan.scratch_bytes) + "; make the scratchpad larger");
      }
      return;
    case Space::argument:
      if (m.number >= kMaxArguments) {
        fail("works on argument " + std::to_string(m.number) + ", but arguments go from 0 to " + std::to_string(kMaxArguments - 1));
      }
      if (m.number >= plan.argument_bytes.size()) plan.argument_bytes.resize(m.number + 1);
      plan.argument_bytes[m.number] = std::max(plan.argument_bytes[m.number], m.place + bytes);
      return;
    case Space::none:
    case Space::pieces: break;
  }
  if (bytes > 0) fail("has no memory; give it some");
}

void check_memory(Plan& plan, VertexId v, const Memory& m, uint64_t bytes) {
  if (m.space != Space::pieces) return check_range(plan, v, m, bytes);
  const auto fail = [&](const std::string& problem) {
    throw ScheduleError(plan.graph[v].where, "the " + plan.graph.describe(v) + " " + problem);
  };
  if (m.place > plan.pieces.size() || m.number > plan.pieces.size() - m.place) fail("has pieces that do not exist");
  uint64_t sum = 0;
  for (const Piece& piece : plan.pieces_of(m)) {
    if (piece.at.space == Space::pieces) fail("has a piece that is itself made of pieces; name all of them at once");
    check_range(plan, v, piece.at, piece.bytes);
    if (__builtin_add_overflow(sum, piece.bytes, &sum)) fail("works on more bytes than memory can hold; make it smaller");
  }
  if (sum != bytes) {
    fail("works on " + std::to_string(bytes) + " bytes, but its pieces have " + std::to_string(sum) + " together; make them equal");
  }
}

}  // namespace

uint32_t width_of(ptl_datatype_t type) {
  switch (type) {
    case PTL_INT8_T:
    case PTL_UINT8_T: return 1;
    case PTL_INT16_T:
    case PTL_UINT16_T: return 2;
    case PTL_INT32_T:
    case PTL_UINT32_T:
    case PTL_FLOAT: return 4;
    case PTL_INT64_T:
    case PTL_UINT64_T:
    case PTL_DOUBLE:
    case PTL_FLOAT_COMPLEX: return 8;
    case PTL_LONG_DOUBLE:
    case PTL_DOUBLE_COMPLEX: return 16;
    case PTLX_INT16_LOC: return 6;
    case PTLX_INT32_LOC:
    case PTLX_FLOAT_LOC: return 8;
    case PTLX_INT64_LOC:
    case PTLX_DOUBLE_LOC: return 12;
    case PTLX_LONG_DOUBLE_LOC: return 20;
    default: return 0;
  }
}

bool known(ptlx_local_op_t op, ptl_datatype_t type) {
  if (op == PTLX_TIMESTAMP) return true;
  if (static_cast<unsigned>(op) > PTLX_COPY || width_of(type) == 0) return false;
  if (type >= PTLX_INT16_LOC) return op == PTLX_MAX || op == PTLX_MIN || op == PTLX_COPY;
  const bool complex = type == PTL_FLOAT_COMPLEX || type == PTL_DOUBLE_COMPLEX;
  if (op == PTLX_DIV || op == PTLX_MAX || op == PTLX_MIN) return !complex;
  return !is_bitwise(op) || (!complex && type != PTL_FLOAT && type != PTL_DOUBLE && type != PTL_LONG_DOUBLE);
}

uint64_t Plan::bytes(VertexId v) const {
  const Work& work = works[v];
  if (graph[v].is_message()) return graph[v].size;
  if (graph[v].kind == Kind::calc) return 0;
  if (graph[v].kind == Kind::parked) return work.count;
  return work.op == PTLX_TIMESTAMP ? sizeof(uint64_t) : work.count * width_of(work.type);
}

void Plan::check() {
  assert(works.size() == graph.size());
  check_scratchpad(scratch_bytes);
  argument_bytes.clear();
  for (VertexId v = 0; v < graph.size(); ++v) {
    const Work& work = works[v];
    const bool local = graph[v].kind == Kind::local;
    if (graph[v].kind == Kind::calc) continue;
    const auto fail = [&](const char* problem) { throw ScheduleError(graph[v].where, "the " + graph.describe(v) + " " + problem); };
    if (local && !known(work.op, work.type)) fail("is an operation that its type does not have; bits are those of integers");
    if (local && has_a(work.op) && work.count > kMaxBytes / kWidestElement)
      fail("works on more elements than memory can hold; make it smaller");
    check_memory(*this, v, work.memory, bytes(v));
    if (local && has_a(work.op)) check_memory(*this, v, work.a, bytes(v));
    if (local && has_b(work.op)) check_memory(*this, v, work.b, bytes(v));
  }
}

VertexId Builder::add(const Vertex& vertex, std::string_view label, const Work& work) {
  plan_.works.push_back(work);
  try {
    assert(plan_.works.size() == size_t{plan_.graph.size()} + 1);
    return plan_.graph.add(vertex, label);
  } catch (...) {
    plan_.works.pop_back();
    throw;
  }
}

VertexId Builder::send(const Memory& from, uint64_t bytes, uint32_t peer, uint32_t tag) {
  Vertex vertex;
  vertex.kind = Kind::send;
  vertex.size = bytes;
  vertex.peer = peer;
  vertex.tag = tag;
  return add(vertex, {}, {.memory = from, .a = {}, .b = {}});
}

VertexId Builder::recv(const Memory& to, uint64_t bytes, uint32_t peer, uint32_t tag) {
  Vertex vertex;
  vertex.kind = Kind::recv;
  vertex.size = bytes;
  vertex.peer = peer;
  vertex.tag = tag;
  return add(vertex, {}, {.memory = to, .a = {}, .b = {}});
}

VertexId Builder::local(ptlx_local_op_t op, ptl_datatype_t type, const Memory& dst, const Memory& a, const Memory& b, uint64_t count) {
  Vertex vertex;
  vertex.kind = Kind::local;
  return add(vertex, {}, {.memory = dst, .a = a, .b = b, .count = count, .op = op, .type = type});
}

VertexId Builder::copy(const Memory& to, const Memory& from, uint64_t bytes) { return local(PTLX_COPY, PTL_UINT8_T, to, from, {}, bytes); }

VertexId Builder::timestamp(const Memory& to) { return local(PTLX_TIMESTAMP, PTL_UINT64_T, to, {}, {}, 1); }

VertexId Builder::parked(const Parked& operations, uint32_t count, uint32_t peer, const Memory& memory, uint64_t bytes) {
  Vertex vertex;
  vertex.kind = Kind::parked;
  vertex.size = count;
  vertex.peer = peer;
  vertex.tag = static_cast<uint32_t>(plan_.parked.size());
  plan_.parked.push_back(operations);
  return add(vertex, {}, {.memory = memory, .a = {}, .b = {}, .count = bytes});
}

VertexId Builder::delay(uint64_t duration_ns) {
  Vertex vertex;
  vertex.size = duration_ns;
  return add(vertex, {}, {});
}

void Builder::after(VertexId v, std::span<const VertexId> prerequisites) {
  for (const VertexId p : prerequisites) after(v, p);
}

void Builder::scratch_bytes(uint64_t bytes) {
  check_scratchpad(bytes);
  plan_.scratch_bytes = bytes;
}

Memory Builder::scratch(uint64_t bytes, uint64_t alignment) {
  const uint64_t begin = (plan_.scratch_bytes + alignment - 1) / alignment * alignment;
  check_scratchpad(std::max(bytes, begin));
  plan_.scratch_bytes = begin + bytes;
  return scratchpad(begin);
}

Memory Builder::pieces(std::span<const Piece> pieces) {
  const uint64_t first = plan_.pieces.size();
  plan_.pieces.insert(plan_.pieces.end(), pieces.begin(), pieces.end());
  return {Space::pieces, static_cast<uint32_t>(pieces.size()), first};
}

Plan Builder::finish() {
  plan_.graph.finish();
  plan_.check();
  return std::move(plan_);
}

}  // namespace portunus::goal
