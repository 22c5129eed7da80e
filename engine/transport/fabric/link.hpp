// link.hpp: one process as the fabric sees it.
//
// Thread: the holder of the baton.
// Invariants: states only move downwards in the list below. `address` and `remote_slot` are valid from `opening` on.
#pragma once

#include <rdma/fabric.h>

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "engine/transport/fabric/credit.hpp"
#include "engine/transport/fabric/moves.hpp"
#include "engine/transport/transport.hpp"

namespace portunus::fabric {

enum class LinkState : uint8_t {
  calling,  // its endpoint name is not known yet
  opening,  // the provider has not carried anything yet
  ready,
  ending,  // its end was noticed; what it said before is still being read
  failed,  // Sink::lost was called
};

// A request to the provider, which returns it by its completion.
struct Operation {
  enum class Kind : uint8_t { receive, send, move, data };  // data: of a put by eager RDMA
  fi_context2 context;  // first: FI_CONTEXT modes lend it to the provider, and op_context leads back here
  Kind kind;
  FabricLink* link = nullptr;  // null: the provider does not have it, or its link was lost
  Move* move = nullptr;        // this is a piece of it
  size_t bytes = 0;            // length of that piece, or of the data, or of what was received
  uint64_t begun_ns = 0;
  std::byte* buffer = nullptr;
  void* descriptor = nullptr;
};

struct FabricLink : Link {
  LinkState state = LinkState::calling;
  bool spoke = false;  // it has said something before its Hello was read: the way is open
  bool known = false;  // the engine knows it: it asked for it or was introduced
  uint32_t slot = 0;   // our index
  uint32_t remote_slot = 0;
  uint16_t sends = 0;                    // to it, the number of the next one
  uint16_t received = 0;                 // from it, the number of the next one
  uint32_t in_flight = 0;                // sends that hold a buffer
  uint32_t filled = 0;                   // bytes in `frame`
  Operation* frame = nullptr;            // whose buffer collects messages, if one does
  bool framed = false;                   // the transport's list of links with a frame names it
  bool throttle_waits = false;           // the provider would not take a throttle: grants stay behind it
  bool owed = false;                     // a grant: on the transport's list
  bool offered = false;                  // the peer knows of `here`
  bool is_silent = false;                // ended because nothing came from its host any more
  bool unconfirmed = false;              // something was injected since the last send that tells of its end
  std::map<uint16_t, Operation*> early;  // receives of what was sent behind the next one, by number
  Credit credit;
  ReceiveCredit grant;
  size_t name_hash = 0;                    // of its endpoint name
  std::optional<wire::Region> rdma_slots;  // the peer's slots for the data of our puts, once offered: one after the other is written
  std::byte* here = nullptr;               // our slots for the peer's data
  Registration* here_registration = nullptr;
  uint32_t slots_written = 0, slots_read = 0;  // by us, so far
  std::deque<Move*> moves;                     // with pieces still to be asked for, in their order
  Window window;
  size_t asked = 0;           // bytes of moves that the provider has
  uint64_t last_move_ns = 0;  // when a piece of them came back last, or the first was asked for
  uint64_t last_question_ns = 0;
  bool answered = false;  // a question that was put since then, as nothing came for long
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::chrono::steady_clock::time_point ended{};  // when `ending` began, plus the grace
};

}  // namespace portunus::fabric
