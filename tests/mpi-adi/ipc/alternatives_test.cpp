// PEACE between threads: selects, offers, descriptors.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "mpi-adi/ipc/peace.h"
#include "tests/mpi-adi/ipc/threads.hpp"

namespace peace_test {
namespace {

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

// A message is held that no alternative wants: whoever looked in vain has left nothing behind that takes what comes later, and is woken
// by it while it waits.
TEST_F(Peace, ASelectThatLooksInVainTakesNothingLater) {
  peace_port_t other;
  ASSERT_EQ(peace_open(0, 0, 0, &other), PEACE_OK);
  uint64_t unwanted = 7, wanted = 5, room = 0, got = 0;
  const peace_pattern_t five{{0, 0, 0}, 5, 0};
  const peace_alternative_t from[2] = {{port, five, &room, 8, 1}, {other, five, &room, 8, 1}};
  peace_request_t request;
  int fd = -1, chosen = 7;
  ASSERT_EQ(peace_descriptor(port, &fd), PEACE_OK);
  ASSERT_EQ(peace_isend(here, 7, &unwanted, 8, 0, &request), PEACE_OK);
  until_readable(fd);
  EXPECT_EQ(peace_select(from, 2, nullptr, 0, 0, &chosen, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_select(from, 2, nullptr, 0, kMillisecond, &chosen, nullptr), PEACE_TIMEOUT);
  EXPECT_EQ(peace_send(here, 5, &wanted, 8, 0, 0, nullptr), PEACE_BUSY);  // nobody waits for it
  EXPECT_EQ(peace_wait(&request, 0, nullptr), PEACE_BUSY);
  std::thread sender([&] { EXPECT_EQ(cs_send(here, 5, &wanted, 8), PEACE_OK); });
  EXPECT_EQ(peace_select(from, 2, nullptr, 0, kPatience, &chosen, nullptr), PEACE_OK);
  EXPECT_EQ(chosen, 0);
  EXPECT_EQ(room, 5u);
  sender.join();
  EXPECT_EQ(receive(&got, 8), PEACE_OK);
  EXPECT_EQ(got, 7u);
  EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_OK);
  EXPECT_EQ(peace_close(&other), PEACE_OK);
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

}  // namespace
}  // namespace peace_test
