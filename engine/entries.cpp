// entries.cpp: appending, unlinking and releasing list entries; the portal table; closing an interface.
// Source: Portals 4.3, list entries, portal table, AUTO_UNLINK and AUTO_FREE.
#include "engine/entry_life.hpp"

#include <algorithm>

namespace portunus {

void Engine::append(uint32_t handle, uint64_t match_bits) {
  ListEntry& entry = objects_.entries.at(handle_index(handle));  // ours until this has run, also when unlinked
  if (entry.recurs) {
    if (!entry.parked) return;  // still there from the last time
    entry.match_bits = match_bits;
  }
  entry.parked = false;
  PortalEntry* portal = interfaces_[entry.ni].portals[entry.pt_index].get();
  if (entry.cancelled || !portal) {
    release_entry(entry);
    return;
  }
  append_now(entry, *portal);
}

int Engine::unlink(uint32_t handle) {
  ListEntry* entry = objects_.entries.find(handle);
  if (!entry) {
    auto spent = std::find(spent_.begin(), spent_.end(), handle);
    if (spent == spent_.end()) return PTL_ARG_INVALID;
    *spent = 0;
    return PTL_OK;
  }
  if (entry->parked) {
    entry->cancelled = true;
    objects_.entries.retire_held(handle);
    return PTL_OK;
  }
  if (entry->moving || entry->headers) return PTL_IN_USE;
  take_off_list(*entry);
  if (entry->recurs) {  // the command that appends it finds it cancelled and ends
    entry->parked = entry->cancelled = true;
    objects_.entries.retire_held(handle);
    return PTL_OK;
  }
  release_entry(*entry);
  return PTL_OK;
}

// Whoever was to append this entry does not: it goes, unless it was appended before and still serves.
int Engine::discard_entry(uint32_t handle) {
  ListEntry& entry = objects_.entries.at(handle_index(handle));
  entry.recurs = false;
  if (entry.parked) release_entry(entry);
  return PTL_OK;
}

int Engine::portal_alloc(uint32_t ni, unsigned options, uint32_t eq, uint32_t wanted, uint32_t& index) {
  Interface& interface = interfaces_[ni];
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
  if (EventQueue* queue = options & PTL_PT_FLOWCTRL ? objects_.queues.find(eq) : nullptr) queue->reserve();
  portal->eq = eq;
  portal->enabled = !(options & PTL_PT_ALLOC_DISABLED);
  interface.portals[wanted] = std::move(portal);
  interface.allocated[wanted].store(true, std::memory_order_release);
  index = wanted;
  return PTL_OK;
}

int Engine::portal_free(uint32_t ni, uint32_t index) {
  Interface& interface = interfaces_[ni];
  PortalEntry* portal = interface.portals[index].get();
  if (!portal) return PTL_ARG_INVALID;
  if (!portal->priority.empty() || !portal->overflow.empty() || portal->moving) return PTL_PT_IN_USE;
  while (UnexpectedHeader* header = portal->unexpected.first()) {
    portal->unexpected.unlink(*header);
    abandon(static_cast<KeptHeader&>(*header));
  }
  if (EventQueue* queue = portal->options & PTL_PT_FLOWCTRL ? limiting_queue(*portal) : nullptr) queue->unreserve();
  interface.allocated[index].store(false, std::memory_order_release);
  interface.portals[index].reset();
  return PTL_OK;
}

int Engine::portal_enable(uint32_t ni, uint32_t index) {
  PortalEntry* portal = interfaces_[ni].portals[index].get();
  if (!portal) return PTL_ARG_INVALID;
  portal->enabled = true;
  portal->disabling = false;
  return PTL_OK;
}

int Engine::portal_disable(uint32_t ni, uint32_t index) {
  PortalEntry* portal = interfaces_[ni].portals[index].get();
  if (!portal) return PTL_ARG_INVALID;
  portal->enabled = false;
  return portal->moving ? PTL_IN_USE : PTL_OK;
}

// Flow control closed this portal; the event follows when the messages in progress are finished.
void Engine::portal_idle(uint32_t, PortalEntry& portal, uint16_t pt_index) {
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
  post(portal.eq, event);
}

// Everything that belongs to the interface goes, whether or not the user freed it.
void Engine::close_interface(uint32_t ni) {
  std::erase_if(works_, [ni](const LocalWork& work) { return work.ni() == ni; });
  drop_fills(ni);
  Interface& interface = interfaces_[ni];
  interface.open.store(false, std::memory_order_release);
  for (size_t i = 0; i < transfers_.size();) {
    const Delivery& delivery = transfers_[i]->delivery;
    if (delivery.entry->ni == ni && !transfers_[i]->in_flight)
      transfers_.erase(transfers_.begin() + static_cast<ptrdiff_t>(i));
    else
      ++i;
  }
  for (uint32_t i = 0; i < objects_.counters.used(); ++i) {
    uint32_t handle = objects_.counters.live_handle(i);
    if (Counter* counter = objects_.counters.find(handle); counter && counter->ni == ni) {
      drop_triggers(*counter, handle);
      if (counter->watches) unwatch(handle);
      if (objects_.counters.retire(handle)) objects_.counters.give_back(i);
    }
  }
  for (uint32_t i = 0; i < objects_.entries.used(); ++i) {
    uint32_t handle = objects_.entries.live_handle(i);
    if (ListEntry* entry = objects_.entries.find(handle); entry && entry->ni == ni && !entry->moving && !entry->parked) {
      take_off_list(*entry);
      if (!entry->headers) {
        release_entry(*entry);
      } else {  // the last of them takes it along, below
        objects_.entries.retire_held(handle);
        entry->auto_unlinked = true;
      }
    }
  }
  for (uint32_t i = 0; i < kMaxPortals; ++i) {
    PortalEntry* portal = interface.portals[i].get();
    if (!portal) continue;
    portal->eq = PTL_EQ_NONE;
    while (UnexpectedHeader* header = portal->unexpected.first()) {
      portal->unexpected.unlink(*header);
      abandon(static_cast<KeptHeader&>(*header));
    }
    interface.allocated[i].store(false, std::memory_order_release);
    interface.portals[i].reset();
  }
  for (uint32_t i = 0; i < objects_.queues.used(); ++i) {
    uint32_t handle = objects_.queues.live_handle(i);
    if (EventQueue* queue = objects_.queues.find(handle); queue && queue->ni == ni && objects_.queues.retire(handle))
      objects_.queues.give_back(i);
  }
  for (uint32_t i = 0; i < objects_.descriptors.used(); ++i) {
    uint32_t handle = objects_.descriptors.live_handle(i);
    if (Descriptor* md = objects_.descriptors.find(handle); md && md->ni == ni && objects_.descriptors.retire(handle))
      objects_.descriptors.give_back(i);
  }
  for (auto* count : {&interface.descriptors, &interface.counters, &interface.queues})
    count->store(0, std::memory_order_relaxed);
  for (auto& sizes : interface.list_sizes)
    for (auto& size : sizes) size.reset();
  interface.entries.reset();
  interface.triggers.reset();
  for (auto& status : interface.status) status.store(0, std::memory_order_relaxed);
  interface.map_size.store(0, std::memory_order_release);
  interface.map.clear();
  interface.rank_of.clear();
  interface.peer_of_rank.clear();
  interface.unexpected_headers = 0;
  for (auto& [id, peer] : peers_) drop_paused(*peer, static_cast<int>(ni), false);
  for (auto& [id, peer] : peers_) peer->rank[ni] = kRankUnknown;
}

}  // namespace portunus
