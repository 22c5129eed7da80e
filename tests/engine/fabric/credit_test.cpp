// How much senders may have on their way to one receiver, over links that deliver late. The arithmetic alone, without a provider.
#include "engine/transport/fabric/credit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace portunus::fabric {
namespace {

wire::Header header_of(size_t payload, wire::Kind kind = wire::Kind::put) {
  wire::Header header{};
  header.kind = kind;
  header.payload_size = static_cast<uint16_t>(payload);
  return header;
}

struct Sender {
  Credit credit;
  ReceiveCredit grant;
  std::deque<uint64_t> pending;  // costs, in order
  std::deque<uint64_t> grants;   // totals on their way back

  uint64_t sum() const {
    uint64_t sum = 0;
    for (const uint64_t cost : pending) sum += cost;
    return sum;
  }
  bool send(uint64_t cost) {
    if (!credit.covers(cost)) return false;
    credit.spend(cost);
    pending.push_back(cost);
    return true;
  }
  // Takes in the oldest total on its way.
  bool hear() {
    const bool valid = credit.granted(grants.front());
    grants.pop_front();
    return valid;
  }
};

struct Receiver {
  CreditPool credit_pool;
  uint64_t most;

  bool take(Sender& from) {
    const bool fits = credit_pool.take(from.grant, from.pending.front());
    from.pending.pop_front();
    if (credit_pool.is_due(from.grant, most)) {
      const uint64_t total = credit_pool.next_total(from.grant, most);
      from.grants.push_back(total);
      credit_pool.tell(from.grant, total);
    }
    return fits;
  }
};

TEST(FabricCredit, AMessageOfAnyLengthGoesAtOnceAndAThrottleAlways) {
  Sender sender;
  EXPECT_TRUE(sender.credit.covers(cost_of(header_of(kEager))));
  EXPECT_TRUE(sender.send(cost_of(header_of(kEager))));
  EXPECT_FALSE(sender.credit.covers(cost_of(header_of(0))));
  EXPECT_TRUE(sender.credit.covers(cost_of(header_of(0, wire::Kind::throttle))));
}

wire::Header eager_rdma() {
  wire::Header header = header_of(wire::kWhole);
  header.rlength = kEager + 1;
  return header;
}

TEST(FabricCredit, OfPutsThatTravelWholeNoMoreAreUnderWayThanThereArePlaces) {
  for (const uint64_t most : {uint64_t{1} << 20, uint64_t{64} << 20}) {
    std::mt19937 random(static_cast<unsigned>(most));
    Sender sender;
    Receiver receiver{{}, most};
    size_t sent = 0;
    for (int i = 0; i < 100'000; ++i) {
      switch (random() % 4) {
        case 0: sent += sender.send(cost_of(eager_rdma())); break;
        case 1: sender.send(cost_of(header_of(random() % (kEager + 1)))); break;
        case 2: ASSERT_TRUE(sender.pending.empty() || receiver.take(sender)); break;
        default: ASSERT_TRUE(sender.grants.empty() || sender.hear());
      }
      const auto places = static_cast<size_t>(std::count(sender.pending.begin(), sender.pending.end(), kOneEagerRdma));
      ASSERT_LT(places, kRdmaSlots) << "and one more may be being taken in";
    }
    EXPECT_GT(sent, 1000u);
  }
}

TEST(FabricCredit, WhatIsUnderWayStaysBelowTheSumAndOneMessageFromEachAndNobodyWaitsForEver) {
  for (const uint64_t most : {uint64_t{0}, uint64_t{100'000}, uint64_t{1} << 20, uint64_t{64} << 20}) {
    std::mt19937 random(static_cast<unsigned>(most));
    std::vector<Sender> senders(20);
    Receiver receiver{{}, most};
    uint64_t sent = 0, highest = 0;
    for (int i = 0; i < 200'000; ++i) {
      Sender& sender = senders[random() % senders.size()];
      switch (random() % 4) {
        case 0:
        case 1:
          sent += sender.send(random() % 16 == 0 ? cost_of(eager_rdma())
                                                 : cost_of(header_of(random() % 3 ? random() % 64 : random() % (kEager + 1))));
          break;
        case 2: ASSERT_TRUE(sender.pending.empty() || receiver.take(sender)); break;
        default: ASSERT_TRUE(sender.grants.empty() || sender.hear());
      }
      uint64_t all = 0;
      if (i % 64 == 0)
        for (const Sender& each : senders) all += each.sum();
      highest = std::max(highest, all);
      ASSERT_LE(receiver.credit_pool.lent(), most);
    }
    EXPECT_LE(highest, most + senders.size() * kOneMessage);
    EXPECT_GT(sent, 10'000u);
    // All that is pending arrives, so that each sender may send a message of any length again.
    for (Sender& sender : senders) {
      while (!sender.pending.empty()) ASSERT_TRUE(receiver.take(sender));
      while (!sender.grants.empty()) ASSERT_TRUE(sender.hear());
      EXPECT_TRUE(sender.credit.covers(kOneMessage));
    }
  }
}

TEST(FabricCredit, OneWhoSendsAloneGetsAWindowAndIsToldSeldom) {
  Sender sender;
  Receiver receiver{{}, uint64_t{32} << 20};
  int told = 0;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(sender.send(cost_of(header_of(8))));
    ASSERT_TRUE(receiver.take(sender));
    for (; !sender.grants.empty(); sender.grants.pop_front(), ++told) ASSERT_TRUE(sender.credit.granted(sender.grants.front()));
  }
  EXPECT_LE(told, static_cast<int>(10'000 * cost_of(header_of(8)) / (kWindow / 8 * 5)) + 2);
  uint64_t more = 0;
  while (sender.send(1)) ++more;
  EXPECT_GE(more, kWindow / 8 * 3);
}

TEST(FabricCredit, WhatALostSenderHadIsLentToOthers) {
  Sender first, second;
  Receiver receiver{{}, kWindow};
  for (Sender* sender : {&first, &second}) {
    ASSERT_TRUE(sender->send(1));
    ASSERT_TRUE(receiver.take(*sender));
  }
  EXPECT_EQ(first.grant.outstanding(), kWindow);
  EXPECT_LT(second.grant.outstanding(), kWindow);
  receiver.credit_pool.forget(first.grant);
  while (second.grant.outstanding() >= kOneMessage) ASSERT_TRUE(receiver.credit_pool.take(second.grant, kOneMessage));
  ASSERT_TRUE(receiver.credit_pool.is_due(second.grant, receiver.most));
  receiver.credit_pool.tell(second.grant, receiver.credit_pool.next_total(second.grant, receiver.most));
  EXPECT_EQ(second.grant.outstanding(), kWindow);
}

TEST(FabricCredit, WhatNoReceiverSaysAndWhatNoSenderMayIsRefused) {
  Credit credit;
  EXPECT_FALSE(credit.granted(0));
  EXPECT_FALSE(credit.granted(kWindow + 1));
  EXPECT_FALSE(credit.granted(~uint64_t{0}));
  EXPECT_TRUE(credit.granted(kWindow));
  EXPECT_FALSE(credit.granted(kWindow - 1));
  CreditPool credit_pool;
  ReceiveCredit grant;
  EXPECT_FALSE(credit_pool.take(grant, kOneMessage + 1));
  EXPECT_TRUE(credit_pool.take(grant, kOneMessage));
  EXPECT_FALSE(credit_pool.take(grant, 1));
}

}  // namespace
}  // namespace portunus::fabric
