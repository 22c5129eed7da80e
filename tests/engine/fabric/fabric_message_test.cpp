// fabric_message_test.cpp: the bytes of a message on the fabric.
#include "tests/support/fabric_message.hpp"
#include "engine/transport/fabric/message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace portunus {
namespace {

wire::Header put_of(uint64_t number, size_t payload_size) {
  wire::Header header{};
  header.kind = wire::Kind::put;
  header.match_bits = number;
  header.payload_size = static_cast<uint16_t>(payload_size);
  return header;
}

std::vector<std::byte> encoded(const wire::Header& header, size_t payload_size) {
  const std::vector<std::byte> payload(payload_size, std::byte{0x7e});
  const iovec piece{const_cast<std::byte*>(payload.data()), payload_size};
  std::vector<std::byte> bytes(fabric::encoded_size(header));
  fabric::encode({fabric::kMessageMagic, 0, 1, 2, 3}, header, {&piece, 1}, bytes.data());
  return bytes;
}

TEST(FabricMessage, PayloadOfUpToEightBytesIsFoundInTheHeader) {
  for (const size_t size : {0u, 1u, 8u, 9u, 5000u}) {
    const std::vector<std::byte> bytes = encoded(put_of(4, size), size);
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
    wire::Header header = put_of(0, random() % 3 ? random() % 9 : random() % 100);
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
  wire::Header header = put_of(~0ull, 8);
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
  const std::vector<std::byte> good = encoded(put_of(4, 20), 20);
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
  wire::Header header = put_of(4, 0);
  header.ready = header.source = 0xffffffff;
  fabric::Message message;
  ASSERT_TRUE(fabric::decode(encoded(header, 0), message));
  EXPECT_EQ(message.header.ready, 0u);
  EXPECT_EQ(message.header.source, 0u);
}

}  // namespace
}  // namespace portunus
