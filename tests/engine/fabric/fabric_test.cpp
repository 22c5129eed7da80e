// fabric_test.cpp: what the fabric transport promises beyond the suite of all transports: set-up, junk, other processes.
#include "engine/transport/fabric/fabric.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>

#include "engine/transport/fabric/connection_manager.hpp"
#include "engine/transport/fabric/library.hpp"
#include "engine/transport/fabric/link.hpp"
#include "engine/transport/fabric/message.hpp"
#include "tests/engine/transport_pair.hpp"
#include "tests/support/rig.hpp"
#include "tests/support/thorough.hpp"

namespace portunus {
namespace {

FabricOptions options(const std::string& provider, uint32_t pid = 0) { return {provider, "127.0.0.1", pid, getuid()}; }

wire::Header put(uint64_t number, size_t payload_size) {
  wire::Header header{};
  header.kind = wire::Kind::put;
  header.match_bits = number;
  header.payload_size = static_cast<uint16_t>(payload_size);
  return header;
}

std::string sentence_of(const FabricOptions& options) {
  Recorder sink;
  try {
    FabricTransport transport(sink, options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

size_t regions_of(pid_t process, bool remove) {
  size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().rfind("portunus-fabric-" + std::to_string(process) + "-", 0) != 0) continue;
    ++found;
    if (remove) std::filesystem::remove(entry.path());
  }
  return found;
}

// --- who calls ---

struct Nobody final : fabric::ConnectionClient {
  fabric::FabricLink* hello_received(fabric::FabricLink*, const fabric::Hello&) override { return nullptr; }
  void disconnected(fabric::FabricLink&, bool) override {}
};

TEST(ConnectionManager, DropsWhoCallsAndDoesNotSayHello) {
  Nobody nobody;
  fabric::ConnectionManager connections(INADDR_LOOPBACK, 0, 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(connections.self().pid));
  std::vector<int> strangers;
  for (const size_t said : {size_t{0}, sizeof(fabric::Hello) - 1}) {
    strangers.push_back(socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(strangers.back(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::vector<std::byte> part(said);
    ASSERT_EQ(::send(strangers.back(), part.data(), said, MSG_NOSIGNAL), static_cast<ssize_t>(said));
  }
  const auto stands = [](int stranger) {
    char byte;
    return recv(stranger, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  };
  while (!connections.needs_look()) connections.poll(nobody);
  while (std::any_of(strangers.begin(), strangers.end(), stands)) connections.poll(nobody), connections.look(nobody);
  for (const int stranger : strangers) close(stranger);
  connections.look(nobody);
  EXPECT_FALSE(connections.needs_look()) << "nobody is left to be looked at";
  EXPECT_FALSE(connections.pending());
}

TEST(ConnectionManager, SaysThatDescriptorsAreMissingAndNotThatThePeerIsGone) {
  fabric::ConnectionManager connections(INADDR_LOOPBACK, 0, 1);
  fabric::FabricLink link;
  link.process = {INADDR_LOOPBACK, 1};
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  testing::internal::CaptureStderr();
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(connections.call(link));
  EXPECT_FALSE(connections.call(link));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("127.0.0.1:1 cannot be reached"), std::string::npos) << said;
  EXPECT_NE(said.find("ulimit -n"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

// --- set-up ---

TEST(Fabric, AnUnknownProviderIsNamedTogetherWithThoseThereAre) {
  const std::string sentence = sentence_of(options("xyz"));
  EXPECT_NE(sentence.find("PTL_FABRIC_PROVIDER=xyz: libfabric has no such provider here; available: "), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("tcp"), std::string::npos) << sentence;
}

// tcp alone means the network; more names, or none of certain ones, mean what they say.
TEST(Fabric, WhatTheUserSaysOfProvidersHolds) {
  EXPECT_EQ(fabric::providers_to_set_up(nullptr, "cxi,efa"), "cxi,efa");
  EXPECT_EQ(fabric::providers_to_set_up("tcp", "cxi,efa"), "tcp,net");
  for (const char* said : {"tcp,ofi_rxm", "verbs", "^net", ""}) EXPECT_EQ(fabric::providers_to_set_up(said, "cxi,efa"), said);
}

TEST(Fabric, AnUnknownInterfaceIsNamed) {
  const std::string sentence = sentence_of({"tcp", "nosuch0", 0, 0});
  EXPECT_NE(sentence.find("PTL_FABRIC_INTERFACE=nosuch0"), std::string::npos) << sentence;
}

TEST(Fabric, WithoutAWishAProviderAndAnInterfaceAreChosen) {
  Recorder sink;
  FabricTransport transport(sink, {"", "", 0, 0});
  EXPECT_EQ(std::string(transport.name().text).rfind("fabric(", 0), 0u);
  EXPECT_NE(transport.self().nid, 0u);
  EXPECT_NE(transport.self().pid, 0u);
}

TEST(Fabric, ThePidAskedForIsTakenAndCannotBeTakenTwice) {
  for (const char* provider : {"tcp", "shm"}) {
    Recorder sink;
    auto first = std::make_unique<FabricTransport>(sink, options(provider));
    const uint32_t pid = first->self().pid;
    try {
      FabricTransport second(sink, options(provider, pid));
      FAIL();
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::address_in_use);
      EXPECT_NE(std::string(error.what()).find("127.0.0.1:" + std::to_string(pid)), std::string::npos) << error.what();
    }
    first.reset();
    FabricTransport again(sink, options(provider, pid));
    EXPECT_EQ(again.self().pid, pid);
  }
}

TEST(Fabric, APidThatIsNoPortIsRefused) {
  EXPECT_NE(sentence_of(options("tcp", 65535)).find("65535"), std::string::npos);
  EXPECT_NE(sentence_of(options("tcp", 70000)).find("70000"), std::string::npos);
}

TEST(Fabric, ShmLeavesNothingBehind) {
  Recorder sink;
  {
    FabricTransport transport(sink, options("shm"));
    EXPECT_EQ(regions_of(getpid(), false), 1u);
  }
  EXPECT_EQ(regions_of(getpid(), false), 0u);
}

TEST(Fabric, WhatIsNoAddressOfAnotherProcessIsNotReached) {
  Recorder sink;
  FabricTransport transport(sink, options("tcp"));
  EXPECT_EQ(transport.connect(transport.self()), nullptr);
  EXPECT_EQ(transport.connect({0, 5}), nullptr);
  EXPECT_EQ(transport.connect({transport.self().nid, 0}), nullptr);
  EXPECT_EQ(transport.connect({transport.self().nid, 0xffff}), nullptr);
}

// DEMANDING=domains=3 makes three devices, of which nobody knows what they are near to.
TEST(Fabric, ProcessesOfANodeTakeTurnsInUsingItsDevices) {
  if (std::getenv("DEMANDING") == nullptr) GTEST_SKIP() << "the providers of this machine have no devices";
  Recorder sink;
  for (size_t local_rank = 0; local_rank < 5; ++local_rank) {
    FabricTransport transport(sink, {"demanding", "127.0.0.1", 0, 0, 30, local_rank});
    EXPECT_EQ(transport.name().text, "fabric(demanding, demanding" + std::to_string(local_rank % 3) + ")");
  }
}

// One interface by its name and by its address stands for two.
TEST(Fabric, OfSeveralInterfacesTheFirstNamesTheProcess) {
  Recorder sink;
  for (size_t local_rank = 0; local_rank < 2; ++local_rank) {
    FabricTransport transport(sink, {"tcp", "lo,127.0.0.1", 0, 0, 30, local_rank});
    EXPECT_EQ(transport.self().nid, uint32_t{INADDR_LOOPBACK});
    EXPECT_NE(std::string(transport.name().text).find(", lo)"), std::string::npos) << transport.name().text;
  }
  EXPECT_NE(sentence_of({"tcp", "lo,nosuch0", 0, 0}).find("PTL_FABRIC_INTERFACE=nosuch0"), std::string::npos);
}

// --- two in one process ---

class FabricOf : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<FabricTransport> open(Recorder& sink, uint32_t pid = 0) {
    return std::make_unique<FabricTransport>(sink, options(GetParam(), pid));
  }
};

TEST_P(FabricOf, BothMayConnectAtOnce) {
  for (uint32_t round = 0; round < test::runs(20); ++round) {
    Recorder sinks[2];
    std::unique_ptr<FabricTransport> ends[2] = {open(sinks[0]), open(sinks[1])};
    Link* links[2] = {ends[0]->connect(ends[1]->self()), ends[1]->connect(ends[0]->self())};
    bool sent[2] = {};
    while (sinks[0].arrivals.empty() || sinks[1].arrivals.empty()) {
      for (int side : {0, 1}) {
        if (!sent[side]) sent[side] = ends[side]->send(*links[side], put(1, 0), {}) == Sent::done;
        ends[side]->poll(16);
      }
    }
    for (int side : {0, 1}) {
      EXPECT_EQ(sinks[side].arrivals.front().from, links[side]);
      EXPECT_EQ(links[side]->uid, getuid());
      EXPECT_TRUE(sinks[side].losses.empty());
    }
  }
}

TEST_P(FabricOf, AProcessWithTheAddressOfADeadOneIsANewLink) {
  Recorder sink, first_sink, second_sink;
  auto server = open(sink);
  auto first = open(first_sink);
  const uint32_t pid = first->self().pid;
  const auto greet = [&](FabricTransport& client) {
    Link* link = client.connect(server->self());
    while (client.send(*link, put(1, 0), {}) == Sent::again) client.poll(16), server->poll(16);
    const size_t seen = sink.arrivals.size();
    while (sink.arrivals.size() == seen) client.poll(16), server->poll(16);
    return sink.arrivals.back().from;
  };
  Link* old_link = greet(*first);
  first.reset();
  while (sink.losses.empty()) server->poll(16);
  auto second = open(second_sink, pid);
  Link* new_link = greet(*second);
  EXPECT_NE(old_link, new_link);
  EXPECT_EQ(old_link->process, new_link->process);
  EXPECT_EQ(server->send(*old_link, put(1, 0), {}), Sent::failed);
  EXPECT_EQ(server->connect(second->self()), new_link);
  while (server->send(*new_link, put(2, 0), {}) == Sent::again) second->poll(16), server->poll(16);
  while (second_sink.arrivals.empty()) second->poll(16), server->poll(16);
}

// Two ends, of which the first sends puts by eager RDMA and others.
class FabricEagerRdma {
 public:
  FabricEagerRdma(std::unique_ptr<FabricTransport> from, std::unique_ptr<FabricTransport> to, Recorder& sink)
      : sender(std::move(from)), receiver(std::move(to)), sink_(sink), link_(sender->connect(receiver->self())) {
    link_->peer = Recorder::somebody();
  }
  static std::vector<std::byte> bytes(uint64_t number, size_t size) {
    std::vector<std::byte> all(size);
    for (size_t i = 0; i < size; ++i) all[i] = static_cast<std::byte>(number * 31 + i * 7 + i / 251);
    return all;
  }
  Sent send(uint64_t number, size_t size) {
    const std::vector<std::byte> data = bytes(number, size);
    const iovec pieces[] = {{const_cast<std::byte*>(data.data()), size / 3},
                            {const_cast<std::byte*>(data.data()) + size / 3, size - size / 3}};
    wire::Header header = put(number, size);
    if (size > sender->limits().eager) header.payload_size = wire::kWhole;
    header.rlength = size;
    return sender->send(*link_, header, {pieces, 2});
  }
  // Sends the header of a put whose data could have come with it.
  Sent announce(size_t size) {
    wire::Header header = put(~0ull, 0);
    header.flags = wire::kBulk | wire::kNoRegion;
    header.rlength = size;
    return sender->send(*link_, header, {});
  }
  void pump() { sender->poll(16), receiver->poll(16); }
  // Sends announcements until the receiver may have offered a place.
  void ask_for_a_place(size_t size) {
    while (announce(size) == Sent::again) pump();
  }
  // Sends the first put, which goes as soon as there is a place.
  void send_first(size_t size) {
    ask_for_a_place(size);
    while (send(0, size) != Sent::done) pump();
  }
  // Checks all that has arrived, in its order; the announcements are not counted.
  void expect(uint64_t& number, const std::vector<size_t>& sizes) {
    for (; !sink_.arrivals.empty(); sink_.arrivals.pop_front()) {
      const Recorder::Arrival& arrival = sink_.arrivals.front();
      if (arrival.header.match_bits == ~0ull) continue;
      ASSERT_LT(number, sizes.size());
      ASSERT_EQ(arrival.header.match_bits, number);
      ASSERT_EQ(arrival.header.rlength, sizes[number]);
      ASSERT_TRUE(arrival.payload == bytes(number, sizes[number])) << "message " << number << " of " << sizes[number] << " bytes";
      ++number;
    }
  }

  Link* link() const { return link_; }

  std::unique_ptr<FabricTransport> sender, receiver;

 private:
  Recorder& sink_;
  Link* link_;
};

TEST_P(FabricOf, PutsThatTravelWholeKeepTheirOrderAndTheirBytes) {
  Recorder sinks[2];
  FabricEagerRdma ends(open(sinks[0]), open(sinks[1]), sinks[1]);
  const size_t whole = ends.sender->limits().whole, eager = ends.sender->limits().eager;
  if (whole == 0) GTEST_SKIP() << "no put travels whole by this provider";
  std::mt19937 random(7);
  std::vector<size_t> sizes;
  uint64_t seen = 0;
  for (int i = 0; i < 100; ++i, ends.pump()) EXPECT_EQ(ends.send(0, whole), Sent::again) << "the receiver has offered no place yet";
  ends.ask_for_a_place(whole);
  for (const uint64_t count = test::runs(500); sizes.size() < count;) {
    sizes.push_back(random() % 3 ? eager + 1 + random() % (whole - eager) : random() % (eager + 1));
    Sent sent;
    while ((sent = ends.send(sizes.size() - 1, sizes.back())) == Sent::again) ends.pump();
    ASSERT_EQ(sent, Sent::done);
    if (random() % 8 == 0) ends.pump();
    ends.expect(seen, sizes);
  }
  while (seen < sizes.size()) ends.pump(), ends.expect(seen, sizes);
  EXPECT_EQ(ends.receiver->malformed(), 0u);
}

// The peer's word that data are there would stand behind all that the peer sends, and wake this process once more. Messages sent next stand
// behind the data.
TEST_P(FabricOf, AShortPushInAStreamEndsWithoutAWordOfThePeer) {
  Recorder sinks[2];
  FabricEagerRdma ends(open(sinks[0]), open(sinks[1]), sinks[1]);
  constexpr size_t kSize = 32 << 10;  // sockets take it in
  if (ends.sender->limits().whole == 0) GTEST_SKIP() << "what this provider sends next might overtake a push";
  ends.ask_for_a_place(kSize);
  while (sinks[1].arrivals.empty()) ends.pump();
  std::vector<std::byte> from = FabricEagerRdma::bytes(1, kSize), to(kSize);
  Exposed exposed;
  ASSERT_TRUE(ends.receiver->expose(*sinks[1].arrivals.front().from, to.data(), kSize, true, exposed));
  Moved moved;
  while ((moved = ends.sender->push(*ends.link(), exposed.region, from.data(), kSize, &from)) == Moved::again) ends.pump();
  ASSERT_EQ(moved, Moved::started);
  while (sinks[0].moves[&from].empty()) ends.sender->poll(16);
  EXPECT_TRUE(sinks[0].moves[&from].back());
  while (ends.send(1, 0) != Sent::done) ends.sender->poll(16);
  for (bool there = false; !there; ends.receiver->poll(1))
    there = std::any_of(sinks[1].arrivals.begin(), sinks[1].arrivals.end(), [](const auto& one) { return one.header.match_bits == 1; });
  EXPECT_TRUE(from == to) << "the message says that they are there";
  ends.receiver->withdraw(exposed);
}

// The provider that reads may drop such data and tell nobody.
TEST_P(FabricOf, AReadOfWhatIsNotThereAnyMoreIsAnErrorOnBothSides) {
  if (FI_MAJOR_VERSION >= 2 && std::string(GetParam()) == "shm")
    GTEST_SKIP() << "shm of libfabric 2 reads the memory of its own process itself, and is ended by a signal";
  Recorder sinks[2];
  FabricOptions impatient = options(GetParam());
  impatient.timeout_s = 1;
  FabricTransport reader(sinks[0], impatient), owner(sinks[1], impatient);
  const size_t size = std::min<size_t>(300'000, reader.limits().pull);
  Link* const link = reader.connect(owner.self());
  link->peer = Recorder::somebody();
  const auto pump = [&] {
    for (FabricTransport* end : {&reader, &owner}) end->poll(16), end->housekeeping(true);
  };
  while (reader.send(*link, put(1, 0), {}) == Sent::again) pump();
  while (sinks[1].arrivals.empty()) pump();
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Exposed exposed;
  ASSERT_TRUE(owner.expose(*sinks[1].arrivals.front().from, memory, size, false, exposed));
  ASSERT_EQ(mprotect(memory, size, PROT_NONE), 0);
  std::vector<std::byte> copy(size);
  Moved moved;
  while ((moved = reader.pull(*link, exposed.region, copy.data(), size, &copy)) == Moved::again) pump();
  while (moved == Moved::started && sinks[0].moves[&copy].empty()) pump();
  EXPECT_TRUE(moved == Moved::failed || !sinks[0].moves[&copy].back());
  while (!sinks[0].losses.empty() && sinks[1].losses.empty()) pump();
  owner.withdraw(exposed);
  munmap(memory, size);
}

// Runs `body` with two ends of which the first has sent one put by eager RDMA, of the longest and of a shorter one.
template <class Open, class Body>
void with_first_whole(Open&& open, Body&& body) {
  for (const size_t size : {fabric::kEagerRdmaMost, size_t{20'000}}) {
    Recorder sinks[2];
    FabricEagerRdma ends(open(sinks[0]), open(sinks[1]), sinks[1]);
    if (ends.sender->limits().whole == 0) GTEST_SKIP() << "no put travels whole by this provider";
    ends.send_first(size);
    body(ends, sinks[1], size);
  }
}

TEST_P(FabricOf, PutsThatTravelWholeWaitForPlacesWhileNobodyTakesThemIn) {
  with_first_whole([this](Recorder& sink) { return open(sink); },
                   [](FabricEagerRdma& ends, Recorder&, size_t size) {
                     std::vector<size_t> sizes{size};
                     uint64_t seen = 0;
                     for (int refused = 0; refused < 2000; ++refused, ends.sender->poll(16)) {
                       if (ends.send(sizes.size(), size) != Sent::done) continue;
                       sizes.push_back(size);
                       ASSERT_LE(sizes.size(), 2 * fabric::kRdmaSlots) << "nothing holds this sender back";
                     }
                     while (seen < sizes.size()) ends.pump(), ends.expect(seen, sizes);
                   });
}

TEST_P(FabricOf, AnEndInTheMidstOfPutsThatTravelWholeIsToldAfterThem) {
  with_first_whole([this](Recorder& sink) { return open(sink); },
                   [](FabricEagerRdma& ends, Recorder& sink, size_t size) {
                     std::vector<size_t> sizes{size};
                     uint64_t seen = 0;
                     for (; seen == 0; ends.expect(seen, sizes)) ends.pump();
                     while (ends.send(sizes.size(), size) == Sent::done) sizes.push_back(size);
                     ends.sender.reset();  // the destructor lets messages leave, as far as sockets take them
                     while (sink.losses.empty()) ends.receiver->poll(16);
                     ends.expect(seen, sizes);
                     EXPECT_GT(seen, 1u);
                     EXPECT_TRUE(ends.receiver->idle() || ends.receiver->poll(16) >= 0);
                   });
}

// Engines on fabrics of their own, stepped by hand; the first receives.
class FabricFlood {
 public:
  FabricFlood(const char* provider, size_t engines, uint64_t limit) {
    std::vector<ptl_process_t> map(engines);
    for (ptl_process_t& process : map) {
      test::Node& node = *nodes.emplace_back(std::make_unique<test::Node>(ProcessId{}));
      auto transport = std::make_unique<FabricTransport>(node.engine, options(provider));
      node.engine.set_self(transport->self());
      process.phys = {transport->self().nid, transport->self().pid};
      node.engine.peers().add_transport(std::move(transport));
    }
    for (auto& node : nodes) node->open(PTL_NI_MATCHING | PTL_NI_LOGICAL, map);
    receiver().portal();
    EXPECT_EQ(receiver().engine.flow().limit_held(0, 0, limit / 2, limit), PTL_OK);
    receiver().append(
        {.options = PTL_ME_OP_PUT | PTLX_ME_HOLD | PTL_ME_EVENT_LINK_DISABLE, .ignore_bits = ~0ull, .list = PTL_OVERFLOW_LIST});
  }
  test::Node& receiver() { return *nodes[0]; }
  uint64_t kept() { return receiver().engine.interface(0).portals[0]->held->used(); }

  std::vector<std::unique_ptr<test::Node>> nodes;
};

TEST_P(FabricOf, WhatIsKeptOfAFloodStaysBelowItsLimitAndOneMessageFromEachSender) {
  constexpr uint64_t kLimit = 2 << 20;
  FabricFlood flood(GetParam(), 3, kLimit);
  std::vector<char> data(fabric::kEagerRdmaMost);
  uint64_t sent = 0, most = 0;
  // Senders that send while nothing restrains them, at a receiver that steps seldom: sockets fill before it can ask for less.
  for (int still = 0; still < 200;) {
    const uint64_t before = sent, kept = flood.kept();
    for (size_t i = 1; i < flood.nodes.size(); ++i) {
      test::Node& sender = *flood.nodes[i];
      for (int burst = 0; burst < 100 && sender.engine.restraints() == 0; ++burst, ++sent)
        sender.run(sender.put(data.data(), sent % 100 == 0 ? data.size() : sent % 50 == 0 ? fabric::kEager : 8, 0));
      for (int step = 0; step < 20; ++step) sender.engine.step(0);
    }
    flood.receiver().engine.step(0);
    most = std::max(most, flood.kept());
    still = most > 0 && before == sent && kept == flood.kept() ? still + 1 : 0;
  }
  EXPECT_GT(most, kLimit / 2);
  EXPECT_LE(most, kLimit + 2 * fabric::kOneMessage);
  // And all of it arrives once it is received.
  const uint32_t ct = flood.receiver().counter();
  flood.receiver().append({.start = data.data(),
                           .length = data.size(),
                           .options = PTL_ME_OP_PUT | PTLX_ME_COMPLETE_UNEXPECTED | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_COMM_DISABLE |
                                      PTL_ME_EVENT_CT_COMM,
                           .ignore_bits = ~0ull,
                           .ct = ct});
  while (flood.receiver().value(ct).success < sent)
    for (auto& node : flood.nodes) node->engine.step(0);
  EXPECT_EQ(flood.kept(), 0u);
}

TEST_P(FabricOf, StrangersAtThePortDoNoHarm) {
  Recorder sinks[2];
  auto server = open(sinks[0]);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(server->self().nid);
  address.sin_port = htons(static_cast<uint16_t>(server->self().pid));
  fabric::Hello hello;
  hello.nid = server->self().nid;
  hello.pid = 1;
  hello.name_size = fabric::kMaxName;  // too long
  std::vector<std::string> words = {"", "GET / HTTP/1.0\r\n\r\n", std::string(5000, 'x'), std::string(256, '\0'),
                                    std::string(reinterpret_cast<const char*>(&hello), sizeof hello)};
  hello.name_size = 5;  // but of no protocol of ours
  words.emplace_back(reinterpret_cast<const char*>(&hello), sizeof hello);
  hello.nid += 1;  // of another host than it comes from
  words.emplace_back(reinterpret_cast<const char*>(&hello), sizeof hello);
  std::vector<int> strangers;
  for (const std::string& word : words) {
    const int stranger = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::send(stranger, word.data(), word.size(), MSG_NOSIGNAL), static_cast<ssize_t>(word.size()));
    strangers.push_back(stranger);
  }
  while (!server->idle()) server->poll(16);
  for (size_t i = 2; i < strangers.size(); ++i) {
    char byte;
    EXPECT_LE(recv(strangers[i], &byte, 1, 0), 0) << "stranger " << i << " was not turned away";
  }
  for (const int stranger : strangers) close(stranger);
  EXPECT_TRUE(sinks[0].introductions.empty());
  EXPECT_TRUE(sinks[0].losses.empty());
  auto client = open(sinks[1]);
  Link* link = client->connect(server->self());
  while (client->send(*link, put(1, 0), {}) == Sent::again) client->poll(16), server->poll(16);
  while (sinks[0].arrivals.empty()) client->poll(16), server->poll(16);
}

TEST_P(FabricOf, WhoIsNoFabricProcessIsLost) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  Recorder sink;
  auto transport = open(sink);
  Link* link = transport->connect({INADDR_LOOPBACK, ntohs(address.sin_port)});
  ASSERT_NE(link, nullptr);
  const int accepted = accept(listener, nullptr, nullptr);
  const std::string banner(300, 'S');
  ASSERT_EQ(::send(accepted, banner.data(), banner.size(), MSG_NOSIGNAL), static_cast<ssize_t>(banner.size()));
  while (sink.losses.empty()) transport->poll(16);
  EXPECT_EQ(transport->send(*link, put(1, 0), {}), Sent::failed);
  close(accepted);
  close(listener);
}

// --- two processes ---

// Sends each message back, until it is killed.
[[noreturn]] void echo(const char* provider, int tell) {
  Recorder sink;
  FabricTransport transport(sink, options(provider));
  const ProcessId self = transport.self();
  if (write(tell, &self, sizeof self) != sizeof self) _exit(1);
  for (;;) {
    if (transport.poll(16) == 0) sched_yield();
    while (!sink.arrivals.empty()) {
      auto& arrival = sink.arrivals.front();
      const iovec piece{arrival.payload.data(), arrival.payload.size()};
      if (transport.send(*arrival.from, arrival.header, {&piece, 1}) != Sent::done) break;
      sink.arrivals.pop_front();
    }
  }
}

TEST_P(FabricOf, AnotherProcessAnswersInOrderAndItsDeathIsNoticed) {
  constexpr uint64_t kMessages = 10'000;
  constexpr uint64_t kWindow = 500;
  int tell[2];
  ASSERT_EQ(pipe(tell), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) echo(GetParam(), tell[1]);
  ProcessId there;
  ASSERT_EQ(read(tell[0], &there, sizeof there), static_cast<ssize_t>(sizeof there));
  Recorder sink;
  auto transport = open(sink);
  Link* link = transport->connect(there);
  link->peer = Recorder::somebody();
  const auto size_of = [](uint64_t i) { return static_cast<size_t>(i % 7 == 0 ? i % 8192 : i % 50); };
  std::vector<std::byte> payload(8192);
  uint64_t sent = 0, seen = 0;
  while (seen < kMessages) {
    if (sent < kMessages && sent < seen + kWindow) {
      std::fill_n(payload.begin(), size_of(sent), static_cast<std::byte>(sent));
      const iovec piece{payload.data(), size_of(sent)};
      sent += transport->send(*link, put(sent, size_of(sent)), {&piece, 1}) == Sent::done;
    }
    if (transport->poll(16) == 0) sched_yield();
    for (; !sink.arrivals.empty(); sink.arrivals.pop_front(), ++seen) {
      ASSERT_EQ(sink.arrivals.front().header.match_bits, seen);
      ASSERT_TRUE(sink.arrivals.front().payload == std::vector<std::byte>(size_of(seen), static_cast<std::byte>(seen)));
    }
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while (transport->send(*link, put(0, 0), {}) != Sent::failed) transport->poll(16);
  EXPECT_EQ(sink.losses, std::vector<Link*>{link});
  transport.reset();
  regions_of(child, true);  // as a launcher does after a kill
  EXPECT_EQ(regions_of(getpid(), false), 0u);
  close(tell[0]);
  close(tell[1]);
}

// Those of libfabric, or the one that PTL_FABRIC_PROVIDER names.
std::vector<const char*> providers() {
  const char* const named = std::getenv("PTL_FABRIC_PROVIDER");
  return named != nullptr ? std::vector{named} : std::vector{"tcp", "shm"};
}
INSTANTIATE_TEST_SUITE_P(Providers, FabricOf, testing::ValuesIn(providers()), [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace portunus
