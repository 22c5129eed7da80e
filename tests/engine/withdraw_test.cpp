// Puts taken back by their initiator, and held headers refused by their target (E10), engines stepped by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/rig.hpp"

namespace portunus::test {
namespace {

constexpr uint32_t kPut = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE;
constexpr uint32_t kReceive = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE | PTLX_ME_COMPLETE_UNEXPECTED;
constexpr uint64_t kLabel = 99;

struct Withdraw : ::testing::Test {
  Rig rig{2};
  Node& initiator = rig[0];
  Node& target = rig[1];
  uint32_t eq = target.queue();
  uint32_t answers = initiator.queue();
  std::vector<char> source = std::vector<char>(100'000, 's');
  std::vector<char> memory = std::vector<char>(100'000);
  int tag = 0, other = 0;

  void SetUp() override { open(); }
  void open() {
    target.portal(eq);
    target.append({.options = kPut | PTLX_ME_HOLD, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
  }
  Command command(uint64_t size, void* user_ptr, uint8_t ack = PTL_ACK_REQ, uint64_t bits = 0) {
    Command put = initiator.put(source.data(), size, 1, bits);
    put.source.eq = answers;
    put.ack = ack;
    put.user_ptr = user_ptr;
    return put;
  }
  void withdraw(void* user_ptr) { initiator.engine.initiator().withdraw({0, answers, PTL_CT_NONE, user_ptr}); }
  void receive(uint64_t bits = 0) {
    target.append({.start = memory.data(), .length = memory.size(), .options = kReceive, .match_bits = bits});
  }
  // The fail types of one kind of event in the initiator's queue, in order.
  std::vector<int> fails(int kind) {
    std::vector<int> all;
    for (const ptl_event_t& event : initiator.events(answers))
      if (event.type == kind) all.push_back(event.ni_fail_type);
    return all;
  }
};
using Fails = std::vector<int>;

TEST_F(Withdraw, APutThatNobodyHasTakenEndsAsWithdrawnAndIsSeenByNoLaterEntry) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{8}, uint64_t{100'000}}) {
    initiator.run(command(size, &tag));
    rig.settle();
    EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{});
    withdraw(&tag);
    rig.settle();
    EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{PTLX_NI_WITHDRAWN});
    EXPECT_TRUE(initiator.engine.flushed());
  }
  receive();
  rig.settle();
  EXPECT_TRUE(target.events(eq).empty());
}

TEST_F(Withdraw, WhatHasMatchedEndsAsUsualAndATransferUnderWayGoesOn) {
  receive();
  initiator.run(command(8, &tag));
  withdraw(&tag);
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{PTL_NI_OK});
  receive();
  initiator.run(command(100'000, &tag));
  target.engine.step(0);
  withdraw(&tag);
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{PTL_NI_OK});
  EXPECT_EQ(target.events(eq).size(), 2u);
  EXPECT_EQ(memory, source);
}

TEST_F(Withdraw, OnlyThePutsWithThatUserPointerAndThoseReportsAreMeantAndOthersKeepTheirOrder) {
  const uint32_t elsewhere = initiator.queue();
  for (int i = 0; i < 4; ++i) initiator.run(command(i, i == 2 ? &tag : &other));
  Command unlike = command(4, &tag);
  unlike.source.eq = elsewhere;
  initiator.run(unlike);
  rig.settle();
  withdraw(&tag);
  withdraw(&tag);
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{PTLX_NI_WITHDRAWN});
  for (int i = 0; i < 4; ++i) receive();
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), (Fails{PTL_NI_OK, PTL_NI_OK, PTL_NI_OK}));
  const auto events = target.events(eq);
  ASSERT_EQ(events.size(), 4u);
  const std::vector<uint64_t> lengths{0, 1, 3, 4};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(events[i].mlength, lengths[i]);
}

TEST_F(Withdraw, ABulkPutWithoutAnAcknowledgementEndsInItsSend) {
  initiator.run(command(100'000, &tag, PTL_NO_ACK_REQ));
  rig.settle();
  withdraw(&tag);
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_SEND), Fails{PTLX_NI_WITHDRAWN});
  EXPECT_TRUE(initiator.engine.flushed());
}

