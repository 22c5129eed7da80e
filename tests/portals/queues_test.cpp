// Event queues: overflow, polling, threads, abort; closing and opening of portal table entries, flow control.
// Source: Portals 4.3, event queues, portal table, flow control, PtlAbort.
#include <thread>

#include "tests/portals/exchange.hpp"

namespace portals_test {
namespace {

struct Queues : Exchange {
  // A fresh portal that reports to a fresh queue of this size.
  ptl_handle_eq_t reopen(ptl_size_t count, unsigned portal_options = 0) {
    ptl_handle_eq_t queue = PTL_EQ_NONE;
    EXPECT_EQ(PtlEQAlloc(ni, count, &queue), PTL_OK);
    EXPECT_EQ(PtlPTAlloc(ni, portal_options, queue, PTL_PT_ANY, &pt), PTL_OK);
    return queue;
  }
  Kinds fates(int puts, size_t length = 8) {
    Kinds all;
    const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE, own);
    for (int i = 0; i < puts; ++i)
      EXPECT_EQ(put(md, length > sizeof data ? block().data() : data, length, right(), 0, 0, PTL_ACK_REQ), PTL_OK);
    while (all.size() < static_cast<size_t>(puts) && !HasFailure()) all.push_back(next(own).ni_fail_type);
    EXPECT_EQ(PtlMDRelease(md), PTL_OK);
    return all;
  }
  static Kinds first_ok(size_t good, size_t all) {
    Kinds fates(all, PTL_NI_PT_DISABLED);
    std::fill_n(fates.begin(), good, PTL_NI_OK);
    return fates;
  }
  static std::vector<unsigned char>& block() {
    static std::vector<unsigned char> memory(300'000);
    return memory;
  }
};

TEST_F(Queues, AFullOneKeepsTheNewestEventsAndSaysOnceThatSomeWereLost) {
  for (ptl_size_t count : {2, 4}) {
    const ptl_handle_eq_t queue = reopen(count);
    append({.start = memory, .length = 8});
    fence();
    for (ptl_hdr_data_t i = 0; i < 200; ++i) EXPECT_EQ(PtlPut(out, at(data), 8, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, i), PTL_OK);
    kinds(own, 200);
    acked(8, 1);  // dropped, and so all before it are through
    fence();
    ptl_event_t event{};
    EXPECT_EQ(PtlEQGet(queue, &event), PTL_EQ_DROPPED);
    EXPECT_EQ(event.hdr_data, 200 - count);
    for (ptl_hdr_data_t i = 200 - count + 1; i < 200; ++i) {
      EXPECT_EQ(PtlEQGet(queue, &event), PTL_OK);
      EXPECT_EQ(event.hdr_data, i);
    }
    EXPECT_EQ(PtlEQGet(queue, &event), PTL_EQ_EMPTY);
  }
}

TEST_F(Queues, AtLeastTheEventsAskedForAreKept) {
  const ptl_handle_eq_t queue = reopen(5);
  append({.start = memory, .length = 8});
  fence();
  for (int i = 0; i < 5; ++i) acked(8);
  fence();
  EXPECT_EQ(rest(queue), Kinds(5, PTL_EVENT_PUT));
}

TEST_F(Queues, APollNamesTheQueueOfTheEventAndGivesUpInTime) {
  ptl_handle_eq_t queues[3] = {own, PTL_EQ_NONE, eq};
  ptl_event_t event;
  unsigned which = 99;
  EXPECT_EQ(PtlEQPoll(queues, 3, 0, &event, &which), PTL_ARG_INVALID);
  ASSERT_EQ(PtlEQAlloc(ni, 4, &queues[1]), PTL_OK);
  for (ptl_time_t timeout : {0, 1}) EXPECT_EQ(PtlEQPoll(queues, 3, timeout, &event, &which), PTL_EQ_EMPTY);
  append({.start = memory, .length = 8});
  const ptl_handle_md_t quiet = descriptor(0, PTL_CT_NONE);
  fence();
  EXPECT_EQ(put(quiet, data, 8, right()), PTL_OK);
  EXPECT_EQ(PtlEQPoll(queues, 3, PTL_TIME_FOREVER, &event, &which), PTL_OK);
  EXPECT_EQ(which, 2u);
  EXPECT_EQ(event.type, PTL_EVENT_PUT);
  fence();
}

TEST_F(Queues, SeveralEventsCanBeTakenAtOnceInTheirOrder) {
  append({.start = memory, .length = 8});
  const ptl_handle_md_t quiet = descriptor(0, PTL_CT_NONE);
  ptl_event_t events[3];
  unsigned taken = 0;
  EXPECT_EQ(PtlxEQTake(eq, 0, events, 3, &taken, nullptr, nullptr, nullptr), PTL_EQ_EMPTY);
  fence();
  for (ptl_hdr_data_t i = 0; i < 10; ++i) EXPECT_EQ(PtlPut(quiet, at(data), 8, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, i), PTL_OK);
  for (ptl_hdr_data_t i = 0; i < 10;) {
    ASSERT_EQ(PtlxEQTake(eq, PTL_TIME_FOREVER, events, 3, &taken, nullptr, nullptr, nullptr), PTL_OK);
    ASSERT_TRUE(taken >= 1 && taken <= 3) << taken;
    for (unsigned k = 0; k < taken; ++k) EXPECT_EQ(events[k].hdr_data, i++);
  }
  fence();
}

TEST_F(Queues, TakingEndsWithoutEventsWhenTheCallerSaysSo) {
  ptl_event_t events[3];
  unsigned taken = 7;
  int asked = 0;
  const auto third_time = [](void* arg) -> int { return ++*static_cast<int*>(arg) == 3; };
  EXPECT_EQ(PtlxEQTake(eq, PTL_TIME_FOREVER, events, 3, &taken, nullptr, third_time, &asked), PTL_OK);
  EXPECT_EQ(taken, 0u);
  EXPECT_EQ(asked, 3);
  fence();
}

TEST_F(Queues, ACallerThatOnlyLooksSeesProgress) {
  append({.start = memory, .length = 8});
  const ptl_handle_ct_t ct = counter();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_CT_ACK, ct);
  fence();
  EXPECT_EQ(put(md, data, 8, right(), 0, 0, PTL_CT_ACK_REQ), PTL_OK);
  ptl_event_t event;
  while (PtlEQGet(eq, &event) == PTL_EQ_EMPTY) sched_yield();
  ptl_ct_event_t value{};
  while (value.success == 0) {
    EXPECT_EQ(PtlCTGet(ct, &value), PTL_OK);
    sched_yield();
  }
  fence();
}

TEST_F(Queues, SeveralThreadsMayWaitAndEachEventGoesToOneOfThem) {
  constexpr ptl_hdr_data_t kEvents = 300;
  append({.start = memory, .length = 8});
  std::atomic<ptl_hdr_data_t> sum{0}, taken{0};
  std::atomic<int> aborted{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      ptl_event_t event;
      int code;
      while ((code = PtlEQWait(eq, &event)) == PTL_OK) {
        sum += event.hdr_data;
        ++taken;
      }
      EXPECT_EQ(code, PTL_ABORTED);
      ++aborted;
    });
  const ptl_handle_md_t quiet = descriptor(0, PTL_CT_NONE);
  fence();
  for (ptl_hdr_data_t i = 1; i <= kEvents; ++i)
    EXPECT_EQ(PtlPut(quiet, at(data), 8, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, i), PTL_OK);
  while (taken < kEvents) PtlxProgress(), sched_yield();
  while (aborted < 3) PtlAbort(), sched_yield();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, kEvents * (kEvents + 1) / 2);
  fence();
  EXPECT_EQ(rest(eq), Kinds{});
}

