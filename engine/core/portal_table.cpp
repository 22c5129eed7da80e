// portal_table.cpp: see portal_table.hpp.
#include "engine/core/portal_table.hpp"

#include <algorithm>
#include <cassert>

namespace portunus {

int PortalTable::alloc(uint32_t ni, unsigned options, uint32_t eq, uint32_t wanted, uint32_t& index) {
  Interface& interface = core_.interfaces[ni];
  const uint32_t most = static_cast<uint32_t>(interface.limits.max_pt_index);
  if (wanted == PTL_PT_ANY) {
    for (wanted = 0; wanted <= most && interface.portals[wanted]; ++wanted) {
    }
    if (wanted > most) return PTL_PT_FULL;
  } else if (interface.portals[wanted]) {
    return PTL_PT_IN_USE;
  }
  auto portal = std::make_unique<PortalEntry>();
  portal->options = options;
  if (EventQueue* queue = options & PTL_PT_FLOWCTRL ? core_.objects.queues.find(eq) : nullptr) queue->reserve();
  portal->eq = eq;
  portal->enabled = !(options & PTL_PT_ALLOC_DISABLED);
  portal->admits = portal->enabled && !interface.keeps_order;
  interface.portals[wanted] = std::move(portal);
  interface.allocated[wanted].store(true, std::memory_order_release);
  index = wanted;
  return PTL_OK;
}

int PortalTable::may_free(uint32_t ni, uint32_t index) {
  const PortalEntry* portal = core_.portal(ni, index);
  if (!portal) return PTL_ARG_INVALID;
  return !portal->priority.empty() || !portal->overflow.empty() || portal->moving ? PTL_PT_IN_USE : PTL_OK;
}

void PortalTable::free(uint32_t ni, uint32_t index) {
  Interface& interface = core_.interfaces[ni];
  const PortalEntry& portal = *interface.portals[index];
  assert(portal.moving == 0 && portal.priority.empty() && portal.overflow.empty() && portal.unexpected.empty());
  if (EventQueue* queue = portal.options & PTL_PT_FLOWCTRL ? limiting_queue(portal) : nullptr) queue->unreserve();
  interface.allocated[index].store(false, std::memory_order_release);
  interface.portals[index].reset();
}

int PortalTable::enable(uint32_t ni, uint32_t index) {
  PortalEntry* portal = core_.portal(ni, index);
  if (!portal) return PTL_ARG_INVALID;
  portal->enabled = true;
  portal->admits = !core_.interfaces[ni].keeps_order;
  portal->disabling = false;
  return PTL_OK;
}

int PortalTable::disable(uint32_t ni, uint32_t index) {
  PortalEntry* portal = core_.portal(ni, index);
  if (!portal) return PTL_ARG_INVALID;
  portal->admits = portal->enabled = false;
  return portal->moving ? PTL_IN_USE : PTL_OK;
}

void PortalTable::close_for_flow_control(PortalEntry& portal, uint16_t pt_index, const ListEntry* cause) {
  portal.admits = portal.enabled = false;
  portal.disabling = !cause || !(cause->options & PTL_ME_EVENT_FLOWCTRL_DISABLE);
  tell_disabled(portal, pt_index);
}

// The event follows when the messages in progress are finished.
void PortalTable::tell_disabled(PortalEntry& portal, uint16_t pt_index) {
  if (!portal.disabling || portal.moving) return;
  portal.disabling = false;
  if (EventQueue* queue = limiting_queue(portal)) {
    if (queue->full() && queue->waiting(portal.told)) return;  // enabled unread: the one that waits there says it again
    portal.told = queue->posted();
  }
  ptl_event_t event{};
  event.type = PTL_EVENT_PT_DISABLED;
  event.pt_index = pt_index;
  event.ni_fail_type = PTL_NI_PT_DISABLED;
  reports_.post(portal.eq, event);
}

int PortalTable::unlink(uint32_t handle) {
  ListEntry* entry = core_.objects.entries.find(handle);
  if (!entry) {
    const auto spent = std::find(spent_.begin(), spent_.end(), handle);
    if (spent == spent_.end()) return PTL_ARG_INVALID;
    *spent = 0;
    return PTL_OK;
  }
  if (entry->kept && entry->parked) {
    core_.release(*entry);
    return PTL_IGNORED;
  }
  if (entry->parked) {
    entry->cancelled = true;
    core_.objects.entries.retire_held(handle_index(handle));
    return PTL_OK;
  }
  if (entry->moving || entry->headers) return PTL_IN_USE;
  take_off_list(*entry);
  if (entry->recurs && !entry->kept) {  // the command that appends it finds it cancelled and ends
    entry->parked = entry->cancelled = true;
    core_.objects.entries.retire_held(handle_index(handle));
    return PTL_OK;
  }
  core_.release(*entry);
  return PTL_OK;
}

void PortalTable::take_off_list(ListEntry& entry) {
  if (!entry.on_list) return;
  assert(entry.linked());
  PortalEntry& portal = *core_.portal_of(entry);
  (entry.list == PTL_PRIORITY_LIST ? portal.priority : portal.overflow).unlink(entry);
  entry.on_list = false;
}

void PortalTable::use_up(ListEntry& entry) {
  auto_unlink(entry);
  spent_[next_spent_++ % spent_.size()] = entry.handle;
}

void PortalTable::end(ListEntry& entry) {
  assert(entry.auto_unlinked && entry.moving == 0 && !entry.on_list);
  if (entry.auto_unlink_due) {
    entry.auto_unlink_due = false;
    if (!(entry.options & PTL_ME_EVENT_UNLINK_DISABLE)) reports_.entry_event(entry, PTL_EVENT_AUTO_UNLINK);
  }
  if (entry.headers) return;
  if (entry.list == PTL_OVERFLOW_LIST && !(entry.options & PTL_ME_EVENT_UNLINK_DISABLE)) reports_.entry_event(entry, PTL_EVENT_AUTO_FREE);
  if (entry.recurs) {
    entry.auto_unlinked = false;
    entry.local_offset = 0;
    entry.parked = true;
    return;
  }
  core_.release(entry);
}

void PortalTable::begin_move(const Delivery& delivery) {
  ++delivery.entry->moving;
  PortalEntry* portal = core_.portal_of(*delivery.entry);
  if (!portal) return;
  ++portal->moving;
  if (!delivery.events) return;
  if (EventQueue* queue = limiting_queue(*portal)) queue->promise(delivery.events);
}

void PortalTable::end_move(const Delivery& delivery) {
  assert(delivery.entry->moving > 0);
  --delivery.entry->moving;
  PortalEntry* portal = core_.portal_of(*delivery.entry);
  if (!portal) return;
  assert(portal->moving > 0);
  --portal->moving;
  if (!delivery.events) return;
  if (EventQueue* queue = limiting_queue(*portal)) queue->keep_promise(delivery.events);
}

void PortalTable::moved(uint32_t ni, uint16_t pt_index) {
  if (PortalEntry* portal = core_.portal(ni, pt_index)) tell_disabled(*portal, pt_index);
}

void PortalTable::close_entries(uint32_t ni) {
  auto& entries = core_.objects.entries;
  for (uint32_t i = 0; i < entries.used(); ++i) {
    const uint32_t handle = entries.live_handle(i);
    ListEntry* entry = entries.find(handle);
    if (!entry || entry->ni != ni || entry->moving || (entry->parked && !entry->kept)) continue;
    take_off_list(*entry);
    if (!entry->headers) {
      core_.release(*entry);
    } else {  // the last of them takes it along
      entries.retire_held(i);
      entry->auto_unlinked = true;
    }
  }
}

void PortalTable::close_portals(uint32_t ni) {
  Interface& interface = core_.interfaces[ni];
  for (uint32_t i = 0; i < kMaxPortals; ++i) {
    if (!interface.portals[i]) continue;
    interface.allocated[i].store(false, std::memory_order_release);
    interface.portals[i].reset();
  }
}

}  // namespace portunus
