// Counters and triggered operations on a hand-stepped engine.
#include <gtest/gtest.h>

#include <climits>

#include <algorithm>

#include "tests/support/rig.hpp"

namespace portunus::test {
namespace {

struct Triggered : ::testing::Test {
  Rig rig{2};
  Node& node = rig[0];

  Command add(uint32_t ct, uint64_t success, uint64_t failure = 0) {
    Command command;
    command.verb = Verb::counter_add;
    command.handle = ct;
    command.extra.count = {success, failure};
    return command;
  }
  Command local(ptlx_local_op_t op, ptl_datatype_t type, void* dst, void* a, void* b, uint64_t count, uint32_t done) {
    Command command;
    command.verb = Verb::local;
    command.op = static_cast<uint8_t>(op);
    command.datatype = type;
    command.handle = done;
    command.length = count;
    command.source.base = dst;
    command.extra.operand_a.base = a;
    command.result.base = b;
    return command;
  }
};

TEST_F(Triggered, FiresWhenSuccessAndFailureTogetherReachTheThreshold) {
  const uint32_t trigger = node.counter(), seen = node.counter();
  node.arm(add(seen, 1), trigger, 3);
  node.add(trigger, 1);
  node.add(trigger, 0, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 0u);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 1u);
}

TEST_F(Triggered, AThresholdThatIsAlreadyReachedFiresAtOnce) {
  const uint32_t trigger = node.counter(), seen = node.counter();
  node.arm(add(seen, 1), trigger, 0);
  node.add(trigger, 5);
  node.arm(add(seen, 1), trigger, 5);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 2u);
}

TEST_F(Triggered, FiresOnceEvenIfTheCounterIsSetBackAndRisesAgain) {
  const uint32_t trigger = node.counter(), seen = node.counter();
  node.arm(add(seen, 1), trigger, 1);
  node.add(trigger, 1);
  Command set;
  set.verb = Verb::counter_set;
  set.handle = trigger;
  node.run(set);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 1u);
}

TEST_F(Triggered, LowerThresholdsGoFirstAndEqualOnesInTheOrderOfIssue) {
  const uint32_t trigger = node.counter();
  uint64_t word = 0;
  uint64_t log[4] = {10, 20, 30, 40};
  Node& target = rig[1];
  const uint32_t eq = target.queue();
  target.portal(eq);
  target.append({.start = &word, .length = 8});
  node.arm(node.put(&log[2], 8, 1), trigger, 2);
  node.arm(node.put(&log[0], 8, 1), trigger, 1);
  node.arm(node.put(&log[3], 8, 1), trigger, 2);
  node.arm(node.put(&log[1], 8, 1), trigger, 1);
  node.add(trigger, 7);
  std::vector<uint64_t> order;
  while (node.engine.step(0) + target.engine.step(0) > 0) {
  }
  EXPECT_EQ(target.events(eq).size(), 4u);
  EXPECT_EQ(word, 40u);
}

TEST_F(Triggered, DataIsReadWhenTheOperationFires) {
  Node& target = rig[1];
  uint64_t word = 0, value = 1;
  target.portal();
  target.append({.start = &word, .length = 8});
  const uint32_t trigger = node.counter();
  node.arm(node.put(&value, 8, 1), trigger, 1);
  value = 2;
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(word, 2u);
}

TEST_F(Triggered, AChainOfAHundredThousandHopsRunsWithoutRecursion) {
  constexpr int kHops = 100'000;
  std::vector<uint32_t> cts;
  for (int i = 0; i <= kHops; ++i) cts.push_back(node.counter());
  for (int i = 0; i < kHops; ++i) node.arm(add(cts[static_cast<size_t>(i) + 1], 1), cts[static_cast<size_t>(i)], 1);
  node.add(cts[0], 1);
  rig.settle();
  EXPECT_EQ(node.value(cts[kHops]).success, 1u);
}

TEST_F(Triggered, AnOperationMayIncrementItsOwnCounter) {
  const uint32_t ct = node.counter();
  for (uint64_t i = 1; i <= 10; ++i) node.arm(add(ct, 1), ct, i);
  node.add(ct, 1);
  rig.settle();
  EXPECT_EQ(node.value(ct).success, 11u);
}

