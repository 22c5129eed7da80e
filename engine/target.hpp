// target.hpp: a message on its way into a list entry, bulk transfers, and headers kept for later. Thread: the baton holder.
#pragma once

#include <memory>
#include <vector>

#include "engine/interface.hpp"

namespace portunus {

struct KeptHeader;

constexpr uint64_t kWindowMessages = 32;  // streamed data: eager messages asked for at a time

// A matched message: where its data goes and what will be reported.
struct Delivery {
  Peer* peer = nullptr;
  wire::Header header{};
  ListEntry* entry = nullptr;
  uint64_t source = 0;          // packed initiator id
  uint64_t offset = 0;          // in the entry's memory
  uint64_t mlength = 0;
  bool overflow = false;        // matched in the overflow list
  bool completes_kept = false;  // a header kept earlier is being completed into a later entry (E1)
  KeptHeader* remembered = nullptr;  // the header kept of this very message, while its data is still arriving
  uint32_t events = 0;          // flow control: the most it will post at this end

  Delivery() = default;
  Delivery(Peer* from, const wire::Header& request, ListEntry* matched, uint64_t initiator, bool in_overflow)
      : peer(from), header(request), entry(matched), source(initiator), overflow(in_overflow) {}
};

// Bulk data being moved. Progress is counted in bytes; with a Region the target pulls or pushes, without one the initiator
// streams messages (put) or we do (get); a fetch or swap does both, one after the other.
struct Transfer {
  Delivery delivery;
  wire::Region region{};
  bool push = false;          // get: towards the initiator
  bool stream = false;
  bool asked = false;         // stream: the request for the data is out
  bool staged = false;        // the initiator fills memory that we map
  bool starved = false;       // staged: it must fill some more first
  bool in_flight = false;     // a pull or push is under way in the transport
  bool failed = false;
  bool inaccessible = false;  // then failed, too: the entry covers memory that is not there
  uint64_t moved = 0;
  uint64_t part = 0;          // size of the piece in flight
  uint32_t index = 0;         // position in Engine::transfers_
  uint64_t id = 0;            // names it in stream messages
  StagingTaker staging;
  std::unique_ptr<std::byte[]> scratch;  // bulk atomics: operand data gathers here first
  std::unique_ptr<std::byte[]> bounce;   // entries with a layout: a piece lands here first
  std::unique_ptr<std::byte[]> old;      // fetch, swap: what was there before, on its way back (then `push`)
};

// An unexpected header, on the portal's unexpected list until an entry takes it.
struct KeptHeader : UnexpectedHeader {
  Peer* peer = nullptr;
  wire::Header header{};
  ListEntry* entry = nullptr;     // the overflow entry it landed in
  uint64_t offset = 0;            // of its data in the overflow entry's memory
  void* start = nullptr;          // its data in the overflow entry's memory
  uint64_t mlength = 0;
  bool held = false;              // PTLX_ME_HOLD: payload kept here, or the data still lies at the initiator
  bool arriving = false;          // the overflow entry's data is still being moved
  ptl_ni_fail_t fail = PTL_NI_OK; // it never came
  std::unique_ptr<std::byte[]> payload;
  wire::Region region{};
  ListEntry* taker = nullptr;     // consumed while arriving: report to this entry when the data is there
};

}  // namespace portunus
