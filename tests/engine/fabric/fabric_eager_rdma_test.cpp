// fabric_eager_rdma_test.cpp: puts by eager RDMA over tcp (eager_rdma.cpp), from a peer that sends the header, and then not what it should.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>

#include "engine/host/clock.hpp"
#include "engine/transport/fabric/credit.hpp"
#include "engine/transport/fabric/fabric.hpp"
#include "tests/engine/transport_pair.hpp"
#include "tests/support/fabric_message.hpp"
#include "tests/support/rig.hpp"

namespace portunus {
namespace {

constexpr size_t kWhole = fabric::kEagerRdmaMost;
constexpr size_t kShort = 20'000;
constexpr uint32_t kUid = 1000;
constexpr uint64_t kBits = 7;

FabricOptions over_tcp() { return {"tcp", "127.0.0.1", 0, kUid}; }

// A process that speaks to a transport by hand: its connections and its endpoint are those of any other, and the test chooses what it
// sends.
class ByHand final : public fabric::ConnectionClient {
 public:
  // `pump` steps the other one. `called`: the other one calls at the same time.
  ByHand(ProcessId other, std::function<void()> pump, const std::function<void(ProcessId)>& called = nullptr) : pump_(std::move(pump)) {
    greet();
    link_.process = other;
    for (auto& buffer : heard_) fi_recv(endpoint_.ep.get(), buffer, sizeof buffer, nullptr, FI_ADDR_UNSPEC, buffer);
    if (called) called(self_);
    connections_->call(link_);
    until([this] { return address_ != FI_ADDR_UNSPEC; });
  }
  void greet() {
    fabric::Hello hello;
    hello.nid = self_.nid;
    hello.pid = self_.pid;
    hello.uid = kUid;
    hello.address_format = endpoint_.info->addr_format;
    hello.protocol = endpoint_.info->ep_attr->protocol;
    hello.protocol_version = endpoint_.info->ep_attr->protocol_version;
    hello.name_size = static_cast<uint32_t>(endpoint_.name.size());
    std::memcpy(hello.name, endpoint_.name.data(), endpoint_.name.size());
    connections_->introduce_as(hello);
  }
  void open() { say(prefix(fabric::kProbeMagic)); }
  // Opens the way, from the side with the smaller address.
  void meet() {
    if (self_.pid < link_.process.pid) open();
    else until([this] { return heard_of_ > 0; });
  }
  // A process that knows from `acquaintance` where the other one is and its own number there, and answers no call before answer().
  ByHand(const ByHand& acquaintance, uint32_t slot, std::function<void()> pump) : pump_(std::move(pump)), answers_(false), slot_(slot) {
    fi_recv(endpoint_.ep.get(), heard_[0], sizeof heard_[0], nullptr, FI_ADDR_UNSPEC, heard_[0]);
    greet();
    fi_av_insert(endpoint_.av.get(), acquaintance.other_.name, 1, &address_, 0, nullptr);
  }
  void answer() { connections_->poll(*this); }

  ProcessId self() const { return self_; }
  fabric::Prefix prefix(uint16_t magic) const { return {magic, 0, slot_, self().pid, kUid}; }
  template <class Word>
  void say(const Word& word) {
    say(&word, sizeof word);
  }
  void say(const void* bytes, size_t size) {
    std::vector<std::byte> all(static_cast<const std::byte*>(bytes), static_cast<const std::byte*>(bytes) + size);
    std::memcpy(all.data() + offsetof(fabric::Prefix, number), &said_, sizeof said_);
    until([&] { return fi_inject(endpoint_.ep.get(), all.data(), size, address_) == 0; });
    ++said_;
  }
  void say_header(uint8_t flags, uint16_t payload_size, size_t size = kWhole) {
    wire::Header header{};
    header.kind = wire::Kind::put;
    header.flags = flags;
    header.match_bits = kBits;
    header.rlength = size;
    header.payload_size = payload_size;
    std::byte bytes[fabric::kHeadSize];
    fabric::encode(prefix(fabric::kMessageMagic), header, {}, bytes);
    say(bytes, fabric::encoded_size(header));
  }
  // Makes the other one offer a place for data, by the header of a put whose data could have come with it.
  void be_offered() {
    say_header(wire::kBulk | wire::kNoRegion, 0);
    until([this] { return offer_.prefix.magic == fabric::kOfferMagic; });
  }
  // Writes to the place that was offered, and waits until the data have gone.
  void write(size_t size) {
    const std::vector<std::byte> data(size, std::byte{0x5a});
    gone_ = false;
    until([&] {
      return fi_write(endpoint_.ep.get(), data.data(), size, nullptr, address_, offer_.region.address + place_ * kWhole, offer_.region.key,
                      &gone_) == 0;
    });
    until([this] { return gone_; });
  }
  void next_place() { ++place_; }
  void skip(int numbers) { said_ = static_cast<uint16_t>(said_ + numbers); }
  // Returns the number of messages that have come by now.
  size_t listen() {
    for (fi_cq_data_entry entry{}; fi_cq_read(endpoint_.cq.get(), &entry, 1) == 1;) take(entry);
    return heard_of_;
  }
  // Returns the last message, once more than `before` have come.
  std::span<const std::byte> hear(size_t before) {
    until([&] { return heard_of_ > before; });
    return last_;
  }
  // Ends the connection, so that the kernel tells the other one, and keeps the endpoint.
  void hang_up() { connections_.reset(); }

