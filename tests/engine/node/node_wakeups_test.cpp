// node_wakeups_test.cpp: which messages of the node wake whom, and where an engine's thread may run.
#include <sched.h>

#include <utility>
#include <vector>

#include "engine/host/topology.hpp"
#include "tests/engine/node/node_process.hpp"
#include "tests/support/rig.hpp"

namespace portunus {
namespace {

// A process whose engine thread naps, and whose application has been away for long, or is inside.
struct Napping : End {
  Napping() : End(address(0)) { go_away(); }
  void go_away() { attention_word() = coarse_stamp() - (uint32_t{1} << 30); }
  void come() { transport.segment().header().attention.inside(); }
  uint32_t& attention_word() { return *reinterpret_cast<uint32_t*>(&transport.segment().header().attention); }
  Doorbell& door() { return transport.segment().header().door; }
  // Since it was asked last.
  bool was_rung() { return std::exchange(seen_, door().read()) != door().read(); }

 private:
  uint32_t seen_ = 0;
};

TEST(Node, AnUrgentMessageEndsTheNapOfTheEngineThreadUnlessTheApplicationIsNear) {
  Napping receiver;
  End sender(address(1));
  Link& link = *sender.transport.connect(address(0));
  wire::Header urgent = put(2);
  urgent.flags = PTL_ACK_REQ << wire::kAckShift;
  sender.send(address(0), 1);
  EXPECT_FALSE(receiver.was_rung()) << "it lies where the application will look";
  ASSERT_EQ(sender.transport.send(link, urgent, {}), Sent::done);
  EXPECT_TRUE(receiver.was_rung());
  receiver.come();
  ASSERT_EQ(sender.transport.send(link, urgent, {}), Sent::done);
  EXPECT_FALSE(receiver.was_rung());
}

TEST(Node, AnyMessageWakesWhoSleepsWithoutATimeLimit) {
  for (const Sleeper who : {Sleeper::waiter, Sleeper::engine}) {
    Napping receiver;
    receiver.come();
    End sender(address(1));
    receiver.door().arm(who);
    sender.send(address(0), 1);
    EXPECT_EQ(Doorbell::who(receiver.door().read()), Sleeper::nobody);
  }
}

TEST(Node, ARingWithoutRoomEndsTheNapOfTheEngineThread) {
  for (const bool shared : {false, true}) {
    Napping receiver;
    if (shared) receiver.share_ring();
    End sender(address(1));
    Link& link = *sender.transport.connect(address(0));
    link.peer = Recorder::somebody();
    while (sender.transport.send(link, put(1), {}) == Sent::done) ASSERT_FALSE(receiver.was_rung());
    EXPECT_TRUE(receiver.was_rung());
    EXPECT_EQ(sender.transport.send(link, put(1), {}), Sent::again);
    EXPECT_FALSE(receiver.was_rung()) << "once is enough";
    while (receiver.transport.poll(16) > 0) {
    }
    ASSERT_EQ(sender.transport.send(link, put(1), {}), Sent::done);
    EXPECT_FALSE(receiver.was_rung());
    while (sender.transport.send(link, put(1), {}) == Sent::done) ASSERT_FALSE(receiver.was_rung());
    EXPECT_TRUE(receiver.was_rung()) << "each time anew";
  }
}

TEST(Wire, UrgentIsWhatSomebodyWaitsFor) {
  wire::Header header{};
  using enum wire::Kind;
  for (const auto kind : {wire::Kind::put, wire::Kind::atomic}) {
    header.kind = kind;
    header.flags = 2;
    EXPECT_EQ(wire::urgency_of(header), Urgency::none) << "data that lie where the target will look";
    for (const uint8_t flags : {uint8_t{PTL_ACK_REQ << wire::kAckShift}, uint8_t{PTL_CT_ACK_REQ << wire::kAckShift},
                                uint8_t{PTL_OC_ACK_REQ << wire::kAckShift}, wire::kScheduled}) {
      header.flags = flags;
      EXPECT_EQ(wire::urgency_of(header), Urgency::small) << int{flags};
    }
    header.flags = wire::kBulk;
    EXPECT_EQ(wire::urgency_of(header), Urgency::large);
  }
  header.flags = 0;
  for (const auto kind : {ack, reply}) {
    header.kind = kind;
    header.flags = 0;
    EXPECT_EQ(wire::urgency_of(header), Urgency::none);
    header.flags = wire::kScheduledAnswer;
    EXPECT_EQ(wire::urgency_of(header), Urgency::small) << "triggers may wait for it";
  }
  header.flags = 0;
  for (const auto kind : {get, fetch_atomic, swap, stream_request, stream_data, throttle, withdraw}) {
    header.kind = kind;
    EXPECT_EQ(wire::urgency_of(header), Urgency::small) << static_cast<int>(kind);
  }
}

TEST(Topology, AnEngineStaysWhereItsProcessAndItsLauncherAreBound) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EngineCores one_each, last;
  one_each.each = true;
  const Placement all = place_engine(0, 1, {});
  last.processors = {all.processors.back()};
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(all.processors.front()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const Placement alone = place_engine(0, 1, {}), launched = place_engine(0, 1, {}, true);
  const Placement asked = place_engine(0, 1, last);
  EXPECT_THROW(place_engine(0, 1, one_each), std::invalid_argument) << "there is no core but the rank's";
  EXPECT_THROW(place_engine(1, 2, last), std::invalid_argument) << "the list is too short";
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(alone.processors, std::vector<int>{all.processors.front()});
  EXPECT_EQ(alone.usable, 1);
  EXPECT_EQ(alone.engine_core, -1) << "nobody gave it one";
  EXPECT_EQ(launched.processors, all.processors) << "what started this test is bound as little as the test was";
  EXPECT_EQ(asked.engine_core, all.processors.back()) << "whoever names one knows";
  if (all.processors.size() >= 2) {
    EXPECT_EQ(place_engine(0, 1, one_each).engine_core, all.processors[1]);
  }
}

}  // namespace
}  // namespace portunus
