// interface.hpp: one network interface (NI) and its portal table.
//
// Thread: the baton holder, except the members marked [any], which application threads read for argument checks.
// Invariants: up to four interfaces live in a process: {matching, non-matching} x {logical, physical}; they are
// separate worlds that share nid and pid.
// Source: Portals 4.3, network interfaces, portal table, status registers.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/match_list.hpp"
#include "engine/memory.hpp"
#include "engine/peer.hpp"
#include "engine/shared/tally.hpp"
#include "engine/unexpected_list.hpp"
#include "portals/portals4.h"

namespace portunus {

constexpr uint32_t kInterfaces = 4;
constexpr uint32_t kMaxPortals = 512;

// A list entry (LE) or match list entry (ME). LEs match everything. What a message reads of it fills a second cache line.
struct ListEntry : MatchEntry {
  Memory memory;
  uint64_t length = 0;        // bytes
  void* user_ptr = nullptr;
  uint32_t options = 0;
  uint32_t ct = PTL_CT_NONE;
  ptl_uid_t uid = PTL_UID_ANY;
  uint32_t handle = PTL_INVALID_HANDLE;
  uint32_t moving = 0;           // bulk transfers in or out of it
  uint16_t pt_index = 0;
  uint8_t ni = 0;
  ptl_list_t list = PTL_PRIORITY_LIST;
  bool on_list = false;
  bool auto_unlink_due = false;  // left the list by itself; AUTO_UNLINK follows the last event of a message in it
  bool auto_unlinked = false;
  bool looked_at = false;        // its memory may be inaccessible: touched only after a look (PTL_TARGET_BIND_INACCESSIBLE)
  bool recurs = false;           // appended again and again by a command that owns the slot (E5)
  bool parked = false;           // its append waits for a counter
  bool cancelled = false;        // unlinked while parked
  uint32_t headers = 0;          // overflow list: unexpected headers that refer to it
  uint64_t min_free = 0;
  uint64_t local_offset = 0;     // PTL_ME_MANAGE_LOCAL
};

struct PortalEntry {
  bool enabled = true;
  bool disabling = false;      // flow control has closed it; PT_DISABLED is posted when `moving` is zero
  unsigned options = 0;
  uint32_t eq = PTL_EQ_NONE;
  uint32_t moving = 0;
  uint64_t told = ~uint64_t{0};  // where in the queue the last PT_DISABLED lies
  MatchList priority;
  MatchList overflow;
  UnexpectedList unexpected;
  std::unique_ptr<HeldMemory> held;  // nullptr: held messages may take what memory there is
};

struct Interface {
  // [any] constant while open
  std::atomic<bool> open{false};
  unsigned options = 0;
  ptl_ni_limits_t limits{};
  uint32_t index = 0;
  // [any] counted against the limits by the callers that claim and free
  std::atomic<int> descriptors{0}, counters{0}, queues{0};
  Tally entries, triggers;
  // [any] records that the engine has written for its entries (PTLX_ME_RECORD); written by the baton holder only
  std::atomic<uint64_t> recorded{0};
  std::array<std::array<Tally, 2>, kMaxPortals> list_sizes{};  // counted only where they can be the tighter limit
  // [any] set by PtlSetMap under the baton, then constant
  std::atomic<uint32_t> map_size{0};
  std::vector<ProcessId> map;
  // [any] read; portal commands write
  std::array<std::atomic<bool>, kMaxPortals> allocated{};
  std::array<std::atomic<int>, 3> status{};

  std::array<std::unique_ptr<PortalEntry>, kMaxPortals> portals;
  std::unordered_map<uint64_t, uint32_t> rank_of;
  std::vector<Peer*> peer_of_rank;
  uint32_t unexpected_headers = 0;

  bool counts_lists() const { return limits.max_list_size < limits.max_entries; }
  bool logical() const { return (options & PTL_NI_LOGICAL) != 0; }
  bool matching() const { return (options & PTL_NI_MATCHING) != 0; }
};

constexpr uint64_t packed(ProcessId id) { return uint64_t{id.nid} << 32 | id.pid; }

}  // namespace portunus