TEST_F(Queues, AbortEndsEveryWaitThatIsThereAndLaterCallsWork) {
  const ptl_handle_ct_t ct = counter();
  std::atomic<int> aborted{0};
  auto wait_in = [&](auto call) {
    return std::thread([&, call] {
      EXPECT_EQ(call(), PTL_ABORTED);
      ++aborted;
    });
  };
  for (int round = 0; round < 2; ++round) {
    aborted = 0;
    std::thread threads[4] = {wait_in([&] {
                                ptl_event_t event;
                                return PtlEQWait(eq, &event);
                              }),
                              wait_in([&] {
                                ptl_event_t event;
                                unsigned which;
                                return PtlEQPoll(&eq, 1, 600'000, &event, &which);
                              }),
                              wait_in([&] {
                                ptl_ct_event_t value;
                                return PtlCTWait(ct, 99, &value);
                              }),
                              wait_in([&] {
                                ptl_ct_event_t value;
                                unsigned which;
                                const ptl_size_t test = 99;
                                return PtlCTPoll(&ct, &test, 1, PTL_TIME_FOREVER, &value, &which);
                              })};
    while (aborted < 4) PtlAbort(), sched_yield();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(PtlCTInc(ct, {1, 0}), PTL_OK);
    wait(ct, 1);
    ptl_event_t event;
    unsigned which;
    EXPECT_EQ(PtlEQPoll(&eq, 1, 1, &event, &which), PTL_EQ_EMPTY);
  }
}

TEST_F(Queues, OneMayBeFreedWhileAThreadWaitsAndAPortalNamesIt) {
  const ptl_handle_eq_t queue = reopen(16);
  append({.start = memory, .length = 8});
  std::atomic<bool> over{false};
  std::thread waiter([&] {
    ptl_event_t event;
    const int code = PtlEQWait(queue, &event);
    EXPECT_TRUE(code == PTL_ABORTED || code == PTL_ARG_INVALID) << code;
    over = true;
  });
  EXPECT_EQ(PtlEQFree(queue), PTL_OK);
  while (!over) PtlAbort(), sched_yield();
  waiter.join();
  fence();
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_OK);
  fence();
  ptl_event_t event;
  unsigned which;
  EXPECT_EQ(PtlEQGet(queue, &event), PTL_ARG_INVALID);
  EXPECT_EQ(PtlEQPoll(&queue, 1, 0, &event, &which), PTL_ARG_INVALID);
  EXPECT_EQ(PtlEQWait(queue, &event), PTL_ARG_INVALID);
}

