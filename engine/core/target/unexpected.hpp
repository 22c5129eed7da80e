// unexpected.hpp: messages that came before their entry.
//
// A header that landed in the overflow list is remembered in order of arrival; an append to the priority list looks there
// first, under the same baton that arrivals need, so none slips through between. With PTLX_ME_HOLD the engine keeps the
// payload, or of a bulk message only the place of its data, and E1 completes it straight into the later entry.
//
// Thread: the baton holder. Callers: Target alone, which does with a header that is taken what is to be done with its
// message. Invariants: a header is on its portal's list, or off it and owned by who took it until forget(). What a portal's
// held headers occupy is accounted with FlowControl from keep() to forget(). Answers are the caller's business. Source:
// Portals 4.3, overflow list and unexpected headers; extensions E1 and E10.
#pragma once

#include <memory>
#include <vector>

#include "engine/core/core.hpp"
#include "engine/core/portal_table.hpp"
#include "engine/core/reports.hpp"
#include "engine/core/target/delivery.hpp"
#include "engine/core/target/flow_control.hpp"
#include "engine/core/target/kept_header.hpp"
#include "engine/core/target/payload_buffers.hpp"

namespace portunus {

// The options, length and managed offset of an entry that a header is to fit.
struct Room {
  uint32_t options = 0;
  uint64_t length = 0, local_offset = 0;
};

class Unexpected {
 public:
  Unexpected(Core& core, Reports& reports, FlowControl& flow, PortalTable& table);

  // ---- arrivals ----
  // HOLD: nothing is placed in the overflow entry; acknowledgements wait until someone takes the message.
  void keep(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, uint64_t source);
  // The data of this message goes to the overflow entry; its header is found by appends from now on.
  KeptHeader* remember(const Delivery& delivery, PortalEntry& portal);

  // ---- appends ----
  // The place of an append among the headers that its entry matches.
  struct Cursor {
    UnexpectedHeader* next = nullptr;
    bool begun = false;
  };
  // The next header that the entry takes now, off the list; nullptr when there is none.
  KeptHeader* take(ListEntry& entry, PortalEntry& portal, Cursor& cursor);
  // The first of all; the portal goes.
  KeptHeader* take_any(PortalEntry& portal);
  // The held header of this put, if nothing has matched it and it was not set aside (E10).
  KeptHeader* take_withdrawn(PortalEntry& portal, const Peer& peer, uint64_t token);
  // The first held header that the pattern matches and that was not set aside (E10).
  KeptHeader* take_held(PortalEntry& portal, const MatchPattern& pattern);
  // Ends a header that was taken, and its overflow entry if this was the last header there.
  void forget(KeptHeader& kept);

  // ---- searches: PTL_* codes ----
  // PTL_IN_USE: the data of a header to be deleted is still arriving, nothing was done; step and ask again.
  int search(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern, const ListEntry& like, ptl_search_op_t op);
  // The first header that would fit there; `event` tells of it, or that there is none. Where a label is given, the header is known by
  // that from now on, and by nothing else.
  int find(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern, const Room& room, const uint64_t* label, ptl_event_t& event);

 private:
  KeptHeader* new_header();
  void add_block();
  void spare(KeptHeader& header);
  KeptHeader* unlinked(PortalEntry& portal, UnexpectedHeader* header);

  // Headers come in blocks: one by one, their alignment would cost the C library's allocator several times their size. Those of the first
  // blocks are there for good, so unexpected messages that come again and again claim no memory; all others go when none is in use.
  static constexpr size_t kBlock = 64, kBlocksKept = 16;

  Core& core_;
  Reports& reports_;
  FlowControl& flow_;
  PortalTable& table_;
  std::vector<std::unique_ptr<KeptHeader[]>> blocks_;
  std::vector<KeptHeader*> spare_;
  PayloadBuffers payloads_;
};

}  // namespace portunus
