// entry_life.hpp: how a list entry leaves its list and ends, in every message's way. Thread: the baton holder.
// Source: Portals 4.3, AUTO_UNLINK and AUTO_FREE.
#pragma once

#include "engine/engine.hpp"

namespace portunus {

inline void Engine::take_off_list(ListEntry& entry) {
  if (!entry.on_list) return;
  PortalEntry* portal = interfaces_[entry.ni].portals[entry.pt_index].get();
  (entry.list == PTL_PRIORITY_LIST ? portal->priority : portal->overflow).unlink(entry);
  entry.on_list = false;
}

// The entry has served: it leaves the list at once, the event follows when its last message is complete.
inline void Engine::auto_unlink(ListEntry& entry) {
  if (entry.auto_unlinked) return;
  take_off_list(entry);
  if (!entry.recurs) objects_.entries.retire_held(entry.handle);
  entry.auto_unlinked = entry.auto_unlink_due = true;
}

inline void Engine::release_entry(Interface& ni, ListEntry& entry) {
  objects_.entries.retire_held(entry.handle);
  give_entry_back(ni, entry, objects_.entries.index_of(entry));
}
// The same for one whose handle has not been retired.
inline void Engine::release_live_entry(Interface& ni, ListEntry& entry) {
  const uint32_t index = objects_.entries.index_of(entry);
  objects_.entries.retire_live_held(index);
  give_entry_back(ni, entry, index);
}
inline void Engine::give_entry_back(Interface& ni, ListEntry& entry, uint32_t index) {
  if (ni.counts_lists()) ni.list_sizes[entry.pt_index][entry.list].give_held();
  ni.entries.give_held();
  objects_.entries.give_back_held(index);
}

// A message in this entry, or a header that refers to it, is done with.
inline void Engine::entry_idle(ListEntry& entry) {
  if (!entry.auto_unlinked || entry.moving) return;
  if (entry.auto_unlink_due) {
    entry.auto_unlink_due = false;
    if (!(entry.options & PTL_ME_EVENT_UNLINK_DISABLE)) entry_event(entry, PTL_EVENT_AUTO_UNLINK);
  }
  if (entry.headers) return;
  if (entry.list == PTL_OVERFLOW_LIST && !(entry.options & PTL_ME_EVENT_UNLINK_DISABLE)) entry_event(entry, PTL_EVENT_AUTO_FREE);
  if (entry.recurs) {
    entry.auto_unlinked = false;
    entry.local_offset = 0;
    entry.parked = true;
    return;
  }
  release_entry(entry);
}

}  // namespace portunus
