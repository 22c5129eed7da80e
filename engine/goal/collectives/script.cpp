// Writing down what one rank does: see script.hpp.
//
// Thread: any; pure.
#include "engine/goal/collectives/script.hpp"

namespace portunus::goal::collectives {

VertexId Script::send(const Memory& from, uint64_t bytes, uint32_t peer, uint32_t tag) {
  if (bytes == 0) return kNoVertex;
  const VertexId v = step(builder_.send(from, bytes, rank_of(peer), tag_ + tag));
  builder_.exact(v);
  reads(v, from, bytes);
  return v;
}

VertexId Script::recv(const Memory& to, uint64_t bytes, uint32_t peer, uint32_t tag) {
  if (bytes == 0) return kNoVertex;
  const VertexId v = step(builder_.recv(to, bytes, rank_of(peer), tag_ + tag));
  builder_.exact(v);
  writes(v, to, bytes);
  return v;
}

VertexId Script::send_signal(uint32_t peer) {
  const VertexId v = step(builder_.send({}, 0, rank_of(peer), tag_));
  builder_.exact(v);
  return v;
}

VertexId Script::recv_signal(uint32_t peer) {
  const VertexId v = step(builder_.recv({}, 0, rank_of(peer), tag_));
  builder_.exact(v);
  return v;
}

VertexId Script::copy(const Memory& to, const Memory& from, uint64_t bytes) {
  if (bytes == 0 || to == from) return kNoVertex;
  const VertexId v = step(builder_.copy(to, from, bytes));
  reads(v, from, bytes);
  writes(v, to, bytes);
  return v;
}

VertexId Script::combine(const Element& element, const Memory& to, const Memory& a, const Memory& b, uint64_t count) {
  if (count == 0) return kNoVertex;
  const VertexId v = step(builder_.local(element.op, element.type, to, a, b, count));
  const uint64_t bytes = count * element.width();
  reads(v, a, bytes);
  reads(v, b, bytes);
  writes(v, to, bytes);
  return v;
}

VertexId Script::step(VertexId v) {
  asked_by_.push_back(kNoVertex);
  waits_.push_back(false);
  waited_for_.push_back(false);
  return v;
}

void Script::reads(VertexId v, const Memory& from, uint64_t bytes) {
  flow_.read(v, from, bytes, [&](VertexId before) { depend(v, before, After::finish); });
}

void Script::writes(VertexId v, const Memory& to, uint64_t bytes) {
  flow_.write(v, to, bytes, [&](VertexId before) { depend(v, before, After::finish); });
}

void Script::depend(VertexId dependent, VertexId prerequisite, After after) {
  if (dependent == kNoVertex || prerequisite == kNoVertex) return;
  waits_[dependent - first_] = true;
  if (after == After::start) {
    builder_.after_start(dependent, prerequisite);
    return;
  }
  VertexId& asked_by = asked_by_[prerequisite - first_];
  if (asked_by == dependent) return;  // several pieces of its memory have the same writer
  asked_by = dependent;
  waited_for_[prerequisite - first_] = true;
  builder_.after(dependent, prerequisite);
}

}  // namespace portunus::goal::collectives
