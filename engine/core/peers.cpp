// peers.cpp: who is reachable how, what waits for room, and who is gone.
#include "engine/core/peers.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace portunus {
namespace {

bool is_throttle(const HeldMessage& message) { return !message.command && message.header.kind == wire::Kind::throttle; }

}  // namespace

void Peers::add_transport(std::unique_ptr<Transport> transport, bool costly_to_poll) {
  if (transport->can().bundling) bundler_ = transport.get();
  carriers_.push_back({std::move(transport), costly_to_poll, 0});
}

Peer& Peers::record(ProcessId process) {
  auto [found, fresh] = peers_.try_emplace(packed(process));
  if (fresh) {
    found->second = std::make_unique<Peer>();
    found->second->id = process;
  }
  return *found->second;
}

void Peers::reach(Peer& peer, Link& link, Transport& by) {
  assert(link.process == peer.id && (!peer.link || peer.failed) && !peer.lost);
  peer.link = &link;
  peer.transport = &by;
  peer.eager = by.limits().eager;
  link.peer = &peer;
}

Peer* Peers::find_or_reach(ProcessId process) {
  Peer& peer = record(process);
  latest_ = &peer;
  if (peer.link || peer.failed) return &peer;
  for (Carrier& carrier : carriers_) {
    if (Link* link = carrier.transport->connect(process)) {
      reach(peer, *link, *carrier.transport);
      return &peer;
    }
  }
  peer.failed = true;
  return &peer;
}

// Only who asks its transport finds out before that process speaks.
bool Peers::revive(Peer& peer) {
  if (peer.lost || peer.holds_back()) return false;  // what was meant for the lost one has yet to end
  for (Carrier& carrier : carriers_) {
    Link* link = carrier.transport->connect(peer.id);
    if (!link) continue;
    if (link == peer.link) return false;
    reach(peer, *link, *carrier.transport);
    peer.failed = false;
    return true;
  }
  return false;
}

void Peers::introduced(Link& link, Transport& by) {
  Peer& known = record(link.process);
  link.peer = &known;
  if (known.link && !known.failed) return;
  // A new process; maybe with the address of one that is gone, maybe gone itself already: then only its last words remain.
  reach(known, link, by);
  known.failed = by.connect(link.process) != &link;
}

void Peers::forget_ranks(uint32_t ni) {
  for (auto& [id, peer] : peers_) peer->rank[ni] = kRankUnknown;
}

void Peers::send(Peer& peer, wire::Header header, const void* payload, size_t size) {
  if (peer.failed) return;
  assert(size <= peer.eager);
  header.payload_size = static_cast<uint16_t>(size);
  if (!peer.holds_back()) {
    const iovec part{const_cast<void*>(payload), size};
    const Sent result = peer.transport->send(*peer.link, header, {&part, size ? 1u : 0u});
    if (result == Sent::done) ++core_.stats.sends;
    if (result == Sent::failed) fail(peer);
    if (result != Sent::again) return;
  }
  HeldMessage held;
  held.header = header;
  const auto* bytes = static_cast<const std::byte*>(payload);
  held.payload.assign(bytes, bytes + size);
  hold(peer, std::move(held));
}

void Peers::send_throttle(Peer& peer, const wire::Header& header) {
  if (peer.failed) return;
  if (!peer.holds_back() || !is_throttle(peer.held->front())) {
    const Sent result = peer.transport->send(*peer.link, header, {});
    if (result == Sent::done) ++core_.stats.sends;
    if (result == Sent::failed) fail(peer);
    if (result != Sent::again) return;
  }
  HeldMessage held;
  held.header = header;
  hold(peer, std::move(held));
  const auto last = std::prev(peer.held->end());
  std::rotate(std::find_if_not(peer.held->begin(), last, is_throttle), last, peer.held->end());
}

void Peers::hold(Peer& peer, HeldMessage message) {
  assert(peer.stalled || !peer.holds_back());
  if (!peer.stalled) stalled_.reserve(stalled_.size() + 1);
  if (!peer.held) peer.held = std::make_unique<std::deque<HeldMessage>>();
  peer.held->push_back(std::move(message));
  ++core_.stats.back_pressure;
  core_.grow(held_back_);
  if (held_back_.size() == kManyHeldBack && !restrains_) {
    restrains_ = true;
    core_.restraints.fetch_add(1, std::memory_order_relaxed);
  }
  stall(peer);
  assert(peer.stalled && held_back_.size() >= peer.held->size());
}

