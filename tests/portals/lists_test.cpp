// List entries and match list entries: matching, permission, placing, events, unlinking.
// Source: Portals 4.3, list entries and match list entries; data movement.
#include "tests/portals/exchange.hpp"

namespace portals_test {
namespace {

struct Lists : Exchange {};

TEST_F(Lists, TheEarliestAppendedEntryThatMatchesTakesTheMessage) {
  append({.start = memory, .length = 100, .bits = 0xf0, .ignore = 0x0f});
  append({.start = memory + 100, .length = 100, .bits = 0xf3});
  append({.start = memory + 200, .length = 100, .bits = 0xe3});
  fence();
  for (ptl_match_bits_t bits : {0xf3, 0xe3, 0xff}) EXPECT_EQ(acked(8, bits).ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(acked(8, 0xe4).ni_fail_type, PTL_NI_DROPPED);
  for (size_t offset : {0, 200, 0}) EXPECT_EQ(next(eq).start, memory + offset);
  fence();
}

TEST_F(Lists, AnEntryMayWaitForOneInitiatorOnly) {
  append({.start = memory, .length = 100, .source = static_cast<ptl_rank_t>(left_rank())});
  append({.start = memory, .length = 100, .bits = 1, .source = static_cast<ptl_rank_t>(ranks())});
  fence();
  EXPECT_EQ(acked(8, 0).ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(acked(8, 1).ni_fail_type, PTL_NI_DROPPED);
  EXPECT_EQ(next(eq).initiator.rank, static_cast<ptl_rank_t>(left_rank()));
  fence();
}

TEST_F(Lists, TheTargetsEventTellsAllAboutTheMessageAndTheRequestedOffset) {
  int tag = 0;
  append(
      {.start = memory, .length = 100, .options = kPut | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_UNLINK_DISABLE, .bits = 7, .user_ptr = &tag});
  fence();
  acked(10, 7);
  const ptl_event_t ack = acked(20, 7, 33, 0xfeedfacecafebeef);
  EXPECT_EQ(ack.mlength, 20u);
  EXPECT_EQ(ack.remote_offset, 10u);  // where it went
  EXPECT_EQ(ack.ptl_list, PTL_PRIORITY_LIST);
  next(eq);
  const ptl_event_t event = next(eq);
  EXPECT_EQ(event.type, PTL_EVENT_PUT);
  EXPECT_EQ(event.start, memory + 10);
  EXPECT_EQ(event.user_ptr, &tag);
  EXPECT_EQ(event.hdr_data, 0xfeedfacecafebeef);
  EXPECT_EQ(event.match_bits, 7u);
  EXPECT_EQ(event.rlength, 20u);
  EXPECT_EQ(event.mlength, 20u);
  EXPECT_EQ(event.remote_offset, 33u);  // what was asked for
  EXPECT_EQ(event.initiator.rank, static_cast<ptl_rank_t>(left_rank()));
  ptl_uid_t uid;
  EXPECT_EQ(PtlGetUid(ni, &uid), PTL_OK);
  EXPECT_EQ(event.uid, uid);
  EXPECT_EQ(event.pt_index, pt);
  EXPECT_EQ(event.ptl_list, PTL_PRIORITY_LIST);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_OK);
  EXPECT_TRUE(holds(memory, 10));
  EXPECT_TRUE(holds(memory + 10, 20));
  fence();
}

TEST_F(Lists, TheAckNamesTheListAndWhatWasTakenThere) {
  append({.start = overflow, .length = 0, .options = kPut, .ignore = ~0ull, .list = PTL_OVERFLOW_LIST});
  append({.start = memory, .length = 6, .bits = 1});
  fence();
  ptl_event_t ack = acked(10, 0);
  EXPECT_EQ(ack.ptl_list, PTL_OVERFLOW_LIST);
  EXPECT_EQ(ack.mlength, 0u);
  ack = acked(10, 1, 2);
  EXPECT_EQ(ack.ptl_list, PTL_PRIORITY_LIST);
  EXPECT_EQ(ack.mlength, 4u);
  EXPECT_EQ(ack.remote_offset, 2u);
  fence();
}

TEST_F(Lists, APermissionFailureEndsTheSearchLeavesTheEntryAndCountsInItsOwnRegister) {
  ptl_uid_t uid;
  EXPECT_EQ(PtlGetUid(ni, &uid), PTL_OK);
  const ptl_handle_me_t strict = append({.start = memory, .length = 100, .options = kPut | PTL_ME_USE_ONCE, .bits = 1, .uid = uid + 1});
  append({.start = memory, .length = 100, .bits = 1});
  append({.start = memory, .length = 100, .bits = 2, .uid = uid});
  fence();
  EXPECT_EQ(acked(8, 1).ni_fail_type, PTL_NI_PERM_VIOLATION);
  EXPECT_EQ(acked(8, 1).ni_fail_type, PTL_NI_PERM_VIOLATION);
  EXPECT_EQ(acked(8, 2).ni_fail_type, PTL_NI_OK);
  fence();
  ptl_sr_value_t value = -1;
  EXPECT_EQ(PtlNIStatus(ni, PTL_SR_PERMISSION_VIOLATIONS, &value), PTL_OK);
  EXPECT_EQ(value, 2);
  for (ptl_sr_index_t other : {PTL_SR_DROP_COUNT, PTL_SR_OPERATION_VIOLATIONS}) {
    EXPECT_EQ(PtlNIStatus(ni, other, &value), PTL_OK);
    EXPECT_EQ(value, 0);
  }
  EXPECT_EQ(rest(eq), Kinds{PTL_EVENT_PUT});
  EXPECT_EQ(PtlMEUnlink(strict), PTL_OK);
}

TEST_F(Lists, AnOperationThatTheEntryDoesNotAllowIsAViolationNotADrop) {
  append({.start = memory, .length = 100, .options = kPut, .bits = 1});
  append({.start = memory, .length = 100, .options = kGet, .bits = 2});
  append({.start = memory, .length = 100, .options = kAtomic, .bits = 3});
  fence();
  alignas(8) char into[8];
  auto fetch = [&](ptl_match_bits_t bits) {
    EXPECT_EQ(PtlFetchAtomic(out, at(into), out, at(data), 8, right(), pt, bits, 0, nullptr, 0, PTL_SUM, PTL_UINT64_T), PTL_OK);
    EXPECT_EQ(next(own).type, PTL_EVENT_SEND);
    return next(own);
  };
  EXPECT_EQ(acked(8, 2).ni_fail_type, PTL_NI_OP_VIOLATION);
  const ptl_event_t reply = replied(into, 8, 1);
  EXPECT_EQ(reply.ni_fail_type, PTL_NI_OP_VIOLATION);
  EXPECT_EQ(reply.mlength, 0u);
  EXPECT_EQ(fetch(1).ni_fail_type, PTL_NI_OP_VIOLATION);
  EXPECT_EQ(fetch(2).ni_fail_type, PTL_NI_OP_VIOLATION);
  EXPECT_EQ(fetch(3).ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(replied(into, 8, 2).ni_fail_type, PTL_NI_OK);
  fence();
  ptl_sr_value_t value = -1;
  EXPECT_EQ(PtlNIStatus(ni, PTL_SR_OPERATION_VIOLATIONS, &value), PTL_OK);
  EXPECT_EQ(value, 4);
  EXPECT_EQ(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &value), PTL_OK);
  EXPECT_EQ(value, 0);
}

TEST_F(Lists, NoTruncateTakesPartInMatching) {
  append({.start = memory, .length = 10, .options = kPut | PTL_ME_NO_TRUNCATE});
  append({.start = memory + 10, .length = 20, .options = kPut | PTL_ME_NO_TRUNCATE});
  fence();
  EXPECT_EQ(acked(10).ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(acked(11).ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(acked(10, 0, 1).remote_offset, 1u);
  EXPECT_EQ(acked(10, 0, 11).ni_fail_type, PTL_NI_DROPPED);
  EXPECT_EQ(acked(2, 0, PTL_SIZE_MAX).ni_fail_type, PTL_NI_DROPPED);  // nothing wraps
  for (const unsigned char* start : {memory, memory + 10, memory + 11}) EXPECT_EQ(next(eq).start, start);
  fence();
}

TEST_F(Lists, TruncationIsTheDefaultAndNoError) {
  append({.start = memory, .length = 10});
  fence();
  const ptl_event_t ack = acked(30, 0, 4);
  EXPECT_EQ(ack.ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(ack.mlength, 6u);
  const ptl_event_t event = next(eq);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(event.rlength, 30u);
  EXPECT_EQ(event.mlength, 6u);
  EXPECT_TRUE(holds(memory + 4, 6));
  EXPECT_EQ(memory[10], 0);
  fence();
}

TEST_F(Lists, AnOffsetBeyondTheEndTakesNothingAndIsNoError) {
  append({.start = memory, .length = 10, .options = kAtomic});
  fence();
  for (ptl_size_t offset : {ptl_size_t{10}, ptl_size_t{11}, PTL_SIZE_MAX}) {
    const ptl_event_t ack = acked(8, 0, offset);
    EXPECT_EQ(ack.ni_fail_type, PTL_NI_OK);
    EXPECT_EQ(ack.mlength, 0u);
    EXPECT_EQ(next(eq).mlength, 0u);
  }
  char into[8];
  EXPECT_EQ(replied(into, 8, 0, 11).mlength, 0u);
  fence();
}

TEST_F(Lists, AllOfMemoryIsNamedByAbsoluteAddresses) {
  append({.start = nullptr, .length = PTL_SIZE_MAX, .options = kAtomic | PTL_ME_IS_ACCESSIBLE | PTL_ME_NO_TRUNCATE});
  const ptl_size_t mine = at(memory);
  EXPECT_EQ(PtlxJobPut("lists.memory", &mine, sizeof mine), PTL_OK);
  fence();
  ptl_size_t theirs = 0;
  size_t size = sizeof theirs;
  EXPECT_EQ(PtlxJobGet(static_cast<int>(right().rank), "lists.memory", &theirs, &size), PTL_OK);
  EXPECT_EQ(acked(100, 0, theirs + 5).ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(next(eq).start, memory + 5);
  EXPECT_TRUE(holds(memory + 5, 100));
  unsigned char into[100];
  EXPECT_EQ(replied(into, 100, 0, theirs + 5).mlength, 100u);
  EXPECT_EQ(std::memcmp(into, data, 100), 0);
  fence();
}

TEST_F(Lists, UseOnceServesOneMessageAndAutoUnlinkFollowsItsEvent) {
  const ptl_handle_me_t once = append({.start = memory, .length = 100, .options = kPut | PTL_ME_USE_ONCE});
  fence();
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_DROPPED);
  EXPECT_EQ(kinds(eq, 2), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(PtlMEUnlink(once), PTL_ARG_INVALID);
  fence();
  EXPECT_EQ(rest(eq), Kinds{});  // no AUTO_FREE of a priority entry
}

TEST_F(Lists, LocallyManagedEntriesPackTightlyAndUnlinkBelowMinFree) {
  append({.start = memory, .length = 100, .options = kAtomic | PTL_ME_MANAGE_LOCAL | PTL_ME_MAY_ALIGN, .min_free = 20});
  fence();
  ptl_size_t packed = 0;
  for (size_t length : {7, 13, 1, 50}) {  // 29 left: a get shares the offset
    EXPECT_EQ(acked(length).remote_offset, packed);
    packed += length;
  }
  unsigned char into[10];
  EXPECT_EQ(replied(into, 10).remote_offset, packed);
  EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_DROPPED);
  for (size_t offset : {0, 7, 20, 21}) EXPECT_EQ(next(eq).start, memory + offset);
  EXPECT_EQ(kinds(eq, 2), (Kinds{PTL_EVENT_GET, PTL_EVENT_AUTO_UNLINK}));
  fence();
}

TEST_F(Lists, MinFreeMeansNothingWithoutALocalOffset) {
  const ptl_handle_me_t handle = append({.start = memory, .length = 100, .min_free = ~0ull});
  fence();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(acked(100).ni_fail_type, PTL_NI_OK);
  fence();
  EXPECT_EQ(rest(eq), Kinds(3, PTL_EVENT_PUT));
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
}

TEST_F(Lists, AutoUnlinkComesAfterTheEventsOfAllMessagesInTheEntry) {
  constexpr size_t kLong = 200'000;
  static std::vector<unsigned char> block, source;
  block.assign(3 * kLong, 0);
  source = data_of(rank(), kLong);
  append({.start = block.data(), .length = block.size(), .options = kPut | PTL_ME_MANAGE_LOCAL, .min_free = 2 * kLong - 100});
  fence();
  for (size_t length : {kLong, size_t{8}, size_t{200}})  // the short ones are complete first; the last crosses min_free
    EXPECT_EQ(PtlPut(out, at(source.data()), length, PTL_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_OK);
  kinds(own, 6);
  EXPECT_EQ(kinds(eq, 4), (Kinds{PTL_EVENT_PUT, PTL_EVENT_PUT, PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_TRUE(holds(block.data(), kLong));
  fence();
}

TEST_F(Lists, UnlinkIsNeverInUseOnceTheEventTheCountOrTheAckWasSeen) {
  const ptl_handle_ct_t arrived = counter();
  auto entry_for = [&](bool counts) {
    return append({.start = memory,
                   .length = sizeof memory,
                   .options = kPut | (counts ? PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_COMM_DISABLE : 0),
                   .ct = counts ? arrived : PTL_CT_NONE});
  };
  for (int i = 0; i < 20; ++i) {
    const bool counts = i % 2;
    const ptl_handle_me_t handle = entry_for(counts);
    fence();
    EXPECT_EQ(PtlPut(out, at(data), sizeof data, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_OK);
    if (counts) wait(arrived, static_cast<uint64_t>(i / 2) + 1);
    else next(eq);
    EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
    EXPECT_EQ(PtlMEUnlink(handle), PTL_ARG_INVALID);
    next(own);
    fence();
  }
  if (ranks() > 1) return;  // to oneself, the ACK may be what is seen
  const ptl_handle_me_t handle = append({.start = memory, .length = 8, .options = kPut | PTL_ME_EVENT_COMM_DISABLE});
  acked(8);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
}

TEST_F(Lists, EventOptionsSilenceTheirOwnEventsAndNeverCounts) {
  const ptl_handle_ct_t ct = counter();
  const unsigned base = PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM;
  unsigned char* const start = memory;
  append({.start = start, .length = 10, .options = base, .bits = 1, .ct = ct});
  append({.start = start, .length = 10, .options = base | PTL_ME_EVENT_SUCCESS_DISABLE, .bits = 2, .ct = ct});
  append({.start = start, .length = 10, .options = base | PTL_ME_EVENT_COMM_DISABLE, .bits = 3, .ct = ct});
  append({.start = start, .length = 10, .options = base | PTL_ME_EVENT_LINK_DISABLE, .bits = 4, .ct = ct});
  append({.start = start, .length = 10, .options = base | PTL_ME_EVENT_UNLINK_DISABLE, .bits = 5, .ct = ct});
  append({.start = start, .length = 10, .options = base | PTL_ME_EVENT_CT_BYTES, .bits = 6, .ct = ct});
  EXPECT_EQ(kinds(eq, 5), Kinds(5, PTL_EVENT_LINK));  // only LINK_DISABLE is about LINK
  EXPECT_EQ(rest(eq), Kinds{});
  fence();
  for (ptl_match_bits_t bits = 1; bits <= 6; ++bits) acked(20, bits);
  fence();
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_AUTO_UNLINK, PTL_EVENT_PUT,
                             PTL_EVENT_AUTO_UNLINK, PTL_EVENT_PUT, PTL_EVENT_PUT, PTL_EVENT_AUTO_UNLINK}));
  EXPECT_EQ(read(ct).success, 15u);  // five messages, and the ten bytes that the sixth could place
  EXPECT_EQ(read(ct).failure, 0u);
}

TEST_F(Lists, EachOperationHasItsEventAtTheTarget) {
  alignas(16) static uint64_t words[2], mine[2], old[2];
  words[0] = 40;
  mine[0] = 2;
  append({.start = words, .length = sizeof words, .options = kAtomic});
  fence();
  EXPECT_EQ(PtlPut(out, at(data), 0, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_OK);
  EXPECT_EQ(PtlGet(out, at(old), 8, right(), pt, 0, 0, nullptr), PTL_OK);
  EXPECT_EQ(PtlAtomic(out, at(mine), 8, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 11, PTL_SUM, PTL_UINT64_T), PTL_OK);
  EXPECT_EQ(PtlFetchAtomic(out, at(old), out, at(mine), 8, right(), pt, 0, 0, nullptr, 12, PTL_MAX, PTL_INT64_T), PTL_OK);
  EXPECT_EQ(PtlSwap(out, at(old), out, at(mine), 8, right(), pt, 0, 0, nullptr, 13, nullptr, PTL_SWAP, PTL_DOUBLE), PTL_OK);
  kinds(own, 7);  // SEND of all but the get; REPLY of get, fetch and swap
  EXPECT_EQ(kinds(eq, 2), (Kinds{PTL_EVENT_PUT, PTL_EVENT_GET}));
  const ptl_event_t atomic = next(eq), fetch = next(eq), swap = next(eq);
  EXPECT_EQ(atomic.type, PTL_EVENT_ATOMIC);
  EXPECT_EQ(atomic.atomic_operation, PTL_SUM);
  EXPECT_EQ(atomic.atomic_type, PTL_UINT64_T);
  EXPECT_EQ(atomic.hdr_data, 11u);
  EXPECT_EQ(fetch.type, PTL_EVENT_FETCH_ATOMIC);
  EXPECT_EQ(fetch.atomic_operation, PTL_MAX);
  EXPECT_EQ(swap.type, PTL_EVENT_FETCH_ATOMIC);
  EXPECT_EQ(swap.atomic_operation, PTL_SWAP);
  EXPECT_EQ(swap.atomic_type, PTL_DOUBLE);
  EXPECT_EQ(swap.hdr_data, 13u);
  EXPECT_EQ(words[0], 2u);
  EXPECT_EQ(old[0], 42u);
  fence();
}

TEST_F(Lists, AnIovecsLengthIsACountOnBothSides) {
  ptl_iovec_t into[4] = {{memory, 3}, {memory + 100, 0}, {memory + 50, 10}, {memory + 52, 4}};  // empty and overlapping ones
  append({.start = into, .length = 4, .options = kAtomic | PTL_IOVEC});
  ptl_iovec_t from[2] = {{data, 5}, {data + 5, 7}};
  ptl_md_t md{from, 2, PTL_IOVEC, own, PTL_CT_NONE};
  ptl_handle_md_t gathered;
  ASSERT_EQ(PtlMDBind(ni, &md, &gathered), PTL_OK);
  fence();
  EXPECT_EQ(PtlPut(gathered, 0, 13, PTL_NO_ACK_REQ, right(), pt, 0, 0, nullptr, 0), PTL_ARG_INVALID);
  EXPECT_EQ(PtlPut(gathered, 1, 11, PTL_ACK_REQ, right(), pt, 0, 1, nullptr, 0), PTL_OK);
  next(own);
  EXPECT_EQ(next(own).mlength, 11u);
  const ptl_event_t event = next(eq);
  EXPECT_EQ(event.start, memory + 1);
  EXPECT_TRUE(holds(memory + 1, 2, 1));
  EXPECT_TRUE(holds(memory + 50, 9, 3));
  fence();
  EXPECT_EQ(PtlPut(gathered, 0, 12, PTL_ACK_REQ, right(), pt, 0, 4, nullptr, 0), PTL_OK);
  next(own);
  EXPECT_EQ(next(own).mlength, 12u);
  EXPECT_EQ(next(eq).start, memory + 51);
  fence();
  unsigned char back[2][6] = {};
  ptl_iovec_t scattered[2] = {{back[0], 6}, {back[1], 6}};
  md.start = scattered;
  ASSERT_EQ(PtlMDBind(ni, &md, &gathered), PTL_OK);
  EXPECT_EQ(PtlGet(gathered, 2, 10, right(), pt, 0, 0, nullptr), PTL_OK);
  EXPECT_EQ(next(own).mlength, 10u);
  EXPECT_EQ(back[0][3], data[1]);  // the bytes before were put there first, from offset 1
  fence();
}

TEST_F(Lists, HintsOfThePortalChangeNoResultAndAPortalInUseStays) {
  std::vector<ptl_handle_me_t> handles;
  for (int i = 0; i < 100; ++i) handles.push_back(append({.start = memory, .length = 8, .bits = 5}));
  for (ptl_handle_me_t handle : handles) EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
  for (ptl_handle_me_t handle : handles) EXPECT_EQ(PtlMEUnlink(handle), PTL_ARG_INVALID);
  EXPECT_EQ(PtlPTFree(ni, pt), PTL_OK);
  EXPECT_EQ(PtlPTFree(ni, pt), PTL_ARG_INVALID);
  EXPECT_EQ(PtlPTAlloc(ni, PTL_PT_ONLY_USE_ONCE | PTL_PT_ONLY_TRUNCATE | PTL_PT_MATCH_UNORDERED, eq, PTL_PT_ANY, &pt), PTL_OK);
  const ptl_handle_me_t handle = append({.start = memory, .length = 8, .options = kPut | PTL_ME_NO_TRUNCATE});
  EXPECT_EQ(PtlPTFree(ni, pt), PTL_PT_IN_USE);
  fence();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(acked(8).ni_fail_type, PTL_NI_OK);  // hints change no result
  EXPECT_EQ(acked(9).ni_fail_type, PTL_NI_DROPPED);
  fence();
  EXPECT_EQ(rest(eq), Kinds(3, PTL_EVENT_PUT));
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
}

struct NonMatchingLists : Exchange {
  NonMatchingLists() { options = PTL_NI_NO_MATCHING | PTL_NI_LOGICAL; }
  ptl_handle_le_t le(void* start, ptl_size_t length, unsigned le_options, ptl_list_t list = PTL_PRIORITY_LIST, int expected = PTL_OK) {
    ptl_le_t want{start, length, PTL_CT_NONE, PTL_UID_ANY, le_options};
    ptl_handle_le_t handle = PTL_INVALID_HANDLE;
    EXPECT_EQ(PtlLEAppend(ni, pt, &want, list, nullptr, &handle), expected);
    return handle;
  }
};

TEST_F(NonMatchingLists, OnlyTheFirstEntryIsUsedAndBitsMeanNothing) {
  le(memory, 8, PTL_LE_OP_PUT | PTL_LE_USE_ONCE | PTL_LE_EVENT_LINK_DISABLE | PTL_LE_EVENT_UNLINK_DISABLE);
  le(memory + 8, 8, PTL_LE_OP_PUT | PTL_LE_IS_ACCESSIBLE | PTL_LE_EVENT_LINK_DISABLE);
  fence();
  acked(20, 0x1111);
  acked(8, 0x2222);
  acked(8, 0x3333);
  for (size_t offset : {0, 8, 8}) EXPECT_EQ(next(eq).start, memory + offset);
  fence();
}

TEST_F(NonMatchingLists, OverflowAndSearchWorkAsForMatchingEntries) {
  le(overflow, 100, PTL_LE_OP_PUT | PTL_LE_EVENT_COMM_DISABLE | PTL_LE_EVENT_LINK_DISABLE, PTL_OVERFLOW_LIST);
  fence();
  for (int i = 0; i < 3; ++i) acked(8);
  fence();
  ptl_le_t like{nullptr, 0, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_USE_ONCE};
  EXPECT_EQ(PtlLESearch(ni, pt, &like, PTL_SEARCH_ONLY, memory), PTL_OK);
  EXPECT_EQ(PtlLESearch(ni, pt, &like, PTL_SEARCH_DELETE, memory), PTL_OK);
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_SEARCH, PTL_EVENT_PUT_OVERFLOW}));
  const ptl_handle_le_t handle = le(memory, 100, PTL_LE_OP_PUT);
  EXPECT_EQ(rest(eq), (Kinds{PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_PUT_OVERFLOW, PTL_EVENT_LINK}));
  EXPECT_EQ(PtlLEUnlink(handle), PTL_OK);
}

TEST_F(NonMatchingLists, OptionsOfMatchingEntriesAreRefused) {
  for (unsigned bad : {PTL_ME_MANAGE_LOCAL, PTL_ME_NO_TRUNCATE, PTL_ME_MAY_ALIGN, PTL_ME_LOCAL_INC_UH_RLENGTH})
    le(memory, 8, PTL_LE_OP_PUT | bad, PTL_PRIORITY_LIST, PTL_ARG_INVALID);
  ptl_handle_me_t handle;
  const ptl_me_t me = as_me({.start = memory, .length = 8});
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_ARG_INVALID);
  EXPECT_EQ(PtlMESearch(ni, pt, &me, PTL_SEARCH_ONLY, nullptr), PTL_ARG_INVALID);
  le(memory, 8, PTL_LE_OP_PUT, 2, PTL_ARG_INVALID);
}

TEST(Interfaces, FourOfThemAreWorldsOfTheirOwnWithOneNidAndPid) {
  ptl_handle_ni_t ni[4];
  ptl_handle_eq_t eq[4];
  ptl_process_t id[4];
  const unsigned kinds[4] = {PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL,
                             PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL};
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, kinds[i], PTL_PID_ANY, nullptr, nullptr, &ni[i]), PTL_OK);
    EXPECT_EQ(PtlGetPhysId(ni[i], &id[i]), PTL_OK);
    EXPECT_EQ(id[i].phys.nid, id[0].phys.nid);
    EXPECT_EQ(id[i].phys.pid, id[0].phys.pid);
    EXPECT_EQ(PtlEQAlloc(ni[i], 16, &eq[i]), PTL_OK);
    ptl_pt_index_t pt = 99;
    EXPECT_EQ(PtlPTAlloc(ni[i], 0, eq[i], PTL_PT_ANY, &pt), PTL_OK);
    EXPECT_EQ(pt, 0u);
    for (int j = 0; j < i; ++j) EXPECT_EQ(PtlHandleIsEqual(ni[i], ni[j]), 0);
  }
  char memory[8] = {};
  ptl_le_t le{memory, 8, PTL_CT_NONE, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_LINK_DISABLE};
  ptl_handle_le_t entry;
  ASSERT_EQ(PtlLEAppend(ni[3], 0, &le, PTL_PRIORITY_LIST, nullptr, &entry), PTL_OK);
  for (int i : {1, 3}) {
    ptl_md_t md{nullptr, PTL_SIZE_MAX, 0, eq[i], PTL_CT_NONE};
    ptl_handle_md_t handle;
    ASSERT_EQ(PtlMDBind(ni[i], &md, &handle), PTL_OK);
    EXPECT_EQ(PtlPut(handle, reinterpret_cast<ptl_size_t>("hello"), 6, PTL_ACK_REQ, id[i], 0, 0, 0, nullptr, 0), PTL_OK);
    ptl_event_t event{};
    while (event.type != PTL_EVENT_ACK) EXPECT_EQ(PtlEQWait(eq[i], &event), PTL_OK);
    EXPECT_EQ(event.ni_fail_type, i == 3 ? PTL_NI_OK : PTL_NI_DROPPED);
  }
  EXPECT_STREQ(memory, "hello");
  ptl_md_t foreign{nullptr, 8, 0, eq[0], PTL_CT_NONE};
  ptl_handle_md_t handle;
  EXPECT_EQ(PtlMDBind(ni[1], &foreign, &handle), PTL_ARG_INVALID);
  for (ptl_handle_ni_t each : ni) EXPECT_EQ(PtlNIFini(each), PTL_OK);
}

}  // namespace
}  // namespace portals_test
