// PEACE between threads: the paper's models of the receiving side (buffers), and sends that do not wait.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "mpi-adi/ipc/peace.h"
#include "tests/mpi-adi/ipc/threads.hpp"

namespace peace_test {
namespace {

// The paper's states: ready means empty, a send passes without the receiver; not ready means full, the next one waits for
// consumption.
TEST_F(Peace, ASingleBufferLetsOneSendPassAndTheNextWaitUntilItWasConsumed) {
  open(1, 64);
  int word = 1, got = 0;
  EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, 0, nullptr), PEACE_OK);
  word = 2;
  EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, 0, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, kMillisecond, nullptr), PEACE_TIMEOUT);
  peace_request_t waits;
  word = 3;
  ASSERT_EQ(peace_isend(here, 1, &word, sizeof word, 0, &waits), PEACE_OK);
  EXPECT_EQ(peace_wait(&waits, 0, nullptr), PEACE_BUSY);
  EXPECT_EQ(receive(&got, sizeof got), PEACE_OK);
  EXPECT_EQ(got, 1);
  EXPECT_EQ(peace_wait(&waits, kPatience, nullptr), PEACE_OK);
  const void* data = nullptr;
  peace_message_t message;
  ASSERT_EQ(peace_borrow(port, kPatience, &data, &message), PEACE_OK);
  EXPECT_EQ(*static_cast<const int*>(data), 3);
  EXPECT_EQ(message.moved, sizeof(int));
  EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, 0, nullptr), PEACE_BUSY);  // borrowed is full
  EXPECT_EQ(peace_give_back(port, data), PEACE_OK);
  EXPECT_EQ(peace_give_back(port, data), PEACE_STATE);
  EXPECT_EQ(peace_send(here, 1, &word, sizeof word, 0, 0, nullptr), PEACE_OK);
  char large[100];
  EXPECT_EQ(receive(&got, sizeof got), PEACE_OK);
  EXPECT_EQ(peace_send(here, 1, large, sizeof large, 0, 0, nullptr), PEACE_CUT);
  EXPECT_EQ(receive(large, sizeof large, &message), PEACE_CUT);
  EXPECT_EQ(message.sent, 100u);
  EXPECT_EQ(message.moved, 64u);
  EXPECT_EQ(receive(&got, sizeof got, nullptr, 0), PEACE_BUSY);
  EXPECT_EQ(receive(&got, sizeof got, nullptr, kMillisecond), PEACE_TIMEOUT);
}

TEST_F(Peace, AQueueKeepsItsOrderAndTakesAsManyAsItHasBuffers) {
  open(3, 8);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(peace_send(here, static_cast<uint32_t>(i), &i, 8, 0, 0, nullptr), PEACE_OK);
  uint64_t word = 9, got = 0;
  EXPECT_EQ(peace_send(here, 9, &word, 8, 0, 0, nullptr), PEACE_BUSY);
  for (uint64_t round = 0; round < 10; ++round) {
    peace_message_t message;
    ASSERT_EQ(receive(&got, 8, &message), PEACE_OK);
    EXPECT_EQ(got, round);
    EXPECT_EQ(message.type, round);
    word = round + 3;
    EXPECT_EQ(peace_send(here, static_cast<uint32_t>(word), &word, 8, 0, 0, nullptr), PEACE_OK);
  }
  EXPECT_EQ(peace_receive(port, {{0, 0, 0}, 1, 0}, &got, 8, 0, nullptr), PEACE_STATE);
}

