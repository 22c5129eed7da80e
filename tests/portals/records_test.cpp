// Records: an entry's one message told in the user's memory in place of an event (PTLX_ME_RECORD, _RECORD_SENDER,
// _RECORD_HEADER), and entries that are kept and appended again (PTLX_ME_KEEP).
#include <atomic>
#include <cstdint>
#include <cstring>

#include "tests/portals/extensions/extensions.hpp"

namespace portals_test {
namespace {

struct Records : Extensions {
  static constexpr unsigned kNeeded = PTLX_ME_RECORD | PTL_ME_EVENT_UNLINK_DISABLE | PTLX_ME_COMPLETE_UNEXPECTED;
  ptl_me_t me = once(room, sizeof room, 3, PTL_CT_NONE, kNeeded);
  ptl_handle_me_t handle;
  ptlx_record_t record{7, PTL_NI_OK, 0, 0, 0};
  uint64_t recorded = 0;
  char room[8] = {}, data[16] = "of sixteen byte";

  Records() { me.options &= ~unsigned{PTL_ME_EVENT_CT_COMM}; }
  void put(ptl_handle_md_t md, ptl_size_t length) {
    EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(data), length, PTL_NO_ACK_REQ, self(), pt, 3, 0, nullptr, 0), PTL_OK);
  }
  bool written() { return std::atomic_ref<uint32_t>(record.state).load(std::memory_order_acquire) == PTLX_RECORDED; }
  // Waits as a program does; there are no events.
  void wait_for_record() {
    ptl_event_t event;
    unsigned taken = 1;
    while (!written()) {
      ASSERT_EQ(PtlxEQTake(eq, PTL_TIME_FOREVER, &event, 1, &taken, &recorded, nullptr, nullptr), PTL_OK);
      EXPECT_EQ(taken, 0u);
    }
  }
  void expect_record(ptl_size_t rlength, ptl_size_t mlength) {
    EXPECT_EQ(record.ni_fail_type, PTL_NI_OK);
    EXPECT_EQ(record.match_bits, 3u);
    EXPECT_EQ(record.rlength, rlength);
    EXPECT_EQ(record.mlength, mlength);
    EXPECT_EQ(std::memcmp(room, data, mlength), 0);
    ptl_event_t event;
    EXPECT_EQ(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
    EXPECT_EQ(PtlMEUnlink(handle), PTL_ARG_INVALID);  // it has served
  }
};

TEST_F(Records, TellWhatTheEventWouldAndEndAWait) {
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_OK);
  EXPECT_EQ(record.state, 7u);
  put(descriptor(0, PTL_CT_NONE), 16);
  wait_for_record();
  expect_record(16, 8);
}

// A wait with a condition of its own ends with that alone: the record may be of another wait.
TEST_F(Records, EndNoWaitThatHasAConditionOfItsOwn) {
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_OK);
  ptl_event_t event;
  unsigned taken = 1;
  const auto never = [](void*) -> int { return 0; };
  const auto look = [&](int (*ended)(void*), uint64_t& heard) { return PtlxEQTake(eq, 0, &event, 1, &taken, &heard, ended, nullptr); };
  EXPECT_EQ(look(never, recorded), PTL_EQ_EMPTY);
  const uint64_t before = recorded;
  put(descriptor(0, PTL_CT_NONE), 8);
  while (!written()) ASSERT_EQ(look(never, recorded), PTL_EQ_EMPTY);
  EXPECT_EQ(look(never, recorded), PTL_EQ_EMPTY);
  EXPECT_EQ(recorded, before + 1) << "but it says how many there are";
  EXPECT_EQ(look([](void*) -> int { return 1; }, recorded), PTL_OK);
  EXPECT_EQ(taken, 0u);
  expect_record(8, 8);
}

TEST_F(Records, TellOfAMessageThatCameTooEarly) {
  entry(nullptr, 0, PTL_ME_OP_PUT | PTLX_ME_HOLD, PTL_CT_NONE, 0, ~uint64_t{0}, PTL_OVERFLOW_LIST);
  put_word(reinterpret_cast<uint64_t&>(data), 3);
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_OK);
  wait_for_record();
  expect_record(8, 8);
}

TEST_F(Records, OfAnEntryThatWasUnlinkedAreTheUsersAgain) {
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_OK);
  ASSERT_EQ(PtlMEUnlink(handle), PTL_OK);
  put_word(reinterpret_cast<uint64_t&>(data), 3);  // matches nothing
  EXPECT_EQ(record.state, 7u);
}

