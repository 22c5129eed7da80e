// kept_header.hpp: the header of a message that came before its entry, on the portal's unexpected list until one takes it.
// Thread: the baton holder; unexpected.hpp says who owns it.
#pragma once

#include <memory>

#include "engine/core/peer.hpp"
#include "engine/core/target/list_entry.hpp"
#include "engine/core/target/unexpected_list.hpp"
#include "engine/transport/wire.hpp"

namespace portunus {

struct KeptHeader : UnexpectedHeader {
  Peer* peer = nullptr;
  wire::Header header{};
  ListEntry* entry = nullptr;  // the overflow entry it landed in
  uint64_t offset = 0;         // of its data in the overflow entry's memory
  void* start = nullptr;       // its data in the overflow entry's memory
  uint64_t mlength = 0;
  bool held = false;               // PTLX_ME_HOLD: payload kept here, or the data still lies at the initiator
  bool arriving = false;           // the overflow entry's data is still being moved
  ptl_ni_fail_t fail = PTL_NI_OK;  // it never came
  static constexpr size_t kSmall = 64;
  std::byte small[kSmall];               // a payload that is no longer,
  std::unique_ptr<std::byte[]> payload;  // or a longer one
  wire::Region region{};
  [[nodiscard]] const std::byte* data() const { return payload ? payload.get() : small; }
  ListEntry* taker = nullptr;  // consumed while arriving: report to this entry when the data is there

  // As if new, but for what whoever keeps a message writes anyway.
  void renew() {
    if (payload) payload.reset();
    entry = taker = nullptr;
    offset = mlength = 0;
    start = nullptr;
    held = arriving = false;
    fail = PTL_NI_OK;
    region = {};
  }
};

}  // namespace portunus
