// The overflow list, unexpected headers, and searches among them.
// Source: Portals 4.3, overflow list, unexpected messages, PtlMESearch; event order of put_overflow.
#include <thread>

#include "tests/portals/exchange.hpp"

namespace portals_test {
namespace {

struct Overflow : Exchange {
  // Messages of these lengths, the n-th with match bits n, into the overflow list; all there afterwards.
  void send_early(std::initializer_list<size_t> lengths) {
    fence();
    ptl_match_bits_t bits = 0;
    for (size_t length : lengths) acked(length, bits++);
    fence();
  }
};

TEST_F(Overflow, PutOverflowThenAutoFreeThenAutoUnlink) {
  catch_all(0, 8, 8);
  send_early({1});
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK}));
  append({.start = memory, .length = 10, .options = kPut | PTL_ME_USE_ONCE});
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_FREE, PTL_EVENT_AUTO_UNLINK}));
}

TEST_F(Overflow, AutoFreeFollowsAutoUnlinkAtOnceWhenNoHeaderIsRemembered) {
  catch_all(PTL_ME_UNEXPECTED_HDR_DISABLE | PTL_ME_USE_ONCE);
  send_early({5});
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_AUTO_FREE}));
  append({.start = memory, .length = 10, .ignore = ~0ull});
  EXPECT_EQ(rest(eq), Kinds{});  // nothing was remembered
}

TEST_F(Overflow, AutoFreeWaitsForTheLastHeaderAndIsSilencedByUnlinkDisable) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE, 100, 81);
  send_early({10, 10});  // 80 left
  catch_all(PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE | PTL_ME_USE_ONCE);
  fence();
  acked(10, 2);
  fence();
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_AUTO_UNLINK});
  append({.start = memory, .length = 10, .options = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, .bits = 1});
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_PUT_OVERFLOW});
  append({.start = memory, .length = 10, .options = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, .ignore = ~0ull});
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_FREE}));
  append({.start = memory, .length = 10, .options = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, .bits = 2});
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_PUT_OVERFLOW});
}

TEST_F(Overflow, AManualUnlinkEmitsNoAutoFree) {
  const ptl_handle_me_t handle = catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5});
  EXPECT_EQ(PtlMEUnlink(handle), PTL_IN_USE);  // its header is remembered
  append({.start = memory, .length = 10, .options = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE});
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_PUT_OVERFLOW});
}

TEST_F(Overflow, TheLateEntryIsToldWhereTheDataLiesAndAllAboutTheMessage) {
  int tag = 0;
  append({.start = overflow, .length = 6, .options = kPut | PTL_ME_EVENT_COMM_DISABLE, .ignore = ~0ull, .list = PTL_OVERFLOW_LIST});
  fence();
  acked(10, 9, 2, 77);
  fence();
  append({.start = memory, .length = 100, .options = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, .bits = 9, .user_ptr = &tag});
  const ptl_event_t event = next(eq);
  EXPECT_EQ(event.type, PTL_EVENT_PUT_OVERFLOW);
  EXPECT_EQ(event.start, overflow + 2);
  EXPECT_EQ(event.user_ptr, &tag);
  EXPECT_EQ(event.hdr_data, 77u);
  EXPECT_EQ(event.match_bits, 9u);
  EXPECT_EQ(event.rlength, 10u);
  EXPECT_EQ(event.mlength, 4u);
  EXPECT_EQ(event.remote_offset, 2u);
  EXPECT_EQ(event.initiator.rank, static_cast<ptl_rank_t>(left_rank()));
  EXPECT_EQ(event.ptl_list, PTL_OVERFLOW_LIST);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_OK);
  EXPECT_TRUE(holds(overflow + 2, 4));
  EXPECT_EQ(memory[0], 0);  // copying is the application's
}

TEST_F(Overflow, EveryKindOfMessageHasItsOverflowEvent) {
  static uint64_t old[2];
  append({.start = overflow, .length = 64, .options = kAtomic, .ignore = ~0ull, .list = PTL_OVERFLOW_LIST});
  fence();
  acked(8, 0);
  EXPECT_EQ(replied(old, 8, 1).mlength, 8u);
  EXPECT_EQ(std::memcmp(old, data, 8), 0);  // executed at once, on the overflow buffer
  EXPECT_EQ(PtlAtomic(out, at(data), 8, PTL_ACK_REQ, right(), pt, 2, 0, nullptr, 0, PTL_BXOR, PTL_UINT64_T), PTL_OK);
  EXPECT_EQ(PtlFetchAtomic(out, at(old), out, at(data), 8, right(), pt, 3, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T), PTL_OK);
  kinds(own, 4);
  EXPECT_EQ(old[0], 0u);
  fence();
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_GET, PTL_EVENT_ATOMIC, PTL_EVENT_FETCH_ATOMIC}));
  append({.start = memory, .length = 8, .options = PTL_ME_OP_PUT, .ignore = ~0ull});  // what it allows plays no part
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_GET_OVERFLOW, PTL_EVENT_ATOMIC_OVERFLOW, PTL_EVENT_FETCH_ATOMIC_OVERFLOW,
                             PTL_EVENT_LINK}));
}

