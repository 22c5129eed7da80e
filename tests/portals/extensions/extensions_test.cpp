// Extensions E1 to E13 but E4 (extensions_waiting_test.cpp), each beside what a program has to do with plain Portals 4.3 instead. Most of
// it is local.

#include <cerrno>
#include <cstdint>

#include "tests/portals/extensions/extensions.hpp"

namespace portals_test {
namespace {

TEST_F(Extensions, E1TheEngineCompletesAnUnexpectedMessageOrTheProgramCopiesIt) {
  uint64_t word = 4711, kept = 0, in = 0;
  const ptl_handle_ct_t arrived = counter();
  entry(&kept, sizeof kept, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE, PTL_CT_NONE, 0, ~uint64_t{0}, PTL_OVERFLOW_LIST);
  put_word(word, 1);
  ptl_me_t me = once(&in, sizeof in, 1, arrived, PTLX_ME_COMPLETE_UNEXPECTED);
  ptl_handle_me_t handle;
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  wait(arrived, 1);
  EXPECT_EQ(in, 4711u);
  // Plain: the counter stays, an event says where the data lies, and the host copies it.
  word = 4712;
  put_word(word, 2);
  in = 0;
  me = once(&in, sizeof in, 2, arrived);
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  ptl_event_t event;
  do ASSERT_EQ(PtlEQWait(eq, &event), PTL_OK);
  while (event.type != PTL_EVENT_PUT_OVERFLOW);
  EXPECT_EQ(value(arrived).success, 1u);
  std::memcpy(&in, event.start, event.mlength);
  EXPECT_EQ(in, 4712u);
}

TEST_F(Extensions, E2AnEntryIsAppendedByACounterOrEarlyIntoOtherMemoryAndCopied) {
  uint64_t word = 1, in = 0, scratch = 0;
  const ptl_handle_ct_t trigger = counter(), arrived = counter(), joined = counter(), copied = counter();
  hold();
  ptl_handle_me_t handle;
  ptl_me_t me = once(&in, sizeof in, 1, arrived, PTLX_ME_COMPLETE_UNEXPECTED);
  EXPECT_EQ(PtlxTriggeredMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle, trigger, 1), PTL_OK);
  put_word(word, 1);
  EXPECT_EQ(in, 0u);
  add(trigger, 1);
  wait(arrived, 1);
  EXPECT_EQ(in, 1u);
  // Plain: message and permission meet in one counter; a triggered put to oneself then copies.
  ptl_me_t early = once(&scratch, sizeof scratch, 2, joined);
  ptl_me_t final = once(&in, sizeof in, 3, copied);
  EXPECT_EQ(PtlMEAppend(ni, pt, &early, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  EXPECT_EQ(PtlMEAppend(ni, pt, &final, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  EXPECT_EQ(PtlTriggeredPut(md, reinterpret_cast<ptl_size_t>(&scratch), 8, PTL_NO_ACK_REQ, self(), pt, 3, 0, nullptr, 0, joined, 2),
            PTL_OK);
  word = 2;
  put_word(word, 2);
  wait(joined, 1);
  EXPECT_EQ(in, 1u);
  add(joined, 1);
  wait(copied, 1);
  EXPECT_EQ(in, 2u);
}

TEST_F(Extensions, AHeldMessageThatIsSetAsideIsFoundByItsLabelAlone) {
  hold();
  ptl_handle_me_t handle;
  uint64_t first = 1, second = 2, in = 0;
  const ptl_handle_ct_t arrived = counter();
  ptl_me_t me = once(&in, sizeof in, 7, arrived, PTLX_ME_COMPLETE_UNEXPECTED);
  const ptl_match_bits_t label = 99;
  ptl_event_t found;
  EXPECT_EQ(PtlxMEFind(ni, pt, &me, &label, &found), PTL_OK);
  EXPECT_EQ(found.type, PTL_EVENT_SEARCH);
  EXPECT_EQ(found.ni_fail_type, PTL_NI_NO_MATCH);
  put_word(first, 7);
  put_word(second, 7);
  for (const ptl_match_bits_t* given : {static_cast<const ptl_match_bits_t*>(nullptr), &label}) {  // the first look leaves it where it is
    do EXPECT_EQ(PtlxMEFind(ni, pt, &me, given, &found), PTL_OK);
    while (found.ni_fail_type == PTL_NI_NO_MATCH && PtlxProgress() >= 0);
    EXPECT_EQ(found.type, PTL_EVENT_SEARCH);
    EXPECT_EQ(found.ni_fail_type, PTL_NI_OK);
    EXPECT_EQ(found.match_bits, 7u);
    EXPECT_EQ(found.rlength, sizeof first);
  }
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  wait(arrived, 1);
  EXPECT_EQ(in, 2u);
  me.match_bits = 99;
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  wait(arrived, 2);
  EXPECT_EQ(in, 1u);
  EXPECT_EQ(PtlxMEFind(ni, pt, nullptr, &label, &found), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxMEFind(ni, pt, &me, &label, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxMEFind(ni, pt + 1, &me, &label, &found), PTL_ARG_INVALID);
}

TEST_F(Extensions, E10APutThatNobodyTookIsTakenBackOrExposedMemoryIsUnlinked) {
  const std::vector<char> long_one(200'000, 'x');
  const ptl_handle_ct_t held = counter();
  hold(PTL_ME_EVENT_CT_COMM, held);
  ptl_handle_me_t handle;
  fence();
  ptl_handle_eq_t answers;
  ASSERT_EQ(PtlEQAlloc(ni, 64, &answers), PTL_OK);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE, answers);
  const ptl_process_t to = right();
  const auto ack = [&] {
    ptl_event_t event;
    do EXPECT_EQ(PtlEQWait(answers, &event), PTL_OK);
    while (event.type != PTL_EVENT_ACK);
    return event;
  };
  uint64_t word = 7;
  int taken = 0, back = 0;
  const auto put = [&](const void* from, size_t length, ptl_match_bits_t bits, int* tag) {
    EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(from), length, PTL_ACK_REQ, to, pt, bits, 0, tag, 0), PTL_OK);
  };
  put(&word, sizeof word, 5, &taken);
  put(&word, sizeof word, 6, &back);
  put(long_one.data(), long_one.size(), 6, &back);
  EXPECT_EQ(PtlxPutWithdraw(md, &back), PTL_OK);
  for (int i = 0; i < 2; ++i) {
    const ptl_event_t event = ack();
    EXPECT_EQ(event.ni_fail_type, PTLX_NI_WITHDRAWN);
    EXPECT_EQ(event.user_ptr, &back);
  }
  EXPECT_EQ(PtlxPutWithdraw(md, &back), PTL_OK);  // there is none any more
  EXPECT_EQ(PtlxPutWithdraw(PTL_INVALID_HANDLE, &back), PTL_ARG_INVALID);
  fence();
  // Puts that were taken back are not there; others are.
  uint64_t in = 0;
  const ptl_handle_ct_t arrived = counter();
  ptl_me_t me = once(&in, sizeof in, 6, arrived, PTLX_ME_COMPLETE_UNEXPECTED);
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
  me.match_bits = 5;
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  wait(arrived, 1);
  EXPECT_EQ(in, 7u);
  const ptl_event_t event = ack();
  EXPECT_EQ(event.ni_fail_type, PTL_NI_OK);
  EXPECT_EQ(event.user_ptr, &taken);
  // A target that closes refuses what it holds.
  const ptl_size_t before = value(held).success;
  fence();
  put(&word, sizeof word, 8, &back);
  put(&word, sizeof word, 9, &taken);
  wait(held, before + 2);
  EXPECT_EQ(PtlxMERefuse(ni, pt, nullptr), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxMERefuse(ni, pt + 1, &me), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxMERefuse(PTL_INVALID_HANDLE, pt, &me), PTL_ARG_INVALID);
  me.match_bits = 8;
  EXPECT_EQ(PtlxMERefuse(ni, pt, &me), PTL_OK);
  const ptl_event_t refused = ack();
  EXPECT_EQ(refused.ni_fail_type, PTL_NI_DROPPED);
  EXPECT_EQ(refused.user_ptr, &back);
  me.match_bits = 9;
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  wait(arrived, 2);
  EXPECT_EQ(ack().ni_fail_type, PTL_NI_OK);
  // Plain: the data lie in an entry that the target gets; the message names it only, and who unlinks the entry has it back.
  uint64_t offered = 3;
  ptl_me_t offer = once(&offered, sizeof offered, 77, PTL_CT_NONE);
  offer.options = PTL_ME_OP_GET | PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE;
  EXPECT_EQ(PtlMEAppend(ni, pt, &offer, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
}

TEST_F(Extensions, E3TheEngineComputesWithThreeOperandsOrAddsToAnEntryOfOnesOwn) {
  int64_t a[3] = {7, 8, 9}, b[3] = {1, 2, 3}, out[3] = {};
  const ptl_handle_ct_t trigger = counter(), done = counter(), added = counter();
  EXPECT_EQ(PtlxTriggeredLocal(ni, PTLX_SUB, PTL_INT64_T, out, a, b, 3, done, trigger, 1), PTL_OK);
  entry(out, sizeof out, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_CT_COMM, added, 9);
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  EXPECT_EQ(PtlTriggeredAtomic(md, reinterpret_cast<ptl_size_t>(b), sizeof b, PTL_NO_ACK_REQ, self(), pt, 9, 0, nullptr, 0, PTL_SUM,
                               PTL_INT64_T, done, 1),
            PTL_OK);
  add(trigger, 1);
  wait(added, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(out[i], a[i]);  // subtracted, then added again
}

TEST_F(Extensions, E5AChainRunsAgainWithOneIncrementOrIsIssuedAgain) {
  constexpr uint64_t kRounds = 600;  // more than the field has values
  constexpr ptl_match_bits_t kField = 0xffull << 36;
  uint64_t out = 0, in = 0;
  const ptl_handle_ct_t start = counter(), arrived = counter(), finished = counter();
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  ptl_handle_me_t handle;
  EXPECT_EQ(PtlxCTRepeat(start, 1, 5), PTL_ARG_INVALID);  // not adjacent
  EXPECT_EQ(PtlxCTRepeat(start, 1, kField), PTL_OK);
  EXPECT_EQ(PtlxCTRepeat(arrived, 1, 0), PTL_OK);
  ptl_me_t me = once(&in, sizeof in, 1, arrived);
  EXPECT_EQ(PtlxTriggeredMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle, start, 1), PTL_OK);
  EXPECT_EQ(PtlTriggeredPut(md, reinterpret_cast<ptl_size_t>(&out), 8, PTL_NO_ACK_REQ, self(), pt, 1, 0, nullptr, 0, start, 1), PTL_OK);
  EXPECT_EQ(PtlTriggeredCTInc(finished, {1, 0}, arrived, 1), PTL_OK);
  for (uint64_t round = 1; round <= kRounds; ++round) {
    out = round;
    add(start, 1);
    wait(finished, round);
    ASSERT_EQ(in, round);
  }
  EXPECT_EQ(value(arrived).success, kRounds);
  out = kRounds + 1;
  EXPECT_EQ(PtlxCTIncSoon(start, {1, 1}), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxCTIncSoon(start, {1, 0}), PTL_OK);
  wait(finished, kRounds + 1);
  EXPECT_EQ(in, kRounds + 1);
  add(start, 0);  // behind what was left to the engine
  EXPECT_EQ(value(start).success, kRounds + 1);
  // Plain: everything once more for each round, with thresholds that grow.
  const ptl_handle_ct_t plain_start = counter(), plain_arrived = counter(), plain_finished = counter();
  for (uint64_t round = 1; round <= 3; ++round) {
    me = once(&in, sizeof in, 2 | round << 36, plain_arrived);
    EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
    EXPECT_EQ(PtlTriggeredPut(md, reinterpret_cast<ptl_size_t>(&out), 8, PTL_NO_ACK_REQ, self(), pt, 2 | round << 36, 0, nullptr, 0,
                              plain_start, round),
              PTL_OK);
    EXPECT_EQ(PtlTriggeredCTInc(plain_finished, {1, 0}, plain_arrived, round), PTL_OK);
    add(plain_start, 1);
    wait(plain_finished, round);
  }
}

TEST_F(Extensions, E6AFailureReleasesNothingAndIsToldOrTheHostLooksAndCancels) {
  const ptl_handle_ct_t guarded = counter(), errors = counter(), released = counter(), waited_for = counter(), plain = counter();
  EXPECT_EQ(PtlxCTGuard(guarded, guarded), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxCTGuard(guarded, errors), PTL_OK);
  EXPECT_EQ(PtlTriggeredCTInc(released, {1, 0}, guarded, 1), PTL_OK);
  EXPECT_EQ(PtlTriggeredCTInc(waited_for, {0, 1}, errors, 1), PTL_OK);
  int32_t one = 1, zero = 0, result;
  EXPECT_EQ(PtlxTriggeredLocal(ni, PTLX_DIV, PTL_INT32_T, &result, &one, &zero, 1, guarded, plain, 1), PTL_OK);
  add(plain, 1);
  ptl_ct_event_t seen;
  EXPECT_EQ(PtlCTWait(waited_for, 1, &seen), PTL_OK);
  EXPECT_EQ(seen.failure, 1u);
  EXPECT_EQ(value(guarded).failure, 1u);
  EXPECT_EQ(value(released).success, 0u);
  int busy = 1;
  EXPECT_EQ(PtlxCTBusy(guarded, &busy), PTL_OK);
  EXPECT_EQ(busy, 0);
  EXPECT_EQ(PtlxCTWatch(guarded, self()), PTL_OK);
  EXPECT_EQ(value(guarded).failure, 1u);
  // Plain: the failure releases what waits, so whoever looks must know which counters to ask and be there in time.
  const ptl_handle_ct_t loose = counter();
  EXPECT_EQ(PtlTriggeredCTInc(released, {1, 0}, loose, 2), PTL_OK);
  add(loose, 0, 1);
  EXPECT_EQ(value(loose).failure, 1u);
  EXPECT_EQ(PtlCTCancelTriggered(loose), PTL_OK);
  add(loose, 0, 1);
  EXPECT_EQ(value(released).success, 0u);
}

TEST_F(Extensions, E7EqualThresholdsFireInOrderOrAreMadeDistinct) {
  uint64_t first = 1, second = 0, third = 0, fourth = 0;
  const ptl_handle_ct_t trigger = counter(), done = counter();
  EXPECT_EQ(PtlxTriggeredLocal(ni, PTLX_COPY, PTL_UINT64_T, &second, &first, nullptr, 1, done, trigger, 1), PTL_OK);
  EXPECT_EQ(PtlxTriggeredLocal(ni, PTLX_COPY, PTL_UINT64_T, &third, &second, nullptr, 1, done, trigger, 1), PTL_OK);
  EXPECT_EQ(PtlTriggeredCTInc(trigger, {1, 0}, trigger, 1), PTL_OK);
  EXPECT_EQ(PtlxTriggeredLocal(ni, PTLX_COPY, PTL_UINT64_T, &fourth, &third, nullptr, 1, done, trigger, 2), PTL_OK);
  add(trigger, 1);
  wait(done, 3);
  EXPECT_EQ(third, 1u);
  EXPECT_EQ(fourth, 1u);
}

TEST_F(Extensions, E8MessagesOfAnotherLengthAreCountedByTheEngineOrByRlengthOfEachEvent) {
  char room[8], data[16] = {};
  uint64_t mismatches = 0;
  const ptl_handle_ct_t arrived = counter();
  const ptl_handle_md_t md = descriptor(0, PTL_CT_NONE);
  ptl_me_t me = once(room, sizeof room, 5, arrived, PTLX_ME_COUNT_MISMATCHES);
  me.options &= ~unsigned{PTL_ME_USE_ONCE};
  ptl_handle_me_t handle;
  EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_ARG_INVALID);
  ASSERT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, &mismatches, &handle), PTL_OK);
  uint64_t count = 0, by_events = 0;
  for (const ptl_size_t length : {8, 9, 7, 0, 8}) {
    EXPECT_EQ(PtlPut(md, reinterpret_cast<ptl_size_t>(data), length, PTL_NO_ACK_REQ, self(), pt, 5, 0, nullptr, 0), PTL_OK);
    wait(arrived, ++count);
    ptl_event_t event;
    do ASSERT_EQ(PtlEQWait(eq, &event), PTL_OK);
    while (event.type != PTL_EVENT_PUT);
    by_events += event.rlength != sizeof room;
    EXPECT_EQ(mismatches, by_events) << length;
  }
  EXPECT_EQ(mismatches, 3u);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
}

// Every second of an array of words.
struct Spread {
  std::vector<uint32_t> words;
  ptlx_layout_t layout{copy, this};
  explicit Spread(size_t bytes) : words(bytes / 2, 0xffffffff) {}
  static void copy(const void* context, ptl_size_t offset, ptl_size_t bytes, void* piece, int to_piece) {
    auto* words = reinterpret_cast<char*>(static_cast<Spread*>(const_cast<void*>(context))->words.data());
    for (ptl_size_t i = 0; i < bytes; ++i) {
      char& there = words[(offset + i) / 4 * 8 + (offset + i) % 4];
      char& here = static_cast<char*>(piece)[i];
      (to_piece ? here : there) = to_piece ? there : here;
    }
  }
  bool holds(size_t bytes, uint32_t from) const {
    for (size_t i = 0; i < words.size(); ++i)
      if (words[i] != (i % 2 == 0 && i / 2 < bytes / 4 ? from + static_cast<uint32_t>(i / 2) : 0xffffffff)) return false;
    return true;
  }
};

TEST_F(Extensions, E9DataLieWhereAFunctionPutsThemOrArePackedFirst) {
  for (const size_t bytes : {size_t{8}, size_t{4096}, size_t{100'000}, size_t{1} << 20}) {
    Spread from(bytes), to(bytes), early(bytes), cut(bytes);
    std::vector<uint32_t> packed(bytes / 4);
    for (uint32_t i = 0; i < bytes / 4; ++i) from.words[2 * i] = i + 1;
    const auto bound = [&](void* start, size_t length, unsigned options) {
      ptl_md_t md{start, length, options, eq, PTL_CT_NONE};
      ptl_handle_md_t handle = PTL_INVALID_HANDLE;
      EXPECT_EQ(PtlMDBind(ni, &md, &handle), PTL_OK);
      return handle;
    };
    const ptl_handle_md_t spread = bound(&from.layout, sizeof from.layout, PTLX_MD_LAYOUT), plain = bound(packed.data(), bytes, 0);
    const ptl_handle_ct_t arrived = counter();
    const auto append = [&](void* start, size_t length, ptl_match_bits_t bits, unsigned options) {
      ptl_me_t me = once(start, length, bits, arrived, options);
      ptl_handle_me_t handle;
      EXPECT_EQ(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, nullptr, &handle), PTL_OK);
    };
    const auto put = [&](ptl_handle_md_t md, ptl_match_bits_t bits) {
      EXPECT_EQ(PtlPut(md, 0, bytes, PTL_NO_ACK_REQ, self(), pt, bits, 0, nullptr, 0), PTL_OK);
    };
    append(packed.data(), bytes, 1, 0);
    put(spread, 1);
    wait(arrived, 1);
    EXPECT_TRUE(packed.front() == 1 && packed.back() == bytes / 4) << bytes;
    append(&to.layout, bytes, 2, PTLX_ME_LAYOUT);
    put(plain, 2);
    wait(arrived, 2);
    EXPECT_TRUE(to.holds(bytes, 1)) << bytes;
    append(&early.layout, bytes, 3, PTLX_ME_LAYOUT);
    put(spread, 3);
    wait(arrived, 3);
    EXPECT_TRUE(early.holds(bytes, 1)) << bytes;
    append(&cut.layout, bytes / 2, 4, PTLX_ME_LAYOUT);
    put(spread, 4);
    wait(arrived, 4);
    EXPECT_TRUE(cut.holds(bytes / 2, 1)) << "cut off at " << bytes / 2;
  }
}

TEST_F(Extensions, E9WhatIsNoLayoutIsRefused) {
  Spread room(8);
  ptlx_layout_t empty{};
  ptl_handle_me_t handle;
  const auto append = [&](void* start, unsigned options, ptl_list_t list) {
    ptl_me_t me = once(start, 4, 1, PTL_CT_NONE, PTLX_ME_LAYOUT | options);
    return PtlMEAppend(ni, pt, &me, list, nullptr, &handle);
  };
  EXPECT_EQ(append(nullptr, 0, PTL_PRIORITY_LIST), PTL_ARG_INVALID);
  EXPECT_EQ(append(&empty, 0, PTL_PRIORITY_LIST), PTL_ARG_INVALID);
  EXPECT_EQ(append(&room.layout, PTL_IOVEC, PTL_PRIORITY_LIST), PTL_ARG_INVALID);
  EXPECT_EQ(append(&room.layout, PTL_ME_OP_GET, PTL_PRIORITY_LIST), PTL_ARG_INVALID);
  EXPECT_EQ(append(&room.layout, 0, PTL_OVERFLOW_LIST), PTL_ARG_INVALID);
  ptl_md_t md{&empty, sizeof empty, PTLX_MD_LAYOUT | PTL_IOVEC, PTL_EQ_NONE, PTL_CT_NONE};
  ptl_handle_md_t bound;
  EXPECT_EQ(PtlMDBind(ni, &md, &bound), PTL_ARG_INVALID);
  md.options = PTLX_MD_LAYOUT;
  ASSERT_EQ(PtlMDBind(ni, &md, &bound), PTL_OK);
  EXPECT_EQ(PtlPut(bound, 0, 4, PTL_NO_ACK_REQ, self(), pt, 1, 0, nullptr, 0), PTL_ARG_INVALID) << "no function";
  EXPECT_EQ(PtlPut(bound, 8, 4, PTL_NO_ACK_REQ, self(), pt, 1, 0, nullptr, 0), PTL_ARG_INVALID) << "beyond the descriptor";
  EXPECT_EQ(PtlMDRelease(bound), PTL_OK);
  ASSERT_EQ(append(&room.layout, 0, PTL_PRIORITY_LIST), PTL_OK);
  md = {room.words.data(), 4, 0, eq, PTL_CT_NONE};
  ASSERT_EQ(PtlMDBind(ni, &md, &bound), PTL_OK);
  EXPECT_EQ(PtlAtomic(bound, 0, 4, PTL_ACK_REQ, self(), pt, 1, 0, nullptr, 0, PTL_SUM, PTL_UINT32_T), PTL_OK);
  ptl_event_t event;
  do ASSERT_EQ(PtlEQWait(eq, &event), PTL_OK);
  while (event.type != PTL_EVENT_ACK);
  EXPECT_EQ(event.ni_fail_type, PTL_NI_OP_VIOLATION);
  EXPECT_EQ(PtlMEUnlink(handle), PTL_OK);
}

}  // namespace
}  // namespace portals_test
