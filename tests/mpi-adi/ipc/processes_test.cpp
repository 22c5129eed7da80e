// PEACE between processes that no launcher started: rendezvous, services, alternatives, and ends of processes in every
// state.
//
// PEACE_ROUNDS in the environment makes the storm of selects longer (a million: as many rounds per process).
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mpi-adi/ipc/peace.h"
#include "portals/portals4.h"
#include "portals/portals4_ext.h"
#include "tests/mpi-adi/ipc/processes.hpp"

namespace {

using namespace peace_test;

unsigned char pattern(size_t i) { return static_cast<unsigned char>(i * 31 + (i >> 10)); }
std::vector<unsigned char> data_of(size_t bytes) {
  std::vector<unsigned char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = pattern(i);
  return data;
}
const std::vector<size_t> kLengths{0, 8, 1024, 1025, 8192, 8193, 1 << 20, (6 << 20) + 5};

// ---- the peers ----

// Answers calls with the sum of their bytes.
int serve(PeerProcess& me) {
  for (;;) {
    peace_task_t task;
    peace_message_t message;
    if (peace_accept(me.port, kAny, kPatience, &task, &message) != PEACE_OK) return 2;
    std::vector<unsigned char> copy;
    const auto* data = static_cast<const unsigned char*>(peace_look(task));
    const uint64_t looked = data != nullptr;
    if (!data) {
      copy.resize(message.sent);
      if (peace_movefrom(task, 0, copy.data(), copy.size()) != PEACE_OK) return 3;
      data = copy.data();
    }
    uint64_t answer[2] = {0, looked};
    for (uint64_t i = 0; i < message.sent; ++i) answer[0] += data[i];
    if (peace_reply(&task, message.type, answer, sizeof answer) != PEACE_OK) return 4;
    if (message.type == kStop) return 0;
  }
}
int send_and_hang(PeerProcess& me) {
  const std::vector<unsigned char> data(100'000);
  return peace_send(me.parent, 1, data.data(), data.size(), 0, PEACE_FOREVER, nullptr);
}
int hang(PeerProcess&) {
  for (;;) pause();
}
int accept_and_hang(PeerProcess& me) {
  peace_task_t task;
  if (peace_accept(me.port, kAny, kPatience, &task, nullptr) != PEACE_OK) return 2;
  int word = 1;
  if (peace_send(me.parent, 5, &word, sizeof word, 0, kPatience, nullptr) != PEACE_OK) return 3;
  return hang(me);
}
// Moves the client's data again and again until that is no longer possible.
int move_for_ever(PeerProcess& me) {
  peace_task_t task;
  peace_message_t message;
  if (peace_accept(me.port, kAny, kPatience, &task, &message) != PEACE_OK) return 2;
  std::vector<unsigned char> data(message.sent);
  int code;
  bool told = false;
  do {
    code = peace_movefrom(task, 0, data.data(), data.size());
    if (!told && peace_send(me.parent, 5, nullptr, 0, 0, kPatience, nullptr) != PEACE_OK) return 3;
    told = true;
  } while (code == PEACE_OK);
  return peace_reply(&task, 1, nullptr, 0), code == PEACE_GONE ? 0 : 4;
}
int call_and_hang(PeerProcess& me) {
  std::vector<unsigned char> data(100'000);
  return peace_call(me.parent, 1, data.data(), data.size(), data.data(), data.size(), PEACE_FOREVER, nullptr);
}
int say_hello_and_end(PeerProcess&) { return 0; }
int storm(PeerProcess& me);

TEST_F(Processes, MessagesOfEveryLengthGoThereAndComeBack) {
  const Child child = start("echo");
  for (const size_t bytes : kLengths) {
    const std::vector<unsigned char> out = data_of(bytes);
    std::vector<unsigned char> in(bytes);
    for (int round = 0; round < 3; ++round) {
      size_t moved = 0;
      ASSERT_EQ(peace_send(child.address, 7, out.data(), bytes, 0, kPatience, &moved), PEACE_OK) << peace_explain();
      EXPECT_EQ(moved, bytes);
      peace_message_t message;
      ASSERT_EQ(peace_receive(port, {{child.address.process, 0, 0}, 7, 0}, in.data(), bytes, kPatience, &message), PEACE_OK)
          << peace_explain();
      EXPECT_EQ(message.from.port, child.address.port);
      ASSERT_EQ(in, out);
    }
  }
  EXPECT_EQ(peace_send(child.address, kStop, nullptr, 0, 0, kPatience, nullptr), PEACE_OK);
  end(child);
}

TEST_F(Processes, IsendAndIreceiveEndWhileBothCompute) {
  const Child child = start("echo");
  const std::vector<unsigned char> out = data_of(300'000);
  std::vector<unsigned char> in(out.size());
  peace_request_t sends, receives;
  ASSERT_EQ(peace_ireceive(port, kAny, in.data(), in.size(), &receives), PEACE_OK);
  ASSERT_EQ(peace_isend(child.address, 1, out.data(), out.size(), 0, &sends), PEACE_OK);
  EXPECT_EQ(peace_wait(&receives, kPatience, nullptr), PEACE_OK);
  EXPECT_EQ(peace_wait(&sends, kPatience, nullptr), PEACE_OK);
  EXPECT_EQ(in, out);
  EXPECT_EQ(peace_send(child.address, kStop, nullptr, 0, 0, kPatience, nullptr), PEACE_OK);
  end(child);
}

TEST_F(Processes, ACallIsAnsweredAndSharedMemoryIsLookedAtInPlace) {
  const Child child = start("serve");
  auto* shared = static_cast<unsigned char*>(peace_alloc(2 << 20));
  ASSERT_NE(shared, nullptr);
  for (size_t i = 0; i < 2 << 20; ++i) shared[i] = pattern(i);
  for (const size_t bytes : {size_t{0}, size_t{100}, size_t{3000}, size_t{2} << 20}) {
    const std::vector<unsigned char> copy = data_of(bytes);
    uint64_t sum = 0;
    for (const unsigned char byte : copy) sum += byte;
    for (const unsigned char* data : {static_cast<const unsigned char*>(shared), copy.data()}) {
      uint64_t answer[2] = {};
      peace_message_t reply;
      ASSERT_EQ(peace_call(child.address, 4, data, bytes, answer, sizeof answer, kPatience, &reply), PEACE_OK) << peace_explain();
      EXPECT_EQ(reply.type, 4u);
      EXPECT_EQ(answer[0], sum);
      const char* node = std::getenv("PTL_NODE");
      if (bytes <= 1024 || (data == shared && !(node && std::string(node) == "0"))) {
        EXPECT_EQ(answer[1], 1u);
      }
    }
  }
  uint64_t answer[2];
  EXPECT_EQ(peace_call(child.address, kStop, nullptr, 0, answer, sizeof answer, kPatience, nullptr), PEACE_OK);
  peace_free(shared);
  end(child);
}

// An engine that has a core of its own spins there, which is no waiting's.
TEST_F(Processes, WaitingTakesNoProcessorTime) {
  ptlx_engine_info_t engine;
  ASSERT_EQ(PtlxEngineInfo(&engine), PTL_OK);
  if (std::string(engine.progress) != "park") GTEST_SKIP() << "the engine's thread does not sleep here: " << engine.progress;
  const Child child = start("hang");
  timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  int word;
  EXPECT_EQ(peace_receive(port, kAny, &word, sizeof word, 400 * kMillisecond, nullptr), PEACE_TIMEOUT);
  EXPECT_EQ(peace_send(child.address, 1, &word, sizeof word, 0, 400 * kMillisecond, nullptr), PEACE_TIMEOUT);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used = static_cast<double>(after.tv_sec - before.tv_sec) * 1e3 + static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e6;
  EXPECT_LT(used, 200.0) << "ms of processor time in 800 ms of waiting";
}

// Each call has to look where only the application's calls step the engine.
TEST_F(Processes, AServerThatNeverWaitsIsReachedAllTheSame) {
  const Child child = start("call");
  peace_task_t task;
  peace_message_t message;
  int code;
  do code = peace_accept(port, kAny, 1, &task, &message);
  while (code == PEACE_TIMEOUT);
  ASSERT_EQ(code, PEACE_OK) << peace_explain();
  EXPECT_EQ(message.from.process, child.address.process);
  EXPECT_EQ(message.sent, 100'000u);
  EXPECT_EQ(peace_reply(&task, 1, nullptr, 0), PEACE_OK);
  end(child);
}

// ---- ends of processes ----

TEST_F(Processes, ASendToAProcessThatIsKilledEnds) {
  const Child child = start("hang");
  std::thread killer([&] { kill_child(child); });
  const std::vector<char> data(50'000);
  EXPECT_EQ(peace_send(child.address, 1, data.data(), data.size(), 0, PEACE_FOREVER, nullptr), PEACE_DIED) << peace_explain();
  killer.join();
  EXPECT_EQ(peace_send(child.address, 1, data.data(), 1, 0, PEACE_FOREVER, nullptr), PEACE_DIED);
  peace_address_t found;
  EXPECT_EQ(peace_find(child.address.process, child.address.port, kPatience, &found), PEACE_DIED);
  port_serves();
}

TEST_F(Processes, AReceiveFromAProcessThatIsKilledEndsAndOneFromAnybodyGoesOn) {
  const Child child = start("hang");
  int word;
  peace_request_t any;
  ASSERT_EQ(peace_ireceive(port, {{0, 0, 0}, 5, 0}, &word, sizeof word, &any), PEACE_OK);
  std::thread killer([&] { kill_child(child); });
  EXPECT_EQ(peace_receive(port, {child.address, 1, 0}, &word, sizeof word, PEACE_FOREVER, nullptr), PEACE_DIED);
  killer.join();
  EXPECT_EQ(peace_receive(port, {child.address, 1, 0}, &word, sizeof word, PEACE_FOREVER, nullptr), PEACE_DIED);
  EXPECT_EQ(peace_wait(&any, 0, nullptr), PEACE_BUSY);
  EXPECT_EQ(peace_cancel(any), PEACE_OK);
  EXPECT_EQ(peace_wait(&any, kPatience, nullptr), PEACE_CANCELLED);
  port_serves();
}

// Over a network the data come from a process that does not run: the receive matches, and can be taken back no more.
TEST_F(Processes, AReceiveTakenBackTooLateEndsWithItsSenderThatIsKilled) {
  const Child child = start("send");
  int fd;
  ASSERT_EQ(peace_descriptor(port, &fd), PEACE_OK);
  pollfd offered{fd, POLLIN, 0};
  ASSERT_EQ(poll(&offered, 1, -1), 1);
  kill(child.pid, SIGSTOP);
  std::vector<char> room(100'000);
  peace_request_t receive;
  ASSERT_EQ(peace_ireceive(port, kAny, room.data(), room.size(), &receive), PEACE_OK);
  EXPECT_EQ(peace_cancel(receive), PEACE_OK);
  kill_child(child);
  const int code = peace_wait(&receive, kPatience, nullptr);
  EXPECT_TRUE(code == PEACE_CANCELLED || code == PEACE_OK) << code << ": " << peace_explain();  // OK: it was moved at once
  port_serves();
}

TEST_F(Processes, WhatAKilledSenderOfferedIsNotReceivedAndOthersAre) {
  const Child child = start("send");
  int fd;
  ASSERT_EQ(peace_descriptor(port, &fd), PEACE_OK);
  const Child echoes = start("echo");
  kill_child(child);
  peace_port_t tell;
  ASSERT_EQ(peace_open(0, 0, 0, &tell), PEACE_OK);
  ASSERT_EQ(peace_watch(child.address, tell, 4), PEACE_OK);
  peace_message_t message;
  char room[16];
  EXPECT_EQ(peace_receive(tell, kAny, room, sizeof room, PEACE_FOREVER, &message), PEACE_OK);
  EXPECT_EQ(message.from.process, child.address.process);
  EXPECT_EQ(message.from.port, child.address.port);
  EXPECT_EQ(message.type, 4u);
  EXPECT_EQ(message.sent, 0u);
  uint64_t word = 5;
  ASSERT_EQ(peace_send(echoes.address, 3, &word, 8, 0, kPatience, nullptr), PEACE_OK);
  EXPECT_EQ(peace_receive(port, {{0, 0, 0}, 3, 0}, room, sizeof room, kPatience, &message), PEACE_OK);
  EXPECT_EQ(message.from.process, echoes.address.process);
  EXPECT_EQ(peace_send(echoes.address, kStop, nullptr, 0, 0, kPatience, nullptr), PEACE_OK);
  end(echoes);
}

TEST_F(Processes, ACallWhoseServerIsKilledEnds) {
  const Child child = start("accept");
  std::thread killer([&] {
    int word;
    EXPECT_EQ(peace_receive(port, {{0, 0, 0}, 5, 0}, &word, sizeof word, kPatience, nullptr), PEACE_OK);
    kill_child(child);
  });
  std::vector<char> memory(100'000);
  EXPECT_EQ(peace_call(child.address, 1, memory.data(), memory.size(), memory.data(), memory.size(), PEACE_FOREVER, nullptr), PEACE_DIED);
  killer.join();
  port_serves();
}

TEST_F(Processes, ACallThatTimesOutWhileItsDataAreMovedHasItsMemoryBack) {
  const Child child = start("move");
  std::vector<char> memory(4 << 20);
  std::atomic<bool> moved{false};
  std::thread hears([&] {
    EXPECT_EQ(peace_receive(port, {{0, 0, 0}, 5, 0}, nullptr, 0, kPatience, nullptr), PEACE_OK);
    moved.store(true);
  });
  EXPECT_EQ(peace_call(child.address, 1, memory.data(), memory.size(), nullptr, 0, 200 * kMillisecond, nullptr), PEACE_TIMEOUT);
  memory = {};
  hears.join();
  end(child);
}

TEST_F(Processes, AServerLearnsThatItsClientWasKilled) {
  const Child child = start("call");
  peace_task_t task;
  ASSERT_EQ(peace_accept(port, kAny, kPatience, &task, nullptr), PEACE_OK);
  EXPECT_EQ(peace_cancelled(task), 0);
  kill_child(child);
  std::vector<char> memory(100'000);
  int code;
  while ((code = peace_movefrom(task, 0, memory.data(), memory.size())) == PEACE_OK) {
  }
  EXPECT_EQ(code, PEACE_DIED);
  EXPECT_EQ(peace_cancelled(task), 1);
  peace_reply(&task, 1, memory.data(), memory.size());
  EXPECT_EQ(task, nullptr);
  port_serves();
}

TEST_F(Processes, ASelectThatNamesAKilledProcessOrOffersToOneEnds) {
  peace_port_t other;
  ASSERT_EQ(peace_open(0, 0, 0, &other), PEACE_OK);
  for (const bool offers : {false, true}) {
    const Child child = start("hang");
    uint64_t word = 1, rooms[2];
    const peace_alternative_t from[2] = {{other, kAny, &rooms[0], 8, 1}, {port, {child.address, 1, 0}, &rooms[1], 8, offers ? 0 : 1}};
    const peace_offer_t offer{child.address, 3, &word, 8, offers ? 1 : 0};
    std::thread killer([&] { kill_child(child); });
    int chosen = 7;
    EXPECT_EQ(peace_select(from, 2, &offer, 0, PEACE_FOREVER, &chosen, nullptr), PEACE_DIED) << peace_explain();
    EXPECT_EQ(chosen, offers ? -1 : 1);
    killer.join();
  }
}

TEST_F(Processes, AnEndWithoutAWordIsToldToo) {
  const Child child = start("end");
  end(child);
  char room;
  ASSERT_EQ(peace_watch(child.address, port, 4), PEACE_OK);
  EXPECT_EQ(peace_receive(port, {{0, 0, 0}, 4, 0}, &room, 1, PEACE_FOREVER, nullptr), PEACE_OK);
}

// ---- the storm of selects ----

constexpr int kStormers = 4, kPorts = 4;

struct Totals {
  uint64_t sent, received, sent_sum, received_sum;
};
uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  return (x ^ x >> 27) * 0x94d049bb133111ebull;
}

int storm(PeerProcess& me) {
  peace_port_t ports[kPorts];
  peace_address_t mine[kPorts], all[kStormers][kPorts];
  for (int i = 0; i < kPorts; ++i)
    if (peace_open(0, 0, 0, &ports[i]) != PEACE_OK || peace_address(ports[i], &mine[i]) != PEACE_OK) return 2;
  if (peace_send(me.parent, kTable, mine, sizeof mine, 0, kPatience, nullptr) != PEACE_OK) return 3;
  if (peace_receive(me.port, {{0, 0, 0}, kTable, 0}, all, sizeof all, kPatience, nullptr) != PEACE_OK) return 4;
  const char* text = std::getenv("PEACE_ROUNDS");
  const int rounds = text ? std::atoi(text) : 150;
  Totals totals{};
  std::mt19937_64 random(me.here.process);
  uint64_t number = me.here.process << 20;
  bool stopped = false;
  for (int round = 0; !stopped; ++round) {
    if (round == rounds && peace_post(me.parent, kDone, nullptr, 0, nullptr) != PEACE_OK) return 5;
    uint64_t rooms[kPorts + 1], word = ++number;
    peace_alternative_t from[kPorts + 1];
    bool any = false;
    for (int i = 0; i < kPorts; ++i) {
      from[i] = {ports[i], kAny, &rooms[i], 8, round >= rounds || random() % 4 != 0};
      any = any || from[i].enabled;
    }
    from[kPorts] = {me.port, {me.parent, kStop, 0}, nullptr, 0, round >= rounds};
    const peace_address_t(&others)[kPorts] = all[random() % kStormers];
    const peace_address_t to = others[random() % kPorts];
    const peace_offer_t offer{to, 1, &word, 8, round < rounds && to.process != mine[0].process && (!any || random() % 2)};
    if (!any && !offer.enabled) continue;
    const int64_t limits[] = {0, 50'000, kMillisecond, 5 * kMillisecond};
    int chosen = -2;
    const int code = peace_select(from, kPorts + 1, &offer, random() % 2 ? unsigned{PEACE_ROTATE} : 0u,
                                  round < rounds ? limits[random() % 4] : kPatience, &chosen, nullptr);
    if (code == PEACE_OK && chosen == kPorts) {
      stopped = true;
    } else if (code == PEACE_OK && chosen >= 0) {
      ++totals.received;
      totals.received_sum += mixed(rooms[chosen]);
    } else if (code == PEACE_OK) {
      ++totals.sent;
      totals.sent_sum += mixed(word);
    } else if (code != PEACE_BUSY && (code != PEACE_TIMEOUT || round >= rounds)) {
      return 10 + code;
    }
  }
  return peace_send(me.parent, kDone, &totals, sizeof totals, 0, kPatience, nullptr) == PEACE_OK ? 0 : 6;
}

TEST_F(Processes, InAStormOfSelectsEachMessageIsHadOnceOrItsSenderKnows) {
  std::vector<Child> children;
  peace_address_t all[kStormers][kPorts];
  for (int i = 0; i < kStormers; ++i) {
    children.push_back(start("storm"));
    ASSERT_EQ(peace_receive(port, {children[static_cast<size_t>(i)].address, kTable, 0}, all[i], sizeof all[i], kPatience, nullptr),
              PEACE_OK);
  }
  for (const Child& child : children) ASSERT_EQ(peace_send(child.address, kTable, all, sizeof all, 0, kPatience, nullptr), PEACE_OK);
  for (int i = 0; i < kStormers; ++i) ASSERT_EQ(peace_receive(port, {{0, 0, 0}, kDone, 0}, nullptr, 0, PEACE_FOREVER, nullptr), PEACE_OK);
  for (const Child& child : children)
    ASSERT_EQ(peace_send(child.address, kStop, nullptr, 0, 0, kPatience, nullptr), PEACE_OK) << peace_explain();
  Totals sum{};
  for (const Child& child : children) {
    Totals one{};
    ASSERT_EQ(peace_receive(port, {child.address, kDone, 0}, &one, sizeof one, kPatience, nullptr), PEACE_OK);
    sum.sent += one.sent;
    sum.received += one.received;
    sum.sent_sum += one.sent_sum;
    sum.received_sum += one.received_sum;
    end(child);
  }
  EXPECT_GT(sum.sent, 0u);
  EXPECT_EQ(sum.sent, sum.received);
  EXPECT_EQ(sum.sent_sum, sum.received_sum);
}

}  // namespace

int main(int argc, char** argv) {
  return peace_test::run(argc, argv,
                         {{"echo", echo},
                          {"serve", serve},
                          {"send", send_and_hang},
                          {"hang", hang},
                          {"accept", accept_and_hang},
                          {"move", move_for_ever},
                          {"call", call_and_hang},
                          {"end", say_hello_and_end},
                          {"storm", storm}});
}
