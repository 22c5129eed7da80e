// unexpected.cpp: see unexpected.hpp.
#include "engine/core/target/unexpected.hpp"

#include <cassert>
#include <cstring>
#include <utility>

namespace portunus {
namespace {

// Whether an entry of these options takes this header: what NO_TRUNCATE asks of a message, asked again of its header.
bool header_fits(const Room& room, const KeptHeader& kept) {
  if (!(room.options & PTL_ME_NO_TRUNCATE)) return true;
  const uint64_t offset = room.options & PTL_ME_MANAGE_LOCAL ? room.local_offset : kept.header.remote_offset;
  return offset <= room.length && kept.header.rlength <= room.length - offset;
}
bool header_fits(const ListEntry& entry, const KeptHeader& kept) {
  return header_fits(Room{entry.options, entry.length, entry.local_offset}, kept);
}

static_assert(sizeof(KeptHeader) <= wire::kKeptHeader);

uint64_t bytes_held(const KeptHeader& kept) { return sizeof kept + (kept.payload ? wire::payload_of(kept.header) : 0); }

bool was_set_aside(const KeptHeader& kept) { return kept.match_bits != kept.header.match_bits; }

bool any(const UnexpectedHeader&) { return true; }

}  // namespace

Unexpected::Unexpected(Core& core, Reports& reports, FlowControl& flow, PortalTable& table)
    : core_(core), reports_(reports), flow_(flow), table_(table) {
  add_block();
}

void Unexpected::add_block() {
  if (const size_t all = (blocks_.size() + 1) * kBlock; all > spare_.capacity()) spare_.reserve(2 * all);  // spare() then needs no memory
  KeptHeader* const fresh = blocks_.emplace_back(std::make_unique<KeptHeader[]>(kBlock)).get();
  for (size_t i = kBlock; i-- > 0;) spare_.push_back(fresh + i);
}

KeptHeader* Unexpected::new_header() {
  if (spare_.empty()) add_block();
  KeptHeader* header = spare_.back();
  assert(!header->linked() && !header->held && !header->arriving && !header->payload && !header->entry);
  spare_.pop_back();
  return header;
}

void Unexpected::spare(KeptHeader& header) {
  assert(!header.linked() && spare_.size() < blocks_.size() * kBlock);
  if (header.payload) payloads_.give_back(std::move(header.payload), wire::payload_of(header.header));
  header.renew();
  spare_.push_back(&header);
  if (blocks_.size() <= kBlocksKept || spare_.size() != blocks_.size() * kBlock) return;
  blocks_.clear();
  spare_ = {};
  add_block();
}

void Unexpected::keep(Peer& peer, const wire::Header& header, const std::byte* payload, PortalEntry& portal, uint64_t source) {
  KeptHeader* kept = new_header();
  kept->match_bits = header.match_bits;
  kept->source = source;
  kept->peer = &peer;
  kept->header = header;
  kept->held = true;
  if (header.flags & wire::kBulk) {
    if (!(header.flags & wire::kNoRegion)) std::memcpy(&kept->region, payload, sizeof kept->region);
  } else if (const size_t size = wire::payload_of(header)) {
    if (size > KeptHeader::kSmall) kept->payload = payloads_.take(size);
    std::memcpy(kept->payload ? kept->payload.get() : kept->small, payload, size);
  }
  portal.unexpected.append(*kept);
  ++core_.interfaces[header.flags & wire::kNiMask].unexpected_headers;
  ++core_.stats.unexpected;
  if (portal.held) flow_.account(portal, peer, header, bytes_held(*kept));
}

KeptHeader* Unexpected::remember(const Delivery& delivery, PortalEntry& portal) {
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
  ++core_.interface_of(*delivery.entry).unexpected_headers;
  ++core_.stats.unexpected;
  return kept;
}

// Whether a header fits may change with every one that is taken (a local offset moves), so it is asked when its turn comes.
KeptHeader* Unexpected::take(ListEntry& entry, PortalEntry& portal, Cursor& cursor) {
  if (!cursor.begun) {
    cursor.begun = true;
    cursor.next = portal.unexpected.find(entry, any);
  }
  const bool completes = entry.options & PTLX_ME_COMPLETE_UNEXPECTED;
  while (UnexpectedHeader* const found = cursor.next) {
    auto& kept = static_cast<KeptHeader&>(*found);
    const bool fits = (!kept.held || completes) && header_fits(entry, kept);
    if (fits && (entry.options & PTL_ME_USE_ONCE)) return unlinked(portal, found);  // nothing comes after it
    cursor.next = portal.unexpected.find_next(*found, entry, any);
    if (fits) return unlinked(portal, found);
  }
  return nullptr;
}

KeptHeader* Unexpected::unlinked(PortalEntry& portal, UnexpectedHeader* header) {
  if (header) portal.unexpected.unlink(*header);
  return static_cast<KeptHeader*>(header);
}

KeptHeader* Unexpected::take_any(PortalEntry& portal) { return unlinked(portal, portal.unexpected.first()); }

// The latest, for a process may have the address, and the tokens, of one that has died and left headers here.
KeptHeader* Unexpected::take_withdrawn(PortalEntry& portal, const Peer& peer, uint64_t token) {
  KeptHeader* found = nullptr;
  for (UnexpectedHeader* header = portal.unexpected.first(); header; header = UnexpectedList::next(*header)) {
    auto& kept = static_cast<KeptHeader&>(*header);
    if (kept.held && kept.peer == &peer && kept.header.token == token) found = &kept;
  }
  if (!found || found->header.kind != wire::Kind::put || was_set_aside(*found)) return nullptr;
  return unlinked(portal, found);
}

KeptHeader* Unexpected::take_held(PortalEntry& portal, const MatchPattern& pattern) {
  return unlinked(portal, portal.unexpected.find(pattern, [](const UnexpectedHeader& header) {
    const auto& kept = static_cast<const KeptHeader&>(header);
    return kept.held && !was_set_aside(kept);
  }));
}

void Unexpected::forget(KeptHeader& kept) {
  ListEntry* entry = kept.entry;
  Interface& ni = core_.interfaces[kept.header.flags & wire::kNiMask];
  assert(ni.unexpected_headers > 0 && !kept.linked() && kept.held == (kept.entry == nullptr));
  --ni.unexpected_headers;
  if (PortalEntry* portal = kept.held ? ni.portals[kept.header.pt_index].get() : nullptr; portal && portal->held)
    flow_.release(*portal, kept.header, bytes_held(kept));
  spare(kept);
  if (!entry) return;
  assert(entry->headers > 0);
  --entry->headers;
  table_.idle(*entry);
}

int Unexpected::search(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern, const ListEntry& like, ptl_search_op_t op) {
  PortalEntry* portal = core_.portal(ni, pt_index);
  if (!portal) return PTL_ARG_INVALID;
  const bool once = like.options & PTL_ME_USE_ONCE;
  const bool remove = op == PTL_SEARCH_DELETE;
  uint64_t found_count = 0;
  const auto fits = [&](const UnexpectedHeader& header) {
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
    reports_.count_overflow(kept, like);
    const uint32_t disabled = remove ? PTL_ME_EVENT_OVER_DISABLE : PTL_ME_EVENT_COMM_DISABLE;
    if (!(like.options & disabled)) reports_.overflow(kept, portal->eq, like.user_ptr, remove ? PTL_EVENT_PUT_OVERFLOW : PTL_EVENT_SEARCH);
    if (remove) {
      portal->unexpected.unlink(kept);
      forget(kept);
    }
    found = next;
  }
  if ((like.options & PTL_ME_EVENT_CT_OVERFLOW) && (!once || found_count == 0)) reports_.count(like.ct, 0, 1);
  if (found_count == 0) reports_.nothing_found(portal->eq, pt_index, like.user_ptr);
  return PTL_OK;
}

int Unexpected::find(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern, const Room& room, const uint64_t* label,
                     ptl_event_t& event) {
  PortalEntry* portal = core_.portal(ni, pt_index);
  if (!portal) return PTL_ARG_INVALID;
  UnexpectedHeader* found = portal->unexpected.find(
      pattern, [&](const UnexpectedHeader& header) { return header_fits(room, static_cast<const KeptHeader&>(header)); });
  if (!found) {
    event = Reports::nothing_event(pt_index);
    return PTL_OK;
  }
  auto& kept = static_cast<KeptHeader&>(*found);
  event = reports_.header_event(kept, PTL_EVENT_SEARCH);
  if (!label) return PTL_OK;
  portal->unexpected.unlink(kept);
  kept.match_bits = *label;
  portal->unexpected.append(kept);
  return PTL_OK;
}

}  // namespace portunus
