// tcp_link.hpp: what travels on a connection of the TCP transport, and what is known of each.
//
// Thread: the holder of the baton.
// Invariants: see tcp.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/transport/fabric_link.hpp"
#include "engine/transport/tcp_outbox.hpp"

namespace portunus::tcp {

enum class Frame : uint32_t {
  message,
  pull,     // send me `rlength` bytes from `remote_offset` of what `match_bits` opens
  data,     // the answer to the pull `token`: so many bytes
  push,     // bytes for `remote_offset` of what `match_bits` opens
  landed,   // the push `token` lies there
  refused,  // the pull or push `token` was not allowed
  message_with_data,  // a put, followed by the `rlength` bytes that its Region names
  unwanted,           // they were not: such puts had better be sent alone for a while
  last_frame = unwanted
};
enum class Landing : uint8_t { pulled, pushed, kept, refused, unwanted };  // what the bulk data is that comes in

struct Exposure {
  std::byte* start;
  size_t size;
  bool peer_writes;
  const Link* to;
  uint64_t key;
  uint32_t users = 0;  // outboxes that read it, connections that write it
};

struct Kept {  // data that came with a put before it was wanted
  Link* from = nullptr;
  uint64_t key = 0;
  size_t size = 0;
  std::unique_ptr<std::byte[]> bytes;
};

struct Input {  // received, not delivered yet
  std::unique_ptr<std::byte[]> bytes;
  size_t begin = 0, end = 0;
};

struct TcpLink : fabric::GuardedLink {
  explicit TcpLink(Outbox::Spares& spares) : out(spares) {}
  int fd = -1;
  bool connecting = false;
  bool blocked = false;   // the socket took no more: epoll tells when it does
  bool dirty = false;     // in the list of those to be flushed
  bool backlog = false;   // in the list of those with input that no poll has delivered
  uint32_t pulls = 0;     // whose data is to come
  uint32_t bulky = 0;     // so many messages more, bulk data is expected behind each
  uint32_t alone = 0;     // puts still to be sent without their data
  Outbox out;
  Input in;
  // Bulk data on its way in.
  std::byte* landing = nullptr;  // null: it is not wanted any more
  size_t landing_left = 0;
  uint64_t landing_token = 0;
  Exposure* landing_exposure = nullptr;  // of a push that is allowed
  Landing landing_as = Landing::pulled;
  // Data that came with a put, next in the input: 0, or of `early_size` bytes, for the pull `early_token` if there is one yet.
  size_t early_size = 0;
  uint64_t early_key = 0, early_token = 0;
  Kept keeping;  // while it comes in
};

}  // namespace portunus::tcp
