// operation.hpp: requests of this process that await an answer, and the pool they live in.
//
// Thread: the baton holder. Callers: Initiator and its Packing.
// Invariants: a token names one operation for ever: slots are used again with the next generation. A free slot has no peer.
#pragma once

#include <cassert>
#include <cstdint>
#include <deque>

#include "engine/core/peer.hpp"
#include "engine/shared/command.hpp"
#include "engine/transport/node/staging.hpp"
#include "engine/transport/wire.hpp"

namespace portunus {

struct Operation {
  Peer* peer = nullptr;  // nullptr: free
  Verb verb = Verb::none;
  uint8_t ack = PTL_NO_ACK_REQ;
  bool bulk = false;         // the target moves the data, or asks for it
  bool source_read = false;  // SEND has been reported
  bool is_exposed = false;
  bool withdrawing = false;  // its target was asked to end it, unless it has matched (E10)
  uint8_t ni = 0;
  uint16_t pt_index = 0;
  uint32_t generation = 1;
  uint32_t index = 0;
  Local source;  // put, atomic: data out
  Local result;  // get, fetch, swap: data in
  uint64_t length = 0;
  void* user_ptr = nullptr;
  void* owned_payload = nullptr;  // malloc'ed, taken over from the command
  Exposed exposed;
  StagingFiller staging;
  Operation* next_free = nullptr;
  Operation* earlier = nullptr;  // the one that was made before it, be it free or not: for debuggers

  uint64_t token() const { return uint64_t{generation} << 32 | (index + 1); }
  bool awaits_reply() const { return verb == Verb::get || verb == Verb::fetch_atomic || verb == Verb::swap; }
  // Whether its target answers as soon as it arrives. An acknowledgement with an event of its own may be that of a held message, which
  // waits for a receive.
  bool answered_soon() const { return awaits_reply() || ack == PTL_CT_ACK_REQ || ack == PTL_OC_ACK_REQ; }
};

class Operations {
 public:
  // `request` is complete but for payload_size and token; `result`: where a reply's data go.
  Operation& claim(Peer& peer, Verb verb, const wire::Header& request, const Local& source, const Local& result, void* user_ptr);
  // The live operation towards this peer that the token names, or nullptr.
  Operation* find(uint64_t token, const Peer* peer) {
    const uint32_t index = static_cast<uint32_t>(token) - 1;
    if (index >= pool_.size()) return nullptr;
    Operation& operation = pool_[index];
    assert(operation.index == index && peer != nullptr);
    return operation.peer == peer && operation.token() == token ? &operation : nullptr;
  }
  void give_back(Operation& operation);
  bool any() const { return live_ != 0; }
  Operation* const& newest() const { return newest_; }

  // Every live one; those that are claimed meanwhile may be passed over or not.
  template <class Each>
  void for_each(Each&& each) {
    for (size_t i = 0; i < pool_.size(); ++i)
      if (pool_[i].peer) each(pool_[i]);
  }
  template <class Which>
  bool any_of(Which&& which) const {
    for (const Operation& operation : pool_)
      if (operation.peer && which(operation)) return true;
    return false;
  }

 private:
  std::deque<Operation> pool_;
  Operation* free_ = nullptr;
  Operation* newest_ = nullptr;
  uint64_t live_ = 0;
};

}  // namespace portunus
