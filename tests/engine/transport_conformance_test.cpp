// transport_conformance_test.cpp: the promises of engine/transport/transport.hpp, asked of each transport alike.
//
// The suite takes the transports from the table (engine/transport/table.hpp), each with its variants.
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/engine/transport_pair.hpp"
#include "tests/support/payload.hpp"
#include "tests/support/thorough.hpp"

namespace portunus {
namespace {

wire::Header header_of(uint64_t number, size_t payload_size) {
  wire::Header header{};
  header.kind = wire::Kind::put;
  header.flags = 0x5a;
  header.pt_index = static_cast<uint16_t>(number);
  header.payload_size = static_cast<uint16_t>(payload_size);
  header.match_bits = number;
  header.hdr_data = ~number;
  header.rlength = payload_size;
  header.token = number * 3;
  return header;
}

std::vector<std::byte> pattern(size_t size, uint64_t seed) {
  std::vector<std::byte> bytes(size);
  test::fill_from(static_cast<uint32_t>(seed) * 2654435761u + 1, reinterpret_cast<unsigned char*>(bytes.data()), size);
  return bytes;
}

// Compared as memory, since byte by byte is slow without optimization.
bool same(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

class TransportConformance : public testing::TestWithParam<TransportKind> {
 protected:
  void SetUp() override { pair_ = std::make_unique<TransportPair>(*GetParam().type, GetParam().variant); }

  void pump() {
    for (auto& end : pair_->ends) {
      if (!end) continue;
      end->poll(16);
      end->housekeeping(true);
    }
  }

  Link* link(int from) {
    Link* link = (*pair_)[from].connect(pair_->process(1 - from));
    EXPECT_NE(link, nullptr);
    link->peer = Recorder::somebody();
    return link;
  }

  void flush() {
    for (auto& end : pair_->ends)
      if (end && end->state.keeps_back) end->can().bundling->flush();
  }

  Sent try_send(int from, uint64_t number, const std::vector<std::byte>& payload) {
    const iovec piece{const_cast<std::byte*>(payload.data()), payload.size()};
    return (*pair_)[from].send(*link(from), header_of(number, payload.size()), {&piece, payload.empty() ? 0u : 1u});
  }

  void send(int from, uint64_t number, const std::vector<std::byte>& payload) {
    Sent sent;
    while ((sent = try_send(from, number, payload)) == Sent::again) pump();
    ASSERT_EQ(sent, Sent::done);
  }

  void await_arrivals(int side, size_t count) {
    while (pair_->sinks[side].arrivals.size() < count) pump();
  }

  void expect_message(const Recorder::Arrival& arrival, uint64_t number, const std::vector<std::byte>& payload) {
    wire::Header wanted = header_of(number, payload.size());
    EXPECT_EQ(arrival.header.kind, wanted.kind);
    EXPECT_EQ(arrival.header.flags, wanted.flags);
    EXPECT_EQ(arrival.header.pt_index, wanted.pt_index);
    EXPECT_EQ(arrival.header.match_bits, number);
    EXPECT_EQ(arrival.header.hdr_data, wanted.hdr_data);
    EXPECT_EQ(arrival.header.token, wanted.token);
    EXPECT_TRUE(same(arrival.payload, payload)) << "payload of " << payload.size() << " bytes";
  }

  size_t eager(int side) { return (*pair_)[side].limits().eager; }

  // Pulls (or pushes) all of `size` bytes in pieces of the transport's limit.
  void move_all(bool out, const wire::Region& remote, std::byte* local, size_t size) {
    const size_t most = (*pair_)[0].limits().pull;
    for (size_t offset = 0; offset < size; offset += most) {
      const size_t part = std::min(most, size - offset);
      const wire::Region region{remote.address + offset, remote.key};
      void* context = local + offset;
      Moved moved;
      do {
        moved = out ? (*pair_)[0].push(*link(0), region, local + offset, part, context)
                    : (*pair_)[0].pull(*link(0), region, local + offset, part, context);
        pump();
      } while (moved == Moved::again);
      ASSERT_NE(moved, Moved::failed);
      if (moved == Moved::done) continue;
      while (pair_->sinks[0].moves[context].empty()) pump();
      ASSERT_TRUE(pair_->sinks[0].moves[context].back());
      ASSERT_EQ(pair_->sinks[0].moves[context].size(), 1u);
    }
    pair_->sinks[0].moves.clear();
  }

  bool moves_bulk() { return (*pair_)[0].limits().pull > 0; }

  std::unique_ptr<TransportPair> pair_;
};

TEST_P(TransportConformance, HasANameAndLimitsThatFitTheHeader) {
  EXPECT_STRNE((*pair_)[0].name().text, "");
  EXPECT_GE(eager(0), sizeof(wire::Region));
  EXPECT_LT(eager(0), size_t{wire::kWhole});
}

TEST_P(TransportConformance, AMessageOfAnySizeUpToTheEagerLimitArrivesWhole) {
  std::vector<size_t> sizes;
  for (size_t size = 0; size <= eager(0); size += size < 300 ? 1 : 61) sizes.push_back(size);
  for (const size_t edge : {4015u, 4016u, 4017u, 4095u, 4096u, 4097u}) sizes.push_back(edge);
  sizes.push_back(eager(0) - 1);
  sizes.push_back(eager(0));
  for (size_t i = 0; i < sizes.size(); ++i) send(0, i, pattern(sizes[i], i));
  await_arrivals(1, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) expect_message(pair_->sinks[1].arrivals[i], i, pattern(sizes[i], i));
}

TEST_P(TransportConformance, MessagesBothWaysKeepTheOrderOfSendWhateverTheirSizes) {
  const uint64_t kMessages = test::runs(10'000);
  const size_t sizes[] = {0, 8, 9, 64, 700, eager(0), 3, 5000, 1};
  const auto payload = [&](uint64_t i, int side) { return pattern(sizes[i % std::size(sizes)], 2 * i + static_cast<uint64_t>(side)); };
  uint64_t next[2] = {0, 0};
  uint64_t seen[2] = {0, 0};
  while (seen[0] < kMessages || seen[1] < kMessages) {
    for (int side : {0, 1}) {
      if (next[side] < kMessages && try_send(side, next[side], payload(next[side], side)) == Sent::done) ++next[side];
      (*pair_)[side].poll(16);
      auto& arrivals = pair_->sinks[side].arrivals;
      for (; !arrivals.empty(); arrivals.pop_front(), ++seen[side]) {
        ASSERT_EQ(arrivals.front().header.match_bits, seen[side]);
        ASSERT_TRUE(same(arrivals.front().payload, payload(seen[side], 1 - side)));
      }
    }
  }
}

TEST_P(TransportConformance, MessagesKeptBackArriveAfterAFlushInOneOrderWithThoseThatWereNot) {
  const uint64_t kMessages = test::runs(3000);
  const size_t sizes[] = {8, 0, 64, 8, 700, 8, 8, eager(0), 9};
  const auto payload = [&](uint64_t i) { return pattern(sizes[i % std::size(sizes)], i); };
  auto& arrivals = pair_->sinks[1].arrivals;
  uint64_t seen = 0;
  for (uint64_t next = 0; next < kMessages || seen < kMessages;) {
    (*pair_)[0].state.bundling = next / 7 % 4 != 0;
    const bool waits = next == kMessages || try_send(0, next, payload(next)) != Sent::done;
    if (!waits) ++next;
    if (next % 100 == 0 || waits) flush();  // the receiver makes no room for messages that have not left
    if (next % 10 == 0 || waits) pump();
    for (; !arrivals.empty(); arrivals.pop_front(), ++seen) {
      ASSERT_EQ(arrivals.front().header.match_bits, seen);
      ASSERT_TRUE(same(arrivals.front().payload, payload(seen)));
    }
  }
  (*pair_)[0].state.bundling = 0;
  while ((*pair_)[0].poll(16) > 0) {
  }  // the provider has forgotten the sender's buffers before the receiver goes
}

TEST_P(TransportConformance, PayloadIsGatheredFromItsPiecesAndMayBeReusedAfterSend) {
  std::vector<std::byte> bytes = pattern(100, 7);
  const std::vector<std::byte> kept = bytes;
  for (const size_t size : {7u, 100u}) {
    const iovec pieces[] = {{bytes.data(), 3}, {nullptr, 0}, {bytes.data() + 3, 1}, {bytes.data() + 4, size - 4}};
    while ((*pair_)[0].send(*link(0), header_of(1, size), pieces) == Sent::again) pump();
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
    await_arrivals(1, 1);
    expect_message(pair_->sinks[1].arrivals.front(), 1, {kept.begin(), kept.begin() + static_cast<ptrdiff_t>(size)});
    pair_->sinks[1].arrivals.clear();
    bytes = kept;
  }
}

TEST_P(TransportConformance, AProcessNotAddressedIsIntroducedOnceAndBeforeItsFirstMessage) {
  for (uint64_t i = 0; i < 10; ++i) send(0, i, {});
  await_arrivals(1, 10);
  Recorder& sink = pair_->sinks[1];
  ASSERT_EQ(sink.introductions.size(), 1u);
  Link* from = sink.introductions.front();
  EXPECT_EQ(sink.arrivals_before_introduction[from], 0u);
  EXPECT_EQ(from->process, pair_->process(0));
  EXPECT_EQ(sink.arrivals.front().from, from);
  EXPECT_EQ((*pair_)[1].connect(pair_->process(0)), from);
}

TEST_P(TransportConformance, AProcessAddressedIsNotIntroduced) {
  link(0), link(1);
  send(0, 0, {});
  send(1, 0, {});
  await_arrivals(0, 1);
  await_arrivals(1, 1);
  EXPECT_TRUE(pair_->sinks[0].introductions.empty());
  EXPECT_TRUE(pair_->sinks[1].introductions.empty());
  EXPECT_EQ(pair_->sinks[0].arrivals.front().from, link(0));
}

TEST_P(TransportConformance, ASenderIsToldAgainWhileTheReceiverDoesNotPollAndNothingIsLost) {
  send(0, 0, {});
  await_arrivals(1, 1);
  const std::vector<std::byte> payload = pattern(eager(0), 5);
  send(0, 1, payload);
  uint64_t number = 2;
  // Buffers between the two fill up; then `again` stays the answer however often the sender polls.
  for (int refused = 0; refused < 2000;) {
    const Sent sent = try_send(0, number, payload);
    ASSERT_NE(sent, Sent::failed);
    if (sent == Sent::done) {
      ++number;
      refused = 0;
      ASSERT_LT(number, 100'000u) << "nothing holds this sender back";
    } else {
      ++refused;
      (*pair_)[0].poll(16);
    }
  }
  send(0, number, {});
  await_arrivals(1, number + 1);
  for (uint64_t i = 0; i <= number; ++i) ASSERT_EQ(pair_->sinks[1].arrivals[i].header.match_bits, i);
  EXPECT_TRUE(same(pair_->sinks[1].arrivals[number - 1].payload, payload));
}

TEST_P(TransportConformance, PollDeliversNoMoreThanItsBudgetAndSaysHowMuch) {
  for (uint64_t i = 0; i < 20; ++i) send(0, i, {});
  Recorder& sink = pair_->sinks[1];
  while (sink.arrivals.size() < 20) {
    (*pair_)[0].poll(16);
    const size_t before = sink.arrivals.size();
    const int said = (*pair_)[1].poll(3);
    EXPECT_LE(sink.arrivals.size() - before, static_cast<size_t>(said));
    EXPECT_LE(sink.arrivals.size() - before, 3u);
  }
}

TEST_P(TransportConformance, IsNotIdleWhileAMessageWaitsUnlessItsDescriptorTells) {
  if (GetParam().type->name == std::string("fabric") && (*pair_)[0].wait_fd() < 0)
    GTEST_SKIP() << "nobody sleeps on it for longer than a nap";
  send(0, 1, {});
  await_arrivals(1, 1);
  send(0, 2, {});
  pollfd descriptor{(*pair_)[1].wait_fd(), POLLIN, 0};
  while ((*pair_)[1].idle() && ::poll(&descriptor, 1, 0) == 0) (*pair_)[0].poll(16);
  await_arrivals(1, 2);
  while (!(*pair_)[1].idle()) pump();
}

TEST_P(TransportConformance, ASleeperIsWokenByItsDescriptor) {
  if ((*pair_)[0].wait_fd() < 0) GTEST_SKIP() << "rung by the doorbell, or polled";
  constexpr uint64_t kRounds = 300;
  std::atomic<bool> over = false;
  const auto take_part = [&](int side) {
    Transport& transport = (*pair_)[side];
    Recorder& sink = pair_->sinks[side];
    Link* peer = nullptr;
    if (side == 0) peer = transport.connect(pair_->process(1));
    bool owes = side == 0;
    for (uint64_t round = 0; round < kRounds;) {
      if (owes && transport.send(*peer, header_of(round, 0), {}) == Sent::done) {
        owes = false;
        if (side == 1 && ++round == kRounds) break;
      }
      if (transport.poll(16) == 0 && transport.idle()) {
        pollfd descriptor{transport.wait_fd(), POLLIN, 0};
        ::poll(&descriptor, 1, -1);
      }
      for (; !sink.arrivals.empty(); sink.arrivals.pop_front()) {
        EXPECT_EQ(sink.arrivals.front().header.match_bits, round);
        peer = sink.arrivals.front().from;
        owes = true;
        if (side == 0) ++round;
      }
    }
  };
  std::thread other([&] {
    take_part(1);
    while (!over) (*pair_)[1].poll(16);  // messages leave only while their sender polls
  });
  take_part(0);
  over = true;
  other.join();
}

// A descriptor that stays readable would keep its thread awake. Waits for ever where that is so.
TEST_P(TransportConformance, ItsDescriptorIsNotReadableOnceAllThatCameIsTaken) {
  if ((*pair_)[0].wait_fd() < 0) GTEST_SKIP() << "rung by the doorbell, or polled";
  for (uint64_t i = 0; i < 10; ++i)
    for (int side : {0, 1}) send(side, i, pattern(i % 2 == 0 ? 8 : eager(side), i));
  for (int side : {0, 1}) await_arrivals(side, 10);
  const auto quiet = [&](Transport& transport) {
    pollfd descriptor{transport.wait_fd(), POLLIN, 0};
    return transport.poll(16) == 0 && transport.idle() && poll(&descriptor, 1, 0) == 0;
  };
  while (!quiet((*pair_)[0]) || !quiet((*pair_)[1])) {
  }
}

TEST_P(TransportConformance, ASleepingSenderThatWasHeldBackIsWokenWhenTheReceiverReads) {
  if ((*pair_)[0].wait_fd() < 0) GTEST_SKIP() << "rung by the doorbell, or polled";
  constexpr uint64_t kMessages = 5000;
  const auto sleep_unless_busy = [&](int side) {
    Transport& transport = (*pair_)[side];
    if (transport.poll(16) > 0 || !transport.idle()) return;
    pollfd descriptor{transport.wait_fd(), POLLIN, 0};
    ::poll(&descriptor, 1, -1);
  };
  std::atomic<bool> over = false;
  std::thread receiver([&] {
    while (pair_->sinks[1].arrivals.size() < kMessages) sleep_unless_busy(1);
    Link* sender = pair_->sinks[1].arrivals.front().from;
    while ((*pair_)[1].send(*sender, header_of(0, 0), {}) == Sent::again) sleep_unless_busy(1);
    while (!over) (*pair_)[1].poll(16);  // messages leave only while their sender polls
  });
  const std::vector<std::byte> payload = pattern(eager(0), 3);
  for (uint64_t number = 0; number < kMessages; ++number)
    while (try_send(0, number, payload) == Sent::again) sleep_unless_busy(0);
  while (pair_->sinks[0].arrivals.empty()) sleep_unless_busy(0);
  over = true;
  receiver.join();
  for (uint64_t i = 0; i < kMessages; ++i) ASSERT_EQ(pair_->sinks[1].arrivals[i].header.match_bits, i);
}

TEST_P(TransportConformance, PullsFromMemoryThatMayOnlyBeRead) {
  if (!moves_bulk()) GTEST_SKIP() << "no remote memory access";
  for (const size_t size : {1u, 7u, 64u, 4096u, 65537u, 1u << 20, (8u << 20) + 3}) {
    void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const std::vector<std::byte> source = pattern(size, size);
    std::memcpy(mapped, source.data(), size);
    ASSERT_EQ(mprotect(mapped, size, PROT_READ), 0);
    Exposed exposed;
    ASSERT_TRUE((*pair_)[1].expose(*link(1), mapped, size, false, exposed));
    std::vector<std::byte> copy(size);
    move_all(false, exposed.region, copy.data(), size);
    (*pair_)[1].withdraw(exposed);
    EXPECT_TRUE(copy == source) << size;
    munmap(mapped, size);
  }
}

TEST_P(TransportConformance, WhatWasPushedIsThereWhenALaterMessageArrives) {
  if (!moves_bulk()) GTEST_SKIP() << "no remote memory access";
  uint64_t number = 0;
  for (const size_t size : {1u, 7u, 64u, 4096u, 65537u, 1u << 20, (8u << 20) + 3}) {
    std::vector<std::byte> source = pattern(size, size);
    std::vector<std::byte> destination(size + 1, std::byte{0x11});
    Exposed exposed;
    ASSERT_TRUE((*pair_)[1].expose(*link(1), destination.data(), size, true, exposed));
    move_all(true, exposed.region, source.data(), size);
    send(0, number, {});
    await_arrivals(1, ++number);
    EXPECT_EQ(std::memcmp(destination.data(), source.data(), size), 0) << size;
    EXPECT_EQ(destination[size], std::byte{0x11});
    (*pair_)[1].withdraw(exposed);
  }
}

TEST_P(TransportConformance, OneRangeIsExposedToManyAndPartsOfItArePulledOutOfOrder) {
  if (!moves_bulk()) GTEST_SKIP() << "no remote memory access";
  const std::vector<std::byte> source = pattern(10'000, 1);
  Exposed first, second;
  ASSERT_TRUE((*pair_)[1].expose(*link(1), source.data(), source.size(), false, first));
  ASSERT_TRUE((*pair_)[1].expose(*link(1), source.data(), source.size(), false, second));
  (*pair_)[1].withdraw(first);
  std::vector<std::byte> copy(source.size());
  for (size_t offset = 9000; offset <= 9000; offset -= 1000)
    move_all(false, {second.region.address + offset, second.region.key}, copy.data() + offset, 1000);
  EXPECT_TRUE(copy == source);
  (*pair_)[1].withdraw(second);
}

TEST_P(TransportConformance, ALostPeerIsToldOnceAndThenEverySendFails) {
  if (!pair_->tells_loss()) GTEST_SKIP() << "no process is lost to itself";
  Link* gone = link(0);
  send(0, 1, {});
  await_arrivals(1, 1);
  send(1, 2, {});
  await_arrivals(0, 1);
  send(1, 3, {});  // the last words of the peer still arrive
  pair_->end(1);
  while (pair_->sinks[0].losses.empty()) pump();
  EXPECT_EQ(pair_->sinks[0].arrivals.size(), 2u);
  for (int i = 0; i < 1000; ++i) {
    pump();
    ASSERT_EQ((*pair_)[0].send(*gone, header_of(1, 0), {}), Sent::failed);
  }
  char byte;
  EXPECT_EQ((*pair_)[0].pull(*gone, {}, &byte, 1, nullptr), Moved::failed);
  EXPECT_EQ(pair_->sinks[0].losses, std::vector<Link*>{gone});
  while (!(*pair_)[0].idle()) pump();
}

TEST_P(TransportConformance, EveryMoveThatWasStartedEndsWhenItsPeerIsLost) {
  if (!pair_->tells_loss() || !moves_bulk()) GTEST_SKIP() << "no process is lost to itself, and not every transport moves bulk data";
  if (FI_MAJOR_VERSION >= 2 && GetParam().name == "fabric_shm")
    GTEST_SKIP() << "libfabric 2's shm reads what an endpoint of the same process has unmapped; another process keeps a mapping of its own";
  send(0, 1, {});
  await_arrivals(1, 1);
  const std::vector<std::byte> source = pattern(std::min<size_t>(1 << 20, (*pair_)[0].limits().pull), 1);
  std::vector<std::vector<std::byte>> copies(40, std::vector<std::byte>(source.size()));
  Exposed exposed;
  ASSERT_TRUE((*pair_)[1].expose(*link(1), source.data(), source.size(), false, exposed));
  size_t started = 0;
  for (auto& copy : copies) started += (*pair_)[0].pull(*link(0), exposed.region, copy.data(), copy.size(), copy.data()) == Moved::started;
  pair_->end(1);
  while (pair_->sinks[0].losses.empty()) pump();
  EXPECT_EQ(pair_->sinks[0].moves.size(), started);
  for (int i = 0; i < 1000; ++i) pump();
  for (const auto& [context, told] : pair_->sinks[0].moves) {
    ASSERT_EQ(told.size(), 1u);
    EXPECT_TRUE(!told.front() || std::memcmp(context, source.data(), source.size()) == 0);
  }
}

TEST_P(TransportConformance, SendsToAPeerThatIsLostMeanwhileDoNotHang) {
  if (!pair_->tells_loss()) GTEST_SKIP() << "no process is lost to itself";
  send(0, 1, {});
  await_arrivals(1, 1);
  const std::vector<std::byte> payload = pattern(eager(0), 5);
  for (int refused = 0; refused < 100; ++refused) {  // until the buffers between the two are full
    while (try_send(0, 2, payload) == Sent::done) refused = 0;
    (*pair_)[0].poll(16);
  }
  pair_->end(1);
  Link* gone = link(0);
  while (try_send(0, 1, payload) != Sent::failed) pump();
  while (pair_->sinks[0].losses.empty()) pump();
  EXPECT_EQ(pair_->sinks[0].losses, std::vector<Link*>{gone});
}

TEST_P(TransportConformance, NobodyAtAnAddressIsAnErrorNotAHang) {
  const ProcessId nobody = pair_->process(1);
  pair_->end(1);
  Link* link = (*pair_)[0].connect(nobody);
  if (link == nullptr) return;
  link->peer = Recorder::somebody();
  while ((*pair_)[0].send(*link, header_of(1, 0), {}) != Sent::failed) pump();
  EXPECT_EQ(pair_->sinks[0].losses.size(), pair_->tells_loss() ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(All, TransportConformance, testing::ValuesIn(transport_kinds()), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace portunus