TEST_F(Peace, ConsumedMeansReceivedAlsoWhereABufferTookTheMessageBefore) {
  open(2, 8);
  std::atomic<bool> received{false};
  bool was_received = false;
  std::thread sender([&] {
    uint64_t word = 7;
    EXPECT_EQ(peace_send(here, 1, &word, 8, PEACE_CONSUMED, PEACE_FOREVER, nullptr), PEACE_OK);
    was_received = received.load();
  });
  int fd;
  ASSERT_EQ(peace_descriptor(port, &fd), PEACE_OK);
  until_readable(fd);
  received.store(true);
  uint64_t got = 0;
  EXPECT_EQ(receive(&got, 8), PEACE_OK);
  sender.join();
  EXPECT_TRUE(was_received);
  uint64_t word = 8;
  EXPECT_EQ(peace_send(here, 1, &word, 8, PEACE_CONSUMED, kMillisecond, nullptr), PEACE_TIMEOUT);
  std::thread other([&] { EXPECT_EQ(peace_send(here, 1, &word, 8, PEACE_CONSUMED, PEACE_FOREVER, nullptr), PEACE_GONE); });
  EXPECT_EQ(receive(&got, 8), PEACE_OK);
  until_readable(fd);
  EXPECT_EQ(peace_close(&port), PEACE_OK);
  other.join();
  open(0, 0);
  std::thread direct([&] { EXPECT_EQ(peace_send(here, 1, &word, 8, PEACE_CONSUMED, PEACE_FOREVER, nullptr), PEACE_OK); });
  EXPECT_EQ(receive(&got, 8), PEACE_OK);
  direct.join();
}

TEST_F(Peace, PostsArriveInOrderAndAreFullAtTheirBound) {
  uint64_t count = 0;
  int code;
  peace_request_t requests[24];
  for (peace_request_t& each : requests) {
    EXPECT_EQ(peace_post(here, 1, &count, sizeof count, &each), PEACE_OK);
    ++count;
  }
  while ((code = peace_post(here, 1, &count, sizeof count, nullptr)) == PEACE_OK) ++count;
  EXPECT_EQ(code, PEACE_FULL);
  EXPECT_EQ(count, 1024u);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t got = ~0ull;
    ASSERT_EQ(receive(&got, sizeof got), PEACE_OK);
    ASSERT_EQ(got, i);
  }
  for (peace_request_t& each : requests) EXPECT_EQ(peace_wait(&each, kPatience, nullptr), PEACE_OK);
  peace_request_t request;
  EXPECT_EQ(peace_post(here, 1, &count, sizeof count, &request), PEACE_OK);
  uint64_t got = 0;
  EXPECT_EQ(receive(&got, sizeof got), PEACE_OK);
  EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_OK);
  std::vector<char> large(8193);
  EXPECT_EQ(peace_post(here, 1, large.data(), large.size(), nullptr), PEACE_ARG);
}

// A thread has one request that nobody counts, and may end before that one is waited for.
TEST_F(Peace, ThreadsThatCameAndWentLeaveRoomForAllBuffers) {
  uint64_t word = 1;
  std::deque<peace_request_t> left;
  const auto end_first = [&] {
    uint64_t got = 0;
    EXPECT_EQ(receive(&got, sizeof got), PEACE_OK);
    EXPECT_EQ(peace_wait(&left.front(), kPatience, nullptr), PEACE_OK);
    left.pop_front();
  };
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      for (int sent = 0; sent < 3; ++sent) EXPECT_EQ(peace_isend(here, 1, &word, sizeof word, 0, &left.emplace_back()), PEACE_OK);
      end_first();
    }).join();
    end_first();
  }
  peace_port_t wide = nullptr, none = nullptr;
  EXPECT_EQ(peace_open(0, 32'768, 8, &wide), PEACE_NO_SPACE) << "some are under way";
  while (!left.empty()) end_first();
  ASSERT_EQ(peace_open(0, 32'768, 8, &wide), PEACE_OK) << peace_explain();
  EXPECT_EQ(peace_open(0, 1, 8, &none), PEACE_NO_SPACE);
  EXPECT_EQ(receive(&word, sizeof word, nullptr, 0), PEACE_BUSY) << "this thread's own";
  EXPECT_EQ(peace_close(&wide), PEACE_OK);
}

}  // namespace
}  // namespace peace_test
