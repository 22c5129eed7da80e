// tcp_test.cpp: what TCP by sockets promises beyond the suite of all transports and what fabric_test.cpp asks of each network: memory
// opened to peers, data that comes with a put, and bytes that are nobody's.
#include "engine/transport/tcp.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/engine/transport_pair.hpp"

namespace portunus {
namespace {

wire::Header put(uint64_t number, size_t payload_size) {
  wire::Header header{};
  header.kind = wire::Kind::put;
  header.match_bits = number;
  header.payload_size = static_cast<uint16_t>(payload_size);
  return header;
}

class Sockets : public testing::Test {
 protected:
  static TcpOptions here() { return {"127.0.0.1", 0, getuid()}; }

  void SetUp() override {
    for (int from : {0, 1}) {
      links_[from] = ends_[from]->connect(ends_[1 - from]->self());
      links_[from]->peer = Recorder::somebody();
      while (ends_[from]->send(*links_[from], put(0, 0), {}) == Sent::again) pump();
    }
    while (sinks_[0].arrivals.empty() || sinks_[1].arrivals.empty()) pump();
  }
  void pump() {
    for (auto& end : ends_) end->poll(16);
  }
  bool pulls(const wire::Region& region, std::vector<std::byte>& into) {
    EXPECT_EQ(ends_[0]->pull(*links_[0], region, into.data(), into.size(), &into), Moved::started);
    return ended(into);
  }
  bool pushes(const wire::Region& region, std::vector<std::byte>& from) {
    EXPECT_EQ(ends_[0]->push(*links_[0], region, from.data(), from.size(), &from), Moved::started);
    return ended(from);
  }
  bool ended(std::vector<std::byte>& memory) {
    std::vector<bool>& told = sinks_[0].moves[&memory];
    const size_t before = told.size();
    while (told.size() == before) pump();
    return told.back();
  }

