// The initiator's half of data that both ends copy: what is copied when, and what is given back. A transport of memory alone takes.
#include "engine/core/initiator/packing.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "engine/core/initiator/way.hpp"
#include "engine/core/objects.hpp"
#include "engine/transport/node/staging.hpp"

namespace portunus {
namespace packing_test {

// One area of staging per link, which somebody may have already; counts who is notified.
class Areas final : public Transport, public StagingAreas, public Notify {
 public:
  Areas() : Transport(Capabilities{nullptr, nullptr, this, this, nullptr}) {}

  struct Area : Link {
    Staging shared{};
    std::vector<std::byte> memory = std::vector<std::byte>(Staging::kBytes);
    bool taken = false;
  };
  bool stage(Link& link, StagingFiller& filler, wire::Region& out) override {
    Area& area = static_cast<Area&>(link);
    if (std::exchange(area.taken, true)) return false;
    out = {};
    number = filler.begin(area.shared, area.memory.data());
    return true;
  }
  bool open_stage(Link&, const wire::Region&, StagingTaker&) override { return false; }
  void unstage(Link& link, StagingFiller& filler) override {
    filler.end();
    static_cast<Area&>(link).taken = false;
  }
  void notify(Link&) override { ++notified; }

  TransportName name() const override { return {}; }
  TransportLimits limits() const override { return {}; }
  Link* connect(ProcessId) override { return nullptr; }
  Sent send(Link&, const wire::Header&, std::span<const iovec>) override { return {}; }
  bool expose(Link&, const void*, size_t, bool, Exposed&) override { return false; }
  void withdraw(Exposed&) override {}
  Moved pull(Link&, const wire::Region&, void*, size_t, void*) override { return {}; }
  Moved push(Link&, const wire::Region&, const void*, size_t, void*) override { return {}; }
  int poll(int) override { return 0; }
  bool idle() override { return true; }

  uint64_t number = 0;
  int notified = 0;
};

struct PackingTest : testing::Test {
  Objects objects;
  Stats stats;
  Core core{objects, stats, 0};
  Packing packing{core};
  Areas areas;
  std::vector<Operation*> packed;