TEST_F(Records, AskForAnAddressAndForTheOptionsThatMakeOneMessageAndNoOtherEvent) {
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_ARG_INVALID);
  for (unsigned missing :
       {PTL_ME_OP_PUT, PTL_ME_USE_ONCE, PTL_ME_EVENT_LINK_DISABLE, PTL_ME_EVENT_UNLINK_DISABLE, PTLX_ME_COMPLETE_UNEXPECTED}) {
    ptl_me_t wrong = me;
    wrong.options &= ~missing;
    EXPECT_EQ(PtlMEAppend(ni, pt, &wrong, PTL_PRIORITY_LIST, &record, &handle), PTL_ARG_INVALID) << missing;
  }
  for (unsigned excluded : {PTL_ME_OP_GET, PTL_ME_MANAGE_LOCAL, PTLX_ME_HOLD, PTLX_ME_COUNT_MISMATCHES}) {
    ptl_me_t wrong = me;
    wrong.options |= excluded;
    EXPECT_EQ(PtlMEAppend(ni, pt, &wrong, PTL_PRIORITY_LIST, &record, &handle), PTL_ARG_INVALID) << excluded;
  }
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_OVERFLOW_LIST, &record, &handle), PTL_ARG_INVALID);
  ptl_me_t alone = me;
  alone.options = (me.options & ~PTLX_ME_RECORD) | PTLX_ME_RECORD_SENDER;
  EXPECT_EQ(PtlMEAppend(ni, pt, &alone, PTL_PRIORITY_LIST, &record, &handle), PTL_ARG_INVALID);
}

TEST_F(Records, TellWhoSentWithWhatAndWhetherItCameTooEarlyWhereThatIsAskedFor) {
  ptlx_sender_record_t all{{7, PTL_NI_OK, 0, 0, 0}, {}, 0, PTL_OVERFLOW_LIST};
  me.options |= PTLX_ME_RECORD_SENDER;
  const ptl_handle_ct_t held = counter();
  entry(nullptr, 0, PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_CT_COMM, held, 0, ~uint64_t{0}, PTL_OVERFLOW_LIST);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  for (const ptl_list_t list : {PTL_PRIORITY_LIST, PTL_OVERFLOW_LIST}) {
    all.message.state = 7;
    const auto send = [&] {
      EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(data), 8, PTL_NO_ACK_REQ, self(), pt, 3, 0, nullptr, 77 + list), PTL_OK);
    };
    if (list == PTL_OVERFLOW_LIST) {
      send();
      ptl_ct_event_t count;
      ASSERT_EQ(PtlCTWait(held, 1, &count), PTL_OK);
    }
    ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &all, &handle), PTL_OK);
    if (list == PTL_PRIORITY_LIST) send();
    ptl_event_t event;
    unsigned taken;
    while (std::atomic_ref<uint32_t>(all.message.state).load(std::memory_order_acquire) != PTLX_RECORDED)
      ASSERT_EQ(PtlxEQTake(eq, PTL_TIME_FOREVER, &event, 1, &taken, &recorded, nullptr, nullptr), PTL_OK);
    EXPECT_EQ(all.message.match_bits, 3u);
    EXPECT_EQ(all.message.mlength, 8u);
    EXPECT_EQ(all.initiator.rank, self().rank);
    EXPECT_EQ(all.hdr_data, 77u + list);
    EXPECT_EQ(all.ptl_list, list);
  }
}

TEST_F(Records, StoreTheHeaderDataWhereThatIsAskedFor) {
  uint64_t header = 5;
  me.options |= PTLX_ME_RECORD_HEADER | PTLX_ME_KEEP;
  me.min_free = reinterpret_cast<uintptr_t>(&header);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_OK);
  for (const ptl_hdr_data_t sent : {ptl_hdr_data_t{77}, ptl_hdr_data_t{0}, ~ptl_hdr_data_t{0}}) {
    if (sent != 77) {
      record.state = 7;
      ASSERT_EQ(PtlxMEAppendAgain(handle, room, sizeof room, self(), 3, 0), PTL_OK);
    }
    EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(data), 8, PTL_NO_ACK_REQ, self(), pt, 3, 0, nullptr, sent), PTL_OK);
    wait_for_record();
    EXPECT_EQ(header, sent);
  }
}

TEST_F(Records, RefuseAnAddressForTheHeaderDataThatIsNone) {
  uint64_t header[2] = {};
  me.options |= PTLX_ME_RECORD_HEADER;
  for (const ptl_size_t wrong : {ptl_size_t{0}, static_cast<ptl_size_t>(reinterpret_cast<uintptr_t>(header) + 4)}) {
    me.min_free = wrong;
    EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_ARG_INVALID);
  }
  me.options &= ~unsigned{PTLX_ME_RECORD};
  me.min_free = reinterpret_cast<uintptr_t>(header);
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_ARG_INVALID);
}

