// bulk.hpp: data that did not come with their header, moved by the target after it has matched.
//
// A transfer goes one of the ways of way.hpp, a bounded number of bytes per step. Gets and the old data of fetching atomics
// go outward, towards the initiator; operands of atomics are gathered first and applied when they are complete.
//
// Thread: the baton holder. Callers: Target alone; Engine hands on what transports say of transfers under way.
// Invariants: a transfer is in the list from start() until advance() returns it, and while a transport works on it it is not
// given up. advance() reports nothing: whoever called it does.
// Source: PEACE (request, match, then the receiver's processor moves the data).
#pragma once

#include <memory>
#include <vector>

#include "engine/core/core.hpp"
#include "engine/core/initiator/way.hpp"
#include "engine/core/peers.hpp"
#include "engine/core/target/delivery.hpp"
#include "engine/transport/node/staging.hpp"

namespace portunus {

struct Transfer {
  enum class Wait : uint8_t { nothing, transport, window, filling };  // for a pull or push; the data asked for; the initiator's copying
  enum class Fate : uint8_t { fine, undeliverable, inaccessible };    // inaccessible: the entry covers memory that is not there

  Delivery delivery;
  wire::Region region{};
  Way way = Way::streamed;
  bool outward = false;  // towards the initiator
  Wait wait = Wait::nothing;
  Fate fate = Fate::fine;
  uint64_t moved = 0;  // bytes
  uint64_t part = 0;   // size of the piece under way; streamed inward: where the window ends
  uint64_t id = 0;     // names it in stream messages
  StagingTaker staging;
  std::unique_ptr<std::byte[]> operands;  // bulk atomics: gather here first
  std::unique_ptr<std::byte[]> bounce;    // Way::bounced: a piece lands here first
  std::unique_ptr<std::byte[]> old;       // fetch, swap: what was there before, on its way back (then `outward`)

  bool fine() const { return fate == Fate::fine; }
  bool over() const { return moved == delivery.mlength || (!fine() && wait != Wait::transport); }
};

class Bulk {
 public:
  Bulk(Core& core, Peers& peers) : core_(core), peers_(peers) {}

  void start(const Delivery& delivery, const wire::Region& region);
  // Moves what can be moved now. Transfers that have ended are appended to `ended`, their data in place; the caller reports
  // them. Returns how many made progress.
  int advance(std::vector<std::unique_ptr<Transfer>>& ended);
  // A piece that a transport was still moving has come, or gone, or (not ok) failed.
  void landed(const void* context, bool ok);
  // Data that a stream asked for. False: nobody did.
  bool stream_in(const Peer& from, const wire::Header& header, const std::byte* payload);
  void peer_lost(const Peer& peer);
  // The interface closes: its transfers end, but those that a transport still works on.
  void close(uint32_t ni);

  bool empty() const { return transfers_.empty(); }
  // Whether steps are needed although nobody rings.
  bool goes_on() const;
  // Whether staged data can go on, now. Asked before sleeping: each piece is announced by a notification.
  bool staging_ready() const;
  // Whether the entry of a transfer counts there.
  bool will_count(uint32_t ct) const;

 private:
  bool advance(Transfer& transfer);
  bool advance_staged(Transfer& transfer);
  bool advance_pulled(Transfer& transfer);
  bool advance_streamed(Transfer& transfer);
  static void store(Transfer& transfer, const std::byte* data, uint64_t size);
  void land(Transfer& transfer);
  static bool next_accessible(const Transfer& transfer);
  static void turn_round(Transfer& transfer);
  std::unique_ptr<std::byte[]> new_bounce();

  Core& core_;
  Peers& peers_;
  std::vector<std::unique_ptr<Transfer>> transfers_;
  std::vector<std::unique_ptr<std::byte[]>> spare_bounces_;
  uint64_t next_id_ = 1;
};

}  // namespace portunus
