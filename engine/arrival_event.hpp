// arrival_event.hpp: what an event at the target tells of the message itself. Thread: the baton holder.
// Source: Portals 4.3, ptl_event_t.
#pragma once

#include <atomic>

#include "engine/interface.hpp"
#include "engine/transport/wire.hpp"
#include "portals/portals4_ext.h"

namespace portunus {

// `source`: as match lists keep it, a rank or a packed nid and pid.
inline ptl_process_t initiator_of(const Interface& ni, uint64_t source) {
  ptl_process_t id;
  if (ni.logical()) {
    id.phys = {0, 0};
    id.rank = static_cast<ptl_rank_t>(source);
  } else {
    id.phys = {static_cast<ptl_nid_t>(source >> 32), static_cast<ptl_pid_t>(source)};
  }
  return id;
}

// Of messages that are counted: PTLX_ME_COUNT_MISFITS, just before.
inline void note_length(const ListEntry& entry, uint64_t rlength) {
  if (!(entry.options & PTLX_ME_COUNT_MISFITS) || rlength == entry.length) [[likely]]
    return;
  const std::atomic_ref<uint64_t> misfits(*static_cast<uint64_t*>(entry.user_ptr));  // whoever has the baton is its only writer
  misfits.store(misfits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// What the event would tell, where the user wants it (PTLX_ME_RECORD). The state is released, for who looks there, and then the number of
// records, for who waits.
inline void write_record(Interface& ni, const ListEntry& entry, const wire::Header& header, uint64_t mlength, ptl_ni_fail_t fail) {
  auto& record = *static_cast<ptlx_record_t*>(entry.user_ptr);
  record.ni_fail_type = fail;
  record.match_bits = header.match_bits;
  record.mlength = mlength;
  record.rlength = header.rlength;
  std::atomic_ref<uint32_t>(record.state).store(PTLX_RECORDED, std::memory_order_release);
  ni.recorded.store(ni.recorded.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// Type, list, user pointer, uid and fail type are the caller's business. Inline, so that it never lies in memory before it lies in a queue.
[[gnu::always_inline]] inline ptl_event_t arrival_event(const Interface& ni, const wire::Header& header, uint64_t source, void* start,
                                                        uint64_t mlength) {
  ptl_event_t event{};
  event.start = start;
  event.hdr_data = header.hdr_data;
  event.match_bits = header.match_bits;
  event.rlength = header.rlength;
  event.mlength = mlength;
  event.remote_offset = header.remote_offset;
  event.initiator = initiator_of(ni, source);
  event.pt_index = header.pt_index;
  event.atomic_operation = header.op;
  event.atomic_type = header.datatype;
  return event;
}

}  // namespace portunus