TEST_F(Withdraw, APutThatHasNotLeftEndsAtOnceAndTheOthersGo) {
  rig.hub.capacity = 1;
  for (int i = 0; i < 4; ++i) initiator.run(command(i, i == 2 ? &tag : &other));
  withdraw(&tag);
  EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{PTLX_NI_WITHDRAWN});
  for (int i = 0; i < 3; ++i) receive();
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), (Fails{PTL_NI_OK, PTL_NI_OK, PTL_NI_OK}));
}

TEST_F(Withdraw, APutThatItsTargetDoesNotWantYetEndsAtOnce) {
  EXPECT_EQ(target.engine.flow().limit_held(0, 0, 1, 2), PTL_OK);
  initiator.run(command(8, &other));
  rig.settle();
  initiator.run(command(8, &tag, PTL_ACK_REQ));
  initiator.run(command(8, &tag, PTL_NO_ACK_REQ));
  initiator.events(answers);
  withdraw(&tag);
  const auto events = initiator.events(answers);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].type, PTL_EVENT_SEND);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(events[1].type, PTL_EVENT_ACK);
  EXPECT_EQ(events[1].ni_fail_type, PTLX_NI_WITHDRAWN);
  EXPECT_EQ(events[2].type, PTL_EVENT_SEND);
  EXPECT_EQ(events[2].ni_fail_type, PTLX_NI_WITHDRAWN);
  receive();
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{PTL_NI_OK});
  EXPECT_TRUE(initiator.engine.flushed());
}

TEST_F(Withdraw, WhatWasSetAsideIsTaken) {
  initiator.run(command(8, &tag));
  rig.settle();
  MatchPattern like;
  like.ignore_bits = ~0ull;
  like.source_mask = 0;
  ptl_event_t found;
  EXPECT_EQ(target.engine.target().unexpected().find(0, 0, like, {}, &kLabel, found), PTL_OK);
  EXPECT_EQ(found.ni_fail_type, PTL_NI_OK);
  withdraw(&tag);
  EXPECT_EQ(target.engine.target().refuse_held(0, 0, like), PTL_OK);
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{});
  receive(kLabel);
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{PTL_NI_OK});
}

TEST_F(Withdraw, RefusingEndsTheHeldMessagesThatMatchAndNoOthers) {
  for (uint64_t bits = 0; bits < 4; ++bits) initiator.run(command(bits == 1 ? 100'000 : 8, &tag, PTL_ACK_REQ, bits));
  rig.settle();
  MatchPattern even;
  even.match_bits = 1;
  even.ignore_bits = 2;
  even.source_mask = 0;
  EXPECT_EQ(target.engine.target().refuse_held(0, 0, even), PTL_OK);
  EXPECT_EQ(target.engine.target().refuse_held(0, 1, even), PTL_ARG_INVALID);
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), (Fails{PTL_NI_DROPPED, PTL_NI_DROPPED}));
  receive(0);
  receive(2);
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), (Fails{PTL_NI_OK, PTL_NI_OK}));
}

TEST_F(Withdraw, RequestsThatNoInitiatorSendsAreNoneOfTheTargetsBusiness) {
  initiator.run(command(8, &tag));
  rig.settle();
  Link stranger;
  stranger.process = {0x7f000001, 77};
  Peer nobody;
  stranger.peer = &nobody;
  wire::Header header{};
  header.kind = wire::Kind::withdraw;
  header.token = uint64_t{1} << 32 | 1;  // what the first operation of any process is called
  target.engine.arrived(stranger, header, nullptr);
  header.pt_index = kMaxPortals - 1;
  target.engine.arrived(stranger, header, nullptr);
  header.pt_index = 0xffff;
  target.engine.arrived(stranger, header, nullptr);
  receive();
  rig.settle();
  EXPECT_EQ(fails(PTL_EVENT_ACK), Fails{PTL_NI_OK});
}

