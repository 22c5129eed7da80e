// message.hpp: the bytes of one message on the fabric: Prefix 16 B | wire::Header 64 B | payload. Several may travel
// together, one behind the other, in one send; among them grants (credit.hpp): Prefix | 8 B.
//
// Thread: pure functions.
// Invariants: payload of up to wire::kInlinePayload bytes lies in the header and nothing follows it. What `decode`
// accepts has a known kind and exactly the length its header announces; whether the sender exists is the caller's to check.
#pragma once

#include <sys/uio.h>

#include <cassert>
#include <cstring>
#include <span>

#include "engine/transport/wire.hpp"

namespace portunus::fabric {

constexpr uint32_t kMessageMagic = 0x50544d02;  // "PTM", version 2; a peer of other byte order fails here
constexpr uint32_t kProbeMagic = 0x50544b01;    // "PTK": a Prefix alone, which opens the way between two endpoints
constexpr uint32_t kGrantMagic = 0x50544701;    // "PTG": how much the receiver of this may have sent, from the beginning
constexpr size_t kEager = 8192;                 // payload bytes of one message

// Says who sends: few providers tell (FI_SOURCE). `slot` is the receiver's own number for this sender, told in the
// Hello (guard.hpp), so that nothing is searched for on arrival and the nid need not travel.
struct Prefix {
  uint32_t magic;
  uint32_t slot;
  uint32_t pid;  // of the sender; compared with what the slot's owner said
  uint32_t uid;  // of the sender; its first message may overtake its Hello, which tells it too
};
static_assert(sizeof(Prefix) == 16);

constexpr size_t kHeadSize = sizeof(Prefix) + sizeof(wire::Header);

struct Message {
  Prefix prefix;
  wire::Header header;  // a copy: those that travel together lie behind one another without regard to alignment
  const std::byte* payload = nullptr;
};

inline size_t encoded_size(const wire::Header& header) {
  return kHeadSize + (header.payload_size > wire::kInlinePayload ? header.payload_size : 0);
}

// A buffer for one message of so many payload bytes, or for several that travel together and are no longer.
constexpr size_t room_for(size_t payload) { return (kHeadSize + payload + 63) / 64 * 64; }

// Writes encoded_size(header) bytes to `out`. The pieces must add up to header.payload_size.
inline void encode(const Prefix& prefix, const wire::Header& header, std::span<const iovec> pieces, std::byte* out) {
  std::memcpy(out, &prefix, sizeof prefix);
  std::memcpy(out + sizeof prefix, &header, sizeof header);
  std::byte* to = out + kHeadSize;
  if (header.payload_size <= wire::kInlinePayload) to = out + sizeof prefix + offsetof(wire::Header, inline_payload);
  [[maybe_unused]] size_t copied = 0;
  for (const iovec& piece : pieces) {
    if (piece.iov_len == 0) continue;
    copied += piece.iov_len;
    assert(copied <= header.payload_size);
    std::memcpy(to, piece.iov_base, piece.iov_len);
    to += piece.iov_len;
  }
  assert(copied == header.payload_size);
}

struct GrantMessage {
  Prefix prefix;
  uint64_t total;
};
static_assert(sizeof(GrantMessage) == 24);

// Whether `bytes` begin with a grant.
inline bool is_grant(std::span<const std::byte> bytes, GrantMessage& out) {
  if (bytes.size() < sizeof out) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out.prefix.magic == kGrantMagic;
}

inline bool is_probe(std::span<const std::byte> bytes, Prefix& out) {
  if (bytes.size() != sizeof out) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out.magic == kProbeMagic;
}

// The length of the message that `bytes` begin with; 0 when they begin with none of ours, or not all of it. out.payload
// points into `bytes` or into out.header.
[[nodiscard]] inline size_t decode_first(std::span<const std::byte> bytes, Message& out) {
  if (bytes.size() < kHeadSize) return 0;
  std::memcpy(&out.prefix, bytes.data(), sizeof out.prefix);
  if (out.prefix.magic != kMessageMagic) return 0;
  std::memcpy(&out.header, bytes.data() + sizeof out.prefix, sizeof out.header);
  if (out.header.kind == wire::Kind::none || out.header.kind > wire::Kind::last_kind) return 0;
  const size_t size = encoded_size(out.header);
  if (bytes.size() < size) return 0;
  out.header.ready = 0;
  out.header.source = 0;
  const bool inside = out.header.payload_size <= wire::kInlinePayload;
  out.payload = inside ? out.header.inline_payload : bytes.data() + kHeadSize;
  return size;
}

// False when the bytes are not exactly one message of ours.
[[nodiscard]] inline bool decode(std::span<const std::byte> bytes, Message& out) {
  const size_t size = decode_first(bytes, out);
  return size != 0 && size == bytes.size();
}

}  // namespace portunus::fabric