struct KeptEntries : Records {
  const ptl_match_bits_t bits = 3;
  KeptEntries() { me.options |= PTLX_ME_KEEP; }
  int again(ptl_size_t length, ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits = 0) {
    record.state = 7;
    return PtlxMEAppendAgain(handle, room, length, self(), match_bits, ignore_bits);
  }
  // Its first message.
  void serve_once() {
    ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_OK);
    put(descriptor(0, PTL_CT_NONE), 8);
    wait_for_record();
  }
};

TEST_F(KeptEntries, AreAppendedAgainWithOtherMemoryAndBits) {
  serve_once();
  std::memset(room, 0, sizeof room);
  ASSERT_EQ(again(5, 4), PTL_OK);
  put_word(reinterpret_cast<uint64_t&>(data), 3);  // not those bits any more
  EXPECT_FALSE(written());
  put_word(reinterpret_cast<uint64_t&>(data), 4);
  wait_for_record();
  EXPECT_EQ(record.match_bits, 4u);
  EXPECT_EQ(record.rlength, 8u);
  EXPECT_EQ(record.mlength, 5u);
  EXPECT_EQ(std::memcmp(room, "of si\0\0", 8), 0);
}

TEST_F(KeptEntries, TakeAMessageThatCameBefore) {
  entry(nullptr, 0, PTL_ME_OP_PUT | PTLX_ME_HOLD, PTL_CT_NONE, 0, ~uint64_t{0}, PTL_OVERFLOW_LIST);
  for (int round = 0; round < 3; ++round) {
    put_word(reinterpret_cast<uint64_t&>(data), 3);
    record.state = 7;
    ASSERT_EQ(round == 0 ? PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle) : again(8, 0, ~uint64_t{0}), PTL_OK);
    wait_for_record();
    EXPECT_EQ(record.match_bits, 3u);
    EXPECT_EQ(record.mlength, 8u);
  }
}

TEST_F(KeptEntries, AreNotAppendedWhileTheyWait) {
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_OK);
  EXPECT_EQ(again(8, 4), PTL_IN_USE);
  put(descriptor(0, PTL_CT_NONE), 8);  // as it was
  wait_for_record();
  EXPECT_EQ(record.match_bits, 3u);
}

TEST_F(KeptEntries, EndByAnUnlinkThatTellsWhetherTheyHaveServed) {
  serve_once();
  EXPECT_EQ(PtlMEUnlink(handle), PTL_IGNORED);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_ARG_INVALID);
  EXPECT_EQ(again(8, 3), PTL_ARG_INVALID);
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle), PTL_OK);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
  EXPECT_EQ(again(8, 3), PTL_ARG_INVALID);
}

TEST_F(KeptEntries, OutliveTheirPortalTableEntryWithoutUse) {
  serve_once();
  ptl_handle_me_t other;
  ptl_me_t plain = me;
  plain.options &= ~unsigned{PTLX_ME_KEEP};
  record.state = 7;
  ASSERT_EQ(PtlMEAppend(ni, pt, &plain, PTL_PRIORITY_LIST, &record, &other), PTL_OK);
  EXPECT_EQ(PtlxMEAppendAgain(other, room, 8, self(), 3, 0), PTL_ARG_INVALID);  // not kept
  EXPECT_EQ(PtlMEUnlink(other), PTL_OK);
  ASSERT_EQ(PtlPTFree(ni, pt), PTL_OK);
  EXPECT_EQ(again(8, 3), PTL_ARG_INVALID);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_IGNORED);
  ASSERT_EQ(PtlPTAlloc(ni, 0, eq, pt, &pt), PTL_OK);
}

TEST_F(KeptEntries, AskForARecordAndExcludeWhatLiesInPiecesOrIsCounted) {
  ptl_me_t wrong = me;
  wrong.options &= ~unsigned{PTLX_ME_RECORD};
  EXPECT_EQ(PtlMEAppend(ni, pt, &wrong, PTL_PRIORITY_LIST, &record, &handle), PTL_ARG_INVALID);
  for (unsigned excluded : {PTL_IOVEC, PTLX_ME_LAYOUT, unsigned{PTL_ME_EVENT_CT_COMM}}) {
    wrong = me;
    wrong.options |= excluded;
    EXPECT_EQ(PtlMEAppend(ni, pt, &wrong, PTL_PRIORITY_LIST, &record, &handle), PTL_ARG_INVALID) << excluded;
  }
  EXPECT_EQ(PtlTriggeredMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &record, &handle, counter(), 1), PTL_ARG_INVALID);
  EXPECT_EQ(PtlMESearch(ni, pt, &me, PTL_SEARCH_ONLY, nullptr), PTL_ARG_INVALID);
}

}  // namespace
}  // namespace portals_test