 private:
  fabric::FabricLink* hello_received(fabric::FabricLink*, const fabric::Hello& hello) override {
    slot_ = hello.slot;
    other_ = hello;
    if (address_ == FI_ADDR_UNSPEC) fi_av_insert(endpoint_.av.get(), hello.name, 1, &address_, 0, nullptr);
    return &link_;
  }
  void disconnected(fabric::FabricLink&, bool) override {}

  template <class Done>
  void until(Done&& done) {
    while (!done()) {
      if (connections_ && answers_) connections_->poll(*this);
      fi_cq_data_entry entry{};
      if (fi_cq_read(endpoint_.cq.get(), &entry, 1) == 1) take(entry);
      pump_();
    }
  }
  // Takes an offer, which may travel together with other messages; those are dropped.
  void take(const fi_cq_data_entry& entry) {
    gone_ = gone_ || entry.op_context == &gone_;
    if (entry.op_context == nullptr || entry.op_context == &gone_) return;
    const auto* const bytes = static_cast<const std::byte*>(entry.op_context);
    last_ = {bytes, entry.len};
    ++heard_of_;
    for (size_t at = 0; at + sizeof offer_ <= entry.len && offer_.prefix.magic != fabric::kOfferMagic; at += sizeof(uint32_t))
      std::memcpy(&offer_, bytes + at, sizeof offer_);
  }

  std::function<void()> pump_;
  const bool answers_ = true;  // whenever it is called
  fabric::Hello other_;
  std::unique_ptr<fabric::ConnectionManager> connections_ = std::make_unique<fabric::ConnectionManager>(INADDR_LOOPBACK, 0, 30);
  const ProcessId self_ = connections_->self();
  fabric::Endpoint endpoint_{"tcp", INADDR_LOOPBACK, "by-hand"};
  fabric::FabricLink link_;
  uint32_t slot_ = 0;
  uint16_t said_ = 0;
  fi_addr_t address_ = FI_ADDR_UNSPEC;
  fabric::Word offer_{};
  size_t place_ = 0;
  bool gone_ = false;
  std::span<const std::byte> last_;
  size_t heard_of_ = 0;  // no more than there are of `heard_`: none is given back
  std::byte heard_[8][fabric::room_for(fabric::kEager)];
};

// A transport that hears from a process by hand, and from another one like itself.
class FabricEagerRdmaByHand : public testing::Test {
 protected:
  void SetUp() override {
    by_hand_ = std::make_unique<ByHand>(receiver_->self(), [this] { receiver_->poll(16); });
    by_hand_->meet();
    by_hand_->be_offered();
    while (sink_.arrivals.empty()) receiver_->poll(16);
    link_ = sink_.arrivals.front().from;
    sink_.arrivals.clear();
  }
  void settle() {
    for (int i = 0; i < 1000; ++i) receiver_->poll(16);
  }
  // Sleeps on the descriptor, as an engine does: the end must wake it.
  void until_lost() {
    while (sink_.losses.empty())
      if (receiver_->poll(16) == 0 && receiver_->idle()) {
        pollfd ready{receiver_->wait_fd(), POLLIN, 0};
        ASSERT_EQ(::poll(&ready, 1, -1), 1);
      }
    EXPECT_EQ(sink_.losses, std::vector<Link*>{link_});
    EXPECT_TRUE(sink_.arrivals.empty());
  }
  // Checks that another peer's put is served, by a place that may have been used before.
  void expect_others_are_served() {
    Recorder sink;
    auto other = std::make_unique<FabricTransport>(sink, over_tcp());
    Link* const link = other->connect(receiver_->self());
    std::vector<std::byte> data(kWhole, std::byte{0x21});
    const iovec piece{data.data(), data.size()};
    wire::Header header{};
    header.kind = wire::Kind::put;
    header.rlength = kWhole;
    header.flags = wire::kBulk | wire::kNoRegion;
    const auto send = [&](std::span<const iovec> payload) {
      while (other->send(*link, header, payload) != Sent::done) other->poll(16), receiver_->poll(16);
    };
    send({});
    header.flags = 0;
    header.payload_size = wire::kWhole;
    send({&piece, 1});
    while (sink_.arrivals.size() < 2) other->poll(16), receiver_->poll(16);
    EXPECT_TRUE(sink_.arrivals.back().payload == data);
    const Link* const from = sink_.arrivals.back().from;
    sink_.arrivals.clear();
    other.reset();
    sink_.losses.clear();
    while (sink_.losses.empty()) receiver_->poll(16);
    EXPECT_EQ(sink_.losses.front(), from);
    sink_.losses.clear();
  }