TEST_F(Triggered, IncrementsWrapModulo64Bits) {
  const uint32_t ct = node.counter();
  node.add(ct, 2);
  node.add(ct, ~uint64_t{0});
  EXPECT_EQ(node.value(ct).success, 1u);
}

TEST_F(Triggered, CancellingDropsWhatIsPendingAndKeepsTheCounter) {
  const uint32_t trigger = node.counter(), seen = node.counter();
  node.arm(add(seen, 1), trigger, 1);
  const uint32_t entry = node.claim({.length = 0});
  Command append;
  append.verb = Verb::append;
  append.handle = entry;
  node.arm(append, trigger, 1);
  node.engine.triggers().drop(*node.objects.counters.find(trigger), trigger);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 0u);
  EXPECT_EQ(node.value(trigger).success, 1u);
  EXPECT_EQ(node.objects.entries.find(entry), nullptr);
}

TEST_F(Triggered, AnAppendedEntryAppearsWhenItsCounterSaysSo) {
  char memory[8] = {};
  node.portal();
  const uint32_t trigger = node.counter();
  Command append;
  append.verb = Verb::append;
  append.handle = node.claim({.start = memory, .length = 8});
  node.arm(append, trigger, 1);
  const uint32_t eq = rig[1].queue();
  Command put = rig[1].put("early", 5, 0);
  put.ack = PTL_ACK_REQ;
  put.source.eq = eq;
  rig[1].run(put);
  rig.settle();
  EXPECT_EQ(rig[1].events(eq).back().ni_fail_type, PTL_NI_DROPPED);
  node.add(trigger, 1);
  rig.settle();
  rig[1].run(put);
  rig.settle();
  EXPECT_EQ(rig[1].events(eq).back().ni_fail_type, PTL_NI_OK);
  EXPECT_STREQ(memory, "early");
}

TEST_F(Triggered, AnEntryUnlinkedBeforeItsTriggerFiresNeverAppears) {
  node.portal();
  const uint32_t trigger = node.counter();
  Command append;
  append.verb = Verb::append;
  append.handle = node.claim({.length = 0});
  node.arm(append, trigger, 1);
  EXPECT_EQ(node.engine.table().unlink(append.handle), PTL_OK);
  EXPECT_EQ(node.engine.table().unlink(append.handle), PTL_ARG_INVALID);
  node.add(trigger, 1);
  rig.settle();
  EXPECT_TRUE(node.engine.interface(0).portals[0]->priority.empty());
}

// E5. A put with its own match bits, an append, an increment: each round once, in the order of parking, without a call.
struct Recurring : Triggered {
  static constexpr uint64_t kField = 0xfull << 8;
  uint32_t start = node.counter(), landed = node.counter(), done = node.counter();
  uint64_t out = 0, in = 0;

  void repeat(uint32_t ct, uint64_t stride) {
    Counter& counter = *node.objects.counters.find(ct);
    counter.stride = stride;
    counter.match_field = kField;
  }
  uint32_t entry(uint64_t bits) {
    return node.claim(
        {.start = &in,
         .length = 8,
         .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_LINK_DISABLE | PTLX_ME_COMPLETE_UNEXPECTED,
         .match_bits = bits,
         .ct = landed});
  }
  Command append(uint32_t handle) {
    Command command;
    command.verb = Verb::append;
    command.handle = handle;
    return command;
  }
  int triggers() { return node.engine.interface(0).triggers.load(); }
  int entries() { return node.engine.interface(0).entries.load(); }
};

TEST_F(Recurring, AnOperationOnACounterWithAStrideRunsOncePerStride) {
  repeat(start, 3);
  node.arm(add(done, 1), start, 2);
  for (uint64_t n = 1; n <= 30; ++n) {
    node.add(start, 1);
    rig.settle();
    EXPECT_EQ(node.value(done).success, (n + 1) / 3);
  }
  node.add(start, 300);  // many rounds at once are all run
  rig.settle();
  EXPECT_EQ(node.value(done).success, 110u);
}

