// peer.hpp: what the engine remembers of another process. Thread: the baton holder; peers.hpp says who owns it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "engine/core/initiator/throttle.hpp"
#include "engine/shared/command.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

constexpr uint32_t kRankUnknown = 0xfffffffe;  // not in the interface's map, or not looked up yet

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
  size_t eager = 0;        // the transport's limit
  bool failed = false;     // takes no messages; a new process at its address may make it whole again
  bool lost = false;       // on Peers' list of those that have just failed
  bool throttled = false;  // throttles is not empty
  bool stalled = false;    // on Peers' list of those with messages held back
  std::array<uint32_t, 4> rank{kRankUnknown, kRankUnknown, kRankUnknown, kRankUnknown};  // per interface
  std::unique_ptr<std::deque<HeldMessage>> held;                                         // made when first needed
  std::list<Throttled> throttles;  // what the peer has asked for, by portal table entry
  std::vector<uint32_t> watchers;  // counters that count a failure when this peer fails

  bool holds_back() const { return held && !held->empty(); }
};

constexpr uint64_t packed(ProcessId id) { return uint64_t{id.nid} << 32 | id.pid; }

}  // namespace portunus
