// Collectives through slots in which two ranks alone know how much the one gives the other: see slot_call.hpp.
//
// Thread: as slot_call.hpp says.
#include <cassert>
#include <cstring>

#include "engine/goal/node/slot_call.hpp"
#include "engine/host/copy_run.hpp"

namespace portunus::goal::node {

namespace {

const std::byte* place(const void* base, std::ptrdiff_t offset) { return static_cast<const std::byte*>(base) + offset; }

void copy(std::byte* to, const std::byte* from, size_t bytes) {
  if (bytes > 0 && to != from) copy_run(to, from, bytes);
}

}  // namespace

void SlotCall::give_parts(std::byte* to, size_t room) {
  const bool is_one = call_.kind == GOAL_CALL_GATHERV;
  const size_t parts = is_one ? 1 : size_;
  assert(parts * sizeof(Part) <= room);
  size_t next = parts * sizeof(Part);
  for (size_t i = 0; i < parts; ++i) {
    const size_t bytes = is_one ? call_.bytes : i == rank_ ? 0 : call_.in_sizes[i];
    const std::byte* const from = is_one      ? static_cast<const std::byte*>(call_.in)
                                  : bytes > 0 ? place(call_.in, call_.in_places[i])
                                              : nullptr;
    Part part{next, bytes};
    if (bytes <= room - next) {
      copy(to + next, from, bytes);
      next += bytes;
    } else {
      part.at = PeerMemory::in_process(from);
      lends_ = true;
    }
    std::memcpy(to + i * sizeof part, &part, sizeof part);
  }
}

int SlotCall::take_parts(const Slots& slots, const PeerMemory& others) const {
  const bool is_gather = call_.kind == GOAL_CALL_GATHERV, is_scatter = call_.kind == GOAL_CALL_SCATTERV;
  const bool is_root = !is_gather && !is_scatter ? false : rank_ == static_cast<size_t>(call_.root);
  auto* const out = static_cast<std::byte*>(call_.out);
  if (is_scatter && is_root) {
    if (const size_t own = call_.in_sizes[rank_]; out && own > 0) copy(out, place(call_.in, call_.in_places[rank_]), own);
    return GOAL_SUCCESS;
  }
  int code = GOAL_SUCCESS;
  for (size_t i = first_; i < end_; ++i) {
    const size_t bytes = is_scatter ? call_.bytes : call_.out_sizes[i];
    std::byte* const to = is_scatter ? out : bytes > 0 ? out + call_.out_places[i] : nullptr;
    if (i == rank_) {
      if (bytes > 0) copy(to, is_gather ? static_cast<const std::byte*>(call_.in) : place(call_.in, call_.in_places[i]), bytes);
      continue;
    }
    Part part;
    std::memcpy(&part, slots.data(i, number_, given_) + (is_gather ? 0 : rank_) * sizeof part, sizeof part);
    if (part.bytes != bytes) {
      code = GOAL_MISMATCH;
    } else if (bytes > 0 && PeerMemory::lies_in_process(part.at)) {
      const auto read = others.read(i, part.at, 0, bytes, to);
      if (read == PeerMemory::Read::gone) return GOAL_ERR_FAILED;
      if (read == PeerMemory::Read::refused) code = GOAL_MISMATCH;  // no memory of its process is there
    } else if (bytes > 0) {
      if (part.at > slots.room() || bytes > slots.room() - part.at) return GOAL_MISMATCH;
      copy_run(to, slots.data(i, number_, given_) + part.at, bytes);
    }
  }
  return code;
}

// All have, too, if the slot has been written again.
bool SlotCall::all_have_taken(const Slots& slots) const {
  if (call_.kind == GOAL_CALL_GATHERV) return slots.has_taken(static_cast<size_t>(call_.root), number_);
  if (!slots.has_posted(rank_, number_)) return true;
  for (size_t i = 0; i < size_; ++i) {
    Part part;
    std::memcpy(&part, slots.data(rank_, number_, given_) + i * sizeof part, sizeof part);
    if (PeerMemory::lies_in_process(part.at) && !slots.has_taken(i, number_)) return false;
  }
  return true;
}

}  // namespace portunus::goal::node
