// Extensions E1 to E13, each beside what a program has to do with plain Portals 4.3 instead. Most of it is local.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/portals/extensions.hpp"

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
  ptl_me_t hold{};
  hold.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE;
  hold.uid = PTL_UID_ANY;
  hold.ct_handle = PTL_CT_NONE;
  hold.match_id.rank = PTL_RANK_ANY;
  hold.ignore_bits = ~uint64_t{0};
  ptl_handle_me_t handle;
  EXPECT_EQ(PtlMEAppend(ni, pt, &hold, PTL_OVERFLOW_LIST, nullptr, &handle), PTL_OK);
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
  ptl_me_t hold{};
  hold.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE;
  hold.uid = PTL_UID_ANY;
  hold.ct_handle = PTL_CT_NONE;
  hold.match_id.rank = PTL_RANK_ANY;
  hold.ignore_bits = ~uint64_t{0};
  ptl_handle_me_t handle;
  EXPECT_EQ(PtlMEAppend(ni, pt, &hold, PTL_OVERFLOW_LIST, nullptr, &handle), PTL_OK);
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
  ptl_me_t hold{};
  hold.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM;
  hold.uid = PTL_UID_ANY;
  hold.ct_handle = held;
  hold.match_id.rank = PTL_RANK_ANY;
  hold.ignore_bits = ~uint64_t{0};
  ptl_handle_me_t handle;
  EXPECT_EQ(PtlMEAppend(ni, pt, &hold, PTL_OVERFLOW_LIST, nullptr, &handle), PTL_OK);
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

TEST_F(Extensions, E4AWordInMemoryTellsTheEndAndWakesOrACounterIsAsked) {
  static uint64_t word;
  word = 0;
  const int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ASSERT_GE(descriptor, 0);
  const ptl_handle_ct_t trigger = counter();
  EXPECT_EQ(PtlxTriggeredNotify(ni, &word, descriptor, PTLX_NOTIFY_FUTEX, trigger, 2), PTL_OK);
  EXPECT_EQ(PtlxTriggeredNotify(ni, reinterpret_cast<uint64_t*>(1), -1, 0, trigger, 2), PTL_ARG_INVALID);
  EXPECT_EQ(PtlxTriggeredNotify(ni, &word, -1, 8, trigger, 2), PTL_ARG_INVALID);
  add(trigger, 1);
  EXPECT_EQ(word, 0u);
  add(trigger, 1);
  PtlxWait([](void* at) { return static_cast<int>(std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(at)).load()); }, &word, 0,
           PTL_TIME_FOREVER);
  EXPECT_EQ(word, 1u);
  pollfd readable{descriptor, POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 10'000), 1);
  uint64_t told = 0;
  EXPECT_EQ(read(descriptor, &told, sizeof told), 8);
  EXPECT_EQ(told, 1u);
  close(descriptor);
  // Plain: the counter itself.
  wait(trigger, 2);
}

TEST_F(Extensions, AStoreByAnotherThreadRingsWhoSleepsUntilMemoryChanges) {
  constexpr uint32_t kBit = 4;
  ptlx_watch_t watch{};
  EXPECT_EQ(PtlxNodeWatch(ni, self(), nullptr), PTL_ARG_INVALID);
  ASSERT_EQ(PtlxNodeWatch(ni, self(), &watch), PTL_OK);
  const std::atomic_ref<uint32_t> watched(*watch.watched);
  static uint64_t word;
  for (uint64_t round = 1; round <= 5; ++round) {
    word = 0;
    std::thread sleeper([] {
      PtlxWait([](void* at) { return static_cast<int>(std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(at)).load()); }, &word, kBit,
               PTL_TIME_FOREVER);
    });
    // Nobody sets a bit where the kernel has no membarrier; the sleeper looks by itself.
    for (int i = 0; i < 1'000'000 && !(watched.load() & kBit); ++i) sched_yield();
    std::atomic_ref<uint64_t>(word).store(1);
    if (watched.load() & kBit) PtlxNodeRing(&watch);
    sleeper.join();
  }
}

// A poller of this process: it stays registered until the last PtlFini.
struct Polled {
  uint32_t pending = 0;
  uint64_t there = 0, found = 0;
  int looks = 0;
  bool waits_itself = false;
  ptlx_poller_t poller{[](void* arg) { return static_cast<Polled*>(arg)->look(); }, this, &pending, 8};

  int look() {
    ++looks;
    // A wait within a poller looks at none.
    if (waits_itself) PtlxWait([](void*) { return 0; }, nullptr, 0, 1);
    if (std::atomic_ref<uint64_t>(there).exchange(0) == 0) return 0;
    std::atomic_ref<uint64_t>(found).fetch_add(1);
    return 1;
  }
};
Polled& polled() {
  static auto& one = *new Polled;
  return one;
}