TEST_F(Overflow, APersistentEntryTakesEveryHeaderInOrderOfArrivalAndIsThenLinked) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5, 6, 7, 8});
  append({.start = memory, .length = 100, .options = PTL_ME_OP_PUT, .ignore = 2});  // bits 0 and 2
  for (size_t length : {5, 7}) EXPECT_EQ(next(eq).mlength, length);
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_LINK});
  append({.start = memory, .length = 100, .options = PTL_ME_OP_PUT, .ignore = 2});
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_LINK});  // they are consumed
}

TEST_F(Overflow, AnEntryConsumedAtItsAppendEmitsNoLinkAndItsHandleIsStale) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5, 6});
  const ptl_handle_me_t handle = append({.start = memory, .length = 100, .options = PTL_ME_OP_PUT | PTL_ME_USE_ONCE, .ignore = ~0ull});
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(PtlMEUnlink(handle), PTL_ARG_INVALID);
}

TEST_F(Overflow, AnAppendToTheOverflowListTakesNoHeader) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5});
  append({.start = memory, .length = 100, .options = PTL_ME_OP_PUT, .ignore = ~0ull, .list = PTL_OVERFLOW_LIST});
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_LINK});
}

TEST_F(Overflow, NoTruncateIsAskedOfHeadersToo) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5, 6, 4});
  append({.start = memory, .length = 5, .options = PTL_ME_OP_PUT | PTL_ME_NO_TRUNCATE, .ignore = ~0ull});
  for (size_t length : {5, 4}) EXPECT_EQ(next(eq).rlength, length);
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_LINK});
}

TEST_F(Overflow, HeadersDoNotMoveALocalOffsetUnlessTheirLengthIsAdded) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({30, 30});
  append({.start = memory, .length = 100, .options = kPut | PTL_ME_MANAGE_LOCAL, .bits = 0, .min_free = 90});
  append({.start = memory, .length = 100, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_LOCAL_INC_UH_RLENGTH, .bits = 1, .min_free = 60});
  fence();
  EXPECT_EQ(acked(1, 0).remote_offset, 0u);
  EXPECT_EQ(acked(1, 1).remote_offset, 30u);
  fence();
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_PUT, PTL_EVENT_PUT}));
}

TEST_F(Overflow, AddedLengthsUnlinkTheEntryBelowMinFreeAndItsUnlinkIsStillOk) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({30, 30, 30});
  const ptl_handle_me_t handle = append({.start = memory,
                                         .length = 100,
                                         .options = PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_LOCAL_INC_UH_RLENGTH,
                                         .ignore = ~0ull,
                                         .min_free = 50});
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_ARG_INVALID);
}

TEST_F(Overflow, OverDisableSilencesOverflowEventsAndCountsNeedCtOverflow) {
  const ptl_handle_ct_t ct = counter();
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5, 6, 7, 8});
  const unsigned once = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE;
  append({.start = memory, .length = 100, .options = once | PTL_ME_EVENT_CT_COMM, .bits = 0, .ct = ct});
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_PUT_OVERFLOW});
  EXPECT_EQ(read(ct).success, 0u);
  append({.start = memory, .length = 100, .options = once | PTL_ME_EVENT_OVER_DISABLE | PTL_ME_EVENT_CT_OVERFLOW, .bits = 1, .ct = ct});
  EXPECT_EQ(read(ct).success, 1u);
  append({.start = memory,
          .length = 100,
          .options = once | PTL_ME_EVENT_SUCCESS_DISABLE | PTL_ME_EVENT_CT_OVERFLOW | PTL_ME_EVENT_CT_BYTES,
          .bits = 2,
          .ct = ct});
  EXPECT_EQ(read(ct).success, 8u);
  EXPECT_EQ(rest(eq), Kinds{});
}

