// network.hpp: the network between simulated ranks: who sends what, and when it is where.
//
// Cards and wires are those of wires.hpp. What is on its way is a list in the order of time: who runs the ranks has it go on, up to the
// time that they have come to (advance), and hears what is due where. Messages of one pair keep their order.
//
//   message  first byte at the receiver's card -> in the receiver's inbox, due when all bytes are there
//   pull     the wish at the owner's card -> data leave it -> first byte at the asker's card -> landed
//   push     first byte at the owner's card -> all are there, an answer leaves -> landed
//
// Thread: one. Invariant: nothing arrives before it is sent.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/tools/ptlsim/trace.hpp"
#include "engine/tools/ptlsim/wires.hpp"
#include "engine/transport/transport.hpp"

namespace portunus::ptlsim {

struct Packet {
  uint64_t due = 0, order = 0;
  uint32_t from = 0;
  bool is_loss = false;  // the sender is lost
  wire::Header header{};
  std::vector<std::byte> payload;
  bool operator>(const Packet& other) const { return due != other.due ? due > other.due : order > other.order; }
};

class Network {
 public:
  // `expect(rank, due)`: there will be something for this rank then.
  Network(const NetworkModel& model, uint32_t ranks, uint64_t seed, std::function<void(uint32_t, uint64_t)> expect);

  // Each rank is alone on its node. The rank of a process may be a number too large.
  static ProcessId id(uint32_t rank) { return {kFirstNid + rank, kPid}; }
  static uint32_t rank_of(ProcessId process) { return process.pid == kPid ? process.nid - kFirstNid : ~0u; }

  void send(uint64_t now, uint32_t from, uint32_t to, const wire::Header& header, std::vector<std::byte> payload);
  // Moves `bytes` from the owner, or to it: `rank` takes `move` from its landed ones when they are there, and known to be.
  void pull(uint64_t now, uint32_t rank, uint32_t owner, size_t bytes, uint64_t move);
  void push(uint64_t now, uint32_t rank, uint32_t owner, size_t bytes, uint64_t move);

  // ---- what is on its way ----
  uint64_t next_event() const { return flying_.empty() ? kNever : flying_.top().at; }
  void advance(uint64_t now);

  // ---- what has come ----
  uint64_t next_due(uint32_t rank) const;
  bool has_packet(uint32_t rank, uint64_t now) const { return !inboxes_[rank].empty() && inboxes_[rank].top().due <= now; }
  Packet take(uint32_t rank);
  bool has_landed(uint32_t rank, uint64_t now) const { return !landed_[rank].empty() && landed_[rank].top().first <= now; }
  uint64_t take_landed(uint32_t rank);

  // ---- misfortunes ----
  void kill(uint64_t now, uint32_t rank);
  void cut(uint64_t now, uint32_t a, uint32_t b);
  void slow(uint32_t rank, double factor) { wires_.slow(rank, factor); }
  double slowness(uint32_t rank) const { return wires_.slowness(rank); }
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

  uint32_t draw(uint32_t below) { return wires_.draw(below); }
  bool varies() const { return wires_.varies(); }

  const NetworkModel model;
  const uint32_t ranks;
  uint64_t messages = 0, under_way = 0;
  Trace* trace = nullptr;  // is told of what leaves and comes

 private:
  static constexpr uint32_t kFirstNid = 0x0a000001, kPid = 1000;
  enum class What : uint8_t { message, wish, data, pushed, answer };
  struct Flying {
    uint64_t at, order;
    What what;
    uint32_t from, to;
    Wires::Flight flight;
    uint64_t move;
    size_t bytes;  // that the wish asks for
    mutable Packet packet;
    bool operator>(const Flying& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Opening {
    std::byte* start;
    size_t size;
  };
  using Landed = std::pair<uint64_t, uint64_t>;  // when, and the move
  template <class T>
  using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;
  static uint64_t pair(uint32_t from, uint32_t to) { return uint64_t{from} << 32 | to; }
  void fly(What what, uint32_t from, uint32_t to, const Wires::Flight& flight, uint64_t move, size_t bytes = 0, Packet packet = {});
  void arrive(const Flying& flying);
  void deliver(const Flying& flying);
  void tell_leaves(What what, uint64_t now, uint32_t from, uint32_t to, const Wires::Flight& flight, size_t bytes);
  void tell_arrives(const Flying& flying, uint64_t due, size_t bytes);

  Wires wires_;
  const std::function<void(uint32_t, uint64_t)> expect_;
  Earliest<Flying> flying_;
  std::vector<Earliest<Packet>> inboxes_;
  std::vector<Earliest<Landed>> landed_;
  std::unordered_map<uint64_t, uint64_t> last_arrival_, cuts_;
  std::unordered_map<uint64_t, Opening> openings_;
  std::vector<char> dead_, ended_;
  uint64_t last_order_ = 0, last_key_ = 0;
};

}  // namespace portunus::ptlsim
