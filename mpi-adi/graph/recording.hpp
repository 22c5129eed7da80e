// recording.hpp: what a graph's operations on this rank are (order: engine/client/recording.hpp).
//
// Thread: one at a time per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/client/objects.hpp"
#include "engine/client/recording.hpp"
#include "engine/client/remote_memory.hpp"
#include "engine/goal/goal_call.h"

namespace portunus::mpi::rma {
struct Window;
}

namespace portunus::mpi::graph {

using client::kNothing;
using client::NodeId;
using Pieces = std::vector<GOAL_Piece>;

enum class What : uint8_t { send, receive, local, collective, access, gated, signal, join };

// A collective, with copies of what its arrays said. The key is what all ranks must have alike.
struct Collective {
  struct Key {
    uint64_t which, root, types, bytes;
    bool operator==(const Key&) const = default;
  };
  explicit Collective(const GOAL_Call& given, size_t ranks, const Key& its_key);

  GOAL_Call call;
  Key key;
  std::vector<size_t> counts, in_sizes, out_sizes;
  std::vector<ptrdiff_t> in_places, out_places;
};

// The messages of an access to a window, which one operation of the schedule parks.
struct RemoteAccess {
  struct Message {
    client::RemoteAddress at;
    std::byte *from, *to;  // in this process: what goes, and where the answer goes
    size_t bytes;
  };
  enum class Verb : uint8_t { put, get, update, fetch };

  Verb verb = Verb::put;
  ptl_op_t op = PTL_SUM;
  ptl_datatype_t type = PTL_UINT8_T;
  std::vector<Message> messages{};
  client::Descriptor memory{};

  // As GOAL_Park says; `access` is one of these.
  static int park(void* access, ptl_handle_ct_t trigger, ptl_size_t threshold, ptl_handle_ct_t counter);
};

// A rank of a window that is accessed.
struct AccessedRank {
  const rma::Window* window;
  size_t rank;
  bool operator==(const AccessedRank&) const = default;
};

struct Node {
  What what = What::join;
  Pieces memory{}, a{}, b{};  // messages and accesses use the first alone; local: memory = a op b
  int peer = 0, tag = 0;      // in the communicator
  bool synchronous = false;   // a send that ends when its receive has begun; so does that receive, once the ranks have compared
  GOAL_Local_op op = GOAL_COPY;
  GOAL_Type type = GOAL_UINT8;
  size_t count = 0;  // local: elements; messages: bytes
  int number = 0;    // of a gate or a signal
  std::unique_ptr<Collective> collective{};
  std::unique_ptr<RemoteAccess> access{};
  std::vector<NodeId> after{};
  NodeId base = kNothing;  // what had been waited for
  // Receives, once the ranks have compared: which of the sender's messages to this rank comes, and how long it is.
  uint32_t match = 0;
  size_t arrives = 0;
};

class Recording : public client::Recording<Node> {
 public:
  void accesses(const AccessedRank& target);
  const std::vector<AccessedRank>& accessed() const { return accessed_; }

 private:
  std::vector<AccessedRank> accessed_;
};

inline GOAL_Piece piece(const void* at, size_t bytes) { return {GOAL_USERSPACE, 0, reinterpret_cast<uintptr_t>(at), bytes}; }
inline Node copy_node(Pieces to, Pieces from, size_t bytes) {
  return {.what = What::local, .memory = std::move(to), .a = std::move(from), .count = bytes};
}

}  // namespace portunus::mpi::graph
