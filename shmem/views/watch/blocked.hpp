// blocked.hpp: the word by which a blocked process says whom it waits for, and for which view; 0: it is not blocked.
//
// Each wait has a turn of its own, so that who follows a chain twice sees whether somebody in it went on meanwhile. A wait that says so
// again keeps its turn: all in a circle look at the same times, and would else seem to each other to have gone on.
//
// Thread: any; pure.
#pragma once

#include <cstdint>

namespace portunus::views {

struct Blocked {
  uint64_t bits = 0;
  static constexpr Blocked by(int view, unsigned process, uint32_t turn) {
    return {static_cast<uint64_t>(turn) << 32 | static_cast<uint64_t>(view) << 16 | (process + 1)};
  }
  constexpr bool none() const { return (bits & 0xffff) == 0; }
  constexpr int view() const { return static_cast<int>(bits >> 16 & 0xffff); }
  constexpr int process() const { return static_cast<int>(bits & 0xffff) - 1; }
  constexpr uint32_t turn() const { return static_cast<uint32_t>(bits >> 32); }
  // The word that this process says next.
  constexpr Blocked again(int view, unsigned process, uint32_t next_turn) const {
    return by(view, process, 0).bits == (bits & 0xffffffff) ? *this : by(view, process, next_turn);
  }
};

}  // namespace portunus::views
