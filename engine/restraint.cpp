// restraint.cpp: asking senders for less, and sending less when asked.
#include "engine/restraint.hpp"

#include "engine/engine.hpp"

#include <algorithm>
#include <cstdlib>

namespace portunus {

uint64_t Engine::held_bytes(const KeptHeader& kept) {
  return sizeof kept + (kept.header.flags & wire::kBulk ? 0 : kept.header.payload_size);
}

int Engine::limit_held(uint32_t ni, uint32_t pt_index, uint64_t headers_only_from, uint64_t most) {
  PortalEntry* portal = interfaces_[ni].portals[pt_index].get();
  if (!portal) return PTL_ARG_INVALID;
  if (!portal->unexpected.empty()) return PTL_PT_IN_USE;
  portal->held = std::make_unique<HeldMemory>(headers_only_from, most);
  return PTL_OK;
}

// The message has been kept: its sender may have to be asked for less.
void Engine::account_held(PortalEntry& portal, const KeptHeader& kept) {
  HeldMemory& held = *portal.held;
  held.add(held_bytes(kept));
  if (held.level() == Restraint::none) return;
  Restraint& told = held.told[kept.peer];
  if (told >= held.level()) return;
  told = held.level();
  tell(*kept.peer, kept.header, told);
}

void Engine::release_held(PortalEntry& portal, const KeptHeader& kept) {
  HeldMemory& held = *portal.held;
  if (!held.subtract(held_bytes(kept))) return;
  for (auto& [peer, told] : held.told) {
    if (told <= held.level()) continue;
    told = held.level();
    tell(*peer, kept.header, told);
  }
  if (held.level() == Restraint::none) held.told.clear();
}

void Engine::tell(Peer& peer, const wire::Header& about, Restraint level) {
  wire::Header header{};
  header.kind = wire::Kind::restrain;
  header.flags = about.flags & wire::kNiMask;
  header.op = static_cast<uint8_t>(level);
  header.pt_index = about.pt_index;
  send(peer, header, nullptr, 0);
}

// ---- the sender ----

Restrained* Engine::restraint_on(Peer& peer, const Command& command) {
  if (command.verb != Verb::put) return nullptr;
  for (Restrained& each : peer.restraints)
    if (each.ni == command.ni && each.pt_index == command.pt_index) return &each;
  return nullptr;
}

// True: the command was put aside and is sent later. Else it may have become one that sends its header alone.
bool Engine::restrain(Peer& peer, Command& command) {
  Restrained* found = restraint_on(peer, command);
  if (!found) return false;
  own_volatile(command);
  if (found->level == Restraint::nothing || !found->paused.empty()) {
    ++stats_.back_pressure;
    ++paused_;
    found->paused.push_back(std::make_unique<Command>(command));
    return true;
  }
  if (command.length > kAlwaysEager) command.source.options |= PTLX_MD_HEADER_FIRST;
  return false;
}

void Engine::restrained(Link& from, const wire::Header& header) {
  Peer& peer = *from.peer;
  const uint8_t ni = header.flags & wire::kNiMask;
  if (header.op > static_cast<uint8_t>(Restraint::nothing) || header.pt_index >= kMaxPortals || header.payload_size != 0) {
    ++stats_.malformed;
    return;
  }
  auto found = std::find_if(peer.restraints.begin(), peer.restraints.end(),
                            [&](const Restrained& each) { return each.ni == ni && each.pt_index == header.pt_index; });
  const auto level = static_cast<Restraint>(header.op);
  if (found == peer.restraints.end()) {
    if (level == Restraint::none || peer.failed) return;
    peer.restraints.emplace_back();
    found = std::prev(peer.restraints.end());
    found->ni = ni;
    found->pt_index = header.pt_index;
    if (!peer.restrained) restrained_peers_.fetch_add(1, std::memory_order_relaxed);
    peer.restrained = true;
  }
  found->level = level;
  if (level == Restraint::nothing) return;
  std::deque<std::unique_ptr<Command>> paused;
  paused.swap(found->paused);
  if (level == Restraint::none) lift(peer, found);
  paused_ -= paused.size();
  for (std::unique_ptr<Command>& command : paused) start_message(*command);
}

void Engine::lift(Peer& peer, std::list<Restrained>::iterator which) {
  peer.restraints.erase(which);
  if (!peer.restraints.empty()) return;
  peer.restrained = false;
  restrained_peers_.fetch_sub(1, std::memory_order_relaxed);
}

// The peer is gone, or the interface is: nothing is sent any more. `report`: whoever waits is told.
void Engine::drop_paused(Peer& peer, int ni, bool report) {
  for (auto each = peer.restraints.begin(); each != peer.restraints.end();) {
    const auto here = each++;
    if (ni >= 0 && here->ni != ni) continue;
    std::deque<std::unique_ptr<Command>> paused;
    paused.swap(here->paused);
    lift(peer, here);
    paused_ -= paused.size();
    for (std::unique_ptr<Command>& command : paused) {
      if (report)
        undeliverable(*command);
      else if (command->owns_payload)
        std::free(command->source.base);
    }
  }
}

}  // namespace portunus
