// portal_table.hpp: portal table entries and the list entries on them: allocating, closing, linking, unlinking.
//
// Thread: the baton holder. Callers: Engine's control verbs, Target and Unexpected (the life of an entry under messages).
// Invariants: an entry that has served leaves its list at once; AUTO_UNLINK follows its last message, AUTO_FREE its last
// unexpected header, and only then its slot is free. PT_DISABLED follows the messages that were under way.
// Source: Portals 4.3, portal table, list entries, AUTO_UNLINK and AUTO_FREE, flow control.
#pragma once

#include <array>
#include <cassert>

#include "engine/core/core.hpp"
#include "engine/core/reports.hpp"
#include "engine/core/target/delivery.hpp"

namespace portunus {

class PortalTable {
 public:
  PortalTable(Core& core, Reports& reports) : core_(core), reports_(reports) {}

  // ---- portal table entries: PTL_* codes ----
  int alloc(uint32_t ni, unsigned options, uint32_t eq, uint32_t wanted, uint32_t& index);
  // PTL_PT_IN_USE while entries are on it or messages under way to it. Its unexpected headers were taken from it before.
  int may_free(uint32_t ni, uint32_t index);
  void free(uint32_t ni, uint32_t index);
  int enable(uint32_t ni, uint32_t index);
  int disable(uint32_t ni, uint32_t index);  // PTL_IN_USE: messages are still being moved, step and ask again
  // Flow control closes it: nothing matches, or there is no room for what the `cause` would report.
  void close_for_flow_control(PortalEntry& portal, uint16_t pt_index, const ListEntry* cause);
  // The queue that flow control goes by; nullptr when its user has freed it: nothing can be lost there.
  EventQueue* limiting_queue(const PortalEntry& portal) { return core_.objects.queues.find(portal.eq); }

  // ---- list entries ----
  // No unexpected message has taken the entry: it waits for messages.
  void link(ListEntry& entry, PortalEntry& portal) {
    assert(!entry.on_list && !entry.parked && !entry.auto_unlinked);
    entry.on_list = true;
    (entry.list == PTL_PRIORITY_LIST ? portal.priority : portal.overflow).append(entry);
    if (!(entry.options & PTL_ME_EVENT_LINK_DISABLE)) reports_.entry_event(entry, PTL_EVENT_LINK);
  }
  int unlink(uint32_t handle);
  // The entry has served: it leaves the list at once, the event follows when its last message is complete.
  void auto_unlink(ListEntry& entry) {
    if (entry.auto_unlinked) return;
    take_off_list(entry);
    if (!entry.recurs) core_.objects.entries.retire_held(handle_index(entry.handle));
    entry.auto_unlinked = entry.auto_unlink_due = true;
  }
  // The same because unexpected headers have used it up at its append: its unlink still answers PTL_OK, once.
  void use_up(ListEntry& entry);
  // A message in this entry, or a header that refers to it, is done with.
  void idle(ListEntry& entry) {
    if (entry.auto_unlinked && !entry.moving) [[unlikely]]
      end(entry);
  }

  // ---- bulk data under way ----
  void begin_move(const Delivery& delivery);
  void end_move(const Delivery& delivery);
  // After the last report of a message that was moved: PT_DISABLED may be due.
  void moved(uint32_t ni, uint16_t pt_index);

  // Everything of the interface goes, whether or not its user freed it. Nobody refers to its headers any more, but entries
  // that bulk data still move in.
  void close_entries(uint32_t ni);
  void close_portals(uint32_t ni);

 private:
  void take_off_list(ListEntry& entry);
  void end(ListEntry& entry);
  void tell_disabled(PortalEntry& portal, uint16_t pt_index);

  Core& core_;
  Reports& reports_;
  std::array<uint32_t, 64> spent_{};  // the last entries that headers used up
  uint32_t next_spent_ = 0;
};

}  // namespace portunus