TEST_F(Queues, EventsOfOneOperationComeInOrderAlsoFromManyMessages) {
  constexpr int kMessages = 100;
  for (int i = 0; i < kMessages; ++i) append({.start = memory, .length = 8, .options = kPut | PTL_ME_USE_ONCE});
  fence();
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(put(out, data, 8, right(), 0, 0, PTL_ACK_REQ), PTL_OK);
  int sends = 0, acks = 0;
  for (int kind : kinds(own, 2 * kMessages)) {
    (kind == PTL_EVENT_SEND ? sends : acks) += 1;
    EXPECT_LE(acks, sends);
  }
  const Kinds all = kinds(eq, 2 * kMessages);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i % 2 ? PTL_EVENT_AUTO_UNLINK : PTL_EVENT_PUT);
  fence();
}

struct FlowControl : Queues {};

TEST_F(FlowControl, AFullQueueClosesThePortalExactlyLosesNothingAndTheReservedSlotSaysSo) {
  const ptl_handle_eq_t queue = reopen(8, PTL_PT_FLOWCTRL);
  append({.start = memory, .length = 8});
  Kinds expected(8, PTL_EVENT_PUT);
  expected.push_back(PTL_EVENT_PT_DISABLED);
  for (int round = 0; round < 2; ++round) {
    fence();
    EXPECT_EQ(fates(16), first_ok(8, 16));
    fence();
    ptl_event_t event{};
    Kinds seen;
    while (PtlEQGet(queue, &event) == PTL_OK) seen.push_back(event.type);
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(event.pt_index, pt);
    EXPECT_EQ(event.ni_fail_type, PTL_NI_PT_DISABLED);
    EXPECT_EQ(PtlPTEnable(ni, pt), PTL_OK);
  }
}

TEST_F(FlowControl, EnabledWithAQueueStillFullItClosesAgain) {
  const ptl_handle_eq_t queue = reopen(4, PTL_PT_FLOWCTRL);
  append({.start = memory, .length = 8});
  fence();
  EXPECT_EQ(fates(6), first_ok(4, 6));
  fence();
  EXPECT_EQ(PtlPTEnable(ni, pt), PTL_OK);
  fence();
  EXPECT_EQ(fates(2), first_ok(0, 2));
  fence();
  const Kinds seen = rest(queue);
  EXPECT_EQ(Kinds(seen.begin(), seen.begin() + 4), Kinds(4, PTL_EVENT_PUT));
  EXPECT_EQ(seen.back(), PTL_EVENT_PT_DISABLED);
}

