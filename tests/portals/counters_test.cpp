// Counting events, triggered operations, and what is counted and reported where an operation began.
// Source: Portals 4.3, counting events, triggered operations, acknowledgements.
#include "tests/portals/exchange.hpp"

namespace portals_test {
namespace {

struct Counting : Exchange {
  ptl_ct_event_t inc(ptl_handle_ct_t ct, ptl_size_t success, ptl_size_t failure = 0) {
    EXPECT_EQ(PtlCTInc(ct, {success, failure}), PTL_OK);
    return read(ct);
  }
};

TEST_F(Counting, AWaitEndsOnAnyFailureWhileATriggerNeedsTheSum) {
  const ptl_handle_ct_t ct = counter(), seen = counter();
  EXPECT_EQ(PtlTriggeredCTInc(seen, {1, 0}, ct, 3), PTL_OK);
  inc(ct, 0, 1);
  EXPECT_EQ(wait(ct, 1000).failure, 1u);
  EXPECT_EQ(wait(ct, 0).success, 0u);
  inc(ct, 1);
  EXPECT_EQ(read(seen).success, 0u);
  inc(ct, 1);
  EXPECT_EQ(wait(seen, 1).success, 1u);
}

TEST_F(Counting, APollNamesTheCounterThatReachedItsTest) {
  const ptl_handle_ct_t cts[3] = {counter(), counter(), counter()};
  const ptl_size_t tests[3] = {5, 5, 5};
  unsigned which = 99;
  ptl_ct_event_t value;
  inc(cts[0], 4);
  for (ptl_time_t timeout : {0, 1}) EXPECT_EQ(PtlCTPoll(cts, tests, 3, timeout, &value, &which), PTL_CT_NONE_REACHED);
  inc(cts[2], 6);
  EXPECT_EQ(PtlCTPoll(cts, tests, 3, PTL_TIME_FOREVER, &value, &which), PTL_OK);
  EXPECT_EQ(which, 2u);
  EXPECT_EQ(value.success, 6u);
  inc(cts[1], 0, 1);
  EXPECT_EQ(PtlCTPoll(cts, tests, 3, 0, &value, &which), PTL_OK);
  EXPECT_EQ(which, 1u);
  EXPECT_EQ(value.failure, 1u);
}

TEST_F(Counting, IncrementsWrapModulo64BitsAndASetMayLower) {
  const ptl_handle_ct_t ct = counter();
  inc(ct, 5);
  EXPECT_EQ(inc(ct, static_cast<ptl_size_t>(-1)).success, 4u);
  EXPECT_EQ(inc(ct, 0, static_cast<ptl_size_t>(-1)).failure, PTL_SIZE_MAX);
  EXPECT_EQ(PtlCTSet(ct, {2, 0}), PTL_OK);
  EXPECT_EQ(read(ct).success, 2u);
  EXPECT_EQ(read(ct).failure, 0u);
}

TEST_F(Counting, SendCountsTheBytesRequestedAckReplyAndTargetThoseTakenAndAFailureOne) {
  const ptl_handle_ct_t sent = counter(), answered = counter(), arrived = counter();
  append({.start = memory,
          .length = 10,
          .options = kAtomic | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_BYTES | PTL_ME_EVENT_COMM_DISABLE,
          .ct = arrived});
  const ptl_handle_md_t send = descriptor(PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_BYTES, sent);
  const ptl_handle_md_t answer = descriptor(PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_BYTES, answered);
  fence();
  EXPECT_EQ(put(send, data, 30, right()), PTL_OK);
  EXPECT_EQ(put(answer, data, 30, right(), 0, 4, PTL_CT_ACK_REQ), PTL_OK);
  EXPECT_EQ(PtlGet(answer, at(overflow), 30, right(), pt, 0, 7, nullptr), PTL_OK);
  EXPECT_EQ(wait(sent, 30).success, 30u);
  EXPECT_EQ(wait(answered, 9).success, 9u);
  EXPECT_EQ(wait(arrived, 19).success, 19u);
  EXPECT_EQ(put(send, data, 30, right(), 1), PTL_OK);  // refused, but the buffer is free
  EXPECT_EQ(wait(sent, 60).success, 60u);
  EXPECT_EQ(put(answer, data, 30, right(), 1, 0, PTL_CT_ACK_REQ), PTL_OK);
  EXPECT_EQ(wait(answered, 1000).failure, 1u);
  EXPECT_EQ(read(answered).success, 9u);
  fence();
}

TEST_F(Counting, AcksForTheCountNeverMakeAFullEventAndOcAcksCountRefusalsToo) {
  const ptl_handle_ct_t ct = counter();
  append({.start = memory, .length = 10, .options = kPut | PTL_ME_EVENT_COMM_DISABLE, .bits = 1});
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_SEND_DISABLE | PTL_MD_EVENT_CT_BYTES, ct, own);
  fence();
  EXPECT_EQ(put(md, data, 10, right(), 1, 0, PTL_CT_ACK_REQ), PTL_OK);
  EXPECT_EQ(wait(ct, 10).success, 10u);
  EXPECT_EQ(put(md, data, 10, right(), 1, 0, PTL_OC_ACK_REQ), PTL_OK);
  EXPECT_EQ(wait(ct, 11).success, 11u);  // an operation, not bytes
  EXPECT_EQ(put(md, data, 10, right(), 2, 0, PTL_OC_ACK_REQ), PTL_OK);
  EXPECT_EQ(wait(ct, 1000).failure, 1u);
  EXPECT_EQ(put(md, data, 10, right(), 2, 0, PTL_CT_ACK_REQ), PTL_OK);
  while (read(ct).failure < 2) sched_yield();
  EXPECT_EQ(put(md, data, 10, right(), 1, 0, PTL_NO_ACK_REQ), PTL_OK);
  fence();
  EXPECT_EQ(read(ct).success, 11u);
  EXPECT_EQ(rest(own), Kinds{});
}

TEST_F(Counting, SuccessDisableSilencesEventsNeverCountsAndFailuresAreStillTold) {
  const ptl_handle_ct_t ct = counter();
  append({.start = memory, .length = 10, .options = kAtomic | PTL_ME_EVENT_SUCCESS_DISABLE, .bits = 1});
  const ptl_handle_md_t md =
      descriptor(PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_SUCCESS_DISABLE, ct, own);
  fence();
  EXPECT_EQ(put(md, data, 10, right(), 1, 0, PTL_ACK_REQ), PTL_OK);
  EXPECT_EQ(PtlGet(md, at(overflow), 10, right(), pt, 1, 0, nullptr), PTL_OK);
  EXPECT_EQ(wait(ct, 3).success, 3u);
  EXPECT_EQ(rest(own), Kinds{});
  EXPECT_EQ(put(md, data, 10, right(), 2, 0, PTL_ACK_REQ), PTL_OK);
  ptl_event_t event = next(own);
  EXPECT_EQ(event.type, PTL_EVENT_ACK);  // the SEND was a success
  EXPECT_EQ(event.ni_fail_type, PTL_NI_DROPPED);
  EXPECT_EQ(PtlGet(md, at(overflow), 10, right(), pt, 2, 0, data), PTL_OK);
  event = next(own);
  EXPECT_EQ(event.type, PTL_EVENT_REPLY);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_DROPPED);
  EXPECT_EQ(event.mlength, 0u);
  EXPECT_EQ(event.user_ptr, data);
  EXPECT_EQ(read(ct).failure, 2u);
  fence();
  EXPECT_EQ(rest(eq), Kinds{});
}

