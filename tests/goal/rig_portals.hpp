// rig_portals.hpp: the Portals calls that compiled programs use, on hand-stepped engines instead of the process's own one.
//
// A test says whose calls they are (`current`), and what happens when a call waits (`meanwhile`). Some of what a
// program relies on can be switched off, to see that its absence is noticed.
//
// Thread: one.
#pragma once

#include <cstdint>
#include <functional>

#include "tests/support/rig.hpp"

namespace portunus::goal {

// The calls of a program that may fail.
enum class Favour : uint8_t { repeat, guard, watch, append };

struct RigPortals {
  test::Node* current = nullptr;
  std::function<int()> meanwhile;   // one step of something; returns the work done
  bool settles = true;              // a call does at once what it made ripe; else the next step does
  bool complete_unexpected = true;  // E1, else a message that comes early is counted and stays where it is
  bool guard = true;                // E6: failures release nothing
  bool tells_failures = true;       // E6: and are told to others
  // ---- faults that are planted ----
  std::function<int(Command&, ptl_size_t& threshold)> parks;  // how often it is parked, whatever its caller thinks
  std::function<bool(Favour, ptl_me_t*)> grants;              // false: nothing comes of it; of an entry the description
};
inline RigPortals rig_portals;

}  // namespace portunus::goal
