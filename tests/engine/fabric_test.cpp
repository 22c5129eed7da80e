// fabric_test.cpp: what the fabric transport promises beyond the suite of all transports: set-up, junk, other processes.
#include "engine/transport/fabric/fabric.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
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

#include "engine/transport/fabric/guard.hpp"
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

struct Nobody final : fabric::GuardClient {
  fabric::FabricLink* hello_received(fabric::FabricLink*, const fabric::Hello&) override { return nullptr; }
  uint32_t slot_of(const fabric::FabricLink&) const override { return 0; }
  void disconnected(fabric::FabricLink&) override {}
};

TEST(Guard, DropsWhoCallsAndDoesNotSayHello) {
  Nobody nobody;
  fabric::Guard guard(INADDR_LOOPBACK, 0, 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(guard.self().pid));
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
  while (std::any_of(strangers.begin(), strangers.end(), stands)) {
    pollfd ready{guard.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, -1), 1);
    guard.poll(nobody);
  }
  for (const int stranger : strangers) close(stranger);
  EXPECT_FALSE(guard.pending());  // nor does the timer go on without anybody
}

TEST(Guard, SaysThatDescriptorsAreMissingAndNotThatThePeerIsGone) {
  fabric::Guard guard(INADDR_LOOPBACK, 0, 1);
  fabric::FabricLink link;
  link.process = {INADDR_LOOPBACK, 1};
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  testing::internal::CaptureStderr();
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_FALSE(guard.call(link, 0));
  EXPECT_FALSE(guard.call(link, 0));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("127.0.0.1:1 cannot be reached"), std::string::npos) << said;
  EXPECT_NE(said.find("ulimit -n"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

// --- the bytes of a message ---

std::vector<std::byte> encoded(const wire::Header& header, size_t payload_size) {
  const std::vector<std::byte> payload(payload_size, std::byte{0x7e});
  const iovec piece{const_cast<std::byte*>(payload.data()), payload_size};
  std::vector<std::byte> bytes(fabric::encoded_size(header));
  fabric::encode({fabric::kMessageMagic, 1, 2, 3}, header, {&piece, 1}, bytes.data());
  return bytes;
}

TEST(FabricMessage, PayloadOfUpToEightBytesIsFoundInTheHeader) {
  for (const size_t size : {0u, 1u, 8u, 9u, 5000u}) {
    const std::vector<std::byte> bytes = encoded(put(4, size), size);
    EXPECT_EQ(bytes.size(), 16 + 8 + 4 + size);
    fabric::Message message;
    ASSERT_TRUE(fabric::decode(bytes, message));
    EXPECT_EQ(message.prefix.slot, 1u);
    EXPECT_EQ(message.header.match_bits, 4u);
    EXPECT_EQ(message.payload == message.header.inline_payload, size <= wire::kInlinePayload);
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(message.payload[i], std::byte{0x7e});
  }
}

TEST(FabricMessage, AHeaderArrivesAsItWasAndTakesNoMoreThanWhatOfItIsNotZero) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    wire::Header header = put(0, random() % 3 ? random() % 9 : random() % 100);
    header.flags = static_cast<uint8_t>(random());
    header.op = static_cast<uint8_t>(random());
    header.datatype = static_cast<uint8_t>(random());
    header.pt_index = static_cast<uint16_t>(random());
    size_t least = 16 + 8 + header.payload_size;
    for (const auto word : fabric::kWords) {
      const unsigned bits = static_cast<unsigned>(random() % 65);
      header.*word = bits == 0 ? 0 : random() >> (64 - bits);
      least += header.*word == 0 ? 0 : header.*word <= 0xffffffff ? 4 : 8;
    }
    const std::vector<std::byte> bytes = encoded(header, header.payload_size);
    EXPECT_EQ(bytes.size(), least);
    EXPECT_LE(bytes.size(), fabric::kHeadSize + header.payload_size);
    fabric::Message message;
    ASSERT_TRUE(fabric::decode(bytes, message));
    if (header.payload_size <= wire::kInlinePayload) std::fill_n(header.inline_payload, header.payload_size, std::byte{0x7e});
    EXPECT_EQ(std::memcmp(&message.header, &header, sizeof header), 0);
  }
}

TEST(FabricMessage, AShortPutAndItsAnswerTakeNoMoreThanTcpInjects) {
  wire::Header header = put(~0ull, 8);
  header.hdr_data = ~0ull;
  header.rlength = 8;
  header.token = ~0ull;
  EXPECT_LE(fabric::encoded_size(header), 64u);
  wire::Header answer{};
  answer.kind = wire::Kind::ack;
  answer.rlength = answer.remote_offset = answer.token = ~0ull;
  EXPECT_LE(fabric::encoded_size(answer), 64u);
}