TEST_F(Recurring, EqualThresholdsKeepTheirOrderInEveryRound) {
  repeat(start, 1);
  uint64_t copies[3] = {};  // each of the one before: only in order does the last one get what is new
  uint64_t* from = &out;
  for (uint64_t& copy : copies) {
    node.arm(local(PTLX_COPY, PTL_UINT64_T, &copy, from, nullptr, 1, done), start, 1);
    from = &copy;
  }
  for (uint64_t round = 1; round <= 3; ++round) {
    out = round;
    node.add(start, 1);
    rig.settle();
    EXPECT_EQ(copies[2], round);
  }
  EXPECT_EQ(node.value(done).success, 9u);
}

TEST_F(Recurring, AnEntryComesBackWithTheNextMatchBitsOfItsField) {
  node.portal();
  node.append({.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
  repeat(start, 1);
  const uint32_t handle = entry(0x10e01);
  node.arm(append(handle), start, 1);
  const int before = triggers();
  Command put = rig[1].put(&out, 8, 0, 0x10e01);
  for (uint64_t round = 0; round < 40; ++round) {
    out = round + 1;
    put.match_bits = 0x10001 | (0xe + round) % 16 << 8;
    if (round % 2) node.add(start, 1);  // before the message, and after it
    rig[1].run(put);
    rig.settle();
    if (round % 2 == 0) {
      EXPECT_EQ(in, round);
      node.add(start, 1);
      rig.settle();
    }
    EXPECT_EQ(in, round + 1);
    EXPECT_EQ(node.value(landed).success, round + 1);
  }
  EXPECT_EQ(triggers(), before);
  EXPECT_EQ(entries(), 0);  // nothing was given back (the rig does not count claims)
}

TEST_F(Recurring, APutCountsUpItsFieldToo) {
  rig[1].portal();
  uint64_t box = 0;
  const uint32_t seen = rig[1].queue();
  rig[1].engine.interface(0).portals[0]->eq = seen;
  rig[1].append({.start = &box, .length = 8, .ignore_bits = kField});
  repeat(start, 1);
  node.arm(node.put(&out, 8, 1, 0xf00), start, 1);
  node.add(start, 3);
  rig.settle();
  std::vector<uint64_t> bits;
  for (const ptl_event_t& event : rig[1].events(seen)) bits.push_back(event.match_bits);
  EXPECT_EQ(bits, (std::vector<uint64_t>{0xf00, 0x000, 0x100}));
}

TEST_F(Recurring, AnEntryThatStillWaitsIsLeftAsItIs) {
  node.portal();
  repeat(start, 1);
  node.arm(append(entry(0x000)), start, 1);
  node.add(start, 2);
  rig.settle();
  rig[1].run(rig[1].put(&out, 8, 0, 0x000));
  rig.settle();
  EXPECT_EQ(node.value(landed).success, 1u);
  node.add(start, 1);
  rig.settle();
  rig[1].run(rig[1].put(&out, 8, 0, 0x200));
  rig.settle();
  EXPECT_EQ(node.value(landed).success, 2u);
}

TEST_F(Recurring, UnlinkingEndsTheEntryInWhateverStateItIs) {
  node.portal();
  repeat(start, 1);
  for (const bool linked : {false, true}) {
    const int held = entries();
    const int parked = triggers();
    node.engine.interface(0).entries.take(INT_MAX);
    const uint32_t handle = entry(0);
    node.arm(append(handle), start, node.value(start).success + 1);
    if (linked) node.add(start, 1);
    rig.settle();
    EXPECT_EQ(node.engine.table().unlink(handle), PTL_OK);
    EXPECT_EQ(node.engine.table().unlink(handle), PTL_ARG_INVALID);
    EXPECT_TRUE(node.engine.interface(0).portals[0]->priority.empty());
    node.add(start, 1);
    rig.settle();
    EXPECT_TRUE(node.engine.interface(0).portals[0]->priority.empty());
    EXPECT_EQ(entries(), held);
    EXPECT_EQ(triggers(), parked);
  }
}

TEST_F(Recurring, FreeingTheCounterEndsTheRoundsAndLeavesALinkedEntryToItsMessage) {
  node.portal();
  repeat(start, 1);
  node.engine.interface(0).entries.take(INT_MAX);
  node.engine.interface(0).entries.take(INT_MAX);
  node.arm(append(entry(0)), start, 1);
  node.arm(append(entry(1)), start, 5);
  node.add(start, 1);
  rig.settle();
  Counter& counter = *node.objects.counters.find(start);
  node.objects.counters.retire(start);
  node.engine.triggers().drop(counter, start);
  EXPECT_EQ(triggers(), 0);
  EXPECT_EQ(entries(), 1);
  rig[1].run(rig[1].put(&out, 8, 0, 0));
  rig.settle();
  EXPECT_EQ(node.value(landed).success, 1u);
  EXPECT_EQ(entries(), 0);
}

TEST_F(Recurring, WhatIsRipeButHasNotRunIsTakenBackToo) {
  for (int i = 0; i < 3; ++i) node.arm(add(done, 1), start, 1);
  const uint32_t other = node.counter();
  node.arm(add(done, 10), other, 1);
  node.add(start, 1);
  node.add(other, 1);
  node.engine.triggers().drop(*node.objects.counters.find(start), start);
  rig.settle();
  EXPECT_EQ(node.value(done).success, 10u);
  EXPECT_EQ(triggers(), 0);
}

// E6.
struct Guarded : Triggered {
  uint32_t guarded = node.counter(), errors = node.counter(), seen = node.counter();
  void SetUp() override { node.engine.guard(*node.objects.counters.find(guarded), errors); }
};

TEST_F(Guarded, OperationsFireOnSuccessesAloneAndFailuresAreCountedElsewhere) {
  const uint32_t told = node.counter();
  node.arm(add(seen, 1), guarded, 2);
  node.arm(add(told, 0, 1), errors, 1);
  node.add(guarded, 1);
  node.add(guarded, 0, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 0u);
  EXPECT_EQ(node.value(guarded).failure, 1u);
  EXPECT_EQ(node.value(errors).success, 1u);
  EXPECT_EQ(node.value(told).failure, 1u);
  node.add(guarded, 1);
  rig.settle();
  EXPECT_EQ(node.value(seen).success, 1u);
}

TEST_F(Guarded, TheEndOfAWatchedPeerIsOneFailure) {
  Peer& peer = *node.engine.peers().target(0, [] {
    ptl_process_t id{};
    id.rank = 1;
    return id;
  }());
  node.engine.watch(guarded, peer);
  rig.settle();
  EXPECT_EQ(node.value(guarded).failure, 0u);
  node.engine.lost(*peer.link);
  node.engine.lost(*peer.link);
  rig.settle();
  EXPECT_EQ(node.value(guarded).failure, 1u);
  EXPECT_EQ(node.value(errors).success, 1u);
  node.engine.watch(guarded, peer);  // known to be gone
  EXPECT_EQ(node.value(guarded).failure, 2u);
}

TEST_F(Guarded, AFreedCounterIsWatchedNoMore) {
  Peer& peer = *node.engine.peers().target(0, [] {
    ptl_process_t id{};
    id.rank = 1;
    return id;
  }());
  node.engine.watch(guarded, peer);
  node.engine.peers().unwatch(guarded);
  node.engine.lost(*peer.link);
  rig.settle();
  EXPECT_EQ(node.value(guarded).failure, 0u);
}

TEST_F(Guarded, BusyAsLongAsSomethingUnderWayWillCount) {
  rig[1].portal();
  std::vector<char> bulk(100'000), box(100'000);
  Command put = node.put(bulk.data(), bulk.size(), 1);
  put.source.ct = guarded;
  put.source.options = PTL_MD_EVENT_CT_SEND;
  rig[1].append({.start = box.data(), .length = box.size()});
  EXPECT_EQ(node.engine.counts_on(guarded), 0u);
  node.run(put);
  EXPECT_EQ(node.engine.counts_on(guarded), 1u);
  EXPECT_EQ(node.engine.counts_on(seen), 0u);
  rig.settle();
  EXPECT_EQ(node.value(guarded).success, 1u);
  EXPECT_EQ(node.engine.counts_on(guarded), 0u);
  uint64_t word = 0;
  node.arm(local(PTLX_TIMESTAMP, 0, &word, nullptr, nullptr, 1, guarded), seen, 1);
  EXPECT_EQ(node.engine.counts_on(guarded), 0u);
  node.add(seen, 1);  // ripe, and not run yet
  EXPECT_EQ(node.engine.counts_on(guarded), 2u);
}

}  // namespace
}  // namespace portunus::test
