// credit.hpp: how much others may have on their way to a process, which bounds what it must keep when it asks them to wait.
//
// Both ends of a link count what its messages cost, from its beginning: what the receiver may have to keep of them. A sender stays below
// the sum that the receiver has granted last. Each link is granted one message of any length; more comes out of a sum that all links share.
// So a receiver answers for that sum and one message from each, however fast they send and whatever sockets hold. A receiver grants as it
// takes messages in, and waits for nothing but the provider; so there is no circle of waits.
//
// Thread: the holder of the baton. Costs: an addition and a comparison a message on either side, and 24 bytes back for each 320 KiB,
// which wake a sender that sleeps.
// Invariants: a throttle costs nothing, so it never waits for credit. A grant never overtakes a throttle: messages sent after the throttle
// was read come out of credit granted before.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "engine/transport/fabric/message.hpp"
#include "engine/transport/wire.hpp"

namespace portunus::fabric {

// The cost of a put by eager RDMA, however long: credit for one includes a slot for its data.
constexpr uint64_t kOneEagerRdma = wire::kKeptHeader + kEagerRdmaMost;
constexpr uint64_t cost_of(const wire::Header& header) {
  if (header.payload_size == wire::kWhole) return kOneEagerRdma;
  return header.kind == wire::Kind::throttle ? 0 : wire::kKeptHeader + header.payload_size;
}
constexpr uint64_t kOneMessage = wire::kKeptHeader + kEager;
constexpr uint64_t kWindow = 512 << 10;  // credit of one link at most
constexpr size_t kRdmaSlots = 8;         // for the puts on their way, and one that is being taken in
static_assert(kWindow / kOneEagerRdma < kRdmaSlots);

// The sender's side of a link: what it has spent and may spend.
class Credit {
 public:
  [[nodiscard]] bool covers(uint64_t cost) const { return cost <= granted_ - spent_; }
  void spend(uint64_t cost) { spent_ += cost; }
  // Returns false when no receiver of ours would grant this.
  [[nodiscard]] bool granted(uint64_t total) {
    if (total < granted_ || total - spent_ > kWindow) return false;
    assert(spent_ <= granted_);
    granted_ = total;
    return true;
  }

 private:
  uint64_t spent_ = 0;
  uint64_t granted_ = kOneMessage;
};

// The receiver's side of a link: what has arrived and was granted.
class ReceiveCredit {
 public:
  [[nodiscard]] uint64_t outstanding() const { return total_ - arrived_; }
  [[nodiscard]] uint64_t total() const { return total_; }

 private:
  friend class CreditPool;
  [[nodiscard]] uint64_t shared() const { return outstanding() - std::min(outstanding(), kOneMessage); }
  uint64_t arrived_ = 0;
  uint64_t total_ = kOneMessage;
};

// The sum that all links share. `most` may change at any time: credit that was granted stays granted.
class CreditPool {
 public:
  // Takes a message's cost; returns false when it cost more than was granted.
  [[nodiscard]] bool take(ReceiveCredit& of, uint64_t cost) {
    if (cost > of.outstanding()) return false;
    change(of, of.arrived_ + cost, of.total_);
    return true;
  }
  // Tells whether a grant is to go now: the sender may soon wait for it.
  [[nodiscard]] bool is_due(const ReceiveCredit& to, uint64_t most) const {
    return to.outstanding() < std::max(kOneMessage, window(to, most) / 8 * 3);
  }
  // The total that a grant would tell the sender.
  [[nodiscard]] uint64_t next_total(const ReceiveCredit& to, uint64_t most) const {
    return std::max(to.total_, to.arrived_ + window(to, most));
  }
  void tell(ReceiveCredit& to, uint64_t total) {
    assert(total >= to.total_ && total - to.arrived_ <= kWindow);
    change(to, to.arrived_, total);
  }
  // Forgets a sender that has ended.
  void forget(ReceiveCredit& of) { change(of, of.arrived_, of.arrived_); }
  [[nodiscard]] uint64_t lent() const { return lent_; }

 private:
  void change(ReceiveCredit& of, uint64_t arrived, uint64_t total) {
    assert(lent_ >= of.shared() && arrived <= total);
    lent_ -= of.shared();
    of.arrived_ = arrived;
    of.total_ = total;
    lent_ += of.shared();
  }
  [[nodiscard]] uint64_t window(const ReceiveCredit& to, uint64_t most) const {
    assert(lent_ >= to.shared());
    const uint64_t others = lent_ - to.shared();
    return kOneMessage + std::min(kWindow - kOneMessage, most - std::min(most, others));
  }
  uint64_t lent_ = 0;  // outstanding beyond one message, of all links
};

}  // namespace portunus::fabric
