// chaos.hpp: a network of hand-stepped engines whose every choice is drawn from a seed.
//
// Messages between two processes stay in order, as every transport promises; which of the senders is heard next, how
// much is delivered in one look, and when remote accesses are done is chance. Processes can be killed: what they sent may
// still arrive, then the others find them lost.
//
// Thread: one.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "engine/transport/transport.hpp"

namespace portunus::test {

struct ChaosMessage {
  wire::Header header;
  std::vector<std::byte> payload;
};

class ChaosHub {
 public:
  ChaosHub(uint32_t size, uint64_t seed, size_t eager) : random(seed), eager(eager), dead(size) {
    for (uint32_t i = 0; i < size; ++i) queues.emplace_back(size);
  }
  static constexpr uint32_t kNid = 0x7f000001, kFirstPid = 1000;
  static ProcessId id(uint32_t rank) { return {kNid, kFirstPid + rank}; }
  uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random() % below); }

  std::mt19937_64 random;
  size_t eager;
  std::vector<bool> dead;
  std::vector<std::vector<std::deque<ChaosMessage>>> queues;  // [to][from]
};

class ChaosTransport final : public Transport {
 public:
  ChaosTransport(Sink& sink, ChaosHub& hub, uint32_t rank) : sink_(sink), hub_(hub), rank_(rank), links_(hub.dead.size()) {}

  TransportName name() const override { return {PTLX_TRANSPORT_NETWORK, "chaos"}; }
  TransportLimits limits() const override { return {hub_.eager, size_t{1} << 62}; }
  Link* connect(ProcessId process) override {
    const uint32_t to = process.pid - ChaosHub::kFirstPid;
    if (process.nid != ChaosHub::kNid || to >= links_.size()) return nullptr;
    if (!links_[to]) {
      links_[to] = std::make_unique<Link>();
      links_[to]->process = process;
      links_[to]->uid = 1000;
    }
    return links_[to].get();
  }
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override {
    const uint32_t to = link.process.pid - ChaosHub::kFirstPid;
    if (lost_.contains(to)) return Sent::failed;
    ChaosMessage message{header, {}};
    for (const iovec& part : payload) {
      const auto* bytes = static_cast<const std::byte*>(part.iov_base);
      message.payload.insert(message.payload.end(), bytes, bytes + part.iov_len);
    }
    hub_.queues[to][rank_].push_back(std::move(message));
    return Sent::done;
  }
  bool expose(Link&, const void* start, size_t, bool, Exposed& out) override {
    out.region = {reinterpret_cast<uint64_t>(start), 0};
    return true;
  }
  void withdraw(Exposed&) override {}
  Moved pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) override {
    return move(link, to, reinterpret_cast<const void*>(from.address), size, context);
  }
  Moved push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) override {
    return move(link, reinterpret_cast<void*>(to.address), from, size, context);
  }
  int poll(int) override {
    int done = 0;
    for (uint32_t looks = hub_.draw(4); looks > 0; --looks) done += look();
    return done;
  }
  bool idle() override {
    if (!moves_.empty()) return false;
    for (uint32_t from = 0; from < links_.size(); ++from)
      if (!hub_.queues[rank_][from].empty() || mourned(from)) return false;
    return true;
  }

 private:
  struct Move {
    uint32_t peer;
    void* to;
    const void* from;
    size_t size;
    void* context;
  };

  Moved move(Link& link, void* to, const void* from, size_t size, void* context) {
    const uint32_t peer = link.process.pid - ChaosHub::kFirstPid;
    if (lost_.contains(peer)) return Moved::failed;
    moves_.push_back({peer, to, from, size, context});
    return Moved::started;
  }
  bool mourned(uint32_t peer) { return hub_.dead[peer] && links_[peer] && !lost_.contains(peer); }

  // One thing that can happen, or nothing.
  int look() {
    const auto peers = static_cast<uint32_t>(links_.size());
    const uint32_t chosen = hub_.draw(peers + 1);
    if (chosen == peers) return finish_move();
    auto& queue = hub_.queues[rank_][chosen];
    if (queue.empty()) return mourned(chosen) && hub_.draw(4) == 0 ? lose(chosen) : 0;
    const ChaosMessage message = std::move(queue.front());
    queue.pop_front();
    Link& link = *connect(ChaosHub::id(chosen));
    if (!link.peer) sink_.introduced(link, *this);
    sink_.arrived(link, message.header, message.payload.data());
    return 1;
  }
  int finish_move() {
    if (moves_.empty()) return 0;
    const size_t i = hub_.draw(static_cast<uint32_t>(moves_.size()));
    const Move move = moves_[i];
    moves_.erase(moves_.begin() + static_cast<ptrdiff_t>(i));
    const bool ok = !hub_.dead[move.peer];
    if (ok) std::memcpy(move.to, move.from, move.size);
    if (!ok && mourned(move.peer)) lose(move.peer);
    sink_.moved(move.context, ok);
    return 1;
  }
  int lose(uint32_t peer) {
    lost_[peer] = true;
    hub_.queues[rank_][peer].clear();
    sink_.lost(*links_[peer]);
    return 1;
  }

  Sink& sink_;
  ChaosHub& hub_;
  uint32_t rank_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Move> moves_;
  std::map<uint32_t, bool> lost_;
};

}  // namespace portunus::test
