// transport.hpp: the transport of a simulated rank: the contract of engine/transport/transport.hpp over the network of network.hpp.
//
// Each call brings the rank's clock up to date first, so that all that others did before has happened.
// Thread: one.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "engine/tools/ptlsim/network.hpp"

namespace portunus::ptlsim {

// The clock of a rank, as its transport sees it.
class RankClock {
 public:
  virtual uint64_t time() const = 0;
  virtual void charge(double ns) = 0;  // the rank is busy for so long
  virtual void synchronize() = 0;      // others run that are behind
  virtual void close() = 0;            // the transport ends

 protected:
  ~RankClock() = default;
};

class ModelTransport final : public Transport {
 public:
  ModelTransport(Sink& sink, Network& network, RankClock& clock, uint32_t rank);
  ~ModelTransport() override {
    net_.under_way -= moves_.size();
    clock_.close();
  }

  TransportName name() const override { return {PTLX_TRANSPORT_NETWORK, "simulated"}; }
  TransportLimits limits() const override { return {.eager = kEager, .pull = kPull}; }
  Link* connect(ProcessId process) override;
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override;
  bool expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) override;
  void withdraw(Exposed& exposed) override { net_.withdraw(exposed.region.key); }
  Moved pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) override;
  Moved push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) override;
  int poll(int budget) override;
  bool idle() override { return next_due() > clock_.time(); }
  int wait_fd() const override;

  // When there is something for `poll`; kNever: not by itself.
  uint64_t next_due() const { return net_.next_due(rank_); }
  size_t moving() const { return moves_.size(); }

 private:
  static constexpr size_t kEager = 60'000, kPull = size_t{1} << 30;
  struct Move {
    uint32_t peer;
    wire::Region remote;
    std::byte* local;
    size_t size;
    void* context;
    bool outward;
  };
  Moved start(const Move& move);
  int end_moves();
  void deliver();
  void lose(uint32_t peer);
  double overhead(size_t bytes) const { return net_.model.overhead + net_.model.byte_overhead * static_cast<double>(bytes); }

  Sink& sink_;
  Network& net_;
  RankClock& clock_;
  uint32_t rank_;
  std::vector<std::unique_ptr<Link>> links_;
  std::set<uint32_t> lost_;
  std::map<uint64_t, Move> moves_;  // by number, in the order in which they began
  uint64_t last_move_ = 0;
};

}  // namespace portunus::ptlsim
