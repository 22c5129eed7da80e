// match_pattern.hpp: the two sides of Portals matching: the pattern of a list entry, and what a message brings.
//
// A source is the initiator's id packed into 64 bits, nid << 32 | pid, or the rank alone. source_mask says
// which of those bits count: ~0 an exact initiator, 0 any, half a mask for PTL_NID_ANY or PTL_PID_ANY alone.
//
// Thread: any; plain values.
// Source: Portals 4, matching of list entries (match bits, ignore bits, match_id).
#pragma once

#include <cstdint>

namespace portunus {

struct Incoming {
  uint64_t match_bits = 0;
  uint64_t source = 0;
};

struct MatchPattern {
  uint64_t match_bits = 0;
  uint64_t ignore_bits = 0;
  uint64_t source = 0;
  uint64_t source_mask = ~uint64_t{0};

  bool matches(const Incoming& in) const {
    return (((in.match_bits ^ match_bits) & ~ignore_bits) | ((in.source ^ source) & source_mask)) == 0;
  }
};

}  // namespace portunus
