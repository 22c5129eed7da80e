// two_engines.hpp: an initiator and a target with a portal and queues, for tests of what one put does at both ends.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/rig.hpp"

namespace portunus::test {

using Kinds = std::vector<int>;

struct TwoEngines : ::testing::Test {
  Rig rig{2};
  Node& initiator = rig[0];
  Node& target = rig[1];
  uint32_t target_eq = target.queue();
  uint32_t initiator_eq = initiator.queue();
  char memory[64] = {};
  char data[64] = "the quick brown fox jumps over the lazy dog";

  void SetUp() override { target.portal(target_eq); }
  Command put_with_ack(uint64_t length, uint64_t bits = 0, ptl_ack_req_t ack = PTL_ACK_REQ) {
    Command command = initiator.put(data, length, 1, bits);
    command.ack = ack;
    command.source.eq = initiator_eq;
    return command;
  }
  // The failure type in the ACK of one put.
  int fate(const Command& command) {
    initiator.run(command);
    rig.settle();
    auto events = initiator.events(initiator_eq);
    EXPECT_FALSE(events.empty());
    return events.empty() ? -1 : events.back().ni_fail_type;
  }
};

}  // namespace portunus::test
