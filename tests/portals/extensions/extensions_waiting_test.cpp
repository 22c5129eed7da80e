// Extensions by which threads wait: a word in memory, a limit that counts from sleep, pollers and steppers, operations that a word or a
// function stands in for (E4 and what has no number); and what tells a program of memory and of debugging keys.
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

#include "tests/portals/extensions/extensions.hpp"

namespace portals_test {
namespace {

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

}  // namespace
}  // namespace portals_test