TEST_F(Extensions, ALimitThatCountsFromSleepIsALimit) {
  const ptl_handle_ct_t never = counter();
  const ptl_size_t one = 1;
  ptl_ct_event_t value;
  unsigned which;
  ptl_event_t event;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(PtlCTPoll(&never, &one, 1, PTLX_TIME_ASLEEP(30), &value, &which), PTL_CT_NONE_REACHED);
  EXPECT_EQ(PtlEQPoll(&eq, 1, PTLX_TIME_ASLEEP(0), &event, &which), PTL_EQ_EMPTY);
  EXPECT_EQ(PtlxWait([](void*) { return 0; }, nullptr, 0, PTLX_TIME_ASLEEP(30)), PTL_CT_NONE_REACHED);
  EXPECT_EQ(PtlxWait([](void*) { return 0; }, nullptr, 1u << 20, PTLX_TIME_ASLEEP(30)), PTL_CT_NONE_REACHED);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(90));
  EXPECT_EQ(PtlCTInc(never, {1, 0}), PTL_OK);
  EXPECT_EQ(PtlCTPoll(&never, &one, 1, PTLX_TIME_ASLEEP(30), &value, &which), PTL_OK);
  fence();
}

TEST_F(Extensions, WhatAnEntryMatchesIsToldOrRemembered) {
  ptl_match_bits_t bits = 0, ignored = 0;
  const ptl_handle_me_t me = entry(nullptr, 0, PTL_ME_OP_PUT, PTL_CT_NONE, 0xabcd, 0xff);
  EXPECT_EQ(PtlxMEGet(me, &bits, &ignored), PTL_OK);
  EXPECT_EQ(bits, 0xabcdu);
  EXPECT_EQ(ignored, 0xffu);
  EXPECT_EQ(PtlMEUnlink(me), PTL_OK);
  EXPECT_EQ(PtlxMEGet(me, &bits, &ignored), PTL_ARG_INVALID);
}

// A stepper, which stays until the end of the process.
struct Stepped {
  uint32_t pending = 0;
  std::atomic<int> steps{0}, last{0};
  ptlx_stepper_t stepper{[](void* self, void* item) {
                           auto& mine = *static_cast<Stepped*>(self);
                           ++mine.steps;
                           if (item != nullptr) mine.last = *static_cast<int*>(item);
                           return 0;
                         },
                         [](void*) { return 0; }, this, &pending};
};

TEST_F(Extensions, AStepperRunsInTheStepsOfTheEngineWhileItIsPending) {
  static Stepped one, another;
  int item = 7;
  ASSERT_EQ(PtlxStepperRun(&one.stepper, &item), PTL_OK);
  EXPECT_EQ(one.last, 7);
  EXPECT_EQ(PtlxStepperRun(&another.stepper, &item), PTL_NO_SPACE);
  EXPECT_EQ(another.steps, 0);
  const int idle = one.steps;
  PtlxProgress();
  EXPECT_EQ(one.steps, idle);
  std::atomic_ref<uint32_t>(one.pending).store(1);
  const auto stepped = [](void* at) -> int { return static_cast<Stepped*>(at)->steps > 3; };
  EXPECT_EQ(PtlxWait(stepped, &one, 0, PTL_TIME_FOREVER), PTL_OK);
  std::atomic_ref<uint32_t>(one.pending).store(0);
}

TEST_F(Extensions, ATriggeredOperationWaitsForAWordOfMemory) {
  static uint32_t word;
  word = 1;
  const ptl_handle_ct_t trigger = counter(), done = counter();
  uint32_t value = 5;
  ASSERT_EQ(PtlxTriggeredAwait(ni, &word, PTL_UINT32_T, PTLX_GREATER_EQUAL, &value, 1, done, trigger, 1), PTL_OK);
  value = 0;  // it was read
  ASSERT_EQ(PtlCTInc(trigger, {1, 0}), PTL_OK);
  ptl_ct_event_t event;
  unsigned which;
  const ptl_size_t reached = 1;
  EXPECT_EQ(PtlCTPoll(&done, &reached, 1, 1, &event, &which), PTL_CT_NONE_REACHED);
  std::atomic_ref(word).store(7);  // nobody rings: whoever sleeps looks by itself
  EXPECT_EQ(PtlCTWait(done, 1, &event), PTL_OK);
  EXPECT_EQ(event.success, 1u);
}

TEST_F(Extensions, ATriggeredOperationCallsAFunction) {
  static int calls;
  const ptl_handle_ct_t trigger = counter(), done = counter();
  const auto work = [](void* argument) {
    ++calls;
    return argument == &calls ? 0 : 1;
  };
  ASSERT_EQ(PtlxTriggeredCall(ni, work, &calls, done, trigger, 1), PTL_OK);
  ASSERT_EQ(PtlxTriggeredCall(ni, work, nullptr, done, trigger, 1), PTL_OK);
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(PtlCTInc(trigger, {1, 0}), PTL_OK);
  ptl_ct_event_t event;
  EXPECT_EQ(PtlCTWait(done, 2, &event), PTL_OK);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(event.success, 1u);
  EXPECT_EQ(event.failure, 1u);
}