TEST(FabricMessage, BytesThatAreNotAWholeMessageAreRefused) {
  const std::vector<std::byte> good = encoded(put(4, 20), 20);
  fabric::Message message;
  ASSERT_TRUE(fabric::decode(good, message));
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(fabric::decode({good.data(), size}, message)) << size;
  std::vector<std::byte> longer = good;
  longer.push_back({});
  EXPECT_FALSE(fabric::decode(longer, message));
  for (const auto& [offset, value] : {std::pair{0, 0xff},
                                      {10, 2},     // longer than it is
                                      {10, 3},     // a word of no length
                                      {11, 0x80},  // a word too many
                                      {16, 0},
                                      {16, int{static_cast<uint8_t>(wire::Kind::last_kind)} + 1},
                                      {16, 255},
                                      {16 + 6, 21},
                                      {16 + 7, 1}}) {
    std::vector<std::byte> bad = good;
    bad[static_cast<size_t>(offset)] = static_cast<std::byte>(value);
    EXPECT_FALSE(fabric::decode(bad, message)) << "byte " << offset << " = " << value;
  }
}

TEST(FabricMessage, TheTransportsOwnWordsOfAHeaderDoNotComeFromTheWire) {
  wire::Header header = put(4, 0);
  header.ready = header.source = 0xffffffff;
  fabric::Message message;
  ASSERT_TRUE(fabric::decode(encoded(header, 0), message));
  EXPECT_EQ(message.header.ready, 0u);
  EXPECT_EQ(message.header.source, 0u);
}

// --- set-up ---

