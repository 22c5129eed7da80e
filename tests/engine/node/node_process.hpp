// node_process.hpp: ends of the node transport for tests: in this process, and in children that may die.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "engine/transport/node/node.hpp"
#include "tests/engine/transport_pair.hpp"

namespace portunus {

inline constexpr size_t kRing = 64 * 1024;

// Addresses that no other process of this machine uses meanwhile.
inline const uint32_t kFirst = 100'000u + 64 * static_cast<uint32_t>(getpid() % 1'000'000);  // the same in a forked child
inline ProcessId address(uint32_t number) { return {0x7f000001, kFirst + number}; }

inline std::string path_of(ProcessId process, uint32_t uid = geteuid()) {
  char name[96];
  std::snprintf(name, sizeof name, "/dev/shm/portunus.%u.%08x.%u", uid, process.nid, process.pid);
  return name;
}

inline wire::Header put(uint64_t number) {
  wire::Header header{};
  header.kind = wire::Kind::put;
  header.match_bits = number;
  return header;
}

// A process beside this one. `life` runs there; `tell` lets it say that it is ready, `wait` lasts until `release`.
class Child {
 public:
  explicit Child(const std::function<void(Child&)>& life) {
    EXPECT_EQ(pipe(up_), 0);
    EXPECT_EQ(pipe(down_), 0);
    pid = fork();
    if (pid == 0) {
      close(down_[1]);
      life(*this);
      _exit(0);
    }
    close(up_[1]);
    close(down_[0]);
    up_[1] = down_[0] = -1;
    char byte;
    EXPECT_EQ(read(up_[0], &byte, 1), 1);
  }
  ~Child() {
    end();
    close(up_[0]);
  }
  void tell() { EXPECT_EQ(write(up_[1], "", 1), 1); }
  void wait() {
    char byte;
    (void)!read(down_[0], &byte, 1);
  }
  int end(int signal = 0) {
    if (pid < 0) return 0;
    if (signal) kill(pid, signal);
    close(down_[1]);
    int status = 0;
    waitpid(pid, &status, 0);
    pid = -1;
    return status;
  }
  pid_t pid = -1;

 private:
  int up_[2], down_[2];
};

struct End {
  explicit End(ProcessId id, size_t others = 0) : transport(sink, stats, id, geteuid(), kRing, true, others) {}
  void send(ProcessId to, uint64_t number) {
    Link* link = transport.connect(to);
    ASSERT_NE(link, nullptr);
    link->peer = Recorder::somebody();
    ASSERT_EQ(transport.send(*link, put(number), {}), Sent::done);
  }
  // Every sender comes after those that have a box.
  void share_ring() { transport.segment().header().senders.store(kBoxes); }
  // The ring may be full, and what stands at its head may never be published.
  void send_when_there_is_room(ProcessId to, uint64_t number, End& receiver) {
    Link* link = transport.connect(to);
    link->peer = Recorder::somebody();
    while (transport.send(*link, put(number), {}) != Sent::done) {
      receiver.transport.housekeeping(true);
      receiver.transport.poll(1);
    }
  }
  Recorder sink;
  Stats stats;
  NodeTransport transport;
};

}  // namespace portunus