// Every order of a put, its withdrawal, a receive (plain, or by a label) and the steps of both ends.
struct Race {
  enum class Way { append, label };
  int decided_by_initiator = 0;  // schedules in which the put was taken although its withdrawal had been asked for before
  int withdrawn = 0, taken = 0;

  void walk(uint64_t size, Way way) {
    std::string schedule = "PWRiitt";
    std::sort(schedule.begin(), schedule.end());
    do {
      run(schedule, size, way);
    } while (!::testing::Test::HasFailure() && std::next_permutation(schedule.begin(), schedule.end()));
  }
  void run(const std::string& schedule, uint64_t size, Way way) {
    SCOPED_TRACE(schedule);
    Rig rig(2);
    Node &initiator = rig[0], &target = rig[1];
    const uint32_t answers = initiator.queue(16), eq = target.queue(16);
    target.portal(eq);
    target.append({.options = kPut | PTLX_ME_HOLD, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
    std::vector<char> memory(size, 'm'), source(size, 's');
    int tag = 0;
    bool asked = false, chosen = false;
    for (const char action : schedule) {
      switch (action) {
        case 'P': {
          Command put = initiator.put(source.data(), size, 1, 7);
          put.source.eq = answers;
          put.source.options = PTL_MD_EVENT_SEND_DISABLE;
          put.ack = PTL_ACK_REQ;
          put.user_ptr = &tag;
          initiator.run(put);
          break;
        }
        case 'W':
          initiator.engine.initiator().withdraw({0, answers, PTL_CT_NONE, &tag});
          asked = schedule.find('P') < schedule.find('W');
          break;
        case 'R':
          if (way == Way::label) {
            MatchPattern like;
            like.match_bits = 7;
            like.source_mask = 0;
            ptl_event_t found;
            target.engine.target().unexpected().find(0, 0, like, {}, &kLabel, found);
            chosen = found.ni_fail_type == PTL_NI_OK;
          } else {
            target.append({.start = memory.data(), .length = size, .options = kReceive, .match_bits = 7});
          }
          break;
        case 'i': initiator.engine.step(0); break;
        default: target.engine.step(0);
      }
    }
    rig.settle();
    if (way == Way::label) {
      const uint32_t entry = target.append({.start = memory.data(), .length = size, .options = kReceive, .match_bits = kLabel});
      rig.settle();
      ASSERT_EQ(target.engine.table().unlink(entry), chosen ? PTL_ARG_INVALID : PTL_OK);
    }
    const auto ends = initiator.events(answers);
    int arrived = 0;
    for (const ptl_event_t& event : target.events(eq)) arrived += event.type == PTL_EVENT_PUT;
    if (ends.empty()) {  // nobody asked for it back, and no entry came while it was there
      ASSERT_FALSE(asked);
      ASSERT_EQ(arrived, 0);
      return;
    }
    ASSERT_EQ(ends.size(), 1u);
    ASSERT_EQ(arrived, ends[0].ni_fail_type == PTL_NI_OK ? 1 : 0);
    ASSERT_EQ(memory, arrived ? source : std::vector<char>(size, 'm'));
    ASSERT_TRUE(initiator.engine.flushed());
    if (arrived) {
      ++taken;
      decided_by_initiator += asked && schedule.find('W') < schedule.find('R');
    } else {
      ASSERT_EQ(ends[0].ni_fail_type, PTLX_NI_WITHDRAWN);
      ++withdrawn;
    }
  }
};

// An initiator that took its request for the answer would be wrong in `decided_by_initiator` of these orders.
TEST(WithdrawRace, EveryOrderOfPutWithdrawalReceiveAndStepsHasOneEndThatBothKnow) {
  for (const uint64_t size : {uint64_t{8}, uint64_t{100'000}})
    for (const Race::Way way : {Race::Way::append, Race::Way::label}) {
      Race race;
      race.walk(size, way);
      EXPECT_GT(race.withdrawn, 0);
      EXPECT_GT(race.taken, 0);
      EXPECT_GT(race.decided_by_initiator, way == Race::Way::append ? 0 : -1);
    }
}

}  // namespace
}  // namespace portunus::test