TEST_F(Counting, SendIsOkAlsoWhenTheOperationIsThenRefusedAndMayBeSilenced) {
  fence();
  EXPECT_EQ(put(out, data, 10, right(), 0, 0, PTL_ACK_REQ), PTL_OK);
  ptl_event_t event = next(own);
  EXPECT_EQ(event.type, PTL_EVENT_SEND);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_OK);
  event = next(own);
  EXPECT_EQ(event.type, PTL_EVENT_ACK);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_DROPPED);
  const ptl_handle_md_t silent = descriptor(PTL_MD_EVENT_SEND_DISABLE | PTL_MD_UNORDERED, PTL_CT_NONE, own);
  EXPECT_EQ(put(silent, data, 10, right(), 0, 0, PTL_ACK_REQ), PTL_OK);
  EXPECT_EQ(next(own).type, PTL_EVENT_ACK);
  const ptl_handle_md_t unreliable = descriptor(PTL_MD_UNRELIABLE, PTL_CT_NONE, own);
  EXPECT_EQ(put(unreliable, data, 10, right(), 0, 0, PTL_ACK_REQ), PTL_ARG_INVALID);
  EXPECT_EQ(put(unreliable, data, 10, right()), PTL_OK);
  EXPECT_EQ(next(own).type, PTL_EVENT_SEND);
  fence();
}

