// PEACE within one process: its threads are the tasks. What does not depend on where the peer is.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "mpi-adi/ipc/peace.h"
#include "portals/portals4.h"

namespace {

constexpr peace_pattern_t kAny{{0, 0, 0}, 0, ~0u};
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kPatience = 20'000 * kMillisecond;  // only a failing test waits that long

struct Peace : ::testing::Test {
  peace_port_t port = nullptr;
  peace_address_t here{};
  void SetUp() override {
    ASSERT_EQ(peace_init(), PEACE_OK) << peace_explain();
    open(0, 0);
  }
  void TearDown() override {
    if (port) {
      EXPECT_EQ(peace_close(&port), PEACE_OK);
    }
    EXPECT_EQ(peace_fini(), PEACE_OK);
  }
  void open(uint32_t buffers, size_t bytes) {
    if (port) {
      ASSERT_EQ(peace_close(&port), PEACE_OK);
    }
    ASSERT_EQ(peace_open(0, buffers, bytes, &port), PEACE_OK) << peace_explain();
    ASSERT_EQ(peace_address(port, &here), PEACE_OK);
  }
  int receive(void* memory, size_t bytes, peace_message_t* message = nullptr, int64_t limit = kPatience) {
    return peace_receive(port, kAny, memory, bytes, limit, message);
  }
  static void until(const std::atomic<bool>& flag) {
    while (!flag.load()) std::this_thread::yield();
  }
  // Until a message is held at the port: a look that takes nothing.
  void until_readable(int fd) {
    pollfd wanted{fd, POLLIN, 0};
    ASSERT_EQ(poll(&wanted, 1, 20'000), 1);
  }
};

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
  while ((code = peace_post(here, 1, &count, sizeof count, nullptr)) == PEACE_OK) ++count;
  EXPECT_EQ(code, PEACE_FULL);
  EXPECT_EQ(count, 1024u);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t got = ~0ull;
    ASSERT_EQ(receive(&got, sizeof got), PEACE_OK);
    ASSERT_EQ(got, i);
  }
  peace_request_t request;
  EXPECT_EQ(peace_post(here, 1, &count, sizeof count, &request), PEACE_OK);
  uint64_t got = 0;
  EXPECT_EQ(receive(&got, sizeof got), PEACE_OK);
  EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_OK);
  std::vector<char> large(8193);
  EXPECT_EQ(peace_post(here, 1, large.data(), large.size(), nullptr), PEACE_ARG);
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

// ---- services ----

TEST_F(Peace, ACallBringsItsDataAndTakesTheAnswerOfAnyLength) {
  constexpr size_t kLong = 300'000;
  for (const size_t bytes : {size_t{0}, size_t{8}, size_t{1024}, size_t{1025}, kLong}) {
    std::vector<unsigned char> out(bytes), in(bytes + 1, 0xee);
    std::iota(out.begin(), out.end(), 3);
    std::thread server([&] {
      peace_task_t task;
      peace_message_t message;
      ASSERT_EQ(peace_accept(port, kAny, kPatience, &task, &message), PEACE_OK);
      EXPECT_EQ(message.type, 9u);
      EXPECT_EQ(message.sent, bytes);
      std::vector<unsigned char> data(bytes);
      EXPECT_EQ(peace_movefrom(task, 0, data.data(), bytes), PEACE_OK) << peace_explain();
      EXPECT_EQ(data, out);
      EXPECT_EQ(peace_movefrom(task, 1, data.data(), bytes), PEACE_ARG);
      if (bytes <= 1024) {
        EXPECT_NE(peace_look(task), nullptr);
        if (bytes > 0) {
          EXPECT_EQ(std::memcmp(peace_look(task), out.data(), bytes), 0);
        }
      }
      EXPECT_EQ(peace_cancelled(task), 0);
      for (unsigned char& byte : data) byte = static_cast<unsigned char>(byte + 1);
      peace_task_t twice = task;
      EXPECT_EQ(peace_reply(&task, 10, data.data(), bytes), PEACE_OK) << peace_explain();
      EXPECT_EQ(peace_reply(&twice, 10, data.data(), bytes), PEACE_STATE);
    });
    peace_message_t reply;
    EXPECT_EQ(peace_call(here, 9, out.data(), bytes, in.data(), in.size(), kPatience, &reply), PEACE_OK) << peace_explain();
    EXPECT_EQ(reply.type, 10u);
    EXPECT_EQ(reply.sent, bytes);
    EXPECT_EQ(reply.moved, bytes);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(in[i], static_cast<unsigned char>(out[i] + 1));
    EXPECT_EQ(in[bytes], 0xee);
    server.join();
  }
}

TEST_F(Peace, AnAnswerLiesOverWhatWasMovedBeforeAndIsCutToTheRoom) {
  for (const size_t room : {size_t{100}, size_t{5000}}) {
    std::thread server([&] {
      peace_task_t task;
      ASSERT_EQ(peace_accept(port, kAny, kPatience, &task, nullptr), PEACE_OK);
      const std::vector<char> pieces(room, 'p'), answer(2 * room, 'a');
      EXPECT_EQ(peace_moveto(task, 0, pieces.data(), room), PEACE_OK);
      EXPECT_EQ(peace_moveto(task, 1, pieces.data(), room), PEACE_ARG);
      EXPECT_EQ(peace_reply(&task, 1, answer.data(), room / 2), PEACE_OK);
      ASSERT_EQ(peace_accept(port, kAny, kPatience, &task, nullptr), PEACE_OK);
      EXPECT_EQ(peace_reply(&task, 1, answer.data(), 2 * room), PEACE_OK);
    });
    std::vector<char> in(room);
    peace_message_t reply;
    EXPECT_EQ(peace_call(here, 1, nullptr, 0, in.data(), room, kPatience, &reply), PEACE_OK);
    EXPECT_EQ(reply.sent, room / 2);
    EXPECT_EQ(in[0], 'a');
    EXPECT_EQ(in[room / 2 - 1], 'a');
    EXPECT_EQ(in[room - 1], 'p');
    EXPECT_EQ(peace_call(here, 1, nullptr, 0, in.data(), room, kPatience, &reply), PEACE_CUT);
    EXPECT_EQ(reply.sent, 2 * room);
    EXPECT_EQ(reply.moved, room);
    server.join();
  }
}

TEST_F(Peace, ACallThatTimedOutFreesItsMemoryAndTheServerLearnsSo) {
  std::vector<char> out(100'000, 'o'), in(100'000);
  peace_message_t reply;
  EXPECT_EQ(peace_call(here, 1, out.data(), out.size(), in.data(), in.size(), 0, &reply), PEACE_BUSY);
  EXPECT_EQ(peace_call(here, 1, out.data(), out.size(), in.data(), in.size(), kMillisecond, &reply), PEACE_TIMEOUT);
  peace_task_t task;
  EXPECT_EQ(peace_accept(port, kAny, 0, &task, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_accept(port, kAny, kMillisecond, &task, nullptr), PEACE_TIMEOUT);
  std::atomic<bool> accepted{false}, given_up{false};
  std::thread server([&] {
    ASSERT_EQ(peace_accept(port, kAny, kPatience, &task, nullptr), PEACE_OK);
    accepted.store(true);
    until(given_up);
    EXPECT_EQ(peace_cancelled(task), 1);
    char byte;
    EXPECT_EQ(peace_movefrom(task, 0, &byte, 1), PEACE_GONE);
    EXPECT_EQ(peace_moveto(task, 0, &byte, 1), PEACE_GONE);
    const std::vector<char> answer(20'000);
    EXPECT_EQ(peace_reply(&task, 1, answer.data(), answer.size()), PEACE_GONE);
  });
  int code;
  do code = peace_call(here, 1, out.data(), out.size(), in.data(), in.size(), 5 * kMillisecond, &reply);
  while (code == PEACE_TIMEOUT && !accepted.load());
  EXPECT_EQ(code, PEACE_TIMEOUT);
  given_up.store(true);
  server.join();
}

// ---- alternatives ----

TEST_F(Peace, ASelectTakesExactlyOneInTheListedOrderOrInTurn) {
  peace_port_t ports[3] = {port, nullptr, nullptr};
  peace_address_t addresses[3] = {here, {}, {}};
  ASSERT_EQ(peace_open(0, 0, 0, &ports[1]), PEACE_OK);
  ASSERT_EQ(peace_open(0, 2, 8, &ports[2]), PEACE_OK);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(peace_address(ports[i], &addresses[i]), PEACE_OK);
  uint64_t rooms[3] = {};
  peace_alternative_t from[3];
  for (int i = 0; i < 3; ++i) from[i] = {ports[i], kAny, &rooms[i], 8, 1};
  int chosen = 7;
  peace_message_t message;
  EXPECT_EQ(peace_select(from, 3, nullptr, 0, 0, &chosen, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_select(from, 3, nullptr, 0, kMillisecond, &chosen, nullptr), PEACE_TIMEOUT);
  uint64_t words[4] = {10, 11, 12, 13};
  peace_request_t requests[4];
  for (int i : {2, 1, 0}) ASSERT_EQ(peace_isend(addresses[i], 5, &words[i], 8, 0, &requests[i]), PEACE_OK);
  ASSERT_EQ(peace_isend(addresses[0], 5, &words[3], 8, 0, &requests[3]), PEACE_OK);
  for (peace_port_t each : ports) {  // where the engine's thread alone steps, what was issued has not arrived yet
    int fd = -1;
    ASSERT_EQ(peace_descriptor(each, &fd), PEACE_OK);
    pollfd arrived{fd, POLLIN, 0};
    ASSERT_EQ(poll(&arrived, 1, 20'000), 1);
  }
  EXPECT_EQ(peace_select(from, 3, nullptr, 0, kPatience, &chosen, &message), PEACE_OK);
  EXPECT_EQ(chosen, 0);
  EXPECT_EQ(rooms[0], 10u);
  EXPECT_EQ(message.type, 5u);
  EXPECT_EQ(peace_wait(&requests[0], kPatience, nullptr), PEACE_OK);
  EXPECT_EQ(peace_wait(&requests[1], 0, nullptr), PEACE_BUSY);  // one was released, no more
  EXPECT_EQ(peace_wait(&requests[3], 0, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_select(from, 3, nullptr, PEACE_ROTATE, kPatience, &chosen, &message), PEACE_OK);
  EXPECT_EQ(chosen, 1);
  EXPECT_EQ(peace_select(from, 3, nullptr, PEACE_ROTATE, kPatience, &chosen, &message), PEACE_OK);
  EXPECT_EQ(chosen, 2);
  EXPECT_EQ(rooms[2], 12u);
  EXPECT_EQ(peace_select(from, 3, nullptr, PEACE_ROTATE, kPatience, &chosen, &message), PEACE_OK);
  EXPECT_EQ(chosen, 0);
  EXPECT_EQ(rooms[0], 13u);
  for (peace_request_t& request : requests)
    if (request) {
      EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_OK);
    }
  // It waits for any of them.
  for (int i = 0; i < 3; ++i) {
    std::thread sender([&] { EXPECT_EQ(cs_send(addresses[i], 5, &words[i], 8), PEACE_OK); });
    EXPECT_EQ(peace_select(from, 3, nullptr, 0, kPatience, &chosen, &message), PEACE_OK) << peace_explain();
    EXPECT_EQ(chosen, i);
    EXPECT_EQ(rooms[i], words[i]);
    sender.join();
  }
  for (peace_alternative_t& each : from) each.enabled = 0;
  EXPECT_EQ(peace_select(from, 3, nullptr, 0, 0, &chosen, nullptr), PEACE_STATE);
  EXPECT_EQ(peace_close(&ports[1]), PEACE_OK);
  EXPECT_EQ(peace_close(&ports[2]), PEACE_OK);
}

TEST_F(Peace, AnOfferIsTakenOrWithdrawnAndThenAnArrivalChosen) {
  peace_port_t other;
  ASSERT_EQ(peace_open(0, 0, 0, &other), PEACE_OK);
  peace_address_t there;
  ASSERT_EQ(peace_address(other, &there), PEACE_OK);
  uint64_t word = 1, room = 0, got = 0;
  const peace_alternative_t from{port, kAny, &room, 8, 1};
  const peace_offer_t offer{there, 3, &word, 8, 1};
  int chosen = 7;
  EXPECT_EQ(peace_select(&from, 1, &offer, 0, 0, &chosen, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_select(&from, 1, &offer, 0, kMillisecond, &chosen, nullptr), PEACE_TIMEOUT);
  EXPECT_EQ(peace_receive(other, kAny, &got, 8, 0, nullptr), PEACE_BUSY);
  std::thread taker([&] { EXPECT_EQ(peace_receive(other, kAny, &got, 8, kPatience, nullptr), PEACE_OK); });
  EXPECT_EQ(peace_select(&from, 1, &offer, 0, kPatience, &chosen, nullptr), PEACE_OK);
  EXPECT_EQ(chosen, -1);
  taker.join();
  EXPECT_EQ(got, 1u);
  uint64_t five = 5;
  std::thread sender([&] { EXPECT_EQ(cs_send(here, 1, &five, 8), PEACE_OK); });
  EXPECT_EQ(peace_select(&from, 1, &offer, 0, kPatience, &chosen, nullptr), PEACE_OK);
  EXPECT_EQ(chosen, 0);
  EXPECT_EQ(room, 5u);
  sender.join();
  EXPECT_EQ(peace_receive(other, kAny, &got, 8, 0, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_close(&other), PEACE_OK);
  EXPECT_EQ(peace_select(&from, 1, &offer, 0, kPatience, &chosen, nullptr), PEACE_GONE);
  EXPECT_EQ(chosen, -1);
}

// Two that offer to each other: one sends, the other receives.
TEST_F(Peace, TwoSelectsThatOfferToEachOtherMeet) {
  peace_port_t ports[2] = {port, nullptr};
  peace_address_t addresses[2] = {here, {}};
  ASSERT_EQ(peace_open(0, 0, 0, &ports[1]), PEACE_OK);
  ASSERT_EQ(peace_address(ports[1], &addresses[1]), PEACE_OK);
  std::atomic<int> sent{0}, received{0};
  const auto run = [&](int me) {
    for (int i = 0; i < 50; ++i) {
      uint64_t word = static_cast<uint64_t>(me), room = 9;
      const peace_alternative_t from{ports[me], kAny, &room, 8, 1};
      const peace_offer_t offer{addresses[1 - me], 3, &word, 8, 1};
      int chosen = 7;
      ASSERT_EQ(peace_select(&from, 1, &offer, 0, kPatience, &chosen, nullptr), PEACE_OK) << peace_explain();
      if (chosen == -1) {
        ++sent;
      } else {
        ++received;
        EXPECT_EQ(room, static_cast<uint64_t>(1 - me));
      }
    }
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  EXPECT_EQ(sent.load(), 50);
  EXPECT_EQ(received.load(), 50);
  EXPECT_EQ(peace_close(&ports[1]), PEACE_OK);
}

TEST_F(Peace, ADescriptorIsReadableWhileAReceiveWouldNotWait) {
  int fd = -1;
  ASSERT_EQ(peace_descriptor(port, &fd), PEACE_OK);
  const auto readable = [&](int patience) {
    pollfd wanted{fd, POLLIN, 0};
    return poll(&wanted, 1, patience) == 1;
  };
  EXPECT_FALSE(readable(0));
  uint64_t words[2] = {1, 2}, got;
  peace_request_t requests[2];
  for (int i = 0; i < 2; ++i) ASSERT_EQ(peace_isend(here, 1, &words[i], 8, 0, &requests[i]), PEACE_OK);
  EXPECT_TRUE(readable(20'000));
  EXPECT_EQ(receive(&got, 8), PEACE_OK);
  EXPECT_TRUE(readable(20'000));
  EXPECT_EQ(receive(&got, 8), PEACE_OK);
  EXPECT_FALSE(readable(0));
  for (peace_request_t& request : requests) EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_OK);
  // A sender that gives up leaves it readable in vain; one look makes it true again.
  ASSERT_EQ(peace_isend(here, 1, &words[0], 8, 0, &requests[0]), PEACE_OK);
  EXPECT_TRUE(readable(20'000));
  EXPECT_EQ(peace_cancel(requests[0]), PEACE_OK);
  EXPECT_EQ(peace_wait(&requests[0], kPatience, nullptr), PEACE_CANCELLED);
  EXPECT_EQ(receive(&got, 8, nullptr, 0), PEACE_BUSY);
  EXPECT_FALSE(readable(0));
  // A call that waits is no send, and is still told of after a look for sends.
  std::thread client([&] { EXPECT_EQ(peace_call(here, 1, nullptr, 0, nullptr, 0, kPatience, nullptr), PEACE_OK); });
  EXPECT_TRUE(readable(20'000));
  EXPECT_EQ(receive(&got, 8, nullptr, 0), PEACE_BUSY);
  EXPECT_TRUE(readable(20'000));
  peace_task_t task;
  EXPECT_EQ(peace_accept(port, kAny, kPatience, &task, nullptr), PEACE_OK);
  EXPECT_EQ(peace_reply(&task, 1, nullptr, 0), PEACE_OK);
  client.join();
  EXPECT_FALSE(readable(0));
}

// ---- bad input: a code and a sentence, and the port serves on ----

TEST_F(Peace, WrongArgumentsAreACodeAndASentenceAndThePortServesOn) {
  int word = 1;
  size_t checked = 0;
  const auto says = [&](int code, int wanted) {
    ++checked;
    EXPECT_EQ(code, wanted) << "check " << checked << ": " << peace_explain();
    EXPECT_GT(std::strlen(peace_explain()), 8u);
  };
  char* const nowhere = reinterpret_cast<char*>(8);
  const auto forged = reinterpret_cast<peace_port_t>(uintptr_t{0x123456750});
  peace_address_t wrong = here;
  says(peace_send(here, 1, nullptr, 1, 0, 0, nullptr), PEACE_ARG);
  says(peace_send(here, 1, nowhere, 1 << 20, 0, 0, nullptr), PEACE_ARG);
  says(peace_send(here, 1, &word, SIZE_MAX, 0, 0, nullptr), PEACE_ARG);
  says(peace_send(here, 1, &word, 4, 0, -2, nullptr), PEACE_ARG);
  says(peace_send(here, 1, &word, 4, 8, 0, nullptr), PEACE_ARG);
  wrong.process = 0;
  says(peace_send(wrong, 1, &word, 4, 0, 0, nullptr), PEACE_ARG);
  wrong = here;
  wrong.port = 70'000;
  says(peace_send(wrong, 1, &word, 4, 0, 0, nullptr), PEACE_ARG);
  wrong = here;
  wrong.generation = 0;
  says(peace_send(wrong, 1, &word, 4, 0, 0, nullptr), PEACE_ARG);
  wrong.generation = here.generation % 0x1fff + 1;
  says(peace_send(wrong, 1, &word, 4, 0, 0, nullptr), PEACE_GONE);
  says(peace_call(wrong, 1, &word, 4, nullptr, 0, PEACE_FOREVER, nullptr), PEACE_GONE);
  says(peace_receive(nullptr, kAny, &word, 4, 0, nullptr), PEACE_STATE);
  says(peace_receive(forged, kAny, &word, 4, 0, nullptr), PEACE_STATE);
  says(peace_receive(reinterpret_cast<peace_port_t>(&word), kAny, &word, 4, 0, nullptr), PEACE_STATE);
  says(receive(nullptr, 4, nullptr, 0), PEACE_ARG);
  says(receive(nowhere, 1 << 20, nullptr, 0), PEACE_ARG);
  says(receive(&word, 4, nullptr, -7), PEACE_ARG);
  says(peace_open(65'536, 0, 0, &port), PEACE_ARG);
  says(peace_open(0, 0, 0, nullptr), PEACE_ARG);
  peace_port_t none = nullptr;
  says(peace_open(0, 40'000, 8, &none), PEACE_NO_SPACE);
  says(peace_open(0, 2, SIZE_MAX, &none), PEACE_NO_SPACE);
  says(peace_open(here.port, 0, 0, &none), PEACE_STATE);
  says(peace_close(nullptr), PEACE_ARG);
  says(peace_close(&none), PEACE_STATE);
  says(peace_address(port, nullptr), PEACE_ARG);
  says(peace_find(0, 1, 0, &wrong), PEACE_ARG);
  says(peace_find(1, 0, 0, &wrong), PEACE_ARG);
  says(peace_find(peace_process(-1), 1, 0, nullptr), PEACE_ARG);
  says(peace_process(5) == 0 ? PEACE_ARG : PEACE_OK, PEACE_ARG);
  says(peace_borrow(port, 0, nullptr, nullptr), PEACE_ARG);
  const void* data;
  says(peace_borrow(port, 0, &data, nullptr), PEACE_STATE);
  says(peace_give_back(port, &word), PEACE_STATE);
  peace_request_t request = nullptr;
  says(peace_isend(here, 1, &word, 4, 0, nullptr), PEACE_ARG);
  says(peace_ireceive(port, kAny, &word, 4, nullptr), PEACE_ARG);
  says(peace_wait(nullptr, 0, nullptr), PEACE_ARG);
  says(peace_wait(&request, 0, nullptr), PEACE_STATE);
  says(peace_cancel(nullptr), PEACE_STATE);
  says(peace_cancel(reinterpret_cast<peace_request_t>(&word)), PEACE_STATE);
  peace_task_t task = nullptr;
  says(peace_accept(port, kAny, 0, nullptr, nullptr), PEACE_ARG);
  says(peace_movefrom(task, 0, &word, 4), PEACE_STATE);
  says(peace_moveto(reinterpret_cast<peace_task_t>(&word), 0, &word, 4), PEACE_STATE);
  says(peace_reply(&task, 1, &word, 4), PEACE_STATE);
  says(peace_reply(nullptr, 1, &word, 4), PEACE_ARG);
  says(peace_look(task) ? PEACE_OK : PEACE_STATE, PEACE_STATE);
  int chosen;
  says(peace_select(nullptr, 1, nullptr, 0, 0, &chosen, nullptr), PEACE_ARG);
  says(peace_select(nullptr, -1, nullptr, 0, 0, &chosen, nullptr), PEACE_ARG);
  says(peace_select(nullptr, 0, nullptr, 0, 0, &chosen, nullptr), PEACE_STATE);
  says(peace_select(nullptr, 0, nullptr, 8, 0, &chosen, nullptr), PEACE_ARG);
  says(peace_watch(here, port, 1), PEACE_ARG);
  says(peace_watch({0, 0, 0}, port, 1), PEACE_ARG);
  says(peace_descriptor(port, nullptr), PEACE_ARG);
  std::thread sender([&] { EXPECT_EQ(cs_send(here, 1, &word, 4), PEACE_OK); });
  int got = 0;
  EXPECT_EQ(receive(&got, 4), PEACE_OK);
  sender.join();
}

// Whatever a stranger puts where packets are taken: nothing is touched that was not lent, and the port serves on.
TEST_F(Peace, PacketsOfChanceHarmNobody) {
  constexpr ptl_pt_index_t kReceives = 50, kTokens = 51;
  peace_port_t buffered;
  peace_address_t there;
  ASSERT_EQ(peace_open(0, 2, 16, &buffered), PEACE_OK);
  ASSERT_EQ(peace_address(buffered, &there), PEACE_OK);
  ptl_handle_ni_t ni;
  ptl_process_t self;
  ASSERT_EQ(PtlInit(), PTL_OK);
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &ni), PTL_OK);
  ASSERT_EQ(PtlGetId(ni, &self), PTL_OK);
  std::vector<unsigned char> data(20'000);
  std::mt19937_64 random(4711);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random());
  ptl_md_t all{data.data(), data.size(), PTL_MD_VOLATILE, PTL_EQ_NONE, PTL_CT_NONE};
  ptl_handle_md_t md;
  ASSERT_EQ(PtlMDBind(ni, &all, &md), PTL_OK);
  std::vector<unsigned char> room(64, 0xee);
  for (int round = 0; round < 600; ++round) {
    const peace_address_t& to = random() % 2 ? here : there;
    uint64_t bits = random();
    if (random() % 4) bits = (bits & (uint64_t{7} << 61 | 0xffffffff)) | uint64_t{to.generation} << 48 | uint64_t{to.port} << 32;
    if (random() % 4 == 0) bits &= 0xf0000000000000ff;  // tokens that may be in use
    const size_t length = random() % 5 ? random() % 64 : random() % 2000, offset = random() % 1000;
    ASSERT_EQ(PtlPut(md, offset, length, PTL_NO_ACK_REQ, self, random() % 3 ? kReceives : kTokens, bits, random() % 3 ? 0 : random(),
                     nullptr, random()),
              PTL_OK);
    peace_task_t task;
    int code = peace_accept(port, kAny, 0, &task, nullptr);
    ASSERT_TRUE(code == PEACE_BUSY || code == PEACE_OK) << code << peace_explain();
    if (code == PEACE_OK) {
      peace_look(task);
      peace_movefrom(task, 0, room.data(), 8);
      peace_moveto(task, 0, room.data(), 8);
      peace_reply(&task, 1, room.data(), 8);
    }
    code = receive(room.data(), 32, nullptr, 0);
    ASSERT_TRUE(code == PEACE_BUSY || code == PEACE_OK || code == PEACE_CUT) << code << peace_explain();
    code = peace_receive(buffered, kAny, room.data(), 32, 0, nullptr);
    ASSERT_TRUE(code == PEACE_BUSY || code == PEACE_OK || code == PEACE_CUT) << code << peace_explain();
    ASSERT_EQ(room[32], 0xee);
  }
  EXPECT_EQ(PtlMDRelease(md), PTL_OK);
  EXPECT_EQ(PtlNIFini(ni), PTL_OK);
  PtlFini();
  for (const peace_port_t each : {port, buffered})  // what is held still
    for (int code = PEACE_OK; code == PEACE_OK || code == PEACE_CUT;) code = peace_receive(each, kAny, room.data(), 32, 0, nullptr);
  std::thread sender([&] { EXPECT_EQ(cs_send(here, 3, "served", 6), PEACE_OK); });
  peace_message_t message;
  EXPECT_EQ(receive(room.data(), 32, &message), PEACE_OK);
  EXPECT_EQ(message.sent, 6u);
  sender.join();
  EXPECT_EQ(peace_close(&buffered), PEACE_OK);
}

TEST(PeaceAlone, CallsBeforeInitAreRefusedAndItsEndIsCounted) {
  peace_port_t port;
  EXPECT_EQ(peace_open(0, 0, 0, &port), PEACE_STATE);
  EXPECT_EQ(peace_fini(), PEACE_STATE);
  EXPECT_EQ(peace_process(0), 0u);
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(peace_init(), PEACE_OK);
    ASSERT_EQ(peace_init(), PEACE_OK);
    EXPECT_EQ(peace_process(0), peace_process(-1));
    EXPECT_EQ(peace_fini(), PEACE_OK);
    ASSERT_EQ(peace_open(0, 2, 64, &port), PEACE_OK);  // fini closes it
    peace_address_t here;
    EXPECT_EQ(peace_address(port, &here), PEACE_OK);
    peace_port_t other;
    ASSERT_EQ(peace_open(0, 0, 0, &other), PEACE_OK);
    EXPECT_EQ(peace_address(other, &here), PEACE_OK);
    EXPECT_EQ(peace_post(here, 1, &life, sizeof life, nullptr), PEACE_OK);  // fini withdraws it
    EXPECT_EQ(peace_fini(), PEACE_OK);
    EXPECT_EQ(peace_open(0, 0, 0, &port), PEACE_STATE);
  }
}

TEST_F(Peace, AChildOfForkIsToldToExec) {
  const pid_t child = fork();
  if (child == 0) {
    int word = 1;
    const bool refused =
        peace_send(here, 1, &word, 4, 0, 0, nullptr) == PEACE_STATE && peace_init() == PEACE_STATE && peace_fini() == PEACE_STATE;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Peace, MemoryThatIsNotSharedIsAsFromMalloc) {
  void* memory = peace_alloc(1000);
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 1, 1000);
  peace_free(memory);
  peace_free(nullptr);
}

}  // namespace