TEST_F(Extensions, WhoWaitsLooksAtPollersThatArePending) {
  Polled& one = polled();
  ASSERT_EQ(PtlxPollerAdd(&one.poller), PTL_OK);
  ASSERT_EQ(PtlxPollerAdd(&one.poller), PTL_OK);
  const ptl_handle_ct_t never = counter();
  const ptl_size_t reached = 1;
  ptl_ct_event_t event;
  unsigned which;
  const auto look_once = [&] { EXPECT_EQ(PtlCTPoll(&never, &reached, 1, 0, &event, &which), PTL_CT_NONE_REACHED); };
  one.there = 1, one.found = 0, one.looks = 0;
  look_once();
  EXPECT_EQ(one.looks, 0);  // nothing is pending
  std::atomic_ref<uint32_t>(one.pending).store(1);
  look_once();
  EXPECT_EQ(one.found, 1u);
  one.there = 1;
  PtlxProgress();
  EXPECT_EQ(one.found, 2u);
  one.waits_itself = true;
  const int before = one.looks;
  look_once();
  EXPECT_EQ(one.looks, before + 1);
  one.waits_itself = false;

  // A store by another thread, rung by the poller's bit, wakes who waits for what the poller does with it; so does another thread's look.
  ptlx_watch_t watch{};
  ASSERT_EQ(PtlxNodeWatch(ni, self(), &watch), PTL_OK);
  const std::atomic_ref<uint32_t> watched(*watch.watched);
  for (uint64_t round = 0; round < 8; ++round) {
    one.found = 0;
    std::thread waiter([] {
      PtlxWait([](void* at) { return static_cast<int>(std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(at)).load()); }, &polled().found, 0,
               PTL_TIME_FOREVER);
    });
    for (int i = 0; i < 1'000'000 && round % 4 < 2 && !(watched.load() & one.poller.watched); ++i) sched_yield();
    std::atomic_ref<uint64_t>(one.there).store(1);
    if (round % 2 == 0) {
      if (watched.load() & one.poller.watched) PtlxNodeRing(&watch);
    } else {
      PtlxProgress();
    }
    waiter.join();
  }
  std::atomic_ref<uint32_t>(one.pending).store(0);
}

TEST(Accessible, AllBytesCanBeReadOrWrittenWhateverTheLength) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const size_t pages : {size_t{4}, (4u << 20) / page}) {  // brought into memory, and looked up
    const size_t bytes = pages * page;
    auto* const memory = static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void*>(memory), MAP_FAILED);
    EXPECT_EQ(PtlxAccessible(memory, bytes, 1), 1);
    EXPECT_EQ(PtlxAccessible(memory + 1, 0, 1), 1);
    ASSERT_EQ(mprotect(memory + bytes - page, page, PROT_READ), 0);
    EXPECT_EQ(PtlxAccessible(memory, bytes, 1), 0);
    EXPECT_EQ(PtlxAccessible(memory, bytes - page, 1), 1);
    EXPECT_EQ(PtlxAccessible(memory, bytes, 0), 1);
    ASSERT_EQ(munmap(memory + page, page), 0);
    EXPECT_EQ(PtlxAccessible(memory, bytes, 0), 0);
    EXPECT_EQ(PtlxAccessible(memory, page, 0), 1);
    munmap(memory, bytes);
    EXPECT_EQ(PtlxAccessible(memory, page, 0), 0);
  }
  EXPECT_EQ(PtlxAccessible(nullptr, 1, 0), 0);
  EXPECT_EQ(PtlxAccessible(reinterpret_cast<void*>(UINTPTR_MAX - 8), 64, 0), 0);
  EXPECT_EQ(PtlxAccessible(&errno, PTL_SIZE_MAX, 0), 0);
}

TEST(Debug, HasTheKeysOfItsVariable) {
  const char* const before = std::getenv("PTL_DEBUG");
  const std::string kept = before ? before : "";
  const auto has = [](const char* text, const char* key) {
    setenv("PTL_DEBUG", text, 1);
    return PtlxDebug(key) != 0;
  };
  for (const char* none : {"", "0", "leaks", "buffers,leaks"}) EXPECT_FALSE(has(none, "calls")) << none;
  for (const char* all : {"calls", "calls,leaks", "leaks,calls", "call"}) EXPECT_TRUE(has(all, "calls")) << all;
  EXPECT_TRUE(has("1", "arguments") && has("1", "buffers"));
  EXPECT_FALSE(has("1", "calls") || has("1", "leaks"));
  EXPECT_TRUE(has("no-cma,1", "arguments") && has("1,no-cma", "no-cma"));
  EXPECT_FALSE(has("very-short=64", "calls"));
  EXPECT_TRUE(has("very-short", "calls") && has("very-short=0", "calls") && has("calls=1", "leaks")) << "words that are no keys";
  setenv("PTL_DEBUG", "leaks,very-short=64", 1);
  EXPECT_EQ(PtlxDebug("very-short"), 64);
  EXPECT_EQ(PtlxDebug(nullptr), 0);
  unsetenv("PTL_DEBUG");
  EXPECT_EQ(PtlxDebug("arguments"), 0);
  if (before) setenv("PTL_DEBUG", kept.c_str(), 1);
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