TEST(Fabric, AnUnknownProviderIsNamedTogetherWithThoseThereAre) {
  const std::string sentence = sentence_of(options("xyz"));
  EXPECT_NE(sentence.find("PTL_FABRIC_PROVIDER=xyz: libfabric has no such provider here; available: "), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("tcp"), std::string::npos) << sentence;
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

// Two ends, of which the first sends puts that travel whole and others.
class FabricWhole {
 public:
  FabricWhole(std::unique_ptr<FabricTransport> from, std::unique_ptr<FabricTransport> to, Recorder& sink)
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
  // The header of a put whose data could have come with it.
  Sent announce(size_t size) {
    wire::Header header = put(~0ull, 0);
    header.flags = wire::kBulk | wire::kNoRegion;
    header.rlength = size;
    return sender->send(*link_, header, {});
  }
  void pump() { sender->poll(16), receiver->poll(16); }
  // What has arrived, in its order; the announcements are not counted.
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

  std::unique_ptr<FabricTransport> sender, receiver;

 private:
  Recorder& sink_;
  Link* link_;
};

TEST_P(FabricOf, PutsThatTravelWholeKeepTheirOrderAndTheirBytes) {
  Recorder sinks[2];
  FabricWhole ends(open(sinks[0]), open(sinks[1]), sinks[1]);
  const size_t whole = ends.sender->limits().whole, eager = ends.sender->limits().eager;
  if (whole == 0) GTEST_SKIP() << "no put travels whole by this provider";
  std::mt19937 random(7);
  std::vector<size_t> sizes;
  uint64_t seen = 0;
  for (int i = 0; i < 100; ++i, ends.pump()) EXPECT_EQ(ends.send(0, whole), Sent::again) << "the receiver has offered no place yet";
  while (ends.announce(whole) == Sent::again) ends.pump();
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

TEST_P(FabricOf, PutsThatTravelWholeWaitForPlacesWhileNobodyTakesThemIn) {
  Recorder sinks[2];
  FabricWhole ends(open(sinks[0]), open(sinks[1]), sinks[1]);
  const size_t whole = ends.sender->limits().whole;
  if (whole == 0) GTEST_SKIP() << "no put travels whole by this provider";
  while (ends.announce(whole) == Sent::again) ends.pump();
  std::vector<size_t> sizes;
  uint64_t seen = 0;
  while (sizes.empty()) {
    if (ends.send(0, whole) == Sent::done) sizes.push_back(whole);
    ends.pump();
  }
  for (int refused = 0; refused < 2000; ++refused, ends.sender->poll(16)) {
    if (ends.send(sizes.size(), whole) != Sent::done) continue;
    sizes.push_back(whole);
    ASSERT_LE(sizes.size(), 2 * fabric::kLandings) << "nothing holds this sender back";
  }
  while (seen < sizes.size()) ends.pump(), ends.expect(seen, sizes);
}

TEST_P(FabricOf, AnEndInTheMidstOfPutsThatTravelWholeIsToldAfterThem) {
  Recorder sinks[2];
  FabricWhole ends(open(sinks[0]), open(sinks[1]), sinks[1]);
  const size_t whole = ends.sender->limits().whole;
  if (whole == 0) GTEST_SKIP() << "no put travels whole by this provider";
  while (ends.announce(whole) == Sent::again) ends.pump();
  std::vector<size_t> sizes;
  for (uint64_t seen = 0; seen == 0; ends.expect(seen, sizes)) {
    if (sizes.empty() && ends.send(0, whole) == Sent::done) sizes.push_back(whole);
    ends.pump();
  }
  uint64_t seen = 1;
  while (ends.send(sizes.size(), whole) == Sent::done) sizes.push_back(whole);
  ends.sender.reset();  // lets what was sent leave, as far as sockets take it
  while (sinks[1].losses.empty()) ends.receiver->poll(16);
  ends.expect(seen, sizes);
  EXPECT_GT(seen, 1u);
  EXPECT_TRUE(ends.receiver->idle() || ends.receiver->poll(16) >= 0);
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
  std::vector<char> data(fabric::kWholeMost);
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
  hello.nid += 1;  // not from where it comes
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

constexpr uint64_t kMillisecond = 1'000'000;

TEST(FabricFlow, NobodyNeedLookUntilTheDataShouldBeThere) {
  constexpr uint64_t kBytes = 64 << 10, kTime = 500'000;  // a wire of 1 Gbit/s
  fabric::Flow flow;
  EXPECT_EQ(flow.rest_ns(1), -1) << "nothing is under way";
  flow.begin(kBytes);
  EXPECT_TRUE(flow.awaits_asking());
  EXPECT_EQ(flow.rest_ns(1), 0) << "the peer has yet to ask for it";
  flow.asked(1000);
  EXPECT_FALSE(flow.awaits_asking());
  EXPECT_EQ(flow.rest_ns(1000), 0) << "the speed of the wire is not known";
  flow.ended(kBytes, 1000 + kTime);
  EXPECT_EQ(flow.rest_ns(1000 + kTime), -1);
  uint64_t now = 10'000'000;
  flow.begin(kBytes);
  flow.asked(now);
  EXPECT_NEAR(static_cast<double>(flow.rest_ns(now)), kTime, 1000);
  EXPECT_NEAR(static_cast<double>(flow.rest_ns(now + 200'000)), kTime - 200'000, 1000);
  EXPECT_EQ(flow.rest_ns(now + 450'000), 0) << "not worth it";
  EXPECT_EQ(flow.rest_ns(now + 3 * kTime), 0) << "it is late: the descriptor tells";
  flow.ended(kBytes, now += kTime);
  // A socket's buffer must not run full, or dry.
  flow.begin(100 * kBytes);
  flow.asked(now);
  EXPECT_NEAR(static_cast<double>(flow.rest_ns(now)), 1.5 * kTime, 1000);
  // Two are under way: each that ends leaves the other.
  flow.ended(50 * kBytes, now + 50 * kTime);
  EXPECT_GT(flow.rest_ns(now + 50 * kTime), 0);
  flow.ended(50 * kBytes, now + 100 * kTime);
  EXPECT_EQ(flow.rest_ns(now + 100 * kTime), -1);
}

TEST(FabricFlow, WhoeverCameLateSaysLittleOfTheWire) {
  constexpr uint64_t kBytes = 64 << 10;
  fabric::Flow flow;
  uint64_t now = 1000;
  const auto pass = [&](uint64_t ns) {
    flow.begin(kBytes);
    flow.asked(now);
    flow.ended(kBytes, now += ns);
  };
  pass(500'000);
  pass(50'000'000);
  flow.begin(kBytes);
  flow.asked(now);
  EXPECT_LT(flow.rest_ns(now), 600'000);
  flow.ended(kBytes, now += 500'000);
  for (int i = 0; i < 100; ++i) pass(50'000'000);
  flow.begin(kBytes);
  flow.asked(now);
  EXPECT_EQ(flow.rest_ns(now), 2'000'000) << "a slow wire, but never more than 2 ms";
}

TEST(FabricWindow, AsksForEverythingAtOnceUnlessItIsLimited) {
  fabric::Window window;
  const size_t all = window.size();
  window.took(1000 * kMillisecond);
  window.took(kMillisecond);
  EXPECT_EQ(window.size(), all);
}

TEST(FabricWindow, ShrinksWhilePiecesWaitForOneAnotherButNotToNothing) {
  fabric::Window window;
  window.limit();
  size_t before = window.size();
  window.took(5 * kMillisecond);
  window.took(10 * kMillisecond);
  EXPECT_LT(window.size(), before);
  for (int i = 0; i < 100; ++i) window.took(10 * kMillisecond);
  EXPECT_GE(window.piece(), size_t{64} << 10);
}

TEST(FabricWindow, GrowsWherePiecesHardlyWaitHoweverFarTheyCome) {
  for (const uint64_t distance : {uint64_t{0}, 50 * kMillisecond}) {
    fabric::Window window;
    window.limit();
    for (int i = 0; i < 100; ++i) window.took(distance + kMillisecond / 10);
    EXPECT_GE(window.piece(), size_t{4} << 20) << "what one transfer of the engine asks for";
  }
}

INSTANTIATE_TEST_SUITE_P(Providers, FabricOf, testing::Values("tcp", "shm"), [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace portunus
