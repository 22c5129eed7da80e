// delivery.hpp: a matched message: where its data goes and what will be reported. Thread: the baton holder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/peer.hpp"
#include "engine/core/target/list_entry.hpp"
#include "engine/transport/wire.hpp"

namespace portunus {

struct KeptHeader;

struct Delivery {
  Peer* peer = nullptr;
  wire::Header header{};
  ListEntry* entry = nullptr;
  uint64_t source = 0;  // the initiator, as match lists keep it
  uint64_t offset = 0;  // in the entry's memory
  uint64_t mlength = 0;
  bool overflow = false;             // matched in the overflow list
  bool ordered = false;              // WriteOrder keeps it ahead of others
  KeptHeader* remembered = nullptr;  // the header kept of this very message, while its data is still arriving
  uint32_t events = 0;               // flow control: the most it will post at this end

  Delivery() = default;
  Delivery(Peer* from, const wire::Header& request, ListEntry* matched, uint64_t initiator, bool in_overflow)
      : peer(from), header(request), entry(matched), source(initiator), overflow(in_overflow) {}
};

constexpr bool is_fetch(wire::Kind kind) { return kind == wire::Kind::fetch_atomic || kind == wire::Kind::swap; }
constexpr bool is_answered_by_reply(wire::Kind kind) { return kind == wire::Kind::get || is_fetch(kind); }

// Asked before memory is touched that need not be there (PTL_TARGET_BIND_INACCESSIBLE). A system call for each part.
bool is_accessible(const ListEntry& entry, uint64_t offset, uint64_t size, bool write);

// Applies an atomic to the entry's memory, whole data only, and makes mlength the bytes changed. `old`: room for what was
// there before, or nullptr; `operand`: of a swap.
void apply_to_entry(Delivery& delivery, const std::byte* data, std::byte* old, const std::byte* operand);

}  // namespace portunus
