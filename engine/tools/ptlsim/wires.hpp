// wires.hpp: network cards, and what lies between them, by the parameters of LogGOPS.
//
//            o + O s              g + G s                L (+ 2 hops)            G s               o + O s
//   sender's call   ->  sender's network card   ->   switches and wires  ->  receiver's card  ->  receiver's call
//                        leave()                                              land()
//
// Cards carry one message after the other, each direction by itself: the sender's in the order in which they are given to it, the
// receiver's in the order in which first bytes come. So do the links between the leaves of a fat tree, where fewer go up than there are
// ranks below. Whoever uses this calls leave() and land() in the order of time. With a seed each message takes up to three times L, and a
// few ten times that: another order of arrivals for each seed.
// Thread: one. Invariant: nothing arrives before it leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

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

class Wires {
 public:
  Wires(const NetworkModel& model, uint32_t ranks, uint64_t seed);

  struct Flight {
    uint64_t arrives;  // the first byte, at the receiver's card
    uint64_t lasts;    // the card is busy for so long then
  };
  Flight leave(uint64_t now, uint32_t from, uint32_t to, size_t bytes);
  // At the time when the first byte arrives: when all are there.
  uint64_t land(const Flight& flight, uint32_t to);
  // A question or an answer of the cards themselves, between the packets of messages: when it is there.
  uint64_t pass(uint64_t now, uint32_t from, uint32_t to);

  void slow(uint32_t rank, double factor) { slowness_[rank] = factor; }
  double slowness(uint32_t rank) const { return slowness_[rank]; }
  uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  bool varies() const { return varies_; }

  const NetworkModel model;

 private:
  struct Card {
    uint64_t sends_until = 0, receives_until = 0;
  };
  uint64_t latency(uint32_t from, uint32_t to);

  std::mt19937_64 random_;
  const bool varies_;
  std::vector<Card> cards_;
  std::vector<uint64_t> up_until_, down_until_;  // of leaves
  std::vector<double> slowness_;
};

}  // namespace portunus::ptlsim