TEST_F(Overflow, TheOverflowEntryCountsWhatIsDeliveredIntoIt) {
  const ptl_handle_ct_t ct = counter();
  append({.start = overflow,
          .length = 100,
          .options = kPut | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_SUCCESS_DISABLE,
          .ignore = ~0ull,
          .list = PTL_OVERFLOW_LIST,
          .ct = ct});
  send_early({5, 6});
  EXPECT_EQ(read(ct).success, 2u);
  append({.start = memory, .length = 100, .options = kPut | PTL_ME_EVENT_OVER_DISABLE, .ignore = ~0ull});
  EXPECT_EQ(read(ct).success, 2u);
  EXPECT_EQ(rest(eq), Kinds{});
}

TEST_F(Overflow, APriorityEntryGoesBeforeTheOverflowList) {
  catch_all();
  append({.start = memory, .length = 100, .options = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, .ignore = ~0ull});
  fence();
  EXPECT_EQ(acked(5).ptl_list, PTL_PRIORITY_LIST);
  EXPECT_EQ(acked(5).ptl_list, PTL_OVERFLOW_LIST);
  EXPECT_EQ(next(eq).ptl_list, PTL_PRIORITY_LIST);
  EXPECT_EQ(next(eq).ptl_list, PTL_OVERFLOW_LIST);
  fence();
}

TEST_F(Overflow, UnexpectedHeadersAreLimitedAsAskedFor) {
  ptl_handle_ni_t small;
  ptl_ni_limits_t desired = limits;
  desired.max_unexpected_headers = 3;
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, &desired, nullptr, &small), PTL_OK);
  ptl_handle_eq_t queue;
  ASSERT_EQ(PtlEQAlloc(small, 64, &queue), PTL_OK);
  ptl_process_t self;
  EXPECT_EQ(PtlGetId(small, &self), PTL_OK);
  for (unsigned flow : {0u, static_cast<unsigned>(PTL_PT_FLOWCTRL)}) {
    ptl_pt_index_t index;
    ASSERT_EQ(PtlPTAlloc(small, flow, queue, PTL_PT_ANY, &index), PTL_OK);
    ptl_me_t me = as_me({.start = overflow, .length = 64, .options = kPut | PTL_ME_EVENT_COMM_DISABLE, .ignore = ~0ull});
    me.match_id.phys = {PTL_NID_ANY, PTL_PID_ANY};
    ptl_handle_me_t handle;
    ASSERT_EQ(PtlMEAppend(small, index, &me, PTL_OVERFLOW_LIST, nullptr, &handle), PTL_OK);
    ptl_md_t md{nullptr, PTL_SIZE_MAX, PTL_MD_EVENT_SEND_DISABLE, queue, PTL_CT_NONE};
    ptl_handle_md_t from;
    ASSERT_EQ(PtlMDBind(small, &md, &from), PTL_OK);
    Kinds fates;
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(PtlPut(from, at(data), 1, PTL_ACK_REQ, self, index, 0, 0, nullptr, 0), PTL_OK);
      ptl_event_t event = next(queue);
      if (event.type == PTL_EVENT_PT_DISABLED) event = next(queue);
      fates.push_back(event.ni_fail_type);
    }
    const int refused = flow ? PTL_NI_PT_DISABLED : PTL_NI_DROPPED;
    EXPECT_EQ(fates, (Kinds{PTL_NI_OK, PTL_NI_OK, PTL_NI_OK, refused}));
    me.options = kPut | PTL_ME_EVENT_OVER_DISABLE;
    ASSERT_EQ(PtlMEAppend(small, index, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);  // there is room again
  }
  EXPECT_EQ(PtlNIFini(small), PTL_OK);
}

struct Search : Overflow {
  static constexpr unsigned kOnce = PTL_ME_OP_PUT | PTL_ME_USE_ONCE;
};

