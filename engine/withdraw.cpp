// withdraw.cpp: puts that are taken back before they have matched, and held headers that are refused (E10).
//
// The target alone decides about a put that has left: the request follows the put on the same ordered link, and finds its
// header among those held, or does not: then the put has matched, or was refused, and its answer says so. Either way the
// initiator gets one answer. Invariants: a request that finds nothing does nothing; a peer ends its own puts only. Source:
// PEACE (time limits on a synchronous send); Portals 4.3 has no counterpart.
#include "engine/withdraw.hpp"

#include "engine/engine.hpp"

#include <algorithm>
#include <cstdlib>

namespace portunus {
namespace {

// The latest held header of this put. A process may have the address, and the tokens, of one that has died and left headers
// here.
KeptHeader* find_held(UnexpectedList& list, const Peer* peer, uint64_t token) {
  KeptHeader* found = nullptr;
  for (UnexpectedHeader* header = list.first(); header; header = UnexpectedList::next(*header)) {
    auto& kept = static_cast<KeptHeader&>(*header);
    if (kept.held && kept.peer == peer && kept.header.token == token) found = &kept;
  }
  return found;
}

bool was_set_aside(const KeptHeader& kept) { return kept.match_bits != kept.header.match_bits; }

}  // namespace

void Engine::withdraw_puts(const PutsOf& like) {
  std::vector<std::unique_ptr<Command>> unsent;
  for (Peer* peer : stalled_)
    std::erase_if(*peer->held, [&](HeldMessage& message) {
      if (!message.command || !like.include(*message.command)) return false;
      unsent.push_back(std::move(message.command));
      return true;
    });
  if (paused_ != 0)
    for (auto& [id, peer] : peers_)
      for (Restrained& restrained : peer->restraints)
        paused_ -= std::erase_if(restrained.paused, [&](std::unique_ptr<Command>& command) {
          if (!like.include(*command)) return false;
          unsent.push_back(std::move(command));
          return true;
        });
  for (std::unique_ptr<Command>& command : unsent) withdrawn(*command);
  for (size_t i = 0; i < operation_pool_.size(); ++i) {
    Operation& operation = operation_pool_[i];
    if (operation.withdrawing || !like.include(operation)) continue;
    operation.withdrawing = true;
    wire::Header header{};
    header.kind = wire::Kind::withdraw;
    header.flags = operation.ni;
    header.pt_index = operation.pt_index;
    header.token = operation.token();
    send(*operation.peer, header, nullptr, 0);
  }
}

// The put has not left: it ends here.
void Engine::withdrawn(Command& command) {
  posted = true;
  if (command.owns_payload) std::free(command.source.base);
  command.owns_payload = false;
  if (command.ack == PTL_NO_ACK_REQ) {
    send_event(command.source, command.length, command.user_ptr, PTLX_NI_WITHDRAWN);
    return;
  }
  Operation ended;
  ended.verb = command.verb;
  ended.ack = command.ack;
  ended.source = command.source;
  ended.length = command.length;
  ended.user_ptr = command.user_ptr;
  finish(ended, 0, 0, PTLX_NI_WITHDRAWN, PTL_PRIORITY_LIST);
}

void Engine::withdraw_kept(Link& from, const wire::Header& header) {
  if (header.pt_index >= kMaxPortals || header.payload_size != 0 || header.token == 0) {
    ++stats_.malformed;
    return;
  }
  PortalEntry* portal = interfaces_[header.flags & wire::kNiMask].portals[header.pt_index].get();
  KeptHeader* kept = portal ? find_held(portal->unexpected, from.peer, header.token) : nullptr;
  if (!kept || kept->header.kind != wire::Kind::put || was_set_aside(*kept)) return;
  portal->unexpected.unlink(*kept);
  wire::Header answer{};
  answer.kind = wire::Kind::ack;
  answer.op = PTLX_NI_WITHDRAWN;
  answer.flags = kept->header.flags & wire::kAckMask ? 0 : wire::kSourceRead;
  answer.token = header.token;
  forget(*kept);
  send(*from.peer, answer, nullptr, 0);
}

int Engine::refuse_held(uint32_t ni, uint32_t pt_index, const MatchPattern& pattern) {
  PortalEntry* portal = interfaces_[ni].portals[pt_index].get();
  if (!portal) return PTL_ARG_INVALID;
  const auto refusable = [](const UnexpectedHeader& header) {
    const auto& kept = static_cast<const KeptHeader&>(header);
    return kept.held && !was_set_aside(kept);
  };
  for (UnexpectedHeader *next, *found = portal->unexpected.find(pattern, refusable); found; found = next) {
    next = portal->unexpected.find_next(*found, pattern, refusable);
    portal->unexpected.unlink(*found);
    abandon(static_cast<KeptHeader&>(*found));
  }
  return PTL_OK;
}

}  // namespace portunus