  static constexpr size_t kMuch = size_t{8} << 20;  // more than sockets take at once
  Recorder sinks_[2];
  std::unique_ptr<TcpTransport> ends_[2] = {std::make_unique<TcpTransport>(sinks_[0], here()), std::make_unique<TcpTransport>(sinks_[1], here())};
  Link* links_[2];
};

TEST_F(Sockets, OnlyWhatIsOpenToAPeerIsReadOrWrittenByIt) {
  std::vector<std::byte> memory(1000, std::byte{1}), whole(1000), part(10);
  Exposed to_read, to_write, to_another;
  Recorder other_sink;
  TcpTransport other(other_sink, here());
  ASSERT_TRUE(ends_[1]->expose(*links_[1], memory.data(), 1000, false, to_read));
  ASSERT_TRUE(ends_[1]->expose(*links_[1], memory.data(), 1000, true, to_write));
  ASSERT_TRUE(ends_[1]->expose(*ends_[1]->connect(other.self()), memory.data(), 1000, false, to_another));
  EXPECT_TRUE(pulls(to_read.region, whole));
  EXPECT_EQ(whole, memory);
  EXPECT_TRUE(pulls({990, to_read.region.key}, part));
  EXPECT_FALSE(pulls({991, to_read.region.key}, part));
  EXPECT_FALSE(pulls({~uint64_t{0}, to_read.region.key}, part));
  EXPECT_FALSE(pulls({0, to_read.region.key + 1}, part));
  EXPECT_FALSE(pulls(to_write.region, part));
  EXPECT_FALSE(pulls(to_another.region, part));
  EXPECT_FALSE(pushes(to_read.region, part));
  EXPECT_FALSE(pushes({991, to_write.region.key}, part));
  EXPECT_TRUE(pushes({990, to_write.region.key}, part));
  ends_[1]->withdraw(to_write);
  EXPECT_FALSE(pushes({990, to_write.region.key}, part));
  while (ends_[0]->send(*links_[0], put(1, 0), {}) == Sent::again) pump();
  while (sinks_[1].arrivals.size() < 2) pump();
  EXPECT_TRUE(sinks_[0].losses.empty() && sinks_[1].losses.empty());
}

TEST_F(Sockets, MemoryWithdrawnWhileItIsSentIsNotReadAnyMore) {
  std::vector<std::byte> memory(kMuch, std::byte{1}), into(kMuch);
  Exposed exposed;
  ASSERT_TRUE(ends_[1]->expose(*links_[1], memory.data(), kMuch, false, exposed));
  ASSERT_EQ(ends_[0]->pull(*links_[0], exposed.region, into.data(), kMuch, &into), Moved::started);
  while (ends_[1]->poll(16) == 0) continue;  // the request; nobody reads what it makes leave
  ends_[1]->withdraw(exposed);
  std::fill(memory.begin(), memory.end(), std::byte{2});
  EXPECT_TRUE(ended(into));
  EXPECT_EQ(into, std::vector<std::byte>(kMuch, std::byte{1}));
}

TEST_F(Sockets, MemoryWithdrawnWhileItIsWrittenIsLeftAlone) {
  std::vector<std::byte> memory(kMuch), from(kMuch, std::byte{1});
  Exposed exposed;
  ASSERT_TRUE(ends_[1]->expose(*links_[1], memory.data(), kMuch, true, exposed));
  ASSERT_EQ(ends_[0]->push(*links_[0], exposed.region, from.data(), kMuch, &from), Moved::started);
  while (memory.front() == std::byte{0}) pump();
  ASSERT_EQ(memory.back(), std::byte{0});
  ends_[1]->withdraw(exposed);
  const std::vector<std::byte> then = memory;
  EXPECT_FALSE(ended(from));
  EXPECT_EQ(memory, then);
  EXPECT_EQ(ends_[0]->send(*links_[0], put(1, 0), {}), Sent::done);
}

// A put of bulk data, as the engine announces it.
class SocketsWithData : public Sockets {
 protected:
  wire::Region announce(std::vector<std::byte>& memory, uint64_t number, Exposed& exposed) {
    EXPECT_TRUE(ends_[1]->expose(*links_[1], memory.data(), memory.size(), false, exposed));
    wire::Header header = put(number, sizeof exposed.region);
    header.flags = wire::kBulk;
    header.rlength = memory.size();
    const iovec piece{&exposed.region, sizeof exposed.region};
    EXPECT_EQ(ends_[1]->send(*links_[1], header, {&piece, 1}), Sent::done);
    return exposed.region;
  }
  void await(uint64_t number) {
    while (sinks_[0].arrivals.back().header.match_bits != number) pump();
  }
};

TEST_F(SocketsWithData, DataThatComesWithAPutIsThereForThePullThatFollowsItAtOnce) {
  for (const size_t size : {1u, 9u, 1000u, 30'000u}) {
    std::vector<std::byte> memory(size, std::byte{7}), into(size);
    sinks_[0].moves.clear();
    Exposed exposed;
    const wire::Region region = announce(memory, size, exposed);
    await(size);
    EXPECT_EQ(ends_[0]->pull(*links_[0], region, into.data(), size, &into), Moved::started);
    while (sinks_[0].moves[&into].empty()) ends_[0]->poll(16);  // the other need not do anything
    EXPECT_EQ(into, memory);
    ends_[1]->withdraw(exposed);
  }
}

TEST_F(SocketsWithData, DataThatNobodyWantsYetIsKeptOrDroppedAndThereWhenItIs) {
  std::vector<std::byte> memory(500'000, std::byte{7});  // more of these than are kept
  Exposed exposed[40];
  wire::Region regions[40];
  for (uint64_t i = 0; i < 40; ++i) {
    regions[i] = announce(memory, 100 + i, exposed[i]);
    await(100 + i);
    pump();  // the engine has had its step
  }
  for (int i = 39; i >= 0; --i) {
    std::vector<std::byte> into(i % 2 ? memory.size() : 500);
    const Moved moved = ends_[0]->pull(*links_[0], {memory.size() - into.size(), regions[i].key}, into.data(), into.size(), &into);
    EXPECT_TRUE(moved == Moved::done || (moved == Moved::started && ended(into)));
    EXPECT_EQ(into, std::vector<std::byte>(into.size(), std::byte{7}));
    ends_[1]->withdraw(exposed[i]);
  }
  EXPECT_EQ(ends_[0]->malformed(), 0u);
}

TEST_F(SocketsWithData, APutWhoseMemoryIsWithdrawnBeforeItLeavesArrivesWithWhatWasThere) {
  std::vector<std::byte> memory(1 << 20, std::byte{7}), into(memory.size());
  Exposed exposed;
  ends_[1]->bundling = 1;
  const wire::Region region = announce(memory, 1, exposed);
  ends_[1]->withdraw(exposed);
  std::fill(memory.begin(), memory.end(), std::byte{8});
  ends_[1]->bundling = 0;
  ends_[1]->flush();
  await(1);
  EXPECT_TRUE(pulls(region, into));
  EXPECT_EQ(into, std::vector<std::byte>(memory.size(), std::byte{7}));
}

TEST_F(SocketsWithData, APullMayComeWhileItsDataIsKept) {
  std::vector<std::byte> memory(1 << 20), into(memory.size());
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  for (int polls = 0; polls < 12; ++polls) {
    std::fill(into.begin(), into.end(), std::byte{});
    Exposed exposed;
    const wire::Region region = announce(memory, static_cast<uint64_t>(polls) + 1, exposed);
    await(static_cast<uint64_t>(polls) + 1);
    for (int i = 0; i < polls; ++i) pump();
    const Moved moved = ends_[0]->pull(*links_[0], region, into.data(), into.size(), &into);
    EXPECT_TRUE(moved == Moved::done || (moved == Moved::started && ended(into)));
    EXPECT_EQ(into, memory) << polls;
    ends_[1]->withdraw(exposed);
  }
}

// A process of which only the greeting is as it should be.
class Impostor {
 public:
  explicit Impostor(TcpTransport& victim) : victim_(victim) {
    hello_.nid = INADDR_LOOPBACK;
    hello_.pid = 1;  // so the victim waits for our connection
    hello_.address_format = 0x50545431;
    hello_.name_size = 2;
    hello_.name[0] = std::byte{1};
    line_ = dial(victim.self().pid);
    EXPECT_EQ(::send(line_, &hello_, sizeof hello_, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof hello_));
    while (recv(line_, &answer_, sizeof answer_, MSG_DONTWAIT) < 0) victim.poll(16);
  }
  ~Impostor() { close(line_); }

  // Says this at the door, and then returns whether it was turned away.
  bool turned_away(uint32_t magic, uint32_t slot, const std::string& more) const {
    uint16_t port;
    std::memcpy(&port, answer_.name, sizeof port);
    const int fd = dial(ntohs(port));
    const fabric::Prefix prefix{magic, slot, hello_.pid, hello_.uid};
    const std::string said = std::string(reinterpret_cast<const char*>(&prefix), sizeof prefix) + more;
    EXPECT_EQ(::send(fd, said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
    char byte;
    ssize_t n = -1;
    for (int i = 0; i < 1000 && n < 0 && (i == 0 || errno == EAGAIN); ++i) {
      victim_.poll(16);
      n = recv(fd, &byte, 1, MSG_DONTWAIT);
    }
    close(fd);
    return n == 0 || errno != EAGAIN;
  }
  uint32_t slot() const { return answer_.slot; }

 private:
  static int dial(uint32_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }

  TcpTransport& victim_;
  fabric::Hello hello_, answer_;
  int line_;
};

TEST_F(Sockets, AConnectionOfNobodyIsTurnedAway) {
  const Impostor impostor(*ends_[0]);
  EXPECT_TRUE(impostor.turned_away(fabric::kMessageMagic, impostor.slot(), ""));
  EXPECT_TRUE(impostor.turned_away(fabric::kKnockMagic, 1000, ""));
  EXPECT_TRUE(impostor.turned_away(fabric::kKnockMagic, 0, ""));  // another's
  EXPECT_FALSE(impostor.turned_away(fabric::kKnockMagic, impostor.slot(), ""));
}

TEST_F(Sockets, WhatMakesNoSenseEndsItsConnectionAndNoOther) {
  struct { uint32_t frame; wire::Kind kind; uint16_t payload_size; uint64_t rlength; } const wrongs[] = {
      {0, wire::Kind::none, 0, 0},     {0, wire::Kind::put, 65535, 0},  {1, wire::Kind::none, 0, 0}, {2, wire::Kind::none, 0, 8},
      {3, wire::Kind::none, 0, 0},     {4, wire::Kind::none, 0, 0},     {5, wire::Kind::none, 0, 0}, {6, wire::Kind::none, 0, 0},
      {6, wire::Kind::put, 0, 0},      {6, wire::Kind::put, 0, 100},    {8, wire::Kind::none, 0, 0}};
  uint64_t ended = 0;
  for (const auto& wrong : wrongs) {
    wire::Header header{};
    header.ready = wrong.frame;
    header.kind = wrong.kind;
    header.payload_size = wrong.payload_size;
    header.rlength = wrong.rlength;
    {
      const Impostor impostor(*ends_[0]);
      EXPECT_TRUE(impostor.turned_away(fabric::kKnockMagic, impostor.slot(), std::string(reinterpret_cast<const char*>(&header), sizeof header)));
    }
    EXPECT_EQ(ends_[0]->malformed(), ++ended) << wrong.frame;
    while (!ends_[0]->idle()) ends_[0]->poll(16);
  }
  EXPECT_TRUE(sinks_[0].losses.empty());  // of those that the engine knows
  EXPECT_EQ(ends_[0]->send(*links_[0], put(1, 0), {}), Sent::done);
}

}  // namespace
}  // namespace portunus
