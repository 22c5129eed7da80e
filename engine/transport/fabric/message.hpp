// message.hpp: the bytes of one message on the fabric: Prefix 16 B | of wire::Header 8 to 48 B | payload. Several may travel together, one
// behind the other, in one send; among them grants (credit.hpp): Prefix | 8 B, and offers (eager_rdma.cpp): Prefix | 16 B. The data of a
// put by eager RDMA (wire::kWhole) are written to a slot that the receiver has offered, before its header.
//
// Thread: pure functions.
// Invariants: `decode` accepts only a known kind and exactly the length that the header announces; the caller checks whether the sender
// exists. A message of up to 8 bytes takes 64 at most, unless it goes to an offset beyond 4 GiB: tcp takes no more by fi_inject. The
// completion of a longer message wakes a thread that sleeps on the provider's descriptor, in the midst of the call that sends.
#pragma once

#include <sys/uio.h>

#include <cassert>
#include <cstring>
#include <iterator>
#include <span>

#include "engine/transport/wire.hpp"

namespace portunus::fabric {

constexpr uint16_t kMessageMagic = 0x4d07;   // "M", version 7; a peer of other byte order fails here
constexpr uint16_t kProbeMagic = 0x4b02;     // "K": a Prefix alone, which opens the way between two endpoints
constexpr uint16_t kQuestionMagic = 0x5101;  // "Q": a Prefix alone, which is answered when it is read
constexpr uint16_t kAnswerMagic = 0x4101;    // "A": a Prefix alone
constexpr uint16_t kOfferMagic = 0x4f02;     // "O": where data of eager RDMA may be written
constexpr uint16_t kGrantMagic = 0x4702;     // "G": how much the receiver of this may have sent, from the beginning
constexpr size_t kEager = 8192;              // payload bytes of one message
constexpr size_t kEagerRdmaMost = 64 << 10;  // payload bytes of a put by eager RDMA

// Says who sends: few providers tell (FI_SOURCE). `slot` is the receiver's own number for this sender, told in the
// Hello (connection_manager.hpp), so that nothing is searched for on arrival and the nid need not travel.
struct Prefix {
  uint16_t magic;
  uint16_t number;  // of the send that begins with it, among all sends of its link: completions may come in another order
  uint32_t slot;
  uint32_t pid;  // of the sender, in 16 bits; compared with what the slot's owner said
  uint32_t uid;  // of the sender; its first message may overtake its Hello, which tells it too
};
static_assert(sizeof(Prefix) == 16);

// A message carries the words of a Header that are not zero: their codes, two bits each, lie in the upper half of Prefix::pid.
constexpr size_t kFixed = 8;  // kind to datatype, pt_index and payload_size
constexpr uint64_t wire::Header::*const kWords[] = {&wire::Header::match_bits, &wire::Header::hdr_data, &wire::Header::rlength,
                                                    &wire::Header::remote_offset, &wire::Header::token};
constexpr size_t kHeadSize = sizeof(Prefix) + kFixed + sizeof(uint64_t) * std::size(kWords);  // at most
constexpr uint32_t kPidMask = 0xffff;
constexpr unsigned kPidBits = 16;

// The code of a word that takes 0, 4 or 8 bytes.
constexpr uint32_t code_of(uint64_t word) { return word == 0 ? 0 : word >> 32 == 0 ? 1 : 2; }
constexpr size_t bytes_of(uint32_t code) { return code * sizeof(uint32_t); }

// A word of one transport to the other: a grant goes on with `total`, an offer with `region`, the others are a Prefix alone.
struct Word {
  Prefix prefix;
  union {
    uint64_t total;
    wire::Region region;
  };
};
static_assert(sizeof(Word) == 32);
// The size of a word with this magic; 0: it is a message.
constexpr size_t word_size(uint16_t magic) {
  if (magic == kGrantMagic) return sizeof(Prefix) + sizeof(uint64_t);
  if (magic == kProbeMagic || magic == kQuestionMagic || magic == kAnswerMagic) return sizeof(Prefix);
  return magic == kOfferMagic ? sizeof(Word) : 0;
}
constexpr size_t kGrantSize = word_size(kGrantMagic);

struct Message : Word {
  wire::Header header;  // a copy: those that travel together lie behind one another without regard to alignment
  const std::byte* payload = nullptr;
};

inline size_t encoded_size(const wire::Header& header) {
  size_t size = sizeof(Prefix) + kFixed + (header.payload_size != wire::kWhole ? header.payload_size : 0);
  for (const auto word : kWords) size += bytes_of(code_of(header.*word));
  return size;
}

// Tells whether a header may begin a put by eager RDMA.
constexpr bool begins_eager_rdma(const wire::Header& header) { return wire::may_be_whole(header, kEager, kEagerRdmaMost); }
// Tells whether a put whose data are to be read could have gone by eager RDMA.
constexpr bool could_be_eager_rdma(const wire::Header& header) {
  return header.kind == wire::Kind::put && (header.flags & wire::kBulk) && header.rlength > kEager && header.rlength <= kEagerRdmaMost;
}

// The size of a buffer for one message of so many payload bytes, or for several that are together no longer.
constexpr size_t room_for(size_t payload) { return (kHeadSize + payload + 63) / 64 * 64; }

// Writes encoded_size(header) bytes to `out`. The pieces must add up to header.payload_size; a put by eager RDMA has none.
inline void encode(Prefix prefix, const wire::Header& header, std::span<const iovec> pieces, std::byte* out) {
  std::byte* to = out + sizeof prefix;
  const auto put = [&to](const void* from, size_t size) {
    std::memcpy(to, from, size);
    to += size;
  };
  put(&header.kind, kFixed / 2);
  put(&header.pt_index, kFixed / 2);
  unsigned shift = kPidBits;
  for (const auto word : kWords) {
    const uint32_t code = code_of(header.*word);
    prefix.pid |= code << shift;
    shift += 2;
    put(&(header.*word), bytes_of(code));
  }
  std::memcpy(out, &prefix, sizeof prefix);
  [[maybe_unused]] const std::byte* const begin = to;
  for (const iovec& piece : pieces)
    if (piece.iov_len != 0) put(piece.iov_base, piece.iov_len);
  assert(to == begin + (header.payload_size != wire::kWhole ? header.payload_size : 0));
}

// Returns the length of the message or word that `bytes` begin with; 0 when they begin with none of ours, or not all of it. out.payload
// points into `bytes` or into out.header.
[[nodiscard]] inline size_t decode_first(std::span<const std::byte> bytes, Message& out) {
  if (bytes.size() < sizeof out.prefix) return 0;
  std::memcpy(&out.prefix, bytes.data(), sizeof out.prefix);
  if (const size_t size = word_size(out.prefix.magic); size != 0) {
    if (bytes.size() < size) return 0;
    std::memcpy(static_cast<Word*>(&out), bytes.data(), size);
    return size;
  }
  if (out.prefix.magic != kMessageMagic || bytes.size() < sizeof out.prefix + kFixed) return 0;
  uint32_t codes = out.prefix.pid >> kPidBits;
  out.prefix.pid &= kPidMask;
  out.header = {};
  const std::byte* from = bytes.data() + sizeof out.prefix;
  std::memcpy(&out.header.kind, from, kFixed / 2);
  std::memcpy(&out.header.pt_index, from + kFixed / 2, kFixed / 2);
  from += kFixed;
  if (out.header.kind == wire::Kind::none || out.header.kind > wire::Kind::last_kind) return 0;
  size_t left = bytes.size() - sizeof out.prefix - kFixed;
  for (const auto word : kWords) {
    const size_t size = bytes_of(codes % 4);
    if (size > sizeof(uint64_t) || size > left) return 0;
    std::memcpy(&(out.header.*word), from, size);
    from += size;
    left -= size;
    codes /= 4;
  }
  const bool eager_rdma = out.header.payload_size == wire::kWhole;
  const size_t behind = eager_rdma ? 0 : out.header.payload_size;
  if (codes != 0 || behind > left || (eager_rdma && !begins_eager_rdma(out.header))) return 0;
  out.payload = from;
  if (behind <= wire::kInlinePayload) {
    std::memcpy(out.header.inline_payload, from, behind);
    out.payload = out.header.inline_payload;
  }
  return bytes.size() - left + behind;
}

}  // namespace portunus::fabric
