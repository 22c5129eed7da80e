// The placement of the ranks of a collective, as far as the choice of an algorithm asks: facts that all of them know alike, since one that
// chose otherwise than the others would wait for messages that nobody sends.
//
// Thread: any; plain values.
#pragma once

#include <cstdint>

namespace portunus::goal::collectives {

struct RankPlacement {
  enum Fact : uint8_t {
    kNetwork = 1,  // some of their messages do not go through memory of a node
    kSeveral = 2,  // some of them share a node
    kCrowded = 4,  // on some node of the job ranks outnumber cores
    kSlow = 8,     // with kNetwork: below about 2 Gbit/s between some nodes of the job (wire_probe.hpp)
  };
  uint8_t facts = 0;

  [[nodiscard]] bool has(Fact fact) const { return (facts & fact) != 0; }
  bool operator==(const RankPlacement&) const = default;
  auto operator<=>(const RankPlacement&) const = default;
};

// The places where a rule holds: of the facts that it asks for, these are there and the others are not. Nothing asked: everywhere.
struct Where {
  uint8_t asked = 0, there = 0;

  [[nodiscard]] bool holds(RankPlacement place) const { return (place.facts & asked) == there; }
  bool operator==(const Where&) const = default;
};

}  // namespace portunus::goal::collectives
