// The reports of the initiator on its requests. Two engines, stepped by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/engine/two_engines.hpp"

namespace portunus::test {
namespace {

struct InitiatorTest : TwoEngines {};

TEST_F(InitiatorTest, CtAndOcAcknowledgementsCountAndMakeNoFullEvent) {
  const uint32_t ct = initiator.counter();
  for (ptl_ack_req_t ack : {PTL_CT_ACK_REQ, PTL_OC_ACK_REQ}) {
    Command command = put_with_ack(3, 0, ack);
    command.source.ct = ct;
    command.source.options = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SEND_DISABLE;
    initiator.run(command);  // dropped: nothing is appended
    rig.settle();
  }
  EXPECT_TRUE(initiator.events(initiator_eq).empty());
  EXPECT_EQ(initiator.value(ct).failure, 2u);
}

TEST_F(InitiatorTest, GetReadsTheEntryAndReportsReply) {
  std::snprintf(memory, sizeof memory, "forty-two");
  target.append({.start = memory, .length = 64});
  char into[16] = {};
  Command get = initiator.put(into, 9, 1);
  get.verb = Verb::get;
  get.source.eq = initiator_eq;
  initiator.run(get);
  rig.settle();
  EXPECT_EQ(std::string(into), "forty-two");
  EXPECT_EQ(initiator.kinds(initiator_eq), Kinds{PTL_EVENT_REPLY});
  EXPECT_EQ(target.kinds(target_eq), Kinds{PTL_EVENT_GET});
}

TEST_F(InitiatorTest, FetchAtomicReturnsTheOldValueAndReportsSendAndReply) {
  uint64_t word = 40, operand = 2, old = 0;
  target.append({.start = &word, .length = 8});
  Command command = initiator.put(&operand, 8, 1);
  command.verb = Verb::fetch_atomic;
  command.op = PTL_SUM;
  command.datatype = PTL_UINT64_T;
  command.source.eq = initiator_eq;
  command.result.base = &old;
  command.result.eq = initiator_eq;
  initiator.run(command);
  rig.settle();
  EXPECT_EQ(word, 42u);
  EXPECT_EQ(old, 40u);
  EXPECT_EQ(initiator.kinds(initiator_eq), (Kinds{PTL_EVENT_SEND, PTL_EVENT_REPLY}));
  EXPECT_EQ(target.kinds(target_eq), Kinds{PTL_EVENT_FETCH_ATOMIC});
}

TEST_F(InitiatorTest, SendDisableSilencesASendThatFailsToo) {
  Node stranger(rig.hub, {0x7f000001, 77});
  stranger.engine.interface(0).options = PTL_NI_MATCHING | PTL_NI_PHYSICAL;
  stranger.engine.interface(0).open.store(true);
  const uint32_t eq = stranger.queue(), ct = stranger.counter();
  Command command = stranger.put(data, 3, 0);
  command.target.phys = {0x7f000001, 4242};
  command.source.eq = eq;
  command.source.ct = ct;
  command.source.options = PTL_MD_EVENT_SEND_DISABLE | PTL_MD_EVENT_CT_SEND;
  stranger.run(command);
  EXPECT_TRUE(stranger.events(eq).empty());
  EXPECT_EQ(stranger.value(ct).failure, 1u);
}

}  // namespace
}  // namespace portunus::test
