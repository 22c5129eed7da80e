// Answers to what was asked of others: which are believed, and that an operation ends once whoever answers what. Engines stepped by hand.
#include <gtest/gtest.h>

#include "tests/engine/two_engines.hpp"

namespace portunus::test {
namespace {

struct PendingOperation : TwoEngines {
  Link* target_link = nullptr;
  uint64_t token = 0;

  // A put that its target has not seen yet: SelfTransport delivers when the target is stepped.
  void begin(ptl_ack_req_t ack = PTL_ACK_REQ) {
    Command command = put_with_ack(8);
    command.ack = ack;
    initiator.run(command);
    target_link = initiator.engine.peer({0x7f000001, 1001})->link;
    token = uint64_t{1} << 32 | 1;  // the first of the first generation
  }
  wire::Header answer(wire::Kind kind = wire::Kind::ack) {
    wire::Header header{};
    header.kind = kind;
    header.token = token;
    header.rlength = 8;
    header.op = PTL_NI_OK;
    return header;
  }
  // The events that this answer makes, and whether it counts as malformed.
  Kinds events(const wire::Header& header, bool malformed = false) {
    const uint64_t before = initiator.engine.stats().malformed.read();
    initiator.engine.arrived(*target_link, header, nullptr);
    EXPECT_EQ(initiator.engine.stats().malformed.read() - before, malformed ? 1u : 0u);
    return initiator.kinds(initiator_eq);
  }
};

TEST_F(PendingOperation, EndsByTheFirstAnswerOfItsTargetAndByNoSecondOne) {
  begin();
  EXPECT_FALSE(initiator.engine.initiator().pending().empty());
  const Kinds ended = events(answer());
  ASSERT_FALSE(ended.empty());
  EXPECT_EQ(ended.back(), PTL_EVENT_ACK);
  EXPECT_TRUE(initiator.engine.initiator().pending().empty());
  EXPECT_EQ(events(answer()), Kinds{});
}

TEST_F(PendingOperation, KnowsNoTokenThatIsNotItsOwn) {
  begin();
  initiator.kinds(initiator_eq);
  for (const uint64_t wrong : {uint64_t{0}, token + 1, token + (uint64_t{1} << 32), ~uint64_t{0}}) {
    wire::Header header = answer();
    header.token = wrong;
    EXPECT_EQ(events(header), Kinds{});
  }
  EXPECT_FALSE(initiator.engine.initiator().pending().empty());
}

TEST_F(PendingOperation, BelievesNoLengthBeyondWhatWasAskedAndNoAnswerOfAnotherKind) {
  begin();
  initiator.kinds(initiator_eq);
  wire::Header header = answer();
  header.rlength = 9;
  EXPECT_EQ(events(header, true), Kinds{});
  EXPECT_EQ(events(answer(wire::Kind::reply), true), Kinds{});
  header = answer();
  header.op = PTL_NI_SEGV + 1;  // there is no such failure
  EXPECT_EQ(events(header, true), Kinds{});
  header = answer();
  header.op = PTLX_NI_WITHDRAWN;  // which was not asked for
  EXPECT_EQ(events(header, true), Kinds{});
  EXPECT_FALSE(initiator.engine.initiator().pending().empty());
  EXPECT_EQ(events(answer()).back(), PTL_EVENT_ACK);
}

TEST_F(PendingOperation, CallsWaitWhileManyAreUnansweredUntilHalfHaveEnded) {
  for (const ptl_ack_req_t ack : {PTL_CT_ACK_REQ, PTL_OC_ACK_REQ}) {
    for (uint64_t i = 1; i < Backlog::kMost; ++i) begin(ack);
    EXPECT_FALSE(initiator.engine.overfull());
    begin(ack);
    begin(ack);
    EXPECT_TRUE(initiator.engine.overfull());
    rig.settle();
    EXPECT_TRUE(initiator.engine.initiator().pending().empty());
    EXPECT_FALSE(initiator.engine.overfull());
  }
}

TEST_F(PendingOperation, NoCallWaitsForAcknowledgementsThatMayAwaitAReceive) {
  for (uint64_t i = 0; i < 2 * Backlog::kMost; ++i) begin(PTL_ACK_REQ);
  EXPECT_FALSE(initiator.engine.overfull());
}

TEST_F(PendingOperation, EndsWithItsPeer) {
  begin();
  initiator.kinds(initiator_eq);
  initiator.engine.lost(*target_link);
  rig.settle();
  const auto events = initiator.events(initiator_eq);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().type, PTL_EVENT_ACK);
  EXPECT_EQ(events.back().ni_fail_type, PTL_NI_UNDELIVERABLE);
  EXPECT_TRUE(initiator.engine.initiator().pending().empty());
}

}  // namespace
}  // namespace portunus::test