TEST_F(Search, ItsResultIsThereWhenTheCallReturns) {
  int tag = 0;
  const ptl_handle_ct_t ct = counter();
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5, 6});
  EXPECT_EQ(search({.options = kOnce | PTL_ME_EVENT_CT_OVERFLOW, .bits = 1, .user_ptr = &tag, .ct = ct}, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(read(ct).success, 1u);
  ptl_event_t event;
  EXPECT_EQ(PtlEQGet(eq, &event), PTL_OK);
  EXPECT_EQ(event.type, PTL_EVENT_SEARCH);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(event.user_ptr, &tag);
  EXPECT_EQ(event.match_bits, 1u);
  EXPECT_EQ(event.rlength, 6u);
  EXPECT_EQ(event.mlength, 6u);
  EXPECT_EQ(event.start, overflow + 5);
  EXPECT_EQ(event.ptl_list, PTL_OVERFLOW_LIST);
  EXPECT_EQ(event.initiator.rank, static_cast<ptl_rank_t>(left_rank()));
}

TEST_F(Search, SearchOnlyLeavesTheHeaderToALaterAppend) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search({.options = kOnce}, PTL_SEARCH_ONLY), PTL_OK);
  append({.start = memory, .length = 10, .options = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE});
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_SEARCH, PTL_EVENT_SEARCH, PTL_EVENT_SEARCH, PTL_EVENT_PUT_OVERFLOW}));
}

TEST_F(Search, SearchDeleteTakesTheHeaderAndMayFreeTheOverflowEntry) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE | PTL_ME_USE_ONCE);
  send_early({5});
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_AUTO_UNLINK});
  EXPECT_EQ(search({.options = kOnce}, PTL_SEARCH_DELETE), PTL_OK);
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_AUTO_FREE}));
  EXPECT_EQ(search({.options = kOnce}, PTL_SEARCH_DELETE), PTL_OK);
  const ptl_event_t event = next(eq);
  EXPECT_EQ(event.type, PTL_EVENT_SEARCH);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_NO_MATCH);
}

