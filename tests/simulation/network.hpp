// network.hpp: what lies between the processes of a simulation: messages under way, cuts, ends of processes, memory that is open to
// others, and the clock. Every choice is drawn from one seed.
//
// Messages of one pair keep their order, as every transport promises; those of different pairs overtake one another. Thread: one.
// Invariants: time never goes back. A peer is lost to another once, at most `timeout` after the way to it ended; then, too, the other
// is lost to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/transport/transport.hpp"
#include "tests/simulation/mutants.hpp"

namespace portunus::simulation {

constexpr uint64_t kNever = ~uint64_t{0};
constexpr uint64_t kMicrosecond = 1000, kMillisecond = 1'000'000;

// The conditions that one run may meet.
struct Weather {
  uint32_t ranks = 2;
  size_t eager = 1024;
  size_t capacity = 64;           // messages that one pair holds
  uint64_t latency = 2'000;       // most often, ns
  uint64_t slowness = 0;          // now and then, ns more
  size_t pull = size_t{1} << 20;  // 0: no remote access
  bool has_fd = false;            // room is told, and nobody need look
  bool tells_by_poll = true;      // losses; else by housekeeping
  bool bundles = false;
  bool in_place = false;
  bool stages = false;
  bool costly = false;
  bool refuses_memory = false;  // now and then
  uint64_t timeout = 30 * kMillisecond;

  // All but ranks, sizes and limits; draw(n) is less than n.
  template <class Draw>
  void draw_moods(Draw&& draw) {
    latency = draw(2) ? 1'000 : 30'000;
    slowness = draw(3) ? 0 : 2 * kMillisecond;
    has_fd = draw(2);
    tells_by_poll = draw(2);
    bundles = draw(3) == 0;
    in_place = draw(3) == 0;
    stages = draw(3) == 0;
    costly = draw(3) == 0;
    refuses_memory = draw(3) == 0;
  }
};

struct Packet {
  uint64_t due;
  uint32_t from;
  wire::Header header;
  std::vector<std::byte> payload;
};

class Network {
 public:
  Network(const Weather& weather, uint64_t seed, Mutant mutant)
      : weather(weather), mutant(mutant), random_(seed), pairs_(size_t{weather.ranks} * weather.ranks), ended_(weather.ranks, kNever) {}

  static ProcessId id(uint32_t rank) { return {kNid, kFirstPid + rank}; }
  // Or a number too large.
  static uint32_t rank_of(ProcessId process) { return process.nid == kNid ? process.pid - kFirstPid : ~0u; }

  // ---- chance ----
  uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  bool one_in(uint32_t n) { return draw(n) == 0; }
  // Whether the mutant strikes here and now.
  bool strikes(Mutant which, uint32_t one_of) {
    if (mutant != which || !one_in(one_of)) return false;
    ++struck;
    return true;
  }
  std::mt19937_64& random() { return random_; }

  // ---- a directed pair ----
  struct Pair {
    std::deque<Packet> queue;
    uint64_t last_due = 0;
    uint64_t cut_from = kNever, cut_until = 0;  // the way is closed meanwhile; set for both directions
    uint64_t loss_due = kNever;                 // when `to` learns that `from` is lost
    bool lost = false;                          // it has
    uint64_t ended_at = kNever;                 // when the reason for that happened
    bool refused = false;                       // the sender waits for room
  };
  Pair& pair(uint32_t from, uint32_t to) { return pairs_[size_t{from} * weather.ranks + to]; }
  bool cut(const Pair& pair) const { return now >= pair.cut_from && now < pair.cut_until; }
  bool dead(uint32_t rank) const { return ended_[rank] <= now; }

  uint64_t latency() {
    return 100 + draw(static_cast<uint32_t>(weather.latency)) +
           (weather.slowness && one_in(30) ? draw(static_cast<uint32_t>(weather.slowness)) : 0);
  }
  void put_on_the_way(uint32_t from, uint32_t to, const wire::Header& header, std::vector<std::byte> payload) {
    Pair& way = pair(from, to);
    if (dead(to)) return;
    way.last_due = std::max(way.last_due, now + latency());
    way.queue.push_back({way.last_due, from, header, std::move(payload)});
  }

