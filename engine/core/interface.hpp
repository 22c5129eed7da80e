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

#include "engine/core/initiator/throttle.hpp"
#include "engine/core/peer.hpp"
#include "engine/core/target/match_list.hpp"
#include "engine/core/target/unexpected_list.hpp"
#include "engine/shared/tally.hpp"
#include "portals/portals4.h"

namespace portunus {

constexpr uint32_t kInterfaces = 4;
constexpr uint32_t kMaxPortals = 512;

// Bytes up to which data are written in order whatever was asked for: eager on every transport, also with the operand of a swap.
constexpr uint64_t kOrderedAnyway = 8128;

struct PortalEntry {
  bool admits = true;  // enabled, and no order of writes is kept on its interface: what messages look at
  bool enabled = true;
  bool disabling = false;  // flow control has closed it; PT_DISABLED is posted when `moving` is zero
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
  // [any] set by PtlSetMap under the baton, from then on it only grows
  std::atomic<uint32_t> map_size{0};
  // [any] read; portal commands write
  std::array<std::atomic<bool>, kMaxPortals> allocated{};
  std::array<std::atomic<int>, 3> status{};

  std::array<std::unique_ptr<PortalEntry>, kMaxPortals> portals;
  std::vector<ProcessId> map;
  std::unordered_map<uint64_t, uint32_t> rank_of;
  std::unordered_map<uint32_t, uint32_t> incarnation_of;  // of the ranks that came later
  std::vector<Peer*> peer_of_rank;
  uint32_t unexpected_headers = 0;
  bool keeps_order = false;  // of long writes (WriteOrder)

  bool counts_lists() const { return limits.max_list_size < limits.max_entries; }
  bool logical() const { return (options & PTL_NI_LOGICAL) != 0; }
  bool matching() const { return (options & PTL_NI_MATCHING) != 0; }

  // After all that belongs to it has gone: as before it was opened.
  void reset() {
    for (auto* count : {&descriptors, &counters, &queues}) count->store(0, std::memory_order_relaxed);
    for (auto& sizes : list_sizes)
      for (auto& size : sizes) size.reset();
    entries.reset();
    triggers.reset();
    for (auto& each : status) each.store(0, std::memory_order_relaxed);
    map_size.store(0, std::memory_order_release);
    map.clear();
    rank_of.clear();
    incarnation_of.clear();
    peer_of_rank.clear();
    unexpected_headers = 0;
  }
};

}  // namespace portunus