  struct Message {
    Areas::Area area;
    Peer peer;
    Operation operation;
    std::vector<std::byte> data;
    StagingTaker taker;
    std::vector<std::byte> arrived;
  };
  // A put of `size` bytes, as far as packing looks at it.
  void make(Message& message, size_t size) {
    message.peer.link = &message.area;
    message.peer.transport = &areas;
    message.data.resize(size);
    for (size_t i = 0; i < size; ++i) message.data[i] = static_cast<std::byte>(i * 7 >> 3);
    message.operation.peer = &message.peer;
    message.operation.length = size;
    message.operation.source.base = message.data.data();
  }
  bool open(Message& message) {
    if (!Packing::open(message.operation)) return false;
    message.taker.begin(message.area.shared, message.area.memory.data(), areas.number);
    return true;
  }
  // Takes at most `pieces`; returns how many there were.
  int take(Message& message, int pieces) {
    int taken = 0;
    for (; taken < pieces; ++taken) {
      bool over = false, waited = false;
      const iovec piece = message.taker.piece(message.operation.length - message.arrived.size(), over);
      if (piece.iov_len == 0) break;
      const auto* bytes = static_cast<const std::byte*>(piece.iov_base);
      message.arrived.insert(message.arrived.end(), bytes, bytes + piece.iov_len);
      EXPECT_TRUE(message.taker.took(piece.iov_len, waited));
    }
    return taken;
  }
};

TEST_F(PackingTest, WhatFitsIsCopiedAtOnceAndNeverAdvanced) {
  Message message;
  make(message, Staging::kBytes / 2);
  ASSERT_TRUE(open(message));
  EXPECT_TRUE(packing.begin(message.operation));
  EXPECT_TRUE(packing.empty());
  EXPECT_FALSE(core.maybe_busy);
  take(message, 1000);
  EXPECT_EQ(message.arrived, message.data);
}

TEST_F(PackingTest, MoreThanFitsGoesOnAsItIsTakenAndIsReturnedOnceWhenAllIsThere) {
  Message message;
  make(message, 2 * Staging::kBytes + 12345);
  ASSERT_TRUE(open(message));
  EXPECT_FALSE(packing.begin(message.operation));
  EXPECT_TRUE(core.maybe_busy);
  EXPECT_FALSE(packing.empty());
  EXPECT_FALSE(packing.has_room());
  EXPECT_EQ(packing.advance(packed), 0);
  EXPECT_EQ(take(message, 2), 2);
  EXPECT_TRUE(packing.has_room());
  EXPECT_EQ(packing.advance(packed), 1);
  EXPECT_TRUE(packed.empty());
  while (packed.empty()) {
    take(message, 3);
    packing.advance(packed);
  }
  EXPECT_EQ(packed, std::vector<Operation*>{&message.operation});
  EXPECT_TRUE(packing.empty());
  take(message, 1000);
  EXPECT_EQ(message.arrived, message.data);
}

TEST_F(PackingTest, AStepCopiesABoundedAmountOverAllOperations) {
  Message first, second;
  make(first, 4 * Staging::kBytes);
  make(second, 4 * Staging::kBytes);
  ASSERT_TRUE(open(first));
  packing.begin(first.operation);
  ASSERT_TRUE(open(second));
  packing.begin(second.operation);
  const int all = static_cast<int>(Staging::kBytes / Staging::kPiece);
  EXPECT_EQ(take(first, all), all);
  EXPECT_EQ(take(second, all), all);
  const uint64_t before = first.operation.staging.filled() + second.operation.staging.filled();
  packing.advance(packed);
  EXPECT_LE(first.operation.staging.filled() + second.operation.staging.filled() - before, uint64_t{Staging::kBytes});
}

TEST_F(PackingTest, OnlyATakerThatWaitsIsNotified) {
  Message message;
  make(message, 2 * Staging::kBytes);
  ASSERT_TRUE(open(message));
  packing.begin(message.operation);
  EXPECT_EQ(areas.notified, 0);
  take(message, 1000);
  EXPECT_EQ(take(message, 1), 0);  // it finds nothing, and leaves a note
  packing.advance(packed);
  EXPECT_EQ(areas.notified, 1);
}

TEST_F(PackingTest, AnAreaServesOneMessageAtATimeAndIsGivenBackAtItsEndCompleteOrNot) {
  Message message, next;
  make(message, 2 * Staging::kBytes);
  ASSERT_TRUE(open(message));
  packing.begin(message.operation);
  make(next, 100);
  next.peer.link = &message.area;
  EXPECT_FALSE(Packing::open(next.operation));
  message.operation.ni = 2;
  EXPECT_EQ(packing.unfinished(2), std::vector<Operation*>{&message.operation});
  EXPECT_TRUE(packing.unfinished(1).empty());
  packing.end(message.operation);
  packing.end(message.operation);  // has nothing more to give back
  EXPECT_TRUE(packing.empty());
  EXPECT_FALSE(message.area.taken);
  EXPECT_TRUE(Packing::open(next.operation));
  packing.end(next.operation);
}

TEST(PackingFacts, StagingIsForDataThatGoOutAndForLengthsItsWordsCanCount) {
  Command command;
  command.verb = Verb::put;
  command.length = 1000;
  EXPECT_EQ(Packing::facts(command), fact::kStaging);
  command.verb = Verb::get;
  EXPECT_EQ(Packing::facts(command), 0);
  command.verb = Verb::atomic;
  command.length = Staging::kMost;
  EXPECT_EQ(Packing::facts(command), 0);
  command.verb = Verb::put;
  command.length = Staging::kBytes;
  EXPECT_EQ(Packing::facts(command), fact::kStaging);
}

}  // namespace packing_test
}  // namespace portunus