void Peers::let_go(uint64_t messages) {
  core_.shrink(held_back_, messages);
  if (!restrains_ || held_back_.size() > kManyHeldBack / 2) return;
  restrains_ = false;
  core_.restraints.fetch_sub(1, std::memory_order_relaxed);
}

void Peers::stall(Peer& peer) {
  if (peer.stalled) return;
  peer.stalled = true;
  stalled_.push_back(&peer);
  core_.maybe_busy = true;
}

void Peers::release_stalled(size_t i) {
  assert(i < stalled_.size() && stalled_[i]->stalled && !stalled_[i]->holds_back());
  stalled_[i]->stalled = false;
  stalled_[i] = stalled_.back();
  stalled_.pop_back();
}

bool Peers::stalled_go_on() const {
  return std::any_of(stalled_.begin(), stalled_.end(), [](const Peer* peer) { return peer->failed || peer->transport->wait_fd() < 0; });
}

void Peers::fail(Peer& peer) {
  if (peer.failed) return;
  assert(!peer.lost && peer.transport != nullptr);
  peer.failed = peer.lost = true;
  core_.posted = core_.maybe_busy = true;
  ++core_.stats.lost_peers;
  lost_.push_back(&peer);
  if (peer.holds_back()) stall(peer);
}

Peer* Peers::take_lost() {
  if (lost_.empty()) return nullptr;
  Peer* peer = lost_.back();
  lost_.pop_back();
  assert(peer->failed && peer->lost);
  peer->lost = false;
  return peer;
}

void Peers::watch(uint32_t ct, Peer& peer) {
  assert(!peer.failed);
  Counter& counter = *core_.objects.counters.find(ct);
  counter.watches_several = counter.watches_several || (counter.watched != nullptr && counter.watched != &peer);
  counter.watched = &peer;
  peer.watchers.push_back(ct);
  ++watches_;
}

void Peers::unwatch(uint32_t ct) {
  const Counter& counter = core_.objects.counters.at(handle_index(ct));
  const auto forget = [&](Peer& peer) {
    const uint64_t gone = std::erase(peer.watchers, ct);
    assert(watches_ >= gone);
    watches_ -= gone;
  };
  if (counter.watches_several) for_each(forget);
  else if (counter.watched != nullptr) forget(*counter.watched);
}

std::vector<uint32_t> Peers::take_watchers(Peer& peer) {
  assert(watches_ >= peer.watchers.size());
  watches_ -= peer.watchers.size();
  return std::exchange(peer.watchers, {});
}

uint64_t Peers::bound_pending(uint64_t most) {
  uint64_t sum = 0;
  for (Carrier& carrier : carriers_) {
    uint64_t& lends = carrier.transport->state.lends;
    lends = std::min(lends, most / 4);
    sum += carrier.transport->limits().pending + lends;
  }
  return std::min(sum, most / 2);
}

void Peers::poll_self() { carriers_.front().transport->poll(kArrivalsPerPoll); }

bool Peers::idle() {
  return std::all_of(carriers_.begin(), carriers_.end(), [](Carrier& carrier) { return carrier.transport->idle(); });
}

int64_t Peers::due_in_ns() {
  int64_t due = -1;
  for (Carrier& carrier : carriers_) {
    if (!carrier.transport->state.holding) continue;
    const int64_t here = carrier.transport->can().holding->due_in_ns();
    due = due < 0 ? here : std::min(due, here);
  }
  return due;
}

void Peers::do_housekeeping(bool waiting) {
  for (Carrier& carrier : carriers_) carrier.transport->housekeeping(waiting);
}

bool Peers::needs_housekeeping() {
  return std::any_of(carriers_.begin(), carriers_.end(), [](Carrier& carrier) { return carrier.transport->needs_housekeeping(); });
}

std::string Peers::transport_names() const {
  std::string names;
  for (const Carrier& carrier : carriers_) names += (names.empty() ? "" : ", ") + std::string(carrier.transport->name().text);
  return names;
}

std::vector<int> Peers::wait_fds() const {
  std::vector<int> fds;
  for (const Carrier& carrier : carriers_)
    if (const int fd = carrier.transport->wait_fd(); fd >= 0) fds.push_back(fd);
  return fds;
}

}  // namespace portunus
