// delayed.hpp: another transport behind a wire of a latency and a width, for measurements on machines whose processes are
// closer than those of a network (PTL_DEBUG=wire=...).
//
// A message is stamped by its sender with the moment at which its last byte comes out of the wire: those of one link follow
// each other at the wire's width, and are under way for its latency. The receiver takes it from the carrier at once and hands
// it to the engine when the moment has come. Until then nobody does anything: what is held says when it is due (due_in_ns), and
// a parked engine sleeps so long. Bulk data is copied when it is asked for; its end is told two latencies and the
// data's time on the wire later. All processes of a node must have the same wire: without one, stamped messages are malformed.
//
// Thread: the baton holder.
// Invariants: messages of one link stay in order. A peer's loss is told after its last message.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "engine/host/clock.hpp"
#include "engine/host/options.hpp"
#include "engine/transport/transport.hpp"

namespace portunus {

class DelayedTransport final : public Transport, public Holding, private Sink {
 public:
  using Clock = uint64_t (*)();
  // `make` makes the carrier, which delivers to the Sink it is given.
  DelayedTransport(Sink& sink, WireOptions wire, const std::function<std::unique_ptr<Transport>(Sink&)>& make, Clock clock = now_ns)
      : Transport({.holding = this}), sink_(sink), wire_(wire), clock_(clock), carrier_(make(*this)) {}

  TransportName name() const override { return {PTLX_TRANSPORT_NETWORK, "node, delayed"}; }
  TransportLimits limits() const override { return {carrier_->limits().eager - kStamp, carrier_->limits().pull}; }
  Link* connect(ProcessId process) override { return carrier_->connect(process); }
  Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) override;
  bool expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) override {
    return carrier_->expose(link, start, size, peer_writes, out);
  }
  void withdraw(Exposed& exposed) override { carrier_->withdraw(exposed); }
  Moved pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) override {
    return later(link, size, context, carrier_->pull(link, from, to, size, context));
  }
  Moved push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) override {
    return later(link, size, context, carrier_->push(link, to, from, size, context));
  }
  int poll(int budget) override;
  bool idle() override { return carrier_->idle() && !due(); }
  int64_t due_in_ns() override;
  void housekeeping(bool waiting) override { carrier_->housekeeping(waiting); }
  bool needs_housekeeping() override { return carrier_->needs_housekeeping(); }
  int wait_fd() const override { return carrier_->wait_fd(); }

 private:
  static constexpr size_t kStamp = sizeof(uint64_t);  // behind the payload, of messages whose kind has kStamped
  static constexpr uint8_t kStamped = 0x80;
  static constexpr size_t kMostHeld = 65'536;  // then the rest waits in the carrier

  struct Held {
    enum class What : uint8_t { message, end_of_move, loss };
    Link* link = nullptr;
    What what = What::message;
    uint64_t due_ns = 0, number = 0;
    void* context = nullptr;  // of a move
    wire::Header header{};
    std::vector<std::byte> payload{};
    bool operator<(const Held& other) const {
      return std::pair(other.due_ns, other.number) < std::pair(due_ns, number);
    }  // the first is the top
  };

  // Sink, for the carrier
  void arrived(Link& from, const wire::Header& header, const std::byte* payload) override;
  void moved(void* context, bool ok) override;
  void lost(Link& link) override { hold({.link = &link, .what = Held::What::loss, .due_ns = times_[&link].last}); }
  void introduced(Link& link, Transport&) override { sink_.introduced(link, *this); }

  bool due() const { return !held_.empty() && held_.top().due_ns <= clock_(); }
  void hold(Held held);
  Moved later(Link& link, size_t size, void* context, Moved outcome);
  uint64_t time_on_wire(size_t bytes) const { return bytes * 1000 / wire_.bytes_per_us; }

  Sink& sink_;
  WireOptions wire_;
  Clock clock_;
  struct Times {
    uint64_t free_at = 0;       // when the wire to this link will have taken everything so far
    uint64_t last_message = 0;  // due of the last one that came from it
    uint64_t last = 0;          // due of the last of all that was held of it
  };
  std::unordered_map<const Link*, Times> times_;
  struct Moving {
    Link* link;
    uint64_t due_ns;
  };
  std::unordered_map<void*, Moving> moving_;  // by context: the carrier has not finished them
  std::priority_queue<Held> held_;
  uint64_t number_ = 0;
  std::unique_ptr<Transport> carrier_;  // after what it reports to
};

}  // namespace portunus
