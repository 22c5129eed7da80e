// A transport behind a wire of a latency and a width: when messages arrive, and how long an engine may sleep meanwhile. Engines are
// stepped by hand, and the clock is the test's.
#include <gtest/gtest.h>

#include "engine/measurement/delayed/delayed.hpp"
#include "tests/engine/transport_pair.hpp"
#include "tests/support/rig.hpp"

namespace portunus {
namespace {

uint64_t clock_ns = 0;
uint64_t read_clock() { return clock_ns; }

constexpr WireOptions kWire{.latency_ns = 5000, .bytes_per_us = 64};  // a header takes a microsecond
constexpr ProcessId kIds[] = {{1, 1}, {1, 2}};

std::function<std::unique_ptr<Transport>(Sink&)> carrier(SelfHub& hub, int side) {
  return [&hub, side](Sink& sink) { return std::make_unique<SelfTransport>(sink, hub, kIds[side], 7); };
}

struct Delayed : testing::Test {
  Delayed() { clock_ns = 1'000'000; }

  Sent send(int from, uint64_t number, size_t size = 0) {
    wire::Header header{};
    header.kind = wire::Kind::put;
    header.match_bits = number;
    header.payload_size = static_cast<uint16_t>(size);
    std::vector<std::byte> bytes(size, static_cast<std::byte>(number));
    const iovec part{bytes.data(), size};
    return ends[from].send(*ends[from].connect(kIds[1 - from]), header, {&part, size ? 1u : 0u});
  }
  size_t arrived_at(int side) {
    ends[side].poll(16);
    return sinks[side].arrivals.size();
  }

