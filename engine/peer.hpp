// peer.hpp: what the engine remembers of another process. Thread: the baton holder.
//
// Invariants: while `held` is not empty every further message to the peer queues behind it, so the order of issue
// is the order on the wire. A failed peer never recovers.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "engine/restraint.hpp"
#include "engine/shared/command.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

constexpr uint32_t kNoRank = 0xffffffff;
constexpr uint32_t kRankUnknown = 0xfffffffe;  // not looked up yet

// A message that the transport would not take yet: a command as it was given, or a finished engine message.
struct HeldMessage {
  std::unique_ptr<Command> command;
  wire::Header header{};
  std::vector<std::byte> payload;
};

struct Peer {
  ProcessId id;
  Link* link = nullptr;
  Transport* transport = nullptr;
  bool failed = false;
  bool restrained = false;                          // restraints is not empty
  bool stalled = false;                             // listed in Engine::stalled_
  std::array<uint32_t, 4> rank{kRankUnknown, kRankUnknown, kRankUnknown, kRankUnknown};  // per interface
  std::unique_ptr<std::deque<HeldMessage>> held;    // made when first needed
  std::list<Restrained> restraints;                 // what the peer has asked for, by portal table entry
  std::vector<uint32_t> watchers;                   // counters that count a failure when this peer fails
};

}  // namespace portunus
