// flow_control.cpp: asking senders for less, and sending less when asked.
#include "engine/core/target/flow_control.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "engine/core/initiator/payload.hpp"

namespace portunus {
namespace {

constexpr uint64_t kAlwaysEager = 64;  // data that takes no more than what a header alone would

}  // namespace

int FlowControl::limit_held(uint32_t ni, uint32_t pt_index, uint64_t headers_only_from, uint64_t most) {
  PortalEntry* portal = core_.portal(ni, pt_index);
  if (!portal) return PTL_ARG_INVALID;
  if (!portal->unexpected.empty()) return PTL_PT_IN_USE;
  portal->held = std::make_unique<HeldMemory>(headers_only_from, most - peers_.bound_pending(most));
  return PTL_OK;
}

void FlowControl::account(PortalEntry& portal, Peer& sender, const wire::Header& header, uint64_t bytes) {
  HeldMemory& held = *portal.held;
  held.add(bytes);
  if (held.level() == Throttle::none) return;
  Throttle& told = held.told[&sender];
  if (told >= held.level()) return;
  told = held.level();
  tell(sender, header, told);
}

void FlowControl::release(PortalEntry& portal, const wire::Header& header, uint64_t bytes) {
  HeldMemory& held = *portal.held;
  if (!held.subtract(bytes)) return;
  for (auto& [peer, told] : held.told) {
    assert(told != Throttle::none);
    if (told <= held.level()) continue;
    told = held.level();
    tell(*peer, header, told);
  }
  if (held.level() == Throttle::none) held.told.clear();
}

void FlowControl::tell(Peer& peer, const wire::Header& about, Throttle level) {
  wire::Header header{};
  header.kind = wire::Kind::throttle;
  header.flags = about.flags & wire::kNiMask;
  header.op = static_cast<uint8_t>(level);
  header.pt_index = about.pt_index;
  peers_.send_throttle(peer, header);
}

bool FlowControl::pause(Peer& peer, Command& command) {
  if (command.verb != Verb::put) return false;
  const auto found = std::find_if(peer.throttles.begin(), peer.throttles.end(),
                                  [&](const Throttled& each) { return each.ni == command.ni && each.pt_index == command.pt_index; });
  if (found == peer.throttles.end()) return false;
  own_volatile(command);
  if (found->level == Throttle::nothing || !found->paused.empty()) {
    ++core_.stats.back_pressure;
    ++paused_;
    found->paused.push_back(std::make_unique<Command>(command));
    return true;
  }
  if (command.length > kAlwaysEager) command.source.options |= PTLX_MD_HEADER_FIRST;
  return false;
}

PausedPuts FlowControl::told(Peer& peer, const wire::Header& header) {
  PausedPuts free_to_go;
  const uint8_t ni = header.flags & wire::kNiMask;
  if (header.op > static_cast<uint8_t>(Throttle::nothing) || header.pt_index >= kMaxPortals || header.payload_size != 0) {
    ++core_.stats.malformed;
    return free_to_go;
  }
  const auto level = static_cast<Throttle>(header.op);
  auto found = std::find_if(peer.throttles.begin(), peer.throttles.end(),
                            [&](const Throttled& each) { return each.ni == ni && each.pt_index == header.pt_index; });
  if (found == peer.throttles.end()) {
    if (level == Throttle::none || peer.failed) return free_to_go;
    peer.throttles.emplace_back();
    found = std::prev(peer.throttles.end());
    found->ni = ni;
    found->pt_index = header.pt_index;
    if (!peer.throttled) core_.restraints.fetch_add(1, std::memory_order_relaxed);
    peer.throttled = true;
  }
  found->level = level;
  if (level == Throttle::nothing) {
    pause_held_back(peer, *found);
    return free_to_go;
  }
  free_to_go.swap(found->paused);
  assert(paused_ >= free_to_go.size());
  paused_ -= free_to_go.size();
  if (level == Throttle::none) lift(peer, found);
  return free_to_go;
}

// Pauses the puts that are held back for want of room: after the target has asked they are as good as on their way otherwise.
void FlowControl::pause_held_back(Peer& peer, Throttled& throttled) {
  if (!peer.holds_back()) return;
  PausedPuts before;
  const auto goes_there = [&](HeldMessage& message) {
    Command* const command = message.command.get();
    if (!command || command->verb != Verb::put || command->ni != throttled.ni || command->pt_index != throttled.pt_index) return false;
    before.push_back(std::move(message.command));
    return true;
  };
  std::erase_if(*peer.held, goes_there);
  peers_.let_go(before.size());
  paused_ += before.size();
  throttled.paused.insert(throttled.paused.begin(), std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
}

void FlowControl::lift(Peer& peer, std::list<Throttled>::iterator which) {
  assert(peer.throttled && which->paused.empty());
  peer.throttles.erase(which);
  if (!peer.throttles.empty()) return;
  peer.throttled = false;
  core_.restraints.fetch_sub(1, std::memory_order_relaxed);
}

PausedPuts FlowControl::drop(Peer& peer, int ni) {
  PausedPuts dropped;
  for (auto each = peer.throttles.begin(); each != peer.throttles.end();) {
    const auto here = each++;
    if (ni >= 0 && here->ni != ni) continue;
    assert(paused_ >= here->paused.size());
    paused_ -= here->paused.size();
    std::move(here->paused.begin(), here->paused.end(), std::back_inserter(dropped));
    here->paused.clear();
    lift(peer, here);
  }
  return dropped;
}

}  // namespace portunus
