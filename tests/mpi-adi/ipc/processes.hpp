// processes.hpp: what the tests between processes share. Each test starts its program again as a peer, by a role and the address of a port
// of the parent; the peer opens a port of its own and sends that address.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "mpi-adi/ipc/peace.h"

namespace peace_test {

constexpr peace_pattern_t kAny{{0, 0, 0}, 0, ~0u};
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kPatience = 30'000 * kMillisecond;
constexpr uint32_t kHello = 1000, kStop = 1001, kDone = 1002, kTable = 1003;

inline std::string as_text(peace_address_t address) {
  char text[64];
  std::snprintf(text, sizeof text, "%" PRIx64 ":%x:%x", address.process, address.port, address.generation);
  return text;
}
inline peace_address_t as_address(const char* text) {
  peace_address_t address{};
  std::sscanf(text, "%" SCNx64 ":%x:%x", &address.process, &address.port, &address.generation);
  return address;
}

struct PeerProcess {
  peace_port_t port = nullptr;
  peace_address_t parent{}, here{};
};

// Receives and sends back until it is told to stop.
inline int echo(PeerProcess& me) {
  std::vector<unsigned char> data(8 << 20);
  for (;;) {
    peace_message_t message;
    if (peace_receive(me.port, kAny, data.data(), data.size(), kPatience, &message) != PEACE_OK) return 2;
    if (message.type == kStop) return 0;
    if (peace_send(me.parent, message.type, data.data(), message.moved, 0, kPatience, nullptr) != PEACE_OK) return 3;
  }
}

using Roles = std::map<std::string, int (*)(PeerProcess&)>;

inline int run_role(const Roles& roles, const char* role, const char* parent) {
  PeerProcess me;
  me.parent = as_address(parent);
  if (peace_init() != PEACE_OK || peace_open(0, 0, 0, &me.port) != PEACE_OK || peace_address(me.port, &me.here) != PEACE_OK ||
      peace_send(me.parent, kHello, &me.here, sizeof me.here, 0, kPatience, nullptr) != PEACE_OK) {
    std::fprintf(stderr, "peer: %s\n", peace_explain());
    return 9;
  }
  const int code = roles.at(role)(me);
  if (code != 0) std::fprintf(stderr, "peer %s ends with %d: %s\n", role, code, peace_explain());
  peace_fini();
  return code;
}

// The main function of a test program.
inline int run(int argc, char** argv, const Roles& roles) {
  if (argc == 4 && std::strcmp(argv[1], "--role") == 0) return run_role(roles, argv[2], argv[3]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

// ---- the parent ----

struct Child {
  pid_t pid = -1;
  peace_address_t address{};
};

struct Processes : ::testing::Test {
  peace_port_t port = nullptr;
  peace_address_t here{};
  std::vector<pid_t> left;

  void SetUp() override {
    setenv("PEACE_SHARED", "16m", 1);
    ASSERT_EQ(peace_init(), PEACE_OK) << peace_explain();
    ASSERT_EQ(peace_open(0, 0, 0, &port), PEACE_OK) << peace_explain();
    ASSERT_EQ(peace_address(port, &here), PEACE_OK);
  }
  void TearDown() override {
    for (const pid_t pid : left) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    EXPECT_EQ(peace_fini(), PEACE_OK);
  }
  Child start(const char* role) {
    Child child;
    const std::string address = as_text(here);
    child.pid = fork();
    if (child.pid == 0) {
      execl("/proc/self/exe", "peace_processes", "--role", role, address.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    left.push_back(child.pid);
    peace_message_t message;
    EXPECT_EQ(peace_receive(port, {{0, 0, 0}, kHello, 0}, &child.address, sizeof child.address, kPatience, &message), PEACE_OK)
        << peace_explain();
    EXPECT_EQ(message.from.process, child.address.process);
    return child;
  }
  void end(const Child& child) {
    int status = -1;
    EXPECT_EQ(waitpid(child.pid, &status, 0), child.pid);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    std::erase(left, child.pid);
  }
  void kill_child(const Child& child) {
    kill(child.pid, SIGKILL);
    EXPECT_EQ(waitpid(child.pid, nullptr, 0), child.pid);
    std::erase(left, child.pid);
  }
  // After whatever happened, the port serves another one.
  void port_serves() {
    const Child child = start("echo");
    uint64_t word = 5, got = 0;
    EXPECT_EQ(peace_send(child.address, 3, &word, 8, 0, kPatience, nullptr), PEACE_OK);
    EXPECT_EQ(peace_receive(port, {{child.address.process, 0, 0}, 3, 0}, &got, 8, kPatience, nullptr), PEACE_OK);
    EXPECT_EQ(got, 5u);
    EXPECT_EQ(peace_send(child.address, kStop, nullptr, 0, 0, kPatience, nullptr), PEACE_OK);
    end(child);
  }
};

}  // namespace peace_test
