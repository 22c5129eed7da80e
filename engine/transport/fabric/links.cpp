// links.cpp: how links begin and end.
//
// Thread: the holder of the baton.
// Invariants: a link is found by slot (messages) or by process (connect, Hellos). It is never removed: a Link lives
// as long as the transport.
#include <rdma/fi_errno.h>

#include <cassert>
#include <cstring>
#include <string_view>

#include "engine/transport/fabric/fabric.hpp"
#include "engine/transport/fabric/message.hpp"

namespace portunus {

using fabric::FabricLink;
using fabric::LinkState;

namespace {

// Time for the peer's last messages, which the end of its TCP connection may overtake.
constexpr auto kGrace = std::chrono::milliseconds(100);

uint64_t key_of(ProcessId process) { return uint64_t{process.nid} << 32 | process.pid; }

size_t hash_of(const fabric::Hello& hello) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(hello.name), hello.name_size});
}

}  // namespace

FabricLink* FabricTransport::make_link(ProcessId process) {
  state.has_links = true;
  FabricLink* link = links_.emplace_back(std::make_unique<FabricLink>()).get();
  link->process = process;
  link->slot = static_cast<uint32_t>(links_.size() - 1);
  if (endpoint_.by_streams()) link->window.limit();
  by_process_[key_of(process)] = link;
  ++unsettled_;
  return link;
}

Link* FabricTransport::connect(ProcessId process) {
  if (process.nid == 0 || process.pid == 0 || process.pid >= 0xffff || process == self()) return nullptr;
  FabricLink* link = by_process_[key_of(process)];
  if (link == nullptr) {
    link = make_link(process);
    if (!connections_.call(*link, unsettled_)) disconnect(*link);
  }
  link->known = true;
  return link;
}

FabricLink* FabricTransport::hello_received(FabricLink* link, const fabric::Hello& hello) {
  const fi_info& ours = *endpoint_.info;
  if (hello.address_format != ours.addr_format || hello.protocol != ours.ep_attr->protocol ||
      hello.protocol_version != ours.ep_attr->protocol_version)
    return nullptr;
  // Names that are not text have one size; text is ended by the zeros behind it.
  if (ours.addr_format != FI_ADDR_STR && hello.name_size != endpoint_.name.size()) return nullptr;
  const ProcessId process{hello.nid, hello.pid};
  if (process == self() || (link != nullptr && !(link->process == process))) return nullptr;
  if (link == nullptr) {
    link = by_process_[key_of(process)];
    if (link == nullptr || link->state > LinkState::ready) link = make_link(process);
  }
  // Two processes that call at the same time send two Hellos each: the first counts, and the second must say the same.
  if (link->state != LinkState::calling) return link->state <= LinkState::ready && link->name_hash == hash_of(hello) ? link : nullptr;
  std::byte name[fabric::kMaxName + 1] = {};
  std::memcpy(name, hello.name, hello.name_size);
  if (fi_av_insert(endpoint_.av.get(), name, 1, &link->address, 0, nullptr) != 1) {
    connections_.explain(process, "the provider has no room for its address", ENOMEM);
    disconnect(*link);
    return nullptr;
  }
  assert(link->frame == nullptr && link->in_flight == 0);
  link->state = LinkState::opening;
  if (link->spoke) begin(*link);
  link->uid = hello.uid;
  link->remote_slot = hello.slot;
  link->name_hash = hash_of(hello);
  if (link->state == LinkState::opening && key_of(self()) < key_of(process)) opening_.push_back(link);
  return link;
}

// Opens links. A provider that makes connections takes nothing until they stand, and does not tell when they do, so a sender that was
// answered `again` would sleep for ever. The side with the smaller address sends probes until the provider takes one; the other waits for
// it. If both sides opened at once, one connection would have to be undone, which libfabric 1.17's `net` does to both in one of ten cases.
// Returns how many links are ready now, or lost.
int FabricTransport::probe() {
  const auto is_settled = [this](FabricLink* link) {
    if (link->state != LinkState::opening) return true;
    const auto error = static_cast<int>(-send_probe(*link, false));
    if (error == FI_EAGAIN || fabric::no_way(error)) return false;
    if (is_lack(error)) connections_.explain(link->process, fabric::kNoConnection, error);
    if (error == 0) begin(*link);
    else disconnect(*link);
    return true;
  };
  return static_cast<int>(std::erase_if(opening_, is_settled));
}

// Notes that the provider's connection stands.
void FabricTransport::begin(FabricLink& link) {
  assert(link.state == LinkState::opening && unsettled_ > 0 && link.address != FI_ADDR_UNSPEC);
  link.state = LinkState::ready;
  --unsettled_;
}

// Notes that the peer is gone, or cannot be talked to. `poll` tells the engine once nothing of the peer is left to be read.
void FabricTransport::disconnect(FabricLink& link) {
  if (link.state >= LinkState::ending) return;
  const bool spoke = link.state != LinkState::calling;
  assert(link.state == LinkState::ready || unsettled_ > 0);
  if (link.state != LinkState::ready) --unsettled_;
  link.state = LinkState::ending;
  held_back_ = false;  // by this link, perhaps; others try again
  link.ended = spoke ? std::chrono::steady_clock::now() + kGrace : std::chrono::steady_clock::time_point{};
  disconnected_.push_back(&link);
}

// Tells of links that have ended; called when the completion queue is empty. Goes by index, since the sink may call back.
int FabricTransport::reap() {
  int told = 0;
  const auto now = std::chrono::steady_clock::now();
  for (size_t i = 0; i < disconnected_.size();) {
    FabricLink& link = *disconnected_[i];
    if (now < link.ended) {
      ++i;
      continue;
    }
    disconnected_[i] = disconnected_.back();
    disconnected_.pop_back();
    assert(link.state == LinkState::ending);
    link.state = LinkState::failed;
    if (link.is_silent) endpoint_.shut_streams(link.address);
    abandon(link);
    connections_.hang_up(link);
    if (link.known) sink_.lost(link);
    ++told;
  }
  return told;
}

// Forgets operations of a lost link, which the provider may return late or never.
void FabricTransport::abandon(FabricLink& link) {
  for (const auto& [number, operation] : link.early) pool_of(Kind::receive).push_back(operation);
  link.early.clear();
  abandon_sends(link);
  abandon_moves(link);
  credit_pool_.forget(link.grant);
}

void FabricTransport::abandon_sends(FabricLink& link) {
  for (size_t i = 0; i < operations_.size(); ++i) {
    Operation& operation = operations_[i];
    if (operation.link != &link) continue;
    operation.link = nullptr;
    ++missing_of(operation.kind);
    if (operation.kind == Kind::send || operation.kind == Kind::data) --sends_in_flight_;
  }
}

}  // namespace portunus
