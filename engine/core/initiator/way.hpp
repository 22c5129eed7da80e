// way.hpp: the ways that a message's data may go, and the one table that decides. README.md tells what each costs.
//
// The initiator asks the table before it sends the header, the target after it has matched; each knows its own facts and the
// header tells the rest. Where a way turns out to be closed (no staging free, memory that cannot be opened), the fact it
// needs is taken away and the table asked again.
#pragma once

#include <cstdint>

namespace portunus {

enum class Way : uint8_t {
  inlined,   // in the message itself
  staged,    // in pieces: the initiator copies them together into memory that both map, the target copies them out
  packed,    // laid out by a function of the initiator's: copied together as a whole, then pulled
  bounced,   // laid out by a function of the target's: pulled a piece at a time, then copied where they go
  pulled,    // one end opens its memory, the target pulls (put) or pushes (get)
  streamed,  // in messages that the target asks for, a window at a time
};

// The facts that decide, a bit each.
namespace fact {
constexpr uint16_t kFitsMessage = 1 << 0;    // and nobody asked for the header first
constexpr uint16_t kStaging = 1 << 1;        // memory that both ends map is to be had for it
constexpr uint16_t kInPieces = 1 << 2;       // the initiator's memory is an iovec or laid out
constexpr uint16_t kRemoteAccess = 1 << 3;   // the transport pulls and pushes, and there is memory to open for it
constexpr uint16_t kSourceLaidOut = 1 << 4;  // PTLX_MD_LAYOUT of what is read
constexpr uint16_t kEntryLaidOut = 1 << 5;   // PTLX_ME_LAYOUT
}  // namespace fact

struct WayRow {
  Way way;
  uint16_t needs;
  uint16_t excludes;
};

// The first row that fits is taken.
constexpr WayRow kWays[] = {
    {Way::inlined, fact::kFitsMessage, 0},
    {Way::staged, fact::kStaging | fact::kInPieces, 0},
    {Way::packed, fact::kRemoteAccess | fact::kSourceLaidOut, 0},
    {Way::bounced, fact::kRemoteAccess | fact::kEntryLaidOut, 0},
    {Way::pulled, fact::kRemoteAccess, fact::kInPieces},
    {Way::streamed, 0, 0},
};

constexpr Way choose_way(uint16_t facts) {
  for (const WayRow& row : kWays)
    if ((facts & row.needs) == row.needs && (facts & row.excludes) == 0) return row.way;
  return Way::streamed;
}

// Through memory that both ends map, and by one end's access to the other's.
constexpr bool goes_through_staging(Way way) { return way == Way::staged; }
constexpr bool opens_memory(Way way) { return way == Way::packed || way == Way::bounced || way == Way::pulled; }

static_assert(choose_way(0) == Way::streamed);

}  // namespace portunus
