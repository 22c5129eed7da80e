// node_box_test.cpp: the boxes of the node transport's senders: records of every size, long puts, what makes no sense, going ahead.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/engine/node/node_process.hpp"

namespace portunus {
namespace {

TEST(NodeBox, TakesRecordsOfEverySizeAroundTheEnd) {
  End receiver(address(0)), sender(address(1));
  Link* link = sender.transport.connect(address(0));
  link->peer = Recorder::somebody();
  std::vector<std::byte> data(NodeTransport::kEager);
  uint64_t sent = 0, refused = 0;
  for (size_t size = 0; size <= data.size(); size += 61) {
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i + sent);
    wire::Header header = put(sent);
    header.payload_size = static_cast<uint16_t>(size);
    const iovec part{data.data(), size};
    while (sender.transport.send(*link, header, {&part, 1}) == Sent::again) ++refused, receiver.transport.poll(1);
    ++sent;
  }
  while (receiver.transport.poll(16)) {
  }
  ASSERT_EQ(receiver.sink.arrivals.size(), sent);
  for (uint64_t n = 0; n < sent; ++n) {
    const auto& [header, payload] = std::pair{receiver.sink.arrivals[n].header, receiver.sink.arrivals[n].payload};
    ASSERT_EQ(header.match_bits, n);
    ASSERT_EQ(payload.size(), 61 * n);
    for (size_t i = 0; i < payload.size(); ++i) ASSERT_EQ(payload[i], static_cast<std::byte>(i + n));
  }
  EXPECT_GT(refused, 0u);
}

// A first message costs as little as it is long: pages of the ring come as they are needed.
TEST(NodeBox, TakesPagesAsItNeedsThem) {
  End receiver(address(0)), sender(address(1));
  sender.send(address(0), 0);
  const auto box = receiver.transport.segment().box<SenderRingReader>(0);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), pages = box.capacity * kLine / page;
  const auto resident = [&] {
    std::vector<unsigned char> each(pages);
    EXPECT_EQ(mincore(box.lines, pages * page, each.data()), 0);
    return static_cast<size_t>(std::ranges::count_if(each, [](unsigned char one) { return (one & 1) != 0; }));
  };
  constexpr size_t kPiece = 64 * 1024;
  const size_t first = resident();
  EXPECT_GT(first, 0u);
  EXPECT_LE(first, kPiece / page);
  // A reader that keeps up with short records needs no more of them.
  uint64_t sent = 1;
  for (; sent < 3 * box.capacity; ++sent) {
    sender.send(address(0), sent);
    receiver.transport.poll(16);
  }
  EXPECT_LE(resident(), kPiece / page);
  while (receiver.transport.poll(16) != 0) {
  }
  // Records that it does not read need them.
  Link* const link = sender.transport.connect(address(0));
  while (sender.transport.send(*link, put(sent), {}) == Sent::done) ++sent;
  EXPECT_GE(resident(), pages - 1);
  while (receiver.transport.poll(16) != 0) {
  }
  ASSERT_EQ(receiver.sink.arrivals.size(), sent);
  for (uint64_t n = 0; n < sent; ++n) ASSERT_EQ(receiver.sink.arrivals[n].header.match_bits, n);
}

TEST(NodeBox, GivesRecordsOfAnyLengthInOrderToAReaderOfAnyPace) {
  End receiver(address(0)), sender(address(1));
  Link* const link = sender.transport.connect(address(0));
  link->peer = Recorder::somebody();
  std::mt19937 random(3);
  std::vector<std::byte> data(3000);
  uint64_t sent = 0;
  std::vector<size_t> sizes;
  for (int turn = 0; turn < 400; ++turn) {
    for (size_t burst = random() % 200; burst > 0; --burst) {
      const size_t size = random() % 8 == 0 ? random() % data.size() : random() % 64;
      for (size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i + sent);
      wire::Header header = put(sent);
      header.payload_size = static_cast<uint16_t>(size);
      const iovec part{data.data(), size};
      if (sender.transport.send(*link, header, {&part, 1}) == Sent::again) break;
      sizes.push_back(size);
      ++sent;
    }
    for (size_t polls = random() % 30; polls > 0; --polls) receiver.transport.poll(static_cast<int>(1 + random() % 16));
  }
  while (receiver.transport.poll(16) != 0) {
  }
  ASSERT_EQ(receiver.sink.arrivals.size(), sent);
  for (uint64_t n = 0; n < sent; ++n) {
    const auto& arrival = receiver.sink.arrivals[n];
    ASSERT_EQ(arrival.header.match_bits, n);
    ASSERT_EQ(arrival.payload.size(), sizes[n]);
    for (size_t i = 0; i < sizes[n]; ++i) ASSERT_EQ(arrival.payload[i], static_cast<std::byte>(i + n));
  }
}

