// wire.hpp: what travels between two engines: one 64-byte header per message, the same on every transport.
//
// On the node it is the first cache line of a ring record (so an 8-byte put is one line); on the fabric what of it is not zero
// follows a prefix that names the sender (fabric/message.hpp). Payload of up to kInlinePayload bytes lies in the header itself, longer
// eager payload follows it. Everything that arrives is checked by the receiver (target.cpp, initiator.cpp); nothing here is trusted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/progress/doorbell.hpp"

namespace portunus::wire {

enum class Kind : uint8_t {
  none = 0,
  put,
  get,
  atomic,
  fetch_atomic,
  swap,            // requests, initiator -> target
  ack,             // target -> initiator: a put or atomic ended (or its source was read)
  reply,           // target -> initiator: a get, fetch or swap ended; may carry the data
  stream_request,  // target -> initiator: send me `rlength` bytes from `remote_offset` of your source
  stream_data,     // payload for the transfer `token` at `remote_offset`
  throttle,        // target -> initiator: send less to `pt_index`; op = Throttle
  withdraw,        // initiator -> target: end my put `token` to `pt_index`, if it still is unmatched there
  last_kind = withdraw
};

// Header::flags. The two upper bits mean one thing in requests and another in answers.
constexpr uint8_t kNiMask = 0x03;  // which of the four interfaces
constexpr uint8_t kAckShift = 2;   // two bits: ptl_ack_req_t of a put or atomic
constexpr uint8_t kAckMask = 0x0c;
constexpr uint8_t kBulk = 0x10;        // payload is a Region: the target pulls (put) or pushes (get)
constexpr uint8_t kNoRegion = 0x20;    // with kBulk: no Region; the data is streamed by messages
constexpr uint8_t kSourceRead = 0x40;  // ack only: the source of a bulk put is free (SEND), not an acknowledgement
constexpr uint8_t kStaged = 0x40;      // with kBulk, of a put or atomic: the Region is memory that the initiator fills piece by piece
constexpr uint8_t kOverflow = 0x80;    // ack/reply: matched in the overflow list

constexpr uint8_t kScheduled = 0x80;        // put or atomic: a trigger has sent it, and others may wait for it
constexpr uint8_t kScheduledAnswer = 0x20;  // ack/reply: the answer to one that a trigger has sent

// Header::op of stream_data: the token names an operation (a get's data), else a transfer.
constexpr uint8_t kToOperation = 1;

constexpr uint64_t kWindowMessages = 32;  // stream_request: asks for no more data than fit so many eager messages

// Header::payload_size of a put: all of its data travel with it, however long (TransportLimits::whole).
constexpr uint16_t kWhole = 0xffff;

constexpr size_t kInlinePayload = 8;
constexpr size_t kKeptHeader = 384;  // what an engine needs at most to keep a message, beside its payload

struct Header {
  uint32_t ready;  // transport's own: ring turn on the node, zero on the fabric
  Kind kind;
  uint8_t flags;
  uint8_t op;        // ptl_op_t of a request; ptl_ni_fail_t of an ack or reply
  uint8_t datatype;  // ptl_datatype_t
  uint32_t source;   // transport's own: who sent it
  uint16_t pt_index;
  uint16_t payload_size;  // bytes that travel with this header, or kWhole
  union {
    uint64_t match_bits;  // requests
    uint64_t transfer;    // stream_request: the transfer at the target, the token of the data that answer
  };
  uint64_t hdr_data;
  uint64_t rlength;        // requests: requested length; ack/reply: mlength
  uint64_t remote_offset;  // requests: requested offset; ack/reply: actual offset
  uint64_t token;          // the initiator's operation, returned in its ack or reply; 0 = none
  std::byte inline_payload[kInlinePayload];

  // Kind and flags by one store: transports read the four bytes from here on by one load, which would wait for bytes stored one by one.
  void set_kind(Kind of, unsigned its_flags) {
    const uint32_t word = std::endian::native == std::endian::little ? static_cast<uint32_t>(of) | (its_flags & 0xff) << 8
                                                                     : static_cast<uint32_t>(of) << 24 | (its_flags & 0xff) << 16;
    std::memcpy(&kind, &word, sizeof word);
  }
};
// A put whose data travel with it.
constexpr bool is_put_with_data(const Header& header) { return header.kind == Kind::put && !(header.flags & kBulk); }
// One that may say kWhole, where other messages have up to `eager` bytes of data and these up to `most`.
constexpr bool may_be_whole(const Header& header, uint64_t eager, uint64_t most) {
  return is_put_with_data(header) && header.rlength > eager && header.rlength <= most;
}
// Bytes that travel with this header.
constexpr uint64_t payload_of(const Header& header) { return header.payload_size == kWhole ? header.rlength : header.payload_size; }
static_assert(sizeof(Header) == 64 && offsetof(Header, match_bits) == 16 && offsetof(Header, inline_payload) == 56);

// How soon the engine of its receiver should see to it. All that is not urgent only lies where the receiver will look.
inline Urgency urgency_of(const Header& header) {
  switch (header.kind) {
    case Kind::put:
    case Kind::atomic:
      return header.flags & kBulk ? Urgency::large : header.flags & (kAckMask | kScheduled) ? Urgency::small : Urgency::none;
    case Kind::ack:
    case Kind::reply: return header.flags & kScheduledAnswer ? Urgency::small : Urgency::none;
    case Kind::get: return header.flags & kBulk ? Urgency::large : Urgency::small;
    default: return Urgency::small;
  }
}

// The flag of an answer to this request.
constexpr uint8_t scheduled_answer(const Header& request) { return request.flags & kScheduled ? kScheduledAnswer : 0; }

// The place of bulk data, in the owner's terms. Payload of a kBulk request.
struct Region {
  uint64_t address;
  uint64_t key;
};
static_assert(sizeof(Region) == 16);

}  // namespace portunus::wire
