// packet.hpp: the IPC packet: the two words of a Portals header, and what travels in front of a call's data. Plain values;
// thread: any.
//
// The paper's packet is 16 bytes: sender, receiver, type, and a message descriptor as parameter. Portals names the sender
// and carries the descriptor; match bits and header data are the rest:
//
//   match bits   | form:2 | try:1 | generation:13 | port:16 | type:32 |
//   header data  | generation:13 | port:16 | token:35 |                  of the sender's own port; whoever wants an answer
//   adds a token
//
// On the portal table entry of tokens the match bits are form:2 and a number.
// Source: Giloi and Schroeder-Preikschat, chapter 8 (IPC packet).
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi-adi/ipc/peace.h"

namespace portunus::peace {

// On the entry of receives.
enum class Form : uint64_t { send = 0, call = 1, consumed = 2 };
// On the entry of tokens.
enum class Kept : uint64_t { port = 0, answer = 1, out = 2, in = 3 };

constexpr unsigned kFormShift = 62, kTryShift = 61, kGenerationShift = 48, kPortShift = 32;
constexpr uint64_t kTryBit = uint64_t{1} << kTryShift;
constexpr uint64_t kConsumedBit = uint64_t{2} << kFormShift;
constexpr uint64_t kFormMask = uint64_t{3} << kFormShift;
constexpr uint32_t kMostPort = 0xffff, kMostGeneration = 0x1fff;
constexpr uint64_t kTypeMask = 0xffffffff;
constexpr unsigned kTokenBits = 35;
constexpr uint64_t kTokenMask = (uint64_t{1} << kTokenBits) - 1;
static_assert(kPortShift + 16 == kGenerationShift && kGenerationShift + 13 == kTryShift && kTryShift + 1 == kFormShift &&
              13 + 16 + kTokenBits == 64);

constexpr uint64_t port_bits(uint32_t port, uint32_t generation) {
  return uint64_t{generation & kMostGeneration} << kGenerationShift | uint64_t{port & kMostPort} << kPortShift;
}
constexpr uint64_t match_bits(Form form, bool only_now, uint32_t port, uint32_t generation, uint32_t type) {
  return static_cast<uint64_t>(form) << kFormShift | (only_now ? kTryBit : 0) | port_bits(port, generation) | type;
}
constexpr Form form_of(uint64_t bits) { return static_cast<Form>(bits >> kFormShift); }
constexpr uint32_t type_of(uint64_t bits) { return static_cast<uint32_t>(bits & kTypeMask); }

constexpr uint64_t token_bits(Kept kept, uint64_t number) { return static_cast<uint64_t>(kept) << kFormShift | number; }

constexpr uint64_t header_data(uint32_t port, uint32_t generation, uint64_t token) {
  return uint64_t{generation & kMostGeneration} << 51 | uint64_t{port & kMostPort} << kTokenBits | (token & kTokenMask);
}
constexpr uint64_t token_of(uint64_t hdr_data) { return hdr_data & kTokenMask; }
constexpr peace_address_t sender_of(uint64_t process, uint64_t hdr_data) {
  const auto port = static_cast<uint32_t>(hdr_data >> kTokenBits) & kMostPort;
  return {process, port, port ? static_cast<uint32_t>(hdr_data >> 51) : 0};
}

// In front of the data of a call; what does not come along lies at the client until the server moves it.
struct CallHeader {
  uint64_t out_bytes;
  uint64_t in_room;
  uint64_t lies_at;  // 1 + offset of `out` in the block that the client's node shares; 0: elsewhere
};
constexpr size_t kInline = 1024;
struct CallPacket {
  CallHeader header;
  std::byte data[kInline];
};
static_assert(sizeof(CallHeader) == 24 && offsetof(CallPacket, data) == 24);
// Does a packet of which `moved` of `sent` bytes have come say what its length says? Anybody may send one. The header is looked at only
// when all of it has come.
constexpr bool well_formed(const CallHeader& header, uint64_t moved, uint64_t sent) {
  if (moved < sizeof(CallHeader) || moved != sent) return false;
  return moved - sizeof(CallHeader) == (header.out_bytes > kInline ? 0 : header.out_bytes);
}
// Do `bytes` from `offset` on lie within `size`, whatever the numbers are?
constexpr bool lies_within(uint64_t offset, uint64_t bytes, uint64_t size) { return offset <= size && bytes <= size - offset; }

// `lies_at` names a block that the client shares and a place there.
constexpr unsigned kBlockShift = 56;
constexpr uint64_t lies_at(unsigned block, uint64_t offset) { return 1 + (uint64_t{block} << kBlockShift) + offset; }
constexpr unsigned block_of(uint64_t lies_at) { return static_cast<unsigned>((lies_at - 1) >> kBlockShift); }
constexpr uint64_t offset_in_block(uint64_t lies_at) { return (lies_at - 1) & ((uint64_t{1} << kBlockShift) - 1); }

// Header data of an answer: its type, and what became of the task.
enum class Answer : uint32_t { whole = 0, merged = 1, none = 2 };  // merged: laid over what was moved; its own size follows
constexpr uint64_t answer_data(Answer answer, uint32_t size, uint32_t type) {
  return uint64_t{static_cast<uint32_t>(answer)} << 62 | uint64_t{size & 0x3fffffffu} << 32 | type;
}
constexpr Answer answer_of(uint64_t data) { return static_cast<Answer>(data >> 62); }
constexpr uint32_t answer_size(uint64_t data) { return static_cast<uint32_t>(data >> 32) & 0x3fffffffu; }
// The message of an answer to a client that had `came` of `sent` bytes put into its memory.
constexpr peace_message_t message_of_answer(uint64_t data, uint64_t came, uint64_t sent) {
  peace_message_t message{};
  message.type = type_of(data);
  message.sent = answer_of(data) == Answer::merged ? answer_size(data) : sent;
  message.moved = came < message.sent ? came : message.sent;
  return message;
}

}  // namespace portunus::peace
