// list_entry.hpp: a list entry (LE) or match list entry (ME), and how its slot ends.
//
// Thread: filled by whoever claims the slot, from its append on the baton holder's.
// Invariants: while `moving` or `headers` is not 0 the slot stays claimed, whatever its user does.
// Source: Portals 4.3, list entries.
#pragma once

#include <cstdint>

#include "engine/core/memory.hpp"
#include "engine/core/target/match_list.hpp"
#include "portals/portals4.h"

namespace portunus {

// LEs match everything. What a message reads of it fills a second cache line.
struct ListEntry : MatchEntry {
  Memory memory;
  uint64_t length = 0;  // bytes
  void* user_ptr = nullptr;
  uint32_t options = 0;
  uint32_t ct = PTL_CT_NONE;
  ptl_uid_t uid = PTL_UID_ANY;
  uint32_t handle = PTL_INVALID_HANDLE;
  uint32_t moving = 0;  // bulk transfers in or out of it
  uint16_t pt_index = 0;
  uint8_t ni = 0;
  ptl_list_t list = PTL_PRIORITY_LIST;
  bool on_list = false;
  bool auto_unlink_due = false;  // left the list by itself; AUTO_UNLINK follows the last event of a message in it
  bool auto_unlinked = false;
  bool may_fault = false;  // its memory may be inaccessible: touched only after a look (PTL_TARGET_BIND_INACCESSIBLE)
  bool recurs = false;     // appended again and again, by a command that owns the slot (E5) or by its user
  bool kept = false;       // by its user (PTLX_ME_KEEP)
  bool parked = false;     // its append waits for a counter
  bool cancelled = false;  // unlinked while parked
  uint32_t headers = 0;    // overflow list: unexpected headers that refer to it
  uint64_t min_free = 0;
  uint64_t local_offset = 0;  // PTL_ME_MANAGE_LOCAL
};

}  // namespace portunus
