// events.cpp: reporting. Queues and counters are named by handle and looked up when something is reported, so an
// object that its user has freed meanwhile simply takes no more reports.
#include "engine/arrival_event.hpp"
#include "engine/engine.hpp"

namespace portunus {

// Inline where an event is put together field by field, so that it never lies in memory before it lies in the queue.
[[gnu::always_inline]] inline void Engine::post_inline(uint32_t eq, const ptl_event_t& event) {
  if (eq == PTL_EQ_NONE) return;
  EventQueue* queue = objects_.queues.find(eq);
  if (!queue) {
    ++stats_.stale_events;
    return;
  }
  queue->post(event);
  posted = true;
}

void Engine::post(uint32_t eq, const ptl_event_t& event) { post_inline(eq, event); }

void Engine::count(uint32_t ct, uint64_t success, uint64_t failure) {
  if (ct == PTL_CT_NONE) return;
  if (Counter* counter = objects_.counters.find(ct))
    add_to_counter(*counter, success, failure);
  else
    ++stats_.stale_events;
}

// LINK, AUTO_UNLINK, AUTO_FREE: events about an entry rather than a message.
void Engine::entry_event(const ListEntry& entry, ptl_event_kind_t type) {
  PortalEntry* portal = interfaces_[entry.ni].portals[entry.pt_index].get();
  if (!portal || portal->eq == PTL_EQ_NONE) return;
  ptl_event_t event{};
  event.type = type;
  event.user_ptr = entry.user_ptr;
  event.pt_index = entry.pt_index;
  event.ptl_list = entry.list;
  event.ni_fail_type = PTL_NI_OK;
  post(portal->eq, event);
}

namespace {

ptl_event_kind_t comm_event(wire::Kind kind) {
  switch (kind) {
    case wire::Kind::get: return PTL_EVENT_GET;
    case wire::Kind::atomic: return PTL_EVENT_ATOMIC;
    case wire::Kind::fetch_atomic:
    case wire::Kind::swap: return PTL_EVENT_FETCH_ATOMIC;
    default: return PTL_EVENT_PUT;
  }
}

}  // namespace

// The communication event of a message at its target, and the counts that go with it.
void Engine::delivery_event(const Delivery& delivery, ptl_ni_fail_t fail) {
  const ListEntry& entry = *delivery.entry;
  Interface& ni = interfaces_[entry.ni];
  if (entry.options & PTL_ME_EVENT_CT_COMM) {
    note_length(entry, delivery.header.rlength);
    if (fail != PTL_NI_OK)
      count(entry.ct, 0, 1);
    else
      count(entry.ct, entry.options & PTL_ME_EVENT_CT_BYTES ? delivery.mlength : 1, 0);
  }
  if (entry.options & PTLX_ME_RECORD) {
    write_record(ni, entry, delivery.header, delivery.mlength, fail);
    posted = true;
    return;
  }
  PortalEntry* portal = ni.portals[entry.pt_index].get();
  if (!portal || portal->eq == PTL_EQ_NONE || (entry.options & PTL_ME_EVENT_COMM_DISABLE)) return;
  if (fail == PTL_NI_OK && (entry.options & PTL_ME_EVENT_SUCCESS_DISABLE)) return;
  ptl_event_t event = arrival_event(ni, delivery.header, delivery.source, entry.memory.at(delivery.offset), delivery.mlength);
  event.user_ptr = entry.user_ptr;
  event.uid = delivery.peer->link ? delivery.peer->link->uid : uid_;
  event.type = comm_event(delivery.header.kind);
  event.ptl_list = delivery.overflow ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST;
  event.ni_fail_type = fail;
  post_inline(portal->eq, event);
}

// *_OVERFLOW and SEARCH: about a header kept earlier, to whoever consumed or looked for it.
void Engine::overflow_event(const KeptHeader& kept, uint32_t eq, void* user_ptr, ptl_event_kind_t type) {
  if (eq == PTL_EQ_NONE) return;
  const Interface& ni = interfaces_[kept.header.flags & wire::kNiMask];
  ptl_event_t event = arrival_event(ni, kept.header, kept.source, kept.start, kept.held ? kept.header.rlength : kept.mlength);
  event.user_ptr = user_ptr;
  event.uid = kept.peer->link ? kept.peer->link->uid : uid_;
  event.type = type == PTL_EVENT_SEARCH ? type : static_cast<ptl_event_kind_t>(comm_event(kept.header.kind) + 1);
  event.ptl_list = PTL_OVERFLOW_LIST;
  event.ni_fail_type = kept.fail;
  post(eq, event);
}

}  // namespace portunus