TEST_F(Counting, DescriptorQueueAndCounterMayGoWhileAnAckIsUnderWay) {
  append({.start = memory, .length = sizeof memory, .options = kPut | PTL_ME_EVENT_COMM_DISABLE});
  fence();
  for (int i = 0; i < 50; ++i) {
    ptl_handle_eq_t queue;
    ASSERT_EQ(PtlEQAlloc(ni, 4, &queue), PTL_OK);
    const ptl_handle_ct_t ct = counter();
    const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK, ct, queue);
    EXPECT_EQ(put(md, data, 8, right(), 0, 0, PTL_ACK_REQ), PTL_OK);
    EXPECT_EQ(next(queue).type, PTL_EVENT_SEND);
    EXPECT_EQ(PtlMDRelease(md), PTL_OK);
    EXPECT_EQ(PtlEQFree(queue), PTL_OK);
    EXPECT_EQ(PtlCTFree(ct), PTL_OK);
    ptl_event_t event;
    ptl_ct_event_t value;
    EXPECT_EQ(PtlEQGet(queue, &event), PTL_ARG_INVALID);
    EXPECT_EQ(PtlCTGet(ct, &value), PTL_ARG_INVALID);
    EXPECT_EQ(PtlMDRelease(md), PTL_ARG_INVALID);
  }
  ptl_handle_eq_t fresh;
  ASSERT_EQ(PtlEQAlloc(ni, 4, &fresh), PTL_OK);
  const ptl_handle_ct_t ct = counter();
  acked(8);
  fence();
  EXPECT_EQ(rest(fresh), Kinds{});  // late answers found nobody
  EXPECT_EQ(read(ct).success, 0u);
}

TEST_F(Counting, ACounterThatIsFreedMayStillBeNamedByAnEntry) {
  const ptl_handle_ct_t ct = counter();
  const ptl_handle_me_t handle = append({.start = memory, .length = 10, .options = kPut | PTL_ME_EVENT_CT_COMM, .ct = ct});
  EXPECT_EQ(PtlCTFree(ct), PTL_OK);
  EXPECT_EQ(PtlCTFree(ct), PTL_ARG_INVALID);
  fence();
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(next(eq).type, PTL_EVENT_PUT);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
  fence();
}

TEST_F(Counting, BundlesNestAndAWaitInsideOneDoesNotHang) {
  append({.start = memory, .length = 10, .options = kPut | PTL_ME_EVENT_COMM_DISABLE});
  fence();
  EXPECT_EQ(PtlStartBundle(ni), PTL_OK);
  EXPECT_EQ(PtlStartBundle(ni), PTL_OK);
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(PtlEndBundle(ni), PTL_OK);
  EXPECT_EQ(PtlEndBundle(ni), PTL_OK);
  fence();
}

// Operations that are unanswered, and as many that were not sent yet, are the most that a process keeps; in a bundle, too.
TEST_F(Counting, CallsWaitWhileManyOperationsAreUnanswered) {
  constexpr ptl_size_t kGets = 100'000, kMostKept = 2 * 16384;
  append({.start = memory, .length = 8, .options = PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE});
  const ptl_handle_ct_t answered = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_REPLY, answered);
  fence();
  ptl_size_t asked = 0;
  for (const bool together : {false, true}) {
    EXPECT_EQ(together ? PtlStartBundle(ni) : int{PTL_OK}, PTL_OK);
    for (const ptl_size_t end = asked + kGets; asked < end; ++asked) ASSERT_EQ(PtlGet(md, at(data), 8, right(), pt, 0, 0, nullptr), PTL_OK);
    ptl_ct_event_t now{};
    EXPECT_EQ(PtlxCTPeek(answered, &now), PTL_OK);
    EXPECT_GE(now.success + kMostKept, asked);
    EXPECT_EQ(together ? PtlEndBundle(ni) : int{PTL_OK}, PTL_OK);
    EXPECT_EQ(wait(answered, asked).success, asked);
  }
  fence();
}

