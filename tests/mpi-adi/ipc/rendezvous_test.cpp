// PEACE between threads: the rendezvous itself.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "mpi-adi/ipc/peace.h"
#include "tests/mpi-adi/ipc/threads.hpp"

namespace peace_test {
namespace {

TEST_F(Peace, ASendReturnsOnlyWhenItsReceiveHasTheData) {
  std::atomic<bool> received{false};
  uint64_t word = 4711, got = 0;
  int fd;
  ASSERT_EQ(peace_descriptor(port, &fd), PEACE_OK);
  bool was_received = false;
  std::thread sender([&] {
    size_t moved = 0;
    EXPECT_EQ(peace_send(here, 5, &word, sizeof word, 0, PEACE_FOREVER, &moved), PEACE_OK);
    was_received = received.load();
    EXPECT_EQ(moved, sizeof word);
  });
  until_readable(fd);
  received.store(true);
  peace_message_t message;
  EXPECT_EQ(receive(&got, sizeof got, &message), PEACE_OK);
  sender.join();
  EXPECT_TRUE(was_received);
  EXPECT_EQ(got, 4711u);
  EXPECT_EQ(message.type, 5u);
  EXPECT_EQ(message.sent, 8u);
  EXPECT_EQ(message.moved, 8u);
  EXPECT_EQ(message.from.process, peace_process(-1));
  EXPECT_EQ(message.from.port, here.port);
  EXPECT_EQ(message.from.generation, here.generation);
}

TEST_F(Peace, ReceiveFirstLastOrAtOnceMovesTheSameBytesOfAnyLength) {
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{8}, size_t{1000}, size_t{8192}, size_t{8193}, size_t{1} << 20, (size_t{5} << 20) + 3}) {
    std::vector<unsigned char> out(bytes), in(bytes);
    for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<unsigned char>(i * 7 + (i >> 9));
    for (int round = 0; round < 6; ++round) {
      std::fill(in.begin(), in.end(), 0);
      std::thread sender([&] {
        if (round % 3 == 1) std::this_thread::yield();
        EXPECT_EQ(cs_send(here, 1, out.data(), bytes), PEACE_OK) << peace_explain();
      });
      if (round % 3 == 2) sender.joinable();
      EXPECT_EQ(receive(in.data(), bytes), PEACE_OK) << peace_explain();
      sender.join();
      EXPECT_EQ(in, out);
    }
  }
}

TEST_F(Peace, TheSmallerOfRoomAndMessageIsMovedAndBothSidesKnow) {
  for (const size_t bytes : {size_t{100}, size_t{100'000}}) {
    std::vector<char> out(bytes, 'x'), in(bytes, 'y');
    std::thread sender([&] {
      size_t moved = 0;
      EXPECT_EQ(peace_send(here, 1, out.data(), bytes, 0, PEACE_FOREVER, &moved), PEACE_CUT);
      EXPECT_EQ(moved, bytes / 2);
      EXPECT_STRNE(peace_explain(), "");
      EXPECT_EQ(peace_send(here, 1, out.data(), bytes / 4, 0, PEACE_FOREVER, &moved), PEACE_OK);
    });
    peace_message_t message;
    EXPECT_EQ(receive(in.data(), bytes / 2, &message), PEACE_CUT);
    EXPECT_EQ(message.sent, bytes);
    EXPECT_EQ(message.moved, bytes / 2);
    EXPECT_EQ(in[bytes / 2 - 1], 'x');
    EXPECT_EQ(in[bytes / 2], 'y');
    EXPECT_EQ(receive(in.data(), bytes / 2, &message), PEACE_OK);
    EXPECT_EQ(message.moved, bytes / 4);
    sender.join();
  }
}

TEST_F(Peace, TypesAndProcessesAreChosenByThePatternAndOneSendersMessagesKeepTheirOrder) {
  std::vector<peace_request_t> requests(6);
  std::vector<int> words{0, 1, 2, 3, 4, 5};
  for (int i = 0; i < 6; ++i) ASSERT_EQ(peace_isend(here, i % 2, &words[i], sizeof(int), 0, &requests[i]), PEACE_OK);
  int got = -1;
  peace_pattern_t odd{{peace_process(-1), 0, 0}, 1, 0};
  for (const int expected : {1, 3, 5}) {
    EXPECT_EQ(peace_receive(port, odd, &got, sizeof got, kPatience, nullptr), PEACE_OK);
    EXPECT_EQ(got, expected);
  }
  EXPECT_EQ(peace_receive(port, odd, &got, sizeof got, 0, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_receive(port, odd, &got, sizeof got, kMillisecond, nullptr), PEACE_TIMEOUT);
  for (const int expected : {0, 2, 4}) {
    EXPECT_EQ(receive(&got, sizeof got), PEACE_OK);
    EXPECT_EQ(got, expected);
  }
  for (peace_request_t& request : requests) {
    EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_OK);
    EXPECT_EQ(request, nullptr);
  }
}

TEST_F(Peace, WhatTimedOutOrWasCancelledWasNeverSeen) {
  int word = 1, got = 0;
  EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, 0, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, kMillisecond, nullptr), PEACE_TIMEOUT);
  std::vector<char> bulk(100'000);
  EXPECT_EQ(peace_send(here, 1, bulk.data(), bulk.size(), 0, kMillisecond, nullptr), PEACE_TIMEOUT);
  peace_request_t request;
  ASSERT_EQ(peace_isend(here, 1, &word, sizeof word, 0, &request), PEACE_OK);
  EXPECT_EQ(peace_wait(&request, 0, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_wait(&request, kMillisecond, nullptr), PEACE_TIMEOUT);
  EXPECT_EQ(peace_cancel(request), PEACE_OK);
  EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_CANCELLED);
  EXPECT_EQ(receive(&got, sizeof got, nullptr, 0), PEACE_BUSY);
  ASSERT_EQ(peace_ireceive(port, kAny, &got, sizeof got, &request), PEACE_OK);
  EXPECT_EQ(peace_cancel(request), PEACE_OK);
  EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_CANCELLED);
  // Nobody waits any more, so a try fails; and one that meets a receive does not.
  EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, 0, nullptr), PEACE_BUSY);
  ASSERT_EQ(peace_ireceive(port, kAny, &got, sizeof got, &request), PEACE_OK);
  EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, 0, nullptr), PEACE_OK);
  EXPECT_EQ(peace_cancel(request), PEACE_OK);
  EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_OK);
  EXPECT_EQ(got, 1);
}