TEST_F(Search, APersistentSearchReportsAllMatchesAndMarksItsEndByAFailureCount) {
  const ptl_handle_ct_t ct = counter(), bytes = counter();
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5, 6, 7});
  const unsigned all = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_OVERFLOW;
  EXPECT_EQ(search({.options = all, .ignore = ~0ull, .ct = ct}, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(read(ct).success, 3u);
  EXPECT_EQ(read(ct).failure, 1u);
  for (size_t length : {5, 6, 7}) EXPECT_EQ(next(eq).mlength, length);
  EXPECT_EQ(search({.options = all | PTL_ME_EVENT_CT_BYTES, .ignore = ~0ull, .ct = bytes}, PTL_SEARCH_DELETE), PTL_OK);
  EXPECT_EQ(read(bytes).success, 18u);
  EXPECT_EQ(read(bytes).failure, 1u);
  EXPECT_EQ(rest(eq), Kinds(3, PTL_EVENT_PUT_OVERFLOW));
  EXPECT_EQ(search({.options = all, .ignore = ~0ull, .ct = ct}, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(read(ct).failure, 2u);
  EXPECT_EQ(next(eq).ni_fail_type, PTL_NI_NO_MATCH);
}

TEST_F(Search, ASearchForOneCountsAFailureOnlyWhenNothingMatched) {
  const ptl_handle_ct_t ct = counter();
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5});
  EXPECT_EQ(search({.options = kOnce | PTL_ME_EVENT_CT_OVERFLOW, .ct = ct}, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(read(ct).failure, 0u);
  EXPECT_EQ(search({.options = kOnce | PTL_ME_EVENT_CT_OVERFLOW, .bits = 9, .ct = ct}, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(read(ct).failure, 1u);
  EXPECT_EQ(read(ct).success, 1u);
}

TEST_F(Search, EventOptionsSilenceWhatIsFoundAndNothingBumpsARegister) {
  catch_all(PTL_ME_EVENT_COMM_DISABLE);
  send_early({5, 6});
  EXPECT_EQ(search({.options = kOnce | PTL_ME_EVENT_COMM_DISABLE, .uid = 4711}, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(search({.options = PTL_ME_OP_GET | PTL_ME_USE_ONCE | PTL_ME_EVENT_OVER_DISABLE}, PTL_SEARCH_DELETE), PTL_OK);
  EXPECT_EQ(rest(eq), Kinds{});
  EXPECT_EQ(search({.options = kOnce}, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(next(eq).ni_fail_type, PTL_NI_NO_MATCH);  // it was deleted
  for (ptl_sr_index_t index : {PTL_SR_DROP_COUNT, PTL_SR_PERMISSION_VIOLATIONS, PTL_SR_OPERATION_VIOLATIONS}) {
    ptl_sr_value_t value = -1;
    EXPECT_EQ(PtlNIStatus(ni, index, &value), PTL_OK);
    EXPECT_EQ(value, 0);
  }
}

TEST_F(Search, WithoutAQueueItIsSilentAndStillDeletes) {
  ASSERT_EQ(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt), PTL_OK);
  const ptl_handle_ct_t ct = counter();
  catch_all();
  send_early({5});
  EXPECT_EQ(search({.options = kOnce}, PTL_SEARCH_DELETE), PTL_OK);
  EXPECT_EQ(search({.options = kOnce | PTL_ME_EVENT_CT_OVERFLOW, .ct = ct}, PTL_SEARCH_DELETE), PTL_OK);
  EXPECT_EQ(read(ct).success, 0u);
  EXPECT_EQ(read(ct).failure, 1u);
}

TEST_F(Search, ItIsNotAnAppend) {
  fence();
  EXPECT_EQ(search({.start = memory, .length = 100, .options = PTL_ME_OP_PUT, .ignore = ~0ull}, PTL_SEARCH_ONLY), PTL_OK);
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_SEARCH});
  fence();
  EXPECT_EQ(acked(5).ni_fail_type, PTL_NI_DROPPED);
}

TEST_F(Search, AHeaderIsFoundAsSoonAsTheEventOfItsMessageIsSeen) {
  constexpr int kMessages = 50;
  catch_all();
  fence();
  for (int i = 0; i < kMessages; ++i)
    EXPECT_EQ(PtlPut(out, at(data), i % 5 == 0 ? 300 : 8, PTL_NO_ACK_REQ, right(), pt, static_cast<ptl_match_bits_t>(i), 0, nullptr, 0),
              PTL_OK);
  for (ptl_match_bits_t arrived = 0, found = 0; found < kMessages && !HasFailure();) {
    const ptl_event_t event = next(eq);
    if (event.type == PTL_EVENT_PUT) {
      EXPECT_EQ(event.match_bits, arrived++);
      EXPECT_EQ(search({.options = kOnce, .bits = event.match_bits}, PTL_SEARCH_DELETE), PTL_OK);
    } else {
      EXPECT_EQ(event.type, PTL_EVENT_PUT_OVERFLOW);
      EXPECT_EQ(event.match_bits, found++);
    }
  }
  fence();
}

TEST_F(Search, ALongMessageThatIsArrivingIsDeletedWithItsDataThere) {
  constexpr size_t kLong = 3'000'000;
  static std::vector<unsigned char> block, source;
  block.assign(kLong, 0);
  source = data_of(rank(), kLong);
  append({.start = block.data(), .length = kLong, .options = kPut | PTL_ME_EVENT_COMM_DISABLE, .ignore = ~0ull, .list = PTL_OVERFLOW_LIST});
  fence();
  EXPECT_EQ(PtlPut(out, at(source.data()), kLong, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_OK);
  for (ptl_event_t event{}; event.type != PTL_EVENT_PUT_OVERFLOW && !HasFailure();) {
    EXPECT_EQ(search({.options = kOnce}, PTL_SEARCH_DELETE), PTL_OK);
    event = next(eq);
    if (event.type != PTL_EVENT_PUT_OVERFLOW) continue;
    EXPECT_EQ(event.mlength, kLong);
    EXPECT_TRUE(holds(block.data(), kLong));
  }
  EXPECT_EQ(next(own).type, PTL_EVENT_SEND);
  fence();
}

// Two threads: one posts entries, the other sends. Every message reaches exactly one entry, before or after its append.
TEST_F(Overflow, NoMessageSlipsBetweenAnAppendsSearchAndItsLink) {
  constexpr int kMessages = 1000;
  const ptl_handle_ct_t taken = counter();
  append({.start = overflow, .length = 8, .options = kPut | PTL_ME_EVENT_COMM_DISABLE, .list = PTL_OVERFLOW_LIST});
  fence();
  const ptl_handle_md_t quiet = descriptor(0, PTL_CT_NONE);
  std::thread sender([&] {
    for (int i = 0; i < kMessages; ++i) EXPECT_EQ(PtlPut(quiet, at(data), 8, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_OK);
  });
  for (int i = 0; i < kMessages; ++i)
    append({.start = memory,
            .length = 8,
            .options = kPut | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_OVERFLOW,
            .ct = taken});
  sender.join();
  wait(taken, kMessages);
  int expected = 0, unexpected = 0;
  for (int kind : kinds(eq, kMessages)) (kind == PTL_EVENT_PUT ? expected : unexpected) += 1;
  EXPECT_EQ(expected + unexpected, kMessages);
  fence();
  EXPECT_EQ(rest(eq), Kinds{});
  EXPECT_EQ(read(taken).success, static_cast<ptl_size_t>(kMessages));
}

}  // namespace
}  // namespace portals_test