// By bundles and by PTLX_MD_LAZY; more of them than travel together at once, in between with one that is not kept back.
TEST_F(Counting, SmallMessagesThatAreKeptBackArriveInOrderAndAWaitSendsThem) {
  constexpr size_t kPuts = 300;
  const ptl_handle_ct_t arrived = counter(), answered = counter();
  append({.start = memory,
          .length = 3 * kPuts,
          .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM,
          .ct = arrived});
  const ptl_handle_md_t lazy = descriptor(PTLX_MD_LAZY | PTL_MD_EVENT_CT_ACK, answered), prompt = descriptor(PTL_MD_EVENT_CT_ACK, answered);
  fence();
  const auto send = [&](ptl_handle_md_t md, size_t i) {
    EXPECT_EQ(PtlPut(md, at(data + i), 1, PTL_CT_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_OK);
  };
  for (size_t i = 0; i < kPuts; ++i) send(i % 70 == 69 ? prompt : lazy, i);
  EXPECT_EQ(wait(answered, kPuts).success, kPuts);
  EXPECT_EQ(PtlStartBundle(ni), PTL_OK);
  for (size_t i = kPuts; i < 2 * kPuts; ++i) send(prompt, i);
  EXPECT_EQ(PtlEndBundle(ni), PTL_OK);
  for (size_t i = 2 * kPuts; i < 3 * kPuts; ++i) send(prompt, i);
  EXPECT_EQ(wait(answered, 3 * kPuts).success, 3 * kPuts);
  EXPECT_EQ(wait(arrived, 3 * kPuts).success, 3 * kPuts);
  for (size_t i = 0; i < 3 * kPuts; ++i) ASSERT_EQ(memory[i], pattern(left_rank(), i)) << i;
  fence();
}

struct Triggering : Counting {
  // The left neighbour's bytes in the order in which they came.
  void collect() {
    append({.start = memory,
            .length = 100,
            .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM,
            .ct = arrived});
  }
  ptl_handle_ct_t arrived = PTL_CT_NONE;
  ptl_handle_md_t quiet = PTL_INVALID_HANDLE;
  const char* letters = "abcdefghijklmnopqrstuvwxyz";

  void SetUp() override {
    Counting::SetUp();
    arrived = counter();
    quiet = descriptor(0, PTL_CT_NONE);
    collect();
    fence();
  }
  void arm(char letter, ptl_handle_ct_t trigger, ptl_size_t threshold) {
    EXPECT_EQ(PtlTriggeredPut(quiet, at(letters + (letter - 'a')), 1, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0, trigger, threshold),
              PTL_OK);
  }
  std::string came(ptl_size_t count) {
    wait(arrived, count);
    fence();
    EXPECT_EQ(read(arrived).success, count);
    return std::string(reinterpret_cast<char*>(memory), count);
  }
};

TEST_F(Triggering, LowerThresholdsFireFirstAndEqualOnesInTheOrderOfIssue) {
  const ptl_handle_ct_t ct = counter();
  arm('c', ct, 2);
  arm('a', ct, 1);
  arm('d', ct, 2);
  arm('b', ct, 1);
  arm('e', ct, 3);
  inc(ct, 7);
  EXPECT_EQ(came(5), "abcde");
}

TEST_F(Triggering, APutArmedBeforeAnIncrementOfTheSameThresholdIsIssuedFirst) {
  const ptl_handle_ct_t first = counter(), second = counter();
  arm('b', second, 1);
  arm('a', first, 1);
  EXPECT_EQ(PtlTriggeredCTInc(second, {1, 0}, first, 1), PTL_OK);
  arm('c', second, 2);
  EXPECT_EQ(PtlTriggeredCTSet(second, {0, 2}, first, 2), PTL_OK);  // a failure is part of the sum
  inc(first, 1);
  inc(first, 1);
  EXPECT_EQ(came(3), "abc");
}

TEST_F(Triggering, AReachedThresholdFiresAtOnceAndEachOperationFiresOnce) {
  const ptl_handle_ct_t ct = counter();
  arm('a', ct, 0);
  inc(ct, 3);
  arm('b', ct, 3);
  arm('c', ct, 4);
  EXPECT_EQ(PtlCTSet(ct, {4, 0}), PTL_OK);
  EXPECT_EQ(PtlCTSet(ct, {0, 0}), PTL_OK);
  EXPECT_EQ(PtlCTSet(ct, {9, 0}), PTL_OK);
  arm('d', ct, PTL_SIZE_MAX);  // thresholds are unsigned
  EXPECT_EQ(came(3), "abc");
}

TEST_F(Triggering, DataIsReadWhenTheOperationFiresAndTheDescriptorMayBeGone) {
  const ptl_handle_ct_t ct = counter();
  static char letter;
  letter = 'x';
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  EXPECT_EQ(PtlTriggeredPut(md, at(&letter), 1, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0, ct, 1), PTL_OK);
  EXPECT_EQ(PtlMDRelease(md), PTL_OK);
  letter = 'y';
  inc(ct, 1);
  EXPECT_EQ(came(1), "y");
}

TEST_F(Triggering, CancellingDropsWhatIsPendingAndTheCounterStaysUsable) {
  const ptl_handle_ct_t ct = counter(), freed = counter();
  arm('x', ct, 1);
  arm('y', freed, 1);
  EXPECT_EQ(PtlCTCancelTriggered(ct), PTL_OK);
  EXPECT_EQ(PtlCTFree(freed), PTL_OK);
  EXPECT_EQ(PtlCTCancelTriggered(freed), PTL_ARG_INVALID);
  EXPECT_EQ(inc(ct, 1).success, 1u);
  arm('a', ct, 2);
  inc(ct, 1);
  EXPECT_EQ(came(1), "a");
}

// More than the engine runs at once.
TEST_F(Triggering, WhatHasFiredIsNotTakenBackWhenItsCounterIsCancelledOrFreed) {
  constexpr ptl_size_t kPuts = 2000;
  const ptl_handle_ct_t all = counter();
  append({.start = nullptr, .length = 0, .options = kPut | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, .bits = 9, .ct = all});
  fence();
  for (auto* const end : {PtlCTCancelTriggered, PtlCTFree}) {
    const ptl_handle_ct_t ct = counter();
    for (ptl_size_t i = 0; i < kPuts; ++i)
      ASSERT_EQ(PtlTriggeredPut(quiet, 0, 0, PTL_NO_ACK_REQ, right(), pt, 9, 0, nullptr, 0, ct, 1), PTL_OK);
    arm('x', ct, 2);
    inc(ct, 1);
    EXPECT_EQ(end(ct), PTL_OK);
  }
  EXPECT_EQ(wait(all, 2 * kPuts).success, 2 * kPuts);
  EXPECT_EQ(came(0), "");
}

TEST_F(Triggering, ACounterMayIncrementItselfAHundredThousandTimes) {
  constexpr ptl_size_t kHops = 100'000;
  if (static_cast<ptl_size_t>(limits.max_triggered_ops) < kHops)
    GTEST_SKIP() << "this interface grants fewer triggered operations than the chain has hops";
  const ptl_handle_ct_t ct = counter();
  for (ptl_size_t i = 1; i <= kHops; ++i) ASSERT_EQ(PtlTriggeredCTInc(ct, {1, 0}, ct, i), PTL_OK);
  arm('a', ct, kHops + 1);
  inc(ct, 1);
  EXPECT_EQ(came(1), "a");
  EXPECT_EQ(read(ct).success, kHops + 1);
}

TEST_F(Triggering, EveryOperationHasATriggeredForm) {
  alignas(16) static uint64_t words[4], mine, old[3];
  words[0] = 40, words[1] = 5, words[2] = 6, words[3] = 9;
  old[0] = old[1] = old[2] = 0;
  append({.start = words, .length = sizeof words, .options = kAtomic | PTL_ME_EVENT_COMM_DISABLE, .bits = 1});
  const ptl_handle_ct_t ct = counter(), replies = counter(), acks = counter(), chained = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_REPLY, replies), ack = descriptor(PTL_MD_EVENT_CT_ACK, acks);
  fence();
  const uint64_t operand = 6;
  EXPECT_EQ(PtlTriggeredAtomic(ack, at(&mine), 8, PTL_CT_ACK_REQ, right(), pt, 1, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T, ct, 1), PTL_OK);
  EXPECT_EQ(PtlTriggeredFetchAtomic(md, at(&old[0]), md, at(&mine), 8, right(), pt, 1, 8, nullptr, 0, PTL_PROD, PTL_UINT64_T, ct, 2),
            PTL_OK);
  {
    uint64_t short_lived = operand;  // the operand is captured, the data is not
    EXPECT_EQ(
        PtlTriggeredSwap(md, at(&old[1]), md, at(&mine), 8, right(), pt, 1, 16, nullptr, 0, &short_lived, PTL_CSWAP, PTL_UINT64_T, ct, 3),
        PTL_OK);
    short_lived = 0;
  }
  EXPECT_EQ(PtlTriggeredGet(md, at(&old[2]), 8, right(), pt, 1, 24, nullptr, ct, 4), PTL_OK);
  EXPECT_EQ(PtlTriggeredCTSet(chained, {7, 0}, ct, 5), PTL_OK);
  mine = 2;
  inc(ct, 5);
  wait(replies, 3);
  wait(acks, 1);
  EXPECT_EQ(wait(chained, 7).success, 7u);
  EXPECT_EQ(old[0], 5u);
  EXPECT_EQ(old[1], 6u);
  EXPECT_EQ(old[2], 9u);
  fence();
  EXPECT_EQ(words[0], 42u);
  EXPECT_EQ(words[1], 10u);
  EXPECT_EQ(words[2], 2u);
  fence();
}