TEST(NodeBox, ThatMakesNoSenseSilencesItsSenderOnly) {
  End receiver(address(0)), sender(address(1)), other(address(2));
  sender.send(address(0), 1);
  other.send(address(0), 2);
  while (receiver.transport.poll(16) != 0) {
  }
  Segment& segment = receiver.transport.segment();
  auto record = [&](uint64_t line) { return reinterpret_cast<wire::Header*>(segment.box<SenderRingReader>(0).at(line)); };
  *record(1) = put(3);
  record(1)->source = 1;  // another's
  std::atomic_ref<uint32_t>(record(1)->ready).store(1);
  EXPECT_EQ(receiver.transport.poll(16), 1);
  EXPECT_EQ(receiver.stats.malformed.read(), 1u);
  for (const uint32_t lines : {uint32_t{BoxPlan::of(kRing, 0).bytes / kLine}, SenderRing::kSkip, SenderRing::kSkip | 0x7fffffffu, ~0u}) {
    End fresh(address(3)), writer(address(4));
    writer.send(address(3), 1);
    fresh.transport.poll(16);
    std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(fresh.transport.segment().box<SenderRingReader>(0).at(1))).store(lines);
    EXPECT_EQ(fresh.transport.poll(16), 0);
    EXPECT_TRUE(fresh.transport.idle());
    EXPECT_EQ(fresh.stats.malformed.read(), 1u);
    // It ends what is between the two, and for good while both live.
    EXPECT_EQ(fresh.sink.losses.size(), 1u);
    fresh.transport.housekeeping(true);
    EXPECT_EQ(writer.sink.losses.size(), 0u);
    writer.transport.housekeeping(true);
    EXPECT_EQ(writer.sink.losses.size(), 1u);
    for (End* end : {&fresh, &writer}) {
      Link* const again = end->transport.connect(address(end == &fresh ? 4 : 3));
      ASSERT_NE(again, nullptr);
      EXPECT_EQ(end->transport.send(*again, put(5), {}), Sent::failed);
    }
  }
  other.send(address(0), 4);
  receiver.transport.poll(16);
  EXPECT_EQ(receiver.sink.arrivals.size(), 3u);
}

// Boxes are large where few send, and puts of up to 64 KiB travel with their data while there is room.
TEST(NodeBox, LongPutsTravelWholeWhereTheReceiversBoxHasRoom) {
  End sender(address(1)), few(address(0), 1), many(address(2));
  const std::vector<std::byte> data(NodeTransport::kWhole, std::byte{0x5a});
  wire::Header header = put(7);
  header.payload_size = wire::kWhole;
  header.rlength = data.size();
  const iovec all{const_cast<std::byte*>(data.data()), data.size()};
  const auto send = [&](ProcessId to) {
    Link* link = sender.transport.connect(to);
    link->peer = Recorder::somebody();
    return sender.transport.send(*link, header, {&all, 1});
  };
  EXPECT_EQ(few.transport.limits().whole, NodeTransport::kWhole);
  EXPECT_EQ(many.transport.limits().whole, 0u);
  uint64_t sent = 0;
  while (send(address(0)) == Sent::done) ++sent;
  EXPECT_GE(sent, 8u) << "then it has to be sent otherwise";
  sender.send(address(0), 8);  // for which there is room
  while (few.transport.poll(16) != 0) {
  }
  ASSERT_EQ(few.sink.arrivals.size(), sent + 1);
  EXPECT_EQ(few.sink.arrivals.back().header.match_bits, 8u);
  EXPECT_EQ(few.sink.arrivals[0].payload.size(), data.size());
  EXPECT_TRUE(few.sink.arrivals[0].payload == data);
  EXPECT_EQ(send(address(0)), Sent::done);
  EXPECT_EQ(send(address(2)), Sent::again) << "boxes for many senders are small";
}

