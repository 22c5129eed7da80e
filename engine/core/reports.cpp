// reports.cpp: the events that are put together out of every message's way.
#include "engine/core/reports.hpp"

namespace portunus {
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

// E6: our failures are its successes.
void Reports::count_errors(uint32_t errors, uint64_t failure) { count(errors, failure, 0); }

void Reports::entry_event(const ListEntry& entry, ptl_event_kind_t type) {
  const PortalEntry* portal = core_.portal_of(entry);
  if (!portal || portal->eq == PTL_EQ_NONE) return;
  ptl_event_t event{};
  event.type = type;
  event.user_ptr = entry.user_ptr;
  event.pt_index = entry.pt_index;
  event.ptl_list = entry.list;
  event.ni_fail_type = PTL_NI_OK;
  post(portal->eq, event);
}

void Reports::delivered(const Delivery& delivery, ptl_ni_fail_t fail) {
  const ListEntry& entry = *delivery.entry;
  const PortalEntry* portal = core_.portal_of(entry);
  const ptl_uid_t uid = delivery.peer->link ? delivery.peer->link->uid : core_.uid;
  core_.posted = true;
  tell_delivered({delivery.header, entry, entry.options, delivery.source, entry.memory.at(delivery.offset), delivery.mlength, uid,
                  comm_event(delivery.header.kind), delivery.overflow, fail},
                 portal ? core_.objects.queues.find(portal->eq) : nullptr);
}

void Reports::overflow(const KeptHeader& kept, uint32_t eq, void* user_ptr, ptl_event_kind_t type) {
  if (eq == PTL_EQ_NONE) return;
  ptl_event_t event = header_event(kept, type);
  event.user_ptr = user_ptr;
  post(eq, event);
}

ptl_event_t Reports::header_event(const KeptHeader& kept, ptl_event_kind_t type) {
  const Interface& ni = core_.interfaces[kept.header.flags & wire::kNiMask];
  ptl_event_t event = arrival_event(ni, kept.header, kept.source, kept.start, kept.held ? kept.header.rlength : kept.mlength);
  event.uid = kept.peer->link ? kept.peer->link->uid : core_.uid;
  event.type = type == PTL_EVENT_SEARCH ? type : static_cast<ptl_event_kind_t>(comm_event(kept.header.kind) + 1);
  event.ptl_list = PTL_OVERFLOW_LIST;
  event.ni_fail_type = kept.fail;
  return event;
}

void Reports::count_overflow(const KeptHeader& kept, const ListEntry& entry) {
  if (!(entry.options & PTL_ME_EVENT_CT_OVERFLOW)) return;
  if (kept.fail != PTL_NI_OK) count(entry.ct, 0, 1);
  else count(entry.ct, entry.options & PTL_ME_EVENT_CT_BYTES ? kept.mlength : 1, 0);
}

ptl_event_t Reports::nothing_event(uint32_t pt_index) {
  ptl_event_t event{};
  event.type = PTL_EVENT_SEARCH;
  event.pt_index = pt_index;
  event.ni_fail_type = PTL_NI_NO_MATCH;
  return event;
}

void Reports::nothing_found(uint32_t eq, uint32_t pt_index, void* user_ptr) {
  ptl_event_t event = nothing_event(pt_index);
  event.user_ptr = user_ptr;
  post(eq, event);
}

void Reports::tell_sent(const Local& local, uint64_t length, void* user_ptr, ptl_ni_fail_t fail) {
  if (local.options & PTL_MD_EVENT_CT_SEND) {
    if (fail != PTL_NI_OK) count(local.ct, 0, 1);
    else count(local.ct, local.options & PTL_MD_EVENT_CT_BYTES ? length : 1, 0);
  }
  if (local.eq == PTL_EQ_NONE || (local.options & PTL_MD_EVENT_SEND_DISABLE)) return;
  if (fail == PTL_NI_OK && (local.options & PTL_MD_EVENT_SUCCESS_DISABLE)) return;
  ptl_event_t event{};
  event.type = PTL_EVENT_SEND;
  event.user_ptr = user_ptr;
  event.mlength = length;
  event.ni_fail_type = fail;
  post(local.eq, event);
}

}  // namespace portunus
