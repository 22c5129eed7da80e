// unexpected.cpp: messages that came before their entry.
//
// A header that landed in the overflow list is remembered in order of arrival; an append to the priority list looks there
// first, under the same baton that arrivals need, so none slips through between. With PTLX_ME_HOLD the engine keeps the
// payload, or of a bulk message only the place of its data, and E1 completes it straight into the later entry.
// Source: Portals 4.3, overflow list and unexpected headers; compile plan E1.
#include "engine/arrival_event.hpp"
#include "engine/entry_life.hpp"

#include <algorithm>

namespace portunus {

KeptHeader* Engine::new_header() {
  if (spare_headers_.empty()) return new KeptHeader;
  KeptHeader* header = spare_headers_.back().release();
  spare_headers_.pop_back();
  return header;
}

// HOLD: nothing is placed in the overflow entry; acknowledgements wait until someone takes the message.
void Engine::keep(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, uint64_t source) {
  KeptHeader* kept = new_header();
  kept->match_bits = header.match_bits;
  kept->source = source;
  kept->peer = &peer;
  kept->header = header;
  kept->held = true;
  if (header.flags & wire::kBulk) {
    if (!(header.flags & wire::kNoRegion)) std::memcpy(&kept->region, payload, sizeof kept->region);
  } else if (header.payload_size) {
    kept->payload.reset(new std::byte[header.payload_size]);
    std::memcpy(kept->payload.get(), payload, header.payload_size);
  }
  portal.unexpected.append(*kept);
  ++interfaces_[header.flags & wire::kNiMask].unexpected_headers;
  ++stats_.unexpected;
  if (portal.held) account_held(portal, *kept);
}

// The data of this message goes to the overflow entry; its header is found by appends from now on.
KeptHeader* Engine::remember(const Delivery& delivery, PortalEntry& portal) {
  KeptHeader* kept = new_header();
  kept->match_bits = delivery.header.match_bits;
  kept->source = delivery.source;
  kept->peer = delivery.peer;
  kept->header = delivery.header;
  kept->entry = delivery.entry;
  kept->offset = delivery.offset;
  kept->start = delivery.entry->memory.at(delivery.offset);
  kept->mlength = delivery.mlength;
  ++delivery.entry->headers;
  portal.unexpected.append(*kept);
  ++interfaces_[delivery.entry->ni].unexpected_headers;
  ++stats_.unexpected;
  return kept;
}

void Engine::forget(KeptHeader& kept) {
  ListEntry* entry = kept.entry;
  Interface& ni = interfaces_[kept.header.flags & wire::kNiMask];
  --ni.unexpected_headers;
  if (PortalEntry* portal = kept.held ? ni.portals[kept.header.pt_index].get() : nullptr; portal && portal->held) release_held(*portal, kept);
  kept.~KeptHeader();
  std::unique_ptr<KeptHeader> blank(new (&kept) KeptHeader);
  if (spare_headers_.size() < kSpareHeaders) spare_headers_.push_back(std::move(blank));
  if (!entry) return;
  --entry->headers;
  entry_idle(*entry);
}

// Whether an entry of these options takes this header: what NO_TRUNCATE asks of a message, asked again of its header.
bool Engine::header_fits(const ListEntry& entry, const KeptHeader& kept) {
  if (!(entry.options & PTL_ME_NO_TRUNCATE)) return true;
  const uint64_t offset = entry.options & PTL_ME_MANAGE_LOCAL ? entry.local_offset : kept.header.remote_offset;
  return offset <= entry.length && kept.header.rlength <= entry.length - offset;
}

// What a consumed or deleted header counts: its message, or that this never came whole.
void Engine::count_overflow(const KeptHeader& kept, const ListEntry& entry) {
  if (!(entry.options & PTL_ME_EVENT_CT_OVERFLOW)) return;
  if (kept.fail != PTL_NI_OK)
    count(entry.ct, 0, 1);
  else
    count(entry.ct, entry.options & PTL_ME_EVENT_CT_BYTES ? kept.mlength : 1, 0);
}

// Nobody will take it any more: who waits for an acknowledgement, or for its data to be read, learns so.
void Engine::abandon(KeptHeader& kept) {
  if (kept.held) refuse(*kept.peer, kept.header, PTL_NI_DROPPED);
  forget(kept);
}

// There are unexpected headers. True: the entry was consumed and must not be linked.
bool Engine::satisfy_from_unexpected(ListEntry& entry, PortalEntry& portal) {
  const bool completes = entry.options & PTLX_ME_COMPLETE_UNEXPECTED;
  const bool once = entry.options & PTL_ME_USE_ONCE;
  // Whether a header fits may change with every one that is consumed (a local offset moves), so it is asked one by one.
  auto any = [](const UnexpectedHeader&) { return true; };
  for (UnexpectedHeader *next, *found = portal.unexpected.find(entry, any); found && !entry.auto_unlinked; found = next) {
    next = portal.unexpected.find_next(*found, entry, any);
    auto& kept = static_cast<KeptHeader&>(*found);
    if ((kept.held && !completes) || !header_fits(entry, kept)) continue;
    const uint64_t rlength = kept.header.rlength;
    portal.unexpected.unlink(kept);
    if (once) auto_unlink(entry);
    if (kept.arriving) {
      kept.taker = &entry;
      ++entry.moving;
    } else {
      consume(kept, entry);
    }
    if (entry.options & PTL_ME_LOCAL_INC_UH_RLENGTH) {
      entry.local_offset = std::min(entry.length, entry.local_offset + rlength);
      if (entry.length - entry.local_offset < entry.min_free && !entry.auto_unlinked) {
        auto_unlink(entry);
        spent_[next_spent_++ % spent_.size()] = entry.handle;  // its unlink still answers PTL_OK, once
      }
    }
  }
  if (!entry.auto_unlinked) return false;
  entry_idle(entry);
  return true;
}

// One header, off the list already and its data complete, goes to `entry`.
void Engine::consume(KeptHeader& kept, ListEntry& entry) {
  posted = true;
  if (!(entry.options & PTLX_ME_COMPLETE_UNEXPECTED) || kept.header.kind != wire::Kind::put) {
    count_overflow(kept, entry);
    if (entry.options & PTLX_ME_RECORD) {
      write_record(interfaces_[entry.ni], entry, kept.header, 0, PTL_NI_OP_VIOLATION);
      forget(kept);
      return;
    }
    PortalEntry* portal = interfaces_[entry.ni].portals[entry.pt_index].get();
    const bool silent = (entry.options & PTL_ME_EVENT_OVER_DISABLE) || (kept.fail == PTL_NI_OK && (entry.options & PTL_ME_EVENT_SUCCESS_DISABLE));
    if (portal && !silent)
      overflow_event(kept, portal->eq, entry.user_ptr, PTL_EVENT_PUT_OVERFLOW);
    forget(kept);
    return;
  }
  Delivery delivery(kept.peer, kept.header, &entry, kept.source, true);
  delivery.completes_kept = true;
  place(delivery);
  const bool bulk = kept.held && (kept.header.flags & wire::kBulk);  // looked at piece by piece
  if (entry.looked_at && !bulk && !touchable(entry, delivery.offset, std::min(delivery.mlength, kept.held ? delivery.mlength : kept.mlength), true)) {
    delivery.mlength = 0;
    delivery_event(delivery, PTL_NI_SEGV);
    if (kept.held) acknowledge(delivery, PTL_NI_SEGV);
  } else if (!kept.held) {  // the data lies in the overflow entry; the message was acknowledged when it got there
    delivery.mlength = std::min(delivery.mlength, kept.mlength);
    uint64_t to = delivery.offset;
    kept.entry->memory.for_parts(kept.offset, delivery.mlength, [&](const std::byte* from, uint64_t size) {
      entry.memory.copy_in(to, from, size);
      to += size;
      return true;
    });
    delivery_event(delivery, kept.fail);
  } else if ((kept.header.flags & wire::kBulk) && delivery.mlength) {
    start_transfer(delivery, kept.region);
  } else {
    if (delivery.mlength) entry.memory.copy_in(delivery.offset, kept.payload.get(), delivery.mlength);
    delivery_event(delivery, PTL_NI_OK);
    acknowledge(delivery, PTL_NI_OK);
  }
  forget(kept);
}

int Engine::search(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern, const ListEntry& like, ptl_search_op_t op) {
  PortalEntry* portal = interfaces_[ni].portals[pt_index].get();
  if (!portal) return PTL_ARG_INVALID;
  const bool once = like.options & PTL_ME_USE_ONCE;
  const bool remove = op == PTL_SEARCH_DELETE;
  uint64_t found_count = 0;
  auto fits = [&](const UnexpectedHeader& header) {
    const auto& kept = static_cast<const KeptHeader&>(header);
    return !(remove && kept.held) && header_fits(like, kept);  // of what is held there is no data to hand over
  };
  if (remove)
    for (UnexpectedHeader* header = portal->unexpected.find(pattern, fits); header;
         header = once ? nullptr : portal->unexpected.find_next(*header, pattern, fits))
      if (static_cast<KeptHeader*>(header)->arriving) return PTL_IN_USE;
  for (UnexpectedHeader* found = portal->unexpected.find(pattern, fits); found;) {
    UnexpectedHeader* next = once ? nullptr : portal->unexpected.find_next(*found, pattern, fits);
    auto& kept = static_cast<KeptHeader&>(*found);
    ++found_count;
    count_overflow(kept, like);
    const uint32_t disabled = remove ? PTL_ME_EVENT_OVER_DISABLE : PTL_ME_EVENT_COMM_DISABLE;
    if (!(like.options & disabled))
      overflow_event(kept, portal->eq, like.user_ptr, remove ? PTL_EVENT_PUT_OVERFLOW : PTL_EVENT_SEARCH);
    if (remove) {
      portal->unexpected.unlink(kept);
      forget(kept);
    }
    found = next;
  }
  if ((like.options & PTL_ME_EVENT_CT_OVERFLOW) && (!once || found_count == 0)) count(like.ct, 0, 1);
  if (found_count == 0) nothing_found(*portal, pt_index, like);
  return PTL_OK;
}

// The first header found is known by `label` from now on, and by nothing else.
int Engine::set_aside(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern, const ListEntry& like, uint64_t label) {
  PortalEntry* portal = interfaces_[ni].portals[pt_index].get();
  if (!portal) return PTL_ARG_INVALID;
  UnexpectedHeader* found = portal->unexpected.find(pattern, [&](const UnexpectedHeader& header) {
    return header_fits(like, static_cast<const KeptHeader&>(header));
  });
  if (!found) {
    nothing_found(*portal, pt_index, like);
    return PTL_OK;
  }
  auto& kept = static_cast<KeptHeader&>(*found);
  portal->unexpected.unlink(kept);
  kept.match_bits = label;
  portal->unexpected.append(kept);
  overflow_event(kept, portal->eq, like.user_ptr, PTL_EVENT_SEARCH);
  return PTL_OK;
}

void Engine::nothing_found(const PortalEntry& portal, uint32_t pt_index, const ListEntry& like) {
  if (portal.eq == PTL_EQ_NONE) return;
  ptl_event_t event{};
  event.type = PTL_EVENT_SEARCH;
  event.user_ptr = like.user_ptr;
  event.pt_index = pt_index;
  event.ni_fail_type = PTL_NI_NO_MATCH;
  post(portal.eq, event);
}

}  // namespace portunus
