// transport.hpp: the transport of the simulation: the contract of engine/transport/transport.hpp over a Network.
//
// Thread: one. What passes between it and the engine can be listened to (Tap), in the order in which the engine gets it.
#pragma once

#include <sys/eventfd.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/simulation/network.hpp"

namespace portunus::simulation {

// Called just before the engine is.
struct Tap {
  std::function<void(uint32_t at, uint32_t from, const wire::Header& header)> arrives;
  std::function<void(uint32_t at, uint32_t whom)> loses;
  std::function<void(uint32_t at)> polls;  // before it looks for arrivals
};

// One that may be slept on, through which nothing ever comes.
inline int silent_descriptor() {
  static const int fd = eventfd(0, EFD_CLOEXEC);
  return fd;
}

class SimulatedTransport final : public Transport, private Bundling, private InPlace, private StagingAreas, private Notify {
 public:
  SimulatedTransport(Sink& sink, Network& network, Tap& tap, uint32_t rank);
  ~SimulatedTransport() override { (*all_)[rank_] = nullptr; }

  TransportName name() const override { return {PTLX_TRANSPORT_NETWORK, "simulated"}; }
  // Those with a descriptor that bundle, as tcp does, send some puts whole, four times as long as a message.
  TransportLimits limits() const override {
    const Weather& weather = net_.weather;
    return {weather.eager, weather.pull, 0, weather.has_fd && weather.bundles ? 4 * weather.eager : 0};
  }
  Link* connect(ProcessId process) override;
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override;
  bool expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) override;
  void withdraw(Exposed& exposed) override;
  Moved pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) override {
    return move({rank_of(link), from, static_cast<std::byte*>(to), size, context, 0, false});
  }
  Moved push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) override {
    return move({rank_of(link), to, static_cast<std::byte*>(const_cast<void*>(from)), size, context, 0, true});
  }
  int poll(int budget) override;
  bool idle() override { return net_.strikes(Mutant::arrival_slept_through, 2) || next_due() > net_.now; }
  int wait_fd() const override { return net_.weather.has_fd ? silent_descriptor() : -1; }
  void housekeeping(bool waiting) override;

  // All of the network, by rank: null where none is open. Once, before anything is sent; `all` lives longer.
  void meet(std::vector<SimulatedTransport*>& all) {
    all_ = &all;
    all[rank_] = this;
  }
  // When there is something for `poll`; kNever: not by itself.
  uint64_t next_due() const;
  // It was refused room, and there is some now.
  bool told_of_room() { return std::exchange(room_, false); }
  size_t moving() const { return moves_.size(); }

 private:
  struct Move {
    uint32_t peer;
    wire::Region remote;
    std::byte* local;
    size_t size;
    void* context;
    uint64_t due;
    bool outward;
  };
  static Capabilities capabilities(SimulatedTransport& self, const Weather& weather);
  uint32_t rank_of(const Link& link) const { return Network::rank_of(link.process); }
  Network::Pair& from(uint32_t peer) const { return net_.pair(peer, rank_); }
  Network::Pair& to(uint32_t peer) const { return net_.pair(rank_, peer); }
  bool full(uint32_t peer) const { return to(peer).queue.size() >= net_.weather.capacity; }
  void flush() override;
  std::byte* begin(Link& link, const wire::Header& header) override;
  void commit(Link& link) override;
  bool stage(Link& link, StagingFiller& filler, wire::Region& out) override;
  bool open_stage(Link& link, const wire::Region& from, StagingTaker& taker) override;
  void unstage(Link& link, StagingFiller& filler) override;
  void notify(Link& link) override;
  Moved move(Move wanted);
  uint64_t due_of(const Move& move) const;
  int end_moves();
  bool carry_out(const Move& move);  // false: it is open no more
  int deliver(uint32_t peer);
  void hand_over(uint32_t peer, const Packet& packet);
  int lose(uint32_t peer);
  bool loss_is_due(uint32_t peer) const;

  Sink& sink_;
  Network& net_;
  Tap& tap_;
  uint32_t rank_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Move> moves_;
  struct Kept {
    uint32_t to;
    wire::Header header;
    std::vector<std::byte> payload;
  };
  std::vector<Kept> kept_;  // back, until flush
  Kept place_{};            // of begin and commit
  bool room_ = false;
  std::vector<SimulatedTransport*>* all_ = nullptr;
};

}  // namespace portunus::simulation