  SelfHub hub;
  Recorder sinks[2];
  DelayedTransport ends[2] = {{sinks[0], kWire, carrier(hub, 0), read_clock}, {sinks[1], kWire, carrier(hub, 1), read_clock}};
};

TEST_F(Delayed, AMessageArrivesWhenLatencyAndWidthLetItAndNotBefore) {
  ASSERT_EQ(send(0, 7, 64), Sent::done);  // two microseconds on the wire
  EXPECT_EQ(arrived_at(1), 0u);
  EXPECT_TRUE(ends[1].idle());
  EXPECT_EQ(ends[1].due_in_ns(), 7000);
  clock_ns += 6999;
  EXPECT_EQ(arrived_at(1), 0u);
  clock_ns += 1;
  EXPECT_FALSE(ends[1].idle());
  ASSERT_EQ(arrived_at(1), 1u);
  const Recorder::Arrival& arrival = sinks[1].arrivals.front();
  EXPECT_EQ(arrival.header.kind, wire::Kind::put);
  EXPECT_EQ(arrival.header.match_bits, 7u);
  EXPECT_EQ(arrival.payload, std::vector<std::byte>(64, std::byte{7}));
  EXPECT_EQ(ends[1].due_in_ns(), -1);
  EXPECT_EQ(ends[1].state.holding, 0u);
}

TEST_F(Delayed, MessagesOfOneLinkFollowEachOtherAtTheWidthOfTheWire) {
  for (uint64_t number = 0; number < 4; ++number) send(0, number);
  for (uint64_t number = 0; number < 4; ++number) {
    clock_ns += number == 0 ? 5999 : 999;
    EXPECT_EQ(arrived_at(1), number);
    clock_ns += 1;
    ASSERT_EQ(arrived_at(1), number + 1);
    EXPECT_EQ(sinks[1].arrivals.back().header.match_bits, number);
  }
}

TEST_F(Delayed, TheWayBackIsAWireOfItsOwn) {
  send(0, 1);
  send(1, 2);
  clock_ns += 6000;
  EXPECT_EQ(arrived_at(1), 1u);
  EXPECT_EQ(arrived_at(0), 1u);
}

TEST_F(Delayed, WhatTheCarrierRefusesTakesNoTimeOnTheWire) {
  hub.capacity = 0;
  EXPECT_EQ(send(0, 1), Sent::again);
  hub.capacity = 100;
  ASSERT_EQ(send(0, 1), Sent::done);
  arrived_at(1);
  EXPECT_EQ(ends[1].due_in_ns(), 6000);
}

TEST_F(Delayed, TheEndOfBulkDataIsToldAfterTheWayThereAndBack) {
  char from[128] = "data", to[128] = "";
  const wire::Region region{reinterpret_cast<uint64_t>(from), 0};
  int context = 0;
  ASSERT_EQ(ends[1].pull(*ends[1].connect(kIds[0]), region, to, sizeof to, &context), Moved::started);
  clock_ns += 11'999;
  ends[1].poll(16);
  EXPECT_TRUE(sinks[1].moves.empty());
  EXPECT_EQ(ends[1].due_in_ns(), 1);
  clock_ns += 1;
  ends[1].poll(16);
  EXPECT_EQ(sinks[1].moves[&context], std::vector<bool>{true});
  EXPECT_STREQ(to, "data");
}

TEST_F(Delayed, MessagesWithoutAStampAreNotDelayedAndStampsThatDoNotFitAreMalformed) {
  SelfTransport bare(sinks[0], hub, {1, 3}, 7);
  wire::Header header{};
  header.kind = wire::Kind::put;
  ASSERT_EQ(bare.send(*bare.connect(kIds[1]), header, {}), Sent::done);
  header.kind = static_cast<wire::Kind>(static_cast<uint8_t>(wire::Kind::put) | 0x80);
  ASSERT_EQ(bare.send(*bare.connect(kIds[1]), header, {}), Sent::done);
  ASSERT_EQ(arrived_at(1), 2u);
  EXPECT_EQ(sinks[1].arrivals[0].header.kind, wire::Kind::put);
  EXPECT_EQ(sinks[1].arrivals[1].header.kind, wire::Kind::none);
}

// A carrier that loses its peer at its first housekeeping.
struct Losing final : Transport {
  explicit Losing(Sink& sink) : sink(sink) { link.process = {1, 9}; }
  TransportName name() const override { return {PTLX_TRANSPORT_NETWORK, "losing"}; }
  TransportLimits limits() const override { return {}; }
  Link* connect(ProcessId) override { return &link; }
  Sent send(Link&, const wire::Header&, std::span<const iovec>) override { return Sent::failed; }
  bool expose(Link&, const void*, size_t, bool, Exposed&) override { return false; }
  void withdraw(Exposed&) override {}
  Moved pull(Link&, const wire::Region&, void*, size_t, void*) override { return Moved::failed; }
  Moved push(Link&, const wire::Region&, const void*, size_t, void*) override { return Moved::failed; }
  int poll(int) override {
    const uint64_t due = clock_ns + 5000;
    wire::Header header{};
    header.kind = static_cast<wire::Kind>(static_cast<uint8_t>(wire::Kind::put) | 0x80);
    header.payload_size = sizeof due;
    if (!said) sink.arrived(link, header, reinterpret_cast<const std::byte*>(&due));
    said = true;
    return 1;
  }
  bool idle() override { return true; }
  void housekeeping(bool) override { sink.lost(link); }
  Sink& sink;
  Link link;
  bool said = false;
};

TEST_F(Delayed, ALostPeersLastWordsComeBeforeItsLoss) {
  DelayedTransport end(
      sinks[0], kWire, [](Sink& sink) { return std::make_unique<Losing>(sink); }, read_clock);
  end.poll(16);
  end.housekeeping(true);
  end.poll(16);
  EXPECT_TRUE(sinks[0].losses.empty());
  clock_ns += 5000;
  end.poll(16);
  EXPECT_EQ(sinks[0].arrivals.size(), 1u);
  EXPECT_EQ(sinks[0].losses.size(), 1u);
}

TEST_F(Delayed, AnEngineThatHoldsAMessageMaySleepUntilItIsDueButMustBeKeptInMind) {
  SelfHub own[2];
  test::Node nodes[2] = {test::Node(ProcessId{2, 1}), test::Node(ProcessId{2, 2})};
  const std::vector<ptl_process_t> map = [] {
    std::vector<ptl_process_t> all(2);
    for (uint32_t i = 0; i < 2; ++i) all[i].phys = {2, i + 1};
    return all;
  }();
  for (uint32_t i = 0; i < 2; ++i) {
    nodes[i].engine.peers().add_transport(std::make_unique<SelfTransport>(nodes[i].engine, own[i], ProcessId{2, i + 1}, 7));
    nodes[i].engine.peers().add_transport(std::make_unique<DelayedTransport>(
        nodes[i].engine, kWire,
        [&, i](Sink& sink) {
          return std::make_unique<SelfTransport>(sink, hub, ProcessId{2, i + 1}, 7);
        },
        read_clock));
    nodes[i].open(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, map);
  }
  uint64_t word = 0;
  const uint64_t value = 4711;
  const uint32_t ct = nodes[1].counter();
  nodes[1].portal();
  nodes[1].append({.start = &word, .length = sizeof word, .options = PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM, .ct = ct});
  nodes[0].run(nodes[0].put(&value, sizeof value, 1));
  Engine& receiver = nodes[1].engine;
  EXPECT_FALSE(receiver.idle());
  EXPECT_EQ(receiver.step(clock_ns), 0);
  EXPECT_TRUE(receiver.idle() && !receiver.busy());
  EXPECT_EQ(receiver.max_idle_ns(), 6125);
  clock_ns += 6125;
  EXPECT_FALSE(receiver.idle());
  EXPECT_EQ(receiver.step(clock_ns), 1);
  EXPECT_EQ(word, value);
  EXPECT_EQ(nodes[1].value(ct).success, 1u);
  EXPECT_TRUE(receiver.idle() && !receiver.busy());
}

}  // namespace
}  // namespace portunus
