// Objects that two threads share: handles, event queues, the command queue, counters.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "engine/core/objects.hpp"
#include "engine/shared/command_queue.hpp"
#include "engine/shared/event_queue.hpp"
#include "engine/shared/slots.hpp"

namespace portunus {
namespace {

TEST(Slots, AStaleHandleFindsNothingAndIsRetiredOnce) {
  Pool<int> pool(HandleKind::counter, 1024);
  const uint32_t index = pool.claim();
  pool.at(index) = 7;
  const uint32_t handle = pool.publish(index);
  ASSERT_NE(pool.find(handle), nullptr);
  EXPECT_TRUE(pool.retire(handle));
  EXPECT_FALSE(pool.retire(handle));
  EXPECT_EQ(pool.find(handle), nullptr);
  pool.give_back(index);
  const uint32_t again = pool.publish(pool.claim());
  EXPECT_NE(again, handle);
  EXPECT_EQ(pool.find(handle), nullptr);
  EXPECT_EQ(pool.find(make_handle(HandleKind::entry, 0, index)), nullptr);
}

TEST(Slots, APoolGivesOutItsCapacityAndThenNothing) {
  Pool<int> pool(HandleKind::entry, 3);
  EXPECT_NE(pool.claim(), kNoIndex);
  EXPECT_NE(pool.claim(), kNoIndex);
  const uint32_t last = pool.claim();
  EXPECT_EQ(pool.claim(), kNoIndex);
  pool.give_back(last);
  EXPECT_EQ(pool.claim(), last);
}

TEST(Slots, NoHandleEqualsAConstantOfTheSpecification) {
  for (auto kind : {HandleKind::event_queue, HandleKind::counter, HandleKind::descriptor, HandleKind::entry}) {
    const uint32_t last = make_handle(kind, kGenerationMask, kIndexMask - 1);
    EXPECT_NE(last, PTL_EQ_NONE);
    EXPECT_NE(last, PTL_CT_NONE);
    EXPECT_NE(last, PTL_INVALID_HANDLE);
  }
}

TEST(Slots, ThreadsClaimAndGiveBackWithoutSharingASlot) {
  Pool<std::atomic<int>> pool(HandleKind::entry, 64);
  auto work = [&] {
    for (int i = 0; i < 20'000; ++i) {
      const uint32_t index = pool.claim();
      if (index == kNoIndex) continue;
      ASSERT_EQ(pool.at(index).fetch_add(1), 0);
      pool.at(index).fetch_sub(1);
      pool.give_back(index);
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
}

struct Queue : ::testing::Test {
  // Zero-valid, as the pool provides it.
  void* memory = std::aligned_alloc(alignof(EventQueue), sizeof(EventQueue));
  EventQueue& queue = *static_cast<EventQueue*>(std::memset(memory, 0, sizeof(EventQueue)));
  ptl_event_t event{};
  void TearDown() override {
    queue.close();
    std::free(memory);
  }
  void post(uint64_t n) {
    ptl_event_t e{};
    e.hdr_data = n;
    queue.post(e);
  }
};

// Pages that this process has reserved, of all it may ever touch.
uint64_t reserved_pages() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

TEST(Pools, WhatNobodyFreedGoesWithThem) {
  constexpr uint64_t kEvents = 4096;
  const auto make_and_leave = [] {
    Objects objects;
    const uint32_t index = objects.queues.claim();
    ASSERT_TRUE(objects.queues.at(index).open(kEvents));
    objects.queues.publish(index);
  };
  make_and_leave();
  const uint64_t before = reserved_pages();
  for (int i = 0; i < 100; ++i) make_and_leave();
  EXPECT_LT(reserved_pages(), before + 100 * kEvents * sizeof(ptl_event_t) / 4096 / 4);
}

TEST_F(Queue, EventsComeInTheOrderOfPosting) {
  queue.open(8);
  EXPECT_EQ(queue.take(event), PTL_EQ_EMPTY);
  for (uint64_t i = 0; i < 8; ++i) post(i);
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(queue.take(event), PTL_OK);
    EXPECT_EQ(event.hdr_data, i);
  }
  EXPECT_EQ(queue.take(event), PTL_EQ_EMPTY);
}

TEST_F(Queue, AFullQueueKeepsTheNewestAndSaysOnceThatSomethingWasLost) {
  queue.open(4);
  for (uint64_t i = 0; i < 200; ++i) post(i);
  EXPECT_EQ(queue.take(event), PTL_EQ_DROPPED);
  EXPECT_EQ(event.hdr_data, 196u);
  for (uint64_t i = 197; i < 200; ++i) {
    EXPECT_EQ(queue.take(event), PTL_OK);
    EXPECT_EQ(event.hdr_data, i);
  }
  EXPECT_EQ(queue.take(event), PTL_EQ_EMPTY);
}

TEST_F(Queue, SeveralAreTakenAtOnceInOrderAndNoMoreThanThereAre) {
  queue.open(8);
  ptl_event_t events[8];
  unsigned taken = 77;
  EXPECT_EQ(queue.take(events, 8, taken), PTL_EQ_EMPTY);
  uint64_t posted = 0, expected = 0;
  for (unsigned batch : {1u, 5u, 8u, 3u, 7u}) {
    for (unsigned i = 0; i < batch; ++i) post(posted++);
    ASSERT_EQ(queue.take(events, 4, taken), PTL_OK);
    EXPECT_EQ(taken, batch < 4 ? batch : 4);
    for (unsigned i = 0; i < taken; ++i) EXPECT_EQ(events[i].hdr_data, expected++);
    while (queue.take(events, 8, taken) == PTL_OK)
      for (unsigned i = 0; i < taken; ++i) EXPECT_EQ(events[i].hdr_data, expected++);
    EXPECT_EQ(expected, posted);
  }
  for (uint64_t i = 0; i < 20; ++i) post(i);
  ASSERT_EQ(queue.take(events, 8, taken), PTL_EQ_DROPPED);
  EXPECT_EQ(taken, 8u);
  EXPECT_EQ(events[0].hdr_data, 12u);
}

TEST_F(Queue, OpenedAgainItIsEmptyAndNoLargerThanAskedFor) {
  queue.open(1000);
  for (uint64_t i = 0; i < 3; ++i) post(i);
  queue.open(2);
  EXPECT_EQ(queue.take(event), PTL_EQ_EMPTY);
  for (uint64_t i = 0; i < 200; ++i) post(i);
  EXPECT_EQ(queue.take(event), PTL_EQ_DROPPED);
  EXPECT_EQ(event.hdr_data, 198u);
  queue.open(5000);
  EXPECT_EQ(queue.take(event), PTL_EQ_EMPTY);
  for (uint64_t i = 0; i < 5000; ++i) post(i);
  for (uint64_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(queue.take(event), PTL_OK);
    ASSERT_EQ(event.hdr_data, i);
  }
}

TEST_F(Queue, AReservedSlotIsOneMoreAndWhatWaitsKeepsItsOrder) {
  queue.open(4);
  for (uint64_t i = 0; i < 6; ++i) post(i);
  EXPECT_EQ(queue.take(event), PTL_EQ_DROPPED);
  EXPECT_EQ(event.hdr_data, 2u);
  post(6);
  EXPECT_EQ(queue.room(), 0u);
  EXPECT_TRUE(queue.full());
  queue.reserve();
  EXPECT_EQ(queue.room(), 0u);
  EXPECT_FALSE(queue.full());
  post(7);
  for (uint64_t i = 3; i < 8; ++i) {
    EXPECT_EQ(queue.take(event), PTL_OK);
    EXPECT_EQ(event.hdr_data, i);
  }
  EXPECT_EQ(queue.take(event), PTL_EQ_EMPTY);
  EXPECT_EQ(queue.room(), 4u);
}

TEST_F(Queue, EachEventGoesToExactlyOneOfSeveralReaders) {
  constexpr uint64_t kEvents = 50'000;
  queue.open(kEvents);
  std::atomic<uint64_t> sum{0}, count{0};
  auto read = [&] {
    ptl_event_t e;
    while (count.load() < kEvents)
      if (queue.take(e) == PTL_OK) {
        sum += e.hdr_data;
        ++count;
      } else {
        std::this_thread::yield();
      }
  };
  std::thread a(read), b(read);
  for (uint64_t i = 0; i < kEvents; ++i) post(i);
  a.join();
  b.join();
  EXPECT_EQ(sum.load(), kEvents * (kEvents - 1) / 2);
}

TEST_F(Queue, TheRingGrowsWithTheEventsThatWaitUpToTheSlotsAskedFor) {
  queue.open(4096);
  uint64_t posted = 0, taken = 0;
  for (uint64_t waiting : {100u, 256u, 257u, 600u, 3u, 4096u}) {  // each time so many more than were taken
    while (posted - taken < waiting) post(posted++);
    for (; posted - taken > waiting / 3; ++taken) {
      ASSERT_EQ(queue.take(event), PTL_OK);
      ASSERT_EQ(event.hdr_data, taken);
    }
  }
  while (posted - taken < 4096) post(posted++);
  EXPECT_TRUE(queue.full());
  post(posted++);
  ASSERT_EQ(queue.take(event), PTL_EQ_DROPPED);
  EXPECT_EQ(event.hdr_data, taken + 1);
}

TEST_F(Queue, AReaderBesideARingThatGrowsLosesNothing) {
  queue.open(1 << 16);
  constexpr uint64_t kEvents = 30'000;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kEvents; ++i) post(i);
  });
  ptl_event_t events[16];
  for (uint64_t i = 0; i < kEvents;) {
    unsigned taken;
    const int code = queue.take(events, 16, taken);
    if (code == PTL_EQ_EMPTY) continue;
    ASSERT_EQ(code, PTL_OK);
    for (unsigned k = 0; k < taken; ++k) ASSERT_EQ(events[k].hdr_data, i++);
  }
  writer.join();
}

TEST_F(Queue, ANewestEventTakenAtOnceIsNoOverrun) {
  // The reader is always level with the writer, so it meets events whose post is not quite finished.
  queue.open(4);
  constexpr uint64_t kEvents = 20'000;
  std::atomic<uint64_t> taken{0};
  std::thread writer([&] {
    for (uint64_t i = 0; i < kEvents; ++i) {
      while (taken.load(std::memory_order_acquire) + 2 < i) std::this_thread::yield();
      post(i);
    }
  });
  unsigned idle = 0;
  for (uint64_t i = 0; i < kEvents;) {
    const int code = queue.take(event);
    if (code == PTL_EQ_EMPTY) {
      if (++idle % 256 == 0) std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(code, PTL_OK);
    ASSERT_EQ(event.hdr_data, i);
    taken.store(++i, std::memory_order_release);
  }
  writer.join();
}

TEST(Commands, FirstInFirstOutAndFullIsAnAnswer) {
  CommandQueue queue(4);
  Command command;
  for (uint64_t i = 0; i < 4; ++i) {
    command.length = i;
    EXPECT_TRUE(queue.push(command));
  }
  EXPECT_FALSE(queue.push(command));
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(queue.pop(command));
    EXPECT_EQ(command.length, i);
  }
  EXPECT_FALSE(queue.pop(command));
  EXPECT_FALSE(queue.maybe_filled());
}

TEST(Commands, EachProducersCommandsKeepTheirOrder) {
  CommandQueue queue(64);
  constexpr uint64_t kEach = 20'000;
  auto produce = [&](uint32_t who) {
    Command command;
    command.handle = who;
    for (command.length = 0; command.length < kEach; ++command.length)
      while (!queue.push(command)) std::this_thread::yield();
  };
  std::thread a(produce, 0), b(produce, 1);
  uint64_t next[2] = {0, 0};
  Command command;
  while (next[0] + next[1] < 2 * kEach) {
    if (!queue.pop(command)) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(command.length, next[command.handle]++);
  }
  a.join();
  b.join();
}

}  // namespace
}  // namespace portunus