TEST_F(FlowControl, OnePtDisabledComesAfterTheMessagesUnderWay) {
  static std::vector<unsigned char> sink;
  sink.assign(300'000, 0);
  const ptl_handle_eq_t queue = reopen(4, PTL_PT_FLOWCTRL);
  append({.start = sink.data(), .length = sink.size()});
  fence();
  EXPECT_EQ(fates(7, 300'000).size(), 7u);
  fence();
  const Kinds seen = rest(queue);
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen.back(), PTL_EVENT_PT_DISABLED);
}

TEST_F(FlowControl, AMessageThatMatchesNothingClosesThePortalAndOneEventSaysSo) {
  const ptl_handle_eq_t queue = reopen(8, PTL_PT_FLOWCTRL);
  fence();
  EXPECT_EQ(fates(5), first_ok(0, 5));
  fence();
  EXPECT_EQ(rest(queue), Kinds{PTL_EVENT_PT_DISABLED});
  append({.start = memory, .length = 8});
  fence();
  EXPECT_EQ(fates(1), first_ok(0, 1));  // until it is enabled
  fence();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(PtlPTEnable(ni, pt), PTL_OK);
  fence();
  EXPECT_EQ(fates(1), first_ok(1, 1));
  fence();
  EXPECT_EQ(rest(queue), Kinds{PTL_EVENT_PUT});
}

TEST_F(FlowControl, AnEntryMaySilenceThePtDisabledItCauses) {
  const ptl_handle_eq_t queue = reopen(4, PTL_PT_FLOWCTRL);
  append({.start = memory, .length = 8, .options = kPut | PTL_ME_EVENT_FLOWCTRL_DISABLE});
  fence();
  EXPECT_EQ(fates(6), first_ok(4, 6));
  fence();
  EXPECT_EQ(rest(queue), Kinds(4, PTL_EVENT_PUT));
}

struct Portal : Queues {};

TEST_F(Portal, ClosedByHandItRefusesWithoutAnEventAndAppendsStillTakeHeaders) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  fence();
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_OK);
  fence();
  EXPECT_EQ(PtlPTDisable(ni, pt), PTL_OK);
  EXPECT_EQ(PtlPTDisable(ni, pt), PTL_OK);
  fence();
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_PT_DISABLED);
  char into[8];
  EXPECT_EQ(replied(into, 8).ni_fail_type, PTL_NI_PT_DISABLED);
  fence();
  EXPECT_EQ(rest(eq), Kinds{});
  const ptl_handle_me_t handle = append({.start = memory, .length = 8});
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_PUT_OVERFLOW});
  EXPECT_EQ(search({.options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE}, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(next(eq).ni_fail_type, PTL_NI_NO_MATCH);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
  EXPECT_EQ(PtlPTEnable(ni, pt), PTL_OK);
  fence();
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_OK);
  fence();
}

TEST_F(Portal, AllocatedDisabledItOpensWhenEnabled) {
  reopen(8, PTL_PT_ALLOC_DISABLED);
  append({.start = memory, .length = 8});
  fence();
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_PT_DISABLED);
  fence();
  EXPECT_EQ(PtlPTEnable(ni, pt), PTL_OK);
  fence();
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_OK);
  fence();
}

TEST_F(Portal, OnceDisableHasReturnedNothingMoreIsReported) {
  constexpr int kMessages = 12;
  static std::vector<unsigned char> sink;
  sink.assign(300'000, 0);
  append({.start = sink.data(), .length = sink.size()});
  fence();
  const ptl_handle_md_t md = descriptor(PTL_MD_EVENT_SEND_DISABLE, PTL_CT_NONE, own);
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(put(md, block().data(), i % 2 ? 8 : 300'000, right(), 0, 0, PTL_ACK_REQ), PTL_OK);
  next(eq);
  EXPECT_EQ(PtlPTDisable(ni, pt), PTL_OK);
  const size_t before = rest(eq).size();
  Kinds fates;
  for (int i = 0; i < kMessages && !HasFailure(); ++i) fates.push_back(next(own).ni_fail_type);
  fence();
  EXPECT_EQ(rest(eq), Kinds{});
  EXPECT_LE(before, static_cast<size_t>(kMessages));
  for (int fate : fates) EXPECT_TRUE(fate == PTL_NI_OK || fate == PTL_NI_PT_DISABLED) << fate;
}

}  // namespace
}  // namespace portals_test