// A header that says that it travels whole must be a put, longer than others, no longer than any may be, and as long as its record.
TEST(NodeBox, AHeaderThatTravelsWholeAndMakesNoSenseIsMalformed) {
  End sender(address(1)), receiver(address(0), 1);
  const std::vector<std::byte> data(2 * NodeTransport::kWhole);
  Link* link = sender.transport.connect(address(0));
  link->peer = Recorder::somebody();
  wire::Header header = put(7);
  header.payload_size = wire::kWhole;
  header.rlength = NodeTransport::kWhole;
  const iovec all{const_cast<std::byte*>(data.data()), NodeTransport::kWhole};
  const auto malformed_with = [&](auto change) {
    EXPECT_EQ(sender.transport.send(*link, header, {&all, 1}), Sent::done);
    SenderRingReader box = receiver.transport.segment().box<SenderRingReader>(0);
    const uint64_t before = receiver.stats.malformed.read();
    change(*reinterpret_cast<wire::Header*>(box.at(receiver.transport.segment().header().box_head[0].lines.load())));
    EXPECT_EQ(receiver.transport.poll(16), 1);
    return receiver.stats.malformed.read() == before + 1;
  };
  EXPECT_FALSE(malformed_with([](wire::Header&) {}));
  EXPECT_TRUE(malformed_with([](wire::Header& sent) { sent.kind = wire::Kind::atomic; }));
  EXPECT_TRUE(malformed_with([](wire::Header& sent) { sent.flags |= wire::kBulk; }));
  for (const uint64_t length : {uint64_t{8}, uint64_t{NodeTransport::kEager}, uint64_t{NodeTransport::kWhole - 64},
                                uint64_t{NodeTransport::kWhole + 1}, uint64_t{1} << 63})
    EXPECT_TRUE(malformed_with([&](wire::Header& sent) { sent.rlength = length; })) << length;
  EXPECT_FALSE(malformed_with([](wire::Header&) {}));
}

// While nothing comes, a sender takes the lines of its next record out of the reader's cache, as far as they are free.
TEST(NodeBox, WhoHasNothingToDoGoesAheadInTheBoxOfWhomItSentTo) {
  End sender(address(1)), receiver(address(0));
  const std::vector<std::byte> data(6 * kLine, std::byte{0xee});
  const iovec all{const_cast<std::byte*>(data.data()), data.size()};
  constexpr uint64_t kLines = 7;  // with the header's
  const auto box = [&] { return receiver.transport.segment().box<SenderRingReader>(0); };
  const auto clear_lines = [&](uint64_t from) {
    uint64_t clear = 0;
    while (clear < box().capacity && SenderRing::first_word(box().at(from + clear)).load() == 0) ++clear;
    return clear;
  };
  uint64_t sent = 0;
  Link* link = sender.transport.connect(address(0));
  link->peer = Recorder::somebody();
  const auto send = [&] {
    wire::Header header = put(sent);
    header.payload_size = static_cast<uint32_t>(data.size());
    const bool done = sender.transport.send(*link, header, {&all, 1}) == Sent::done;
    sent += done;
    return done;
  };
  while (send()) {  // until all of it has its pages
  }
  while (receiver.transport.poll(16) != 0) {
  }
  uint64_t fewest = box().capacity;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(send());
    ASSERT_EQ(receiver.transport.poll(16), 1);
    const uint64_t position = box().head->load();
    while (clear_lines(position) <= kLines && sender.transport.poll(16) == 0 && --fewest) {
    }
    ASSERT_GT(clear_lines(position), kLines) << "the next record's lines and the one behind it, after " << sent;
    fewest = box().capacity;
  }
  // Lines that have not been read are left alone.
  while (send()) sender.transport.poll(16);
  for (int i = 0; i < 100; ++i) sender.transport.poll(16);
  while (receiver.transport.poll(16) != 0) {
  }
  ASSERT_EQ(receiver.sink.arrivals.size(), sent);
  for (uint64_t i = 0; i < sent; ++i) ASSERT_EQ(receiver.sink.arrivals[i].header.match_bits, i);
}

}  // namespace
}  // namespace portunus