TEST_F(Peace, ClosingAPortTellsAllWhoWaitThereAndItsNumberServesAgain) {
  peace_port_t second;
  ASSERT_EQ(peace_open(77, 0, 0, &second), PEACE_OK);
  peace_address_t address, again;
  ASSERT_EQ(peace_address(second, &address), PEACE_OK);
  peace_port_t twice;
  EXPECT_EQ(peace_open(77, 0, 0, &twice), PEACE_STATE);
  EXPECT_EQ(peace_find(peace_process(-1), 77, 0, &again), PEACE_OK);
  EXPECT_EQ(again.generation, address.generation);
  int word = 1;
  peace_request_t sends, receives;
  ASSERT_EQ(peace_isend(address, 1, &word, sizeof word, 0, &sends), PEACE_OK);
  ASSERT_EQ(peace_ireceive(second, {{0, 0, 0}, 2, 0}, &word, sizeof word, &receives), PEACE_OK);
  const peace_port_t stale = second;
  EXPECT_EQ(peace_close(&second), PEACE_OK);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(peace_wait(&sends, kPatience, nullptr), PEACE_GONE);
  EXPECT_EQ(peace_wait(&receives, kPatience, nullptr), PEACE_GONE);
  EXPECT_EQ(peace_send(address, 1, &word, sizeof word, 0, PEACE_FOREVER, nullptr), PEACE_GONE);
  EXPECT_EQ(peace_send(address, 1, &word, sizeof word, 0, 0, nullptr), PEACE_GONE);
  EXPECT_EQ(peace_find(peace_process(-1), 77, 0, &again), PEACE_BUSY);
  EXPECT_EQ(peace_find(peace_process(-1), 77, kMillisecond, &again), PEACE_TIMEOUT);
  EXPECT_EQ(peace_receive(stale, kAny, &word, sizeof word, 0, nullptr), PEACE_STATE);
  std::thread opener([&] { EXPECT_EQ(peace_open(77, 0, 0, &second), PEACE_OK); });
  EXPECT_EQ(peace_find(peace_process(-1), 77, kPatience, &again), PEACE_OK);
  opener.join();
  EXPECT_NE(again.generation, address.generation);
  EXPECT_EQ(peace_send(address, 1, &word, sizeof word, 0, PEACE_FOREVER, nullptr), PEACE_GONE);
  EXPECT_EQ(peace_close(&second), PEACE_OK);
}

TEST_F(Peace, SeveralThreadsReceiveAtOnePortAndEachMessageIsHadOnce) {
  constexpr int kThreads = 4, kEach = 200;
  std::atomic<int> sum{0};
  std::vector<std::thread> all;
  for (int t = 0; t < kThreads; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        int got = 0;
        EXPECT_EQ(receive(&got, sizeof got), PEACE_OK);
        sum += got;
      }
    });
    all.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const int word = t * kEach + i;
        EXPECT_EQ(cs_send(here, 1, &word, sizeof word), PEACE_OK);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(sum.load(), kThreads * kEach * (kThreads * kEach - 1) / 2);
}

}  // namespace
}  // namespace peace_test
