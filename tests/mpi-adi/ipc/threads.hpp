// threads.hpp: what the tests between threads of one process share: an open port, and how to wait for what others do.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "mpi-adi/ipc/peace.h"

namespace peace_test {

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

}  // namespace peace_test