  // ---- faults ----
  // The process ends; the others learn of it soon, or by the limit.
  void kill(uint32_t rank, bool at_once) {
    ended_[rank] = now;
    for (uint32_t other = 0; other < weather.ranks; ++other) {
      if (other == rank) continue;
      end(rank, other, now + (at_once ? 1 + draw(200'000) : weather.timeout));
      pair(other, rank).queue.clear();
    }
  }
  // The way between two closes for so long.
  void close(uint32_t a, uint32_t b, uint64_t duration) {
    for (Pair* each : {&pair(a, b), &pair(b, a)}) {
      each->cut_from = now;
      each->cut_until = now + duration;
    }
    if (duration < weather.timeout) return;
    end(a, b, now + weather.timeout);
    end(b, a, now + weather.timeout);
  }
  // `to` will learn that `from` is lost.
  void end(uint32_t from, uint32_t to, uint64_t when) {
    Pair& way = pair(from, to);
    if (way.ended_at == kNever) way.ended_at = now;
    if (way.lost || way.loss_due <= when) return;
    if (mutant == Mutant::loss_untold) ++struck, when = kNever;
    if (mutant == Mutant::loss_late) ++struck, when += 20 * weather.timeout;
    way.loss_due = when;
  }

  // ---- memory open to others ----
  struct Opening {
    uint32_t owner, peer;
    std::byte* start;
    size_t size;
    bool writes;
  };
  uint64_t open(const Opening& opening) {
    openings_.emplace(++last_key_, opening);
    return last_key_;
  }
  void withdraw(uint64_t key) { openings_.erase(key); }
  // nullptr: it is not open (any more).
  std::byte* opened(uint64_t key, uint32_t owner, uint32_t peer, uint64_t address, size_t size, bool write) const {
    const auto found = openings_.find(key);
    if (found == openings_.end()) return nullptr;
    const Opening& o = found->second;
    const auto start = reinterpret_cast<uint64_t>(o.start);
    if (o.owner != owner || o.peer != peer || o.writes != write || address < start || address - start > o.size ||
        size > o.size - (address - start))
      return nullptr;
    return o.start + (address - start);
  }
  size_t open_to_others(uint32_t owner) const {
    return static_cast<size_t>(
        std::count_if(openings_.begin(), openings_.end(), [&](const auto& each) { return each.second.owner == owner; }));
  }

  // ---- memory that data are staged in ----
  struct Area {
    uint32_t owner;
    bool taken = true;
    Staging shared{};
    std::unique_ptr<std::byte[]> memory{new std::byte[Staging::kBytes]};
  };
  // By its number.
  size_t take_area(uint32_t owner) {
    const auto free = std::find_if(areas_.begin(), areas_.end(), [&](const Area& area) { return area.owner == owner && !area.taken; });
    const auto number = static_cast<size_t>(free - areas_.begin());
    if (number == areas_.size()) areas_.emplace_back();
    areas_[number].owner = owner;
    areas_[number].taken = true;
    return number;
  }
  Area* area(uint64_t number, uint32_t owner) {
    return number < areas_.size() && areas_[number].owner == owner ? &areas_[number] : nullptr;
  }
  void give_area_back(const Staging* shared) {
    for (Area& area : areas_)
      if (&area.shared == shared) area.taken = false;
  }
  size_t areas_taken(uint32_t owner) const {
    return static_cast<size_t>(
        std::count_if(areas_.begin(), areas_.end(), [&](const Area& area) { return area.owner == owner && area.taken; }));
  }

  // ---- what went wrong ----
  void violated(const std::string& what) {
    if (violation.empty()) violation = what + ", at " + std::to_string(now) + " ns";
  }

  const Weather weather;
  const Mutant mutant;
  uint64_t now = 0;
  uint64_t struck = 0;
  std::string violation;  // the first

 private:
  static constexpr uint32_t kNid = 0x7f000001, kFirstPid = 1000;
  std::mt19937_64 random_;
  std::deque<Area> areas_;  // never moves its elements
  std::vector<Pair> pairs_;
  std::vector<uint64_t> ended_;
  std::map<uint64_t, Opening> openings_;
  uint64_t last_key_ = 0;
};

}  // namespace portunus::simulation
