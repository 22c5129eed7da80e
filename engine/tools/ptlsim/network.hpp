// network.hpp: the network between simulated ranks: who sends what is when where, by the parameters of LogGOPS.
//
//            o + O s              g + G s                L (+ 2 hops)            G s               o + O s
//   sender's call   ->  sender's network card   ->   switches and wires  ->  receiver's card  ->  receiver's call
//
// Cards carry one message after the other, in the order in which they are given them; so do the links between the leaves of a fat tree,
// where fewer go up than there are ranks below. Messages of one pair keep their order. With a seed each message takes up to three times L,
// and a few ten times that: another order of arrivals for each seed.
// Thread: one. Invariant: nothing arrives before it is sent.
#pragma once

#include <cstdint>
#include <queue>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/transport/transport.hpp"

namespace portunus::ptlsim {

constexpr uint64_t kNever = ~uint64_t{0};

struct NetworkModel {
  double latency = 2000, overhead = 200, gap = 0;  // L, o, g: ns
  double byte_gap = 0.08, byte_overhead = 0;       // G, O: ns for each byte
  uint64_t rendezvous = 0;                         // S: messages of more bytes are announced first; 0: as MPI does it by itself
  uint32_t leaf = 0;                               // ranks below a switch of a fat tree; 0: all below one
  double oversubscription = 1;                     // ranks below a leaf for each link that goes up
  double hop = 100;                                // ns from switch to switch
  // latency=2us,bandwidth=100Gbit,overhead=200ns,topology=fat-tree:16:2 or L=,o=,g=,G=,O=,S= in ns and bytes.
  // Throws std::runtime_error with a sentence.
  static NetworkModel read(const std::string& text);
};

struct Packet {
  uint64_t due, order;
  uint32_t from;
  bool is_loss;  // the sender is lost
  wire::Header header;
  std::vector<std::byte> payload;
  bool operator>(const Packet& other) const { return due != other.due ? due > other.due : order > other.order; }
};

class Network {
 public:
  Network(const NetworkModel& model, uint32_t ranks, uint64_t seed);

  static ProcessId id(uint32_t rank) { return {kNid, kFirstPid + rank}; }
  // Or a number too large.
  static uint32_t rank_of(ProcessId process) { return process.nid == kNid ? process.pid - kFirstPid : ~0u; }

  // When `bytes` that leave now are all there.
  uint64_t carry(uint64_t now, uint32_t from, uint32_t to, size_t bytes);
  void send(uint64_t now, uint32_t from, uint32_t to, const wire::Header& header, std::vector<std::byte> payload);
  uint64_t next_due(uint32_t rank) const { return inboxes_[rank].empty() ? kNever : inboxes_[rank].top().due; }
  Packet take(uint32_t rank);

  // ---- misfortunes ----
  void kill(uint64_t now, uint32_t rank);
  void cut(uint64_t now, uint32_t a, uint32_t b);
  void slow(uint32_t rank, double factor) { slowness_[rank] = factor; }
  double slowness(uint32_t rank) const { return slowness_[rank]; }
  // It has ended as it should: nobody takes what still comes.
  void end(uint32_t rank);
  bool is_dead(uint32_t rank) const { return dead_[rank]; }
  bool is_cut(uint32_t from, uint32_t to) const { return cuts_.contains(pair(from, to)); }
  // `at` learns in a while that `whom` is lost.
  void announce_loss(uint64_t now, uint32_t whom, uint32_t at);

  // ---- memory open to others ----
  uint64_t open(std::byte* start, size_t size);
  void withdraw(uint64_t key) { openings_.erase(key); }
  std::byte* opened(uint64_t key, uint64_t address, size_t size) const;  // null: no more

  uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  bool varies() const { return varies_; }

  const NetworkModel model;
  const uint32_t ranks;
  uint64_t messages = 0, under_way = 0;

 private:
  static constexpr uint32_t kNid = 0x7f000001, kFirstPid = 1000;
  struct Card {
    uint64_t sends_until = 0, receives_until = 0;
  };
  struct Opening {
    std::byte* start;
    size_t size;
  };
  static uint64_t pair(uint32_t from, uint32_t to) { return uint64_t{from} << 32 | to; }
  uint64_t way(uint64_t start, uint32_t from, uint32_t to, uint64_t lasts);

  std::mt19937_64 random_;
  const bool varies_;
  std::vector<Card> cards_;
  std::vector<uint64_t> up_until_, down_until_;  // of leaves
  std::vector<std::priority_queue<Packet, std::vector<Packet>, std::greater<>>> inboxes_;
  std::unordered_map<uint64_t, uint64_t> last_due_, cuts_;
  std::unordered_map<uint64_t, Opening> openings_;
  std::vector<char> dead_, ended_;
  std::vector<double> slowness_;
  uint64_t last_order_ = 0, last_key_ = 0;
};

}  // namespace portunus::ptlsim
