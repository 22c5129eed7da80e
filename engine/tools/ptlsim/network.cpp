// network.cpp: see network.hpp.
#include "engine/tools/ptlsim/network.hpp"

#include <algorithm>
#include <cassert>

namespace portunus::ptlsim {
namespace {

constexpr uint64_t kUntilLoss = 1'000'000;  // ns from an end, or a cut, until others know

}  // namespace

Network::Network(const NetworkModel& model, uint32_t ranks, uint64_t seed, std::function<void(uint32_t, uint64_t)> expect)
    : model(model),
      ranks(ranks),
      wires_(model, ranks, seed),
      expect_(std::move(expect)),
      inboxes_(ranks),
      landed_(ranks),
      dead_(ranks),
      ended_(ranks) {}

void Network::fly(What what, uint32_t from, uint32_t to, const Wires::Flight& flight, uint64_t move, size_t bytes, Packet packet) {
  flying_.push({flight.arrives, ++last_order_, what, from, to, flight, move, bytes, std::move(packet)});
}

void Network::send(uint64_t now, uint32_t from, uint32_t to, const wire::Header& header, std::vector<std::byte> payload) {
  ++messages;
  if (dead_[to] || ended_[to] || is_cut(from, to)) return;
  Wires::Flight flight = wires_.leave(now, from, to, payload.size());
  uint64_t& last = last_arrival_[pair(from, to)];
  flight.arrives = last = std::max(last, flight.arrives);
  ++under_way;
  tell_leaves(What::message, now, from, to, flight, payload.size());
  fly(What::message, from, to, flight, 0, 0, {.from = from, .is_loss = false, .header = header, .payload = std::move(payload)});
}

void Network::pull(uint64_t now, uint32_t rank, uint32_t owner, size_t bytes, uint64_t move) {
  fly(What::wish, rank, owner, {wires_.pass(now, rank, owner), 0}, move, bytes);
}

void Network::push(uint64_t now, uint32_t rank, uint32_t owner, size_t bytes, uint64_t move) {
  const Wires::Flight flight = wires_.leave(now, rank, owner, bytes);
  tell_leaves(What::pushed, now, rank, owner, flight, bytes);
  fly(What::pushed, rank, owner, flight, move, bytes);
}

void Network::advance(uint64_t now) {
  while (next_event() <= now) {
    const Flying flying = std::move(const_cast<Flying&>(flying_.top()));
    flying_.pop();
    arrive(flying);
  }
}

void Network::arrive(const Flying& flying) {
  const auto& [at, order, what, from, to, flight, move, bytes, packet] = flying;
  switch (what) {
    case What::message: return deliver(flying);
    case What::wish: {
      const Wires::Flight data = wires_.leave(at, to, from, bytes);
      tell_leaves(What::data, at, to, from, data, bytes);
      return fly(What::data, to, from, data, move, bytes);
    }
    case What::pushed: {
      const uint64_t due = wires_.land(flight, to);
      tell_arrives(flying, due, bytes);
      return fly(What::answer, to, from, {wires_.pass(due, to, from), 0}, move);
    }
    case What::data:
    case What::answer: {
      const uint64_t due = what == What::data ? wires_.land(flight, to) : at;
      if (what == What::data) tell_arrives(flying, due, bytes);
      landed_[to].emplace(due, move);
      return expect_(to, landed_[to].top().first);
    }
  }
}

void Network::deliver(const Flying& flying) {
  if (dead_[flying.to] || ended_[flying.to]) {
    --under_way;
    return;
  }
  Packet& packet = flying.packet;
  packet.due = wires_.land(flying.flight, flying.to);
  packet.order = flying.order;
  assert(packet.due >= flying.at);
  if (!packet.is_loss) tell_arrives(flying, packet.due, packet.payload.size());
  inboxes_[flying.to].push(std::move(packet));
  expect_(flying.to, inboxes_[flying.to].top().due);
}

// The number is that which fly() gives next.
void Network::tell_leaves(What what, uint64_t now, uint32_t from, uint32_t to, const Wires::Flight& flight, size_t bytes) {
  if (trace) trace->leaves(last_order_ + 1, from, to, now, flight.lasts, bytes, what == What::message ? "message" : "data");
}

void Network::tell_arrives(const Flying& flying, uint64_t due, size_t bytes) {
  if (trace)
    trace->arrives(flying.order, flying.from, flying.to, due, flying.flight.lasts, bytes,
                   flying.what == What::message ? "message" : "data");
}

uint64_t Network::next_due(uint32_t rank) const {
  return std::min(inboxes_[rank].empty() ? kNever : inboxes_[rank].top().due, landed_[rank].empty() ? kNever : landed_[rank].top().first);
}

Packet Network::take(uint32_t rank) {
  auto& inbox = inboxes_[rank];
  Packet packet = std::move(const_cast<Packet&>(inbox.top()));
  inbox.pop();
  --under_way;
  return packet;
}

uint64_t Network::take_landed(uint32_t rank) {
  const uint64_t move = landed_[rank].top().second;
  landed_[rank].pop();
  return move;
}

void Network::announce_loss(uint64_t now, uint32_t whom, uint32_t at) {
  if (ended_[at] || dead_[at]) return;
  uint64_t& last = last_arrival_[pair(whom, at)];
  last = std::max(last, now + kUntilLoss);
  ++under_way;
  fly(What::message, whom, at, {last, 0}, 0, 0, {.from = whom, .is_loss = true, .header = {}, .payload = {}});
}

void Network::end(uint32_t rank) {
  ended_[rank] = true;
  under_way -= inboxes_[rank].size();
  inboxes_[rank] = {};
}

void Network::kill(uint64_t now, uint32_t rank) {
  dead_[rank] = true;
  under_way -= inboxes_[rank].size();
  inboxes_[rank] = {};
  for (uint32_t other = 0; other < ranks; ++other)
    if (other != rank) announce_loss(now, rank, other);
}

void Network::cut(uint64_t now, uint32_t a, uint32_t b) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    cuts_[pair(from, to)] = now;
    announce_loss(now, from, to);
  }
}

uint64_t Network::open(std::byte* start, size_t size) {
  openings_[++last_key_] = {start, size};
  return last_key_;
}

std::byte* Network::opened(uint64_t key, uint64_t address, size_t size) const {
  const auto found = openings_.find(key);
  if (found == openings_.end()) return nullptr;
  const auto start = reinterpret_cast<uint64_t>(found->second.start);
  if (address < start || address - start > found->second.size || size > found->second.size - (address - start)) return nullptr;
  return found->second.start + (address - start);
}

}  // namespace portunus::ptlsim
