// transport.hpp: the contract between the engine and what carries its messages.
//
// Every transport keeps the twelve calls of the contract. What only some can do is an object of its own, named in
// `Capabilities`. README.md in this folder says how one is added.
//
// Thread: every call is made by the holder of the baton, except `ring`-like things that a transport documents itself.
// Invariants: messages to one Link arrive complete and in the order of `send`. Nothing blocks. `send` copies: after
// Sent::done the caller may reuse header and payload. A transport delivers only from `poll`, by calling the Sink.
// Links live as long as the transport. A link that failed says so once (Sink::lost) and then answers `failed`.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/transport/node/staging.hpp"
#include "engine/transport/wire.hpp"
#include "portals/portals4_ext.h"

namespace portunus {

// The physical address of a process: IPv4 address (host order) and a port it owns there.
struct ProcessId {
  uint32_t nid = 0;
  uint32_t pid = 0;
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

enum class Sent : uint8_t { done, again, failed };
enum class Moved : uint8_t { done, started, again, failed };  // started: Sink::moved(context) follows from poll()

struct Peer;  // the engine's record of a process; opaque to transports

// One process as a transport sees it. Each transport derives its own.
struct Link {
  ProcessId process;
  uint32_t uid = 0;      // who the peer says it runs as; node: checked by the kernel, fabric: as received
  Peer* peer = nullptr;  // set by the engine
};

// Memory opened for a peer's pull or push; closed by Transport::withdraw.
struct Exposed {
  wire::Region region{};
  void* registration = nullptr;
};

class Transport;

class Sink {  // the engine, as transports see it
 public:
  virtual void arrived(Link& from, const wire::Header& header,
                       const std::byte* payload) = 0;  // payload: header.payload_size bytes, valid during the call
  virtual void moved(void* context, bool ok) = 0;
  virtual void lost(Link& link) = 0;
  // A process we never addressed has sent us something by this transport: the engine sets link.peer.
  virtual void introduced(Link& link, Transport& by) = 0;

 protected:
  ~Sink() = default;
};

struct TransportName {
  ptlx_transport_t kind = PTLX_TRANSPORT_NONE;  // what the way is like; programs decide by this
  const char* text = "none";                    // "self", "node", "fabric(net)" ..: for people. Lives as long as the transport
};

struct TransportLimits {
  size_t eager = 0;  // most payload bytes of one `send` (< wire::kWhole)
  size_t pull = 0;   // most bytes of one pull/push; 0 = cannot (the engine streams by messages)
  // The most that all peers together can have on their way here, as an engine keeps it (wire::kKeptHeader), where that is fixed.
  uint64_t pending = 0;
  size_t whole = 0;  // most payload bytes of a put that may be sent as wire::kWhole; 0: none is
};

// The words of a transport that the engine reads and (bundling, lends) writes without calling it.
struct TransportState {
  // False while the transport knows that `poll` has nothing to deliver, and will not without a call by the baton holder.
  bool may_deliver = true;
  bool keeps_back = false;  // there is something to flush (Bundling)
  bool has_links = true;    // false: no peer is or was reached by it, or has begun to call, so that only a first word can arrive
  unsigned bundling = 0;    // written by the engine: see Bundling
  uint32_t holding = 0;     // arrivals that `poll` has taken in and will deliver later (Holding)
  uint64_t lends = 0;       // as limits().pending, beyond a message from each peer, where it is granted; the engine may make it less
};

// Messages to one process that travel together. While TransportState::bundling is not 0, `send` may keep messages back;
// `flush` sends them. Messages of any one link keep their order, whether they were kept back or not.
class Bundling {
 public:
  virtual void flush() = 0;

 protected:
  ~Bundling() = default;
};

// The same as `send` in two calls, between which the caller writes the payload where it goes.
class InPlace {
 public:
  // The place of the payload, or nullptr: this link has no such place, or no room now.
  virtual std::byte* begin(Link& link, const wire::Header& header) = 0;
  virtual void commit(Link& link) = 0;

 protected:
  ~InPlace() = default;
};

// Memory through which data go that the initiator copies together piece by piece; the region tells the peer of it.
// A transport that has it has Notify, too: each end notifies the other when that one waits for a piece.
class StagingAreas {
 public:
  virtual bool stage(Link& link, StagingFiller& filler, wire::Region& out) = 0;  // false: there is none now
  virtual bool open_stage(Link& link, const wire::Region& from, StagingTaker& taker) = 0;
  virtual void unstage(Link& link, StagingFiller& filler) = 0;

 protected:
  ~StagingAreas() = default;
};

// Wakes the process at the other end of a link, without a message.
class Notify {
 public:
  virtual void notify(Link& link) = 0;

 protected:
  ~Notify() = default;
};

// Arrivals that are delivered when their time has come: what sleeps must wake for them.
class Holding {
 public:
  virtual int64_t due_in_ns() = 0;  // of the first; -1: nothing is held

 protected:
  ~Holding() = default;
};

// Null: the transport cannot. The objects live as long as the transport.
struct Capabilities {
  Bundling* bundling = nullptr;
  InPlace* in_place = nullptr;
  StagingAreas* staging = nullptr;
  Notify* notify = nullptr;
  Holding* holding = nullptr;
};

class Transport {
 public:
  virtual ~Transport() = default;
  TransportState state;  // written by the transport, but for `bundling` and `lends`
  const Capabilities& can() const { return can_; }

  virtual TransportName name() const = 0;
  virtual TransportLimits limits() const = 0;
  // The link to a process, made on first use; nullptr when this transport does not reach it. Never blocks: a link
  // that is still connecting answers `again`.
  virtual Link* connect(ProcessId process) = 0;
  // header.payload_size = sum of `payload`, set by the caller; or wire::kWhole, for puts of more than limits().eager bytes, which is
  // answered `again` also where the receiver has no room for so much now, but perhaps for less. Payload of up to kInlinePayload bytes is
  // placed inside the header by the transport (callers always pass it in `payload`). On arrival `payload` points at it wherever it lies.
  virtual Sent send(Link& link, const wire::Header& header, std::span<const iovec> payload) = 0;
  // false: this transport (or this link) has no remote memory access; stream instead.
  virtual bool expose(Link& link, const void* start, size_t size, bool peer_writes, Exposed& out) = 0;
  virtual void withdraw(Exposed& exposed) = 0;
  virtual Moved pull(Link& link, const wire::Region& from, void* to, size_t size, void* context) = 0;
  virtual Moved push(Link& link, const wire::Region& to, const void* from, size_t size, void* context) = 0;
  // Delivers up to `budget` arrivals and completions, messages that travelled together for one; returns how many.
  virtual int poll(int budget) = 0;
  // False when something is pending that `poll` would deliver, and no descriptor tells of: asked before sleeping (Dekker: after arming).
  // A transport that must be polled, since it has no descriptor and rings no doorbell, says what it knows.
  virtual bool idle() = 0;
  // A descriptor that becomes readable when something arrives, or -1 when the doorbell does it.
  virtual int wait_fd() const { return -1; }
  // Called some times a second: looks for peers that have ended without a word. `waiting`: the engine expects something of
  // somebody; if not, only what stands in the way of others needs a look.
  virtual void housekeeping(bool waiting) { (void)waiting; }
  // True while `housekeeping` may be the only way on, although no message is outstanding.
  virtual bool needs_housekeeping() { return false; }

 protected:
  explicit Transport(const Capabilities& can = {}) : can_(can) {}

 private:
  const Capabilities can_;
};

}  // namespace portunus