  Recorder sink_;
  std::unique_ptr<FabricTransport> receiver_ = std::make_unique<FabricTransport>(sink_, over_tcp());
  std::unique_ptr<ByHand> by_hand_;
  Link* link_ = nullptr;
};

TEST_F(FabricEagerRdmaByHand, APutArrivesWithItsHeaderBehindItsData) {
  for (const size_t size : {kShort, kWhole}) {
    by_hand_->write(size);
    settle();
    EXPECT_TRUE(sink_.arrivals.empty());
    by_hand_->say_header(0, wire::kWhole, size);
    while (sink_.arrivals.empty()) receiver_->poll(16);
    EXPECT_EQ(sink_.arrivals.front().header.match_bits, kBits);
    EXPECT_EQ(sink_.arrivals.front().payload, std::vector<std::byte>(size, std::byte{0x5a}));
    sink_.arrivals.clear();
    by_hand_->next_place();
  }
  EXPECT_EQ(receiver_->malformed(), 0u);
}

// Completions may come in any order, messages may not.
TEST_F(FabricEagerRdmaByHand, AMessageWaitsForThoseThatWereSentBeforeIt) {
  constexpr size_t kFirst = 10'000;
  const auto say = [this](int ahead) {
    by_hand_->skip(ahead);
    by_hand_->say_header(wire::kBulk | wire::kNoRegion, 0, kFirst + static_cast<size_t>(ahead));
    by_hand_->skip(-ahead - 1);
  };
  say(2);
  say(1);
  settle();
  EXPECT_TRUE(sink_.arrivals.empty());
  say(0);
  while (sink_.arrivals.size() < 3) receiver_->poll(16);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(sink_.arrivals[i].header.rlength, kFirst + i);
  EXPECT_EQ(receiver_->malformed(), 0u);
  say(2);
  while (receiver_->malformed() == 0) receiver_->poll(16);
  EXPECT_EQ(sink_.arrivals.size(), 3u) << "a number that was there is nobody's";
  sink_.arrivals.clear();
  expect_others_are_served();
}

TEST_F(FabricEagerRdmaByHand, AMessageThatNeverCameEndsTheLinkOfThoseBehindIt) {
  by_hand_->skip(30'000);
  by_hand_->say_header(wire::kBulk | wire::kNoRegion, 0, kShort);
  while (sink_.losses.empty()) receiver_->poll(16);
  EXPECT_EQ(receiver_->malformed(), 1u);
  EXPECT_TRUE(sink_.arrivals.empty());
}

TEST_F(FabricEagerRdmaByHand, WordsOfNoKnownKindAreCountedAndPassedOver) {
  by_hand_->write(kShort);
  by_hand_->say_header(0, wire::kWhole, kShort);
  by_hand_->say(by_hand_->prefix(0x4401));
  while (receiver_->malformed() == 0) receiver_->poll(16);
  EXPECT_EQ(sink_.arrivals.size(), 1u);
  sink_.arrivals.clear();
  expect_others_are_served();
}

TEST_F(FabricEagerRdmaByHand, WhoEndsBehindTheDataIsLostAndThePutNeverArrives) {
  for (const size_t size : {kWhole / 2, kWhole}) {
    by_hand_->write(size);
    settle();
    by_hand_.reset();
    until_lost();
    EXPECT_EQ(receiver_->malformed(), 0u);
    expect_others_are_served();
    SetUp();
  }
}

TEST_F(FabricEagerRdmaByHand, WhoSaysNothingBehindTheDataHoldsNobodyUp) {
  by_hand_->write(kWhole);
  while (receiver_->poll(16) > 0 || !receiver_->idle()) continue;
  expect_others_are_served();
  while (receiver_->poll(16) > 0) continue;
  EXPECT_TRUE(receiver_->idle()) << "nobody need look until something comes";
  by_hand_->say_header(0, wire::kWhole);
  while (sink_.arrivals.empty()) receiver_->poll(16);
  EXPECT_EQ(sink_.arrivals.front().from, link_);
}

TEST_F(FabricEagerRdmaByHand, DataThatComeAfterTheEndGoNowhereButToTheirPlace) {
  by_hand_->hang_up();
  until_lost();
  by_hand_->write(kWhole);
  by_hand_->say_header(0, wire::kWhole);
  settle();
  EXPECT_TRUE(sink_.arrivals.empty());
  expect_others_are_served();
}

TEST_F(FabricEagerRdmaByHand, AReceiverMayEndWhileDataAreOnTheirWay) {
  by_hand_->write(kWhole);
  receiver_.reset();
  EXPECT_TRUE(sink_.arrivals.empty());
}

// Two ways that are opened at once would cross: the process with the larger address leaves it to the other, whichever has called.
TEST(FabricBothByHand, TheSmallerAddressOpensTheWay) {
  bool both = false;
  for (bool seen[2][2] = {}; !seen[0][0] || !seen[0][1] || !seen[1][0] || !seen[1][1]; both = !both) {
    Recorder sink;
    FabricTransport transport(sink, over_tcp());
    const auto pump = [&] { transport.poll(16); };
    const auto call = [&](ProcessId it) {
      if (both) transport.connect(it);
    };
    ByHand other(transport.self(), pump, call);
    Link* const link = transport.connect(other.self());
    const bool opens = transport.self().pid < other.self().pid;
    seen[both][opens] = true;
    fabric::Message message;
    if (opens) {
      EXPECT_EQ(fabric::decode_first(other.hear(0), message), sizeof(fabric::Prefix));
      EXPECT_EQ(message.prefix.magic, fabric::kProbeMagic);
    } else {
      for (int i = 0; i < 1000; ++i) pump(), other.listen();
      EXPECT_EQ(other.listen(), 0u);
      other.open();
    }
    wire::Header header{};
    header.kind = wire::Kind::put;
    const size_t before = other.listen();
    while (transport.send(*link, header, {}) != Sent::done) pump(), other.listen();
    EXPECT_TRUE(fabric::decode(other.hear(before), message));
    EXPECT_TRUE(sink.losses.empty());
  }
}

// The fabric may be faster than the connection of the Hellos: a message that opened the way may come before its sender's Hello is read.
TEST(FabricBothByHand, AWayThatWasOpenedBeforeTheHelloWasReadIsOpen) {
  for (bool smaller = false; !smaller;) {
    Recorder sink;
    FabricTransport transport(sink, over_tcp());
    const auto pump = [&] { transport.poll(16); };
    const ByHand acquaintance(transport.self(), pump);
    ByHand other(acquaintance, 1, pump);
    smaller = other.self().pid < transport.self().pid;
    if (!smaller) continue;
    Link* const link = transport.connect(other.self());
    other.open();
    for (int i = 0; i < 1000; ++i) pump(), other.listen();  // the provider's connection stands, and the probe is there
    wire::Header header{};
    header.kind = wire::Kind::put;
    Sent sent = Sent::again;
    for (int i = 0; i < 100'000 && sent == Sent::again; ++i) {
      other.answer();
      pump();
      sent = transport.send(*link, header, {});
    }
    EXPECT_EQ(sent, Sent::done);
    EXPECT_TRUE(sink.losses.empty());
  }
}

TEST(FabricWholeOfAnEngine, NothingIsWrittenAndPutsToThePeerEndWhereItsDataNeverCome) {
  test::Node node{ProcessId{}};
  auto transport = std::make_unique<FabricTransport>(node.engine, over_tcp());
  const ProcessId self = transport->self();
  node.engine.set_self(self);
  node.engine.peers().add_transport(std::move(transport));
  const auto step = [&] { node.engine.step(now_ns()); };
  auto by_hand = std::make_unique<ByHand>(self, step);
  std::vector<ptl_process_t> map(2);
  map[0].phys = {self.nid, self.pid};
  map[1].phys = {by_hand->self().nid, by_hand->self().pid};
  node.open(PTL_NI_MATCHING | PTL_NI_LOGICAL, map);
  const uint32_t queue = node.queue();
  node.portal(queue);
  by_hand->meet();
  by_hand->be_offered();  // matches nothing: dropped
  auto memory = std::make_unique<std::array<std::byte, kWhole>>();
  memory->fill(std::byte{0x11});
  node.append({.start = memory->data(), .length = kWhole, .match_bits = kBits});
  by_hand->write(kWhole / 2);
  for (int i = 0; i < 1000; ++i) step();
  const uint64_t word = 1;
  Command command = node.put(&word, sizeof word, 1);
  command.source.eq = queue;
  command.source.options = PTL_MD_EVENT_SEND_DISABLE;
  command.ack = PTL_ACK_REQ;
  node.run(command);
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_TRUE(node.events(queue).empty());
  by_hand.reset();
  std::vector<ptl_event_t> events;
  while (events.empty()) step(), events = node.events(queue);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, PTL_EVENT_ACK);
  EXPECT_EQ(events[0].ni_fail_type, PTL_NI_UNDELIVERABLE);
  EXPECT_TRUE(std::all_of(memory->begin(), memory->end(), [](std::byte byte) { return byte == std::byte{0x11}; }));
}

}  // namespace
}  // namespace portunus
