// wires.cpp: see wires.hpp.
#include "engine/tools/ptlsim/wires.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace portunus::ptlsim {
namespace {

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

Wires::Wires(const NetworkModel& model, uint32_t ranks, uint64_t seed)
    : model(model), random_(seed), varies_(seed != 0), cards_(ranks), slowness_(ranks, 1) {
  const uint32_t leaves = model.leaf ? (ranks + model.leaf - 1) / model.leaf : 1;
  up_until_.resize(leaves);
  down_until_.resize(leaves);
}

uint64_t Wires::latency(uint32_t from, uint32_t to) {
  double latency = model.latency;
  if (model.leaf && from / model.leaf != to / model.leaf) latency += 2 * model.hop;
  if (varies_) latency *= 1 + 2 * static_cast<double>(draw(1000)) / 1000 + (draw(16) == 0 ? 20 : 0);
  return static_cast<uint64_t>(latency);
}

Wires::Flight Wires::leave(uint64_t now, uint32_t from, uint32_t to, size_t bytes) {
  const double slow = std::max(slowness_[from], slowness_[to]);
  const auto lasts = static_cast<uint64_t>(model.byte_gap * static_cast<double>(bytes) * slow);
  Card& card = cards_[from];
  uint64_t start = std::max(now, card.sends_until);
  card.sends_until = start + lasts + static_cast<uint64_t>(model.gap);
  if (model.leaf && from / model.leaf != to / model.leaf) {
    const auto shared = static_cast<uint64_t>(static_cast<double>(lasts) * model.oversubscription / model.leaf);
    for (uint64_t* const until : {&up_until_[from / model.leaf], &down_until_[to / model.leaf]}) {
      start = std::max(start, *until);
      *until = start + shared;
    }
  }
  return {start + latency(from, to), lasts};
}

uint64_t Wires::land(const Flight& flight, uint32_t to) {
  uint64_t& until = cards_[to].receives_until;
  until = std::max(until, flight.arrives) + flight.lasts;
  return until;
}

uint64_t Wires::pass(uint64_t now, uint32_t from, uint32_t to) { return now + latency(from, to); }

}  // namespace portunus::ptlsim
