// PEACE between threads: calls and their answers.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "mpi-adi/ipc/peace.h"
#include "tests/mpi-adi/ipc/threads.hpp"

namespace peace_test {
namespace {

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

}  // namespace
}  // namespace peace_test
