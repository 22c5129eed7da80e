// network.cpp: see network.hpp.
#include "engine/tools/ptlsim/network.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace portunus::ptlsim {
namespace {

constexpr uint64_t kUntilLoss = 1'000'000;  // ns from an end, or a cut, until others know

struct Unit {
  const char* name;
  double factor;
};
constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1}};
constexpr Unit kRates[] = {{"bit", 1}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"Tbit", 1e12}, {"", 1e9}};

template <size_t N>
double number(const std::string& key, const std::string& text, const Unit (&units)[N]) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  for (const Unit& each : units)
    if (error == std::errc() && unit == each.name && std::isfinite(value) && value >= 0 && value * each.factor < 1e15)
      return value * each.factor;
  throw std::runtime_error("--network: '" + text + "' is no value of " + key + ": a number and a unit, as in " + units[1].name);
}

void read_topology(NetworkModel& model, const std::string& text) {
  std::istringstream parts(text);
  std::string kind, leaf, over;
  std::getline(parts, kind, ':');
  std::getline(parts, leaf, ':');
  std::getline(parts, over);
  if (kind == "full" && leaf.empty()) return;
  const auto count = [&](const std::string& word, double least) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !(value >= least) || value > 1e6)
      throw std::runtime_error("--network: '" + text + "' is no topology: full, fat-tree:RANKS or fat-tree:RANKS:OVERSUBSCRIPTION");
    return value;
  };
  if (kind != "fat-tree") count("", 1);
  model.leaf = static_cast<uint32_t>(count(leaf, 1));
  if (!over.empty()) model.oversubscription = count(over, 1);
}

}  // namespace

NetworkModel NetworkModel::read(const std::string& text) {
  NetworkModel model;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "latency" || key == "L") model.latency = number(key, value, kTimes);
    else if (key == "overhead" || key == "o") model.overhead = number(key, value, kTimes);
    else if (key == "gap" || key == "g") model.gap = number(key, value, kTimes);
    else if (key == "G") model.byte_gap = number(key, value, kTimes);
    else if (key == "O") model.byte_overhead = number(key, value, kTimes);
    else if (key == "hop") model.hop = number(key, value, kTimes);
    else if (key == "S") model.rendezvous = static_cast<uint64_t>(number(key, value, kTimes));
    else if (key == "bandwidth") model.byte_gap = 8e9 / std::max(1.0, number(key, value, kRates));
    else if (key == "topology") read_topology(model, value);
    else
      throw std::runtime_error("--network: there is no '" + key +
                               "': latency, bandwidth, overhead, gap, hop, topology, or L, o, g, G, O, S");
  }
  return model;
}

Network::Network(const NetworkModel& model, uint32_t ranks, uint64_t seed)
    : model(model),
      ranks(ranks),
      random_(seed),
      varies_(seed != 0),
      cards_(ranks),
      inboxes_(ranks),
      dead_(ranks),
      ended_(ranks),
      slowness_(ranks, 1) {
  const uint32_t leaves = model.leaf ? (ranks + model.leaf - 1) / model.leaf : 1;
  up_until_.resize(leaves);
  down_until_.resize(leaves);
}

// From the sender's card to the receiver's: when the first byte is there.
uint64_t Network::way(uint64_t start, uint32_t from, uint32_t to, uint64_t lasts) {
  double latency = model.latency;
  if (model.leaf && from / model.leaf != to / model.leaf) {
    const auto shared = static_cast<uint64_t>(static_cast<double>(lasts) * model.oversubscription / model.leaf);
    uint64_t& up = up_until_[from / model.leaf];
    uint64_t& down = down_until_[to / model.leaf];
    up = std::max(up, start) + shared;
    down = std::max(down, up);
    start = std::max(start, up - shared);
    start = std::max(start, down - shared);
    down = start + shared;
    latency += 2 * model.hop;
  }
  if (varies_) latency *= 1 + 2 * static_cast<double>(draw(1000)) / 1000 + (draw(16) == 0 ? 20 : 0);
  return start + static_cast<uint64_t>(latency);
}

uint64_t Network::carry(uint64_t now, uint32_t from, uint32_t to, size_t bytes) {
  const double slow = std::max(slowness_[from], slowness_[to]);
  const auto lasts = static_cast<uint64_t>(model.byte_gap * static_cast<double>(bytes) * slow);
  Card& sender = cards_[from];
  Card& receiver = cards_[to];
  const uint64_t start = std::max(now, sender.sends_until);
  sender.sends_until = start + lasts + static_cast<uint64_t>(model.gap);
  receiver.receives_until = std::max(way(start, from, to, lasts), receiver.receives_until) + lasts;
  return receiver.receives_until;
}

void Network::send(uint64_t now, uint32_t from, uint32_t to, const wire::Header& header, std::vector<std::byte> payload) {
  ++messages;
  if (dead_[to] || ended_[to] || is_cut(from, to)) return;
  uint64_t& last = last_due_[pair(from, to)];
  last = std::max(last, carry(now, from, to, payload.size()));
  ++under_way;
  inboxes_[to].push({last, ++last_order_, from, false, header, std::move(payload)});
}

Packet Network::take(uint32_t rank) {
  auto& inbox = inboxes_[rank];
  Packet packet = std::move(const_cast<Packet&>(inbox.top()));
  inbox.pop();
  --under_way;
  return packet;
}

void Network::announce_loss(uint64_t now, uint32_t whom, uint32_t at) {
  if (ended_[at] || dead_[at]) return;
  uint64_t& last = last_due_[pair(whom, at)];
  last = std::max(last, now + kUntilLoss);
  ++under_way;
  inboxes_[at].push({last, ++last_order_, whom, true, {}, {}});
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
