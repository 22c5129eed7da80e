// initiator.hpp: the record of a request that awaits its answer. Thread: the baton holder.
#pragma once

#include "engine/peer.hpp"
#include "engine/shared/command.hpp"

namespace portunus {

struct Operation {
  Peer* peer = nullptr;       // nullptr: free
  Verb verb = Verb::none;
  uint8_t ack = PTL_NO_ACK_REQ;
  bool bulk = false;
  bool source_read = false;   // SEND has been reported
  bool failed = false;        // the data could not be moved
  uint32_t generation = 1;
  uint32_t index = 0;
  Local source;               // put, atomic: data out
  Local result;               // get, fetch, swap: data in
  uint64_t length = 0;
  void* user_ptr = nullptr;
  void* owned_payload = nullptr;  // a copy made for a volatile descriptor
  Exposed exposed;
  bool is_exposed = false;
  uint8_t ni = 0;
  bool withdrawing = false;   // its target was asked to end it, unless it has matched (PtlxPutWithdraw)
  uint16_t pt_index = 0;
  StagingFiller staging;
  Operation* next_free = nullptr;

  uint64_t token() const { return uint64_t{generation} << 32 | (index + 1); }
};

}  // namespace portunus