TEST_F(Triggering, EntriesComeAndGoWhenACounterSaysSo) {
  const ptl_handle_ct_t ct = counter();
  ptl_me_t me = as_me({.start = overflow, .length = 10, .bits = 5});
  ptl_handle_me_t handle;
  EXPECT_EQ(PtlTriggeredMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle, ct, 1), PTL_OK);
  fence();
  EXPECT_EQ(acked(4, 5).ni_fail_type, PTL_NI_DROPPED);
  fence();
  inc(ct, 1);
  wait(ct, 1);
  EXPECT_EQ(PtlTriggeredMEUnlink(handle, ct, 2), PTL_OK);
  fence();
  EXPECT_EQ(acked(4, 5).ni_fail_type, PTL_NI_OK);
  fence();
  inc(ct, 1);
  fence();
  EXPECT_EQ(acked(4, 5).ni_fail_type, PTL_NI_DROPPED);
  fence();
  EXPECT_EQ(PtlMEUnlink(handle), PTL_ARG_INVALID);
}

TEST(TriggeredLimit, IsExactAndFiringCancellingAndFreeingGiveRoomBack) {
  ptl_handle_ni_t ni;
  ptl_ni_limits_t desired{}, actual{};
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, &desired, &ni), PTL_OK);
  EXPECT_EQ(PtlNIFini(ni), PTL_OK);
  desired.max_triggered_ops = 5;
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &desired, &actual, &ni), PTL_OK);
  EXPECT_EQ(actual.max_triggered_ops, 5);
  ptl_handle_ct_t ct, target;
  ASSERT_EQ(PtlCTAlloc(ni, &ct), PTL_OK);
  ASSERT_EQ(PtlCTAlloc(ni, &target), PTL_OK);
  auto fill = [&] {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(PtlTriggeredCTInc(target, {1, 0}, ct, 1), PTL_OK);
    EXPECT_EQ(PtlTriggeredCTInc(target, {1, 0}, ct, 1), PTL_NO_SPACE);
  };
  ptl_ct_event_t value;
  fill();
  EXPECT_EQ(PtlCTCancelTriggered(ct), PTL_OK);
  fill();
  EXPECT_EQ(PtlCTInc(ct, {1, 0}), PTL_OK);  // those already queued run
  EXPECT_EQ(PtlCTWait(target, 5, &value), PTL_OK);
  EXPECT_EQ(value.success, 5u);
  EXPECT_EQ(PtlCTSet(ct, {0, 0}), PTL_OK);
  fill();
  EXPECT_EQ(PtlCTFree(ct), PTL_OK);
  ASSERT_EQ(PtlCTAlloc(ni, &ct), PTL_OK);
  fill();
  EXPECT_EQ(PtlNIFini(ni), PTL_OK);
}

}  // namespace
}  // namespace portals_test
