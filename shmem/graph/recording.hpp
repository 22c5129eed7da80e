// recording.hpp: what a graph's operations on this PE are (order: engine/client/recording.hpp).
//
// Thread: one at a time per object.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/client/recording.hpp"
#include "engine/client/remote_memory.hpp"
#include "engine/goal/goal_call.h"
#include "shmem/collectives.hpp"
#include "shmem/runtime.hpp"

namespace portunus::shmem::graph {

using client::kNothing;
using client::NodeId;
constexpr size_t kMostPieces = 4096;  // of one call

// Operations on the memory of one PE, which one operation of the schedule parks. They reach it in their order where they are short. On
// memory that this PE maps the engine does short ones itself, as the calls of the program do; others are operations of Portals.
struct Access {
  struct Message {
    enum class Verb : uint8_t { put, get, update, fetch } verb;
    Place at;
    const void* from;  // of this process: what goes, and where the answer goes
    void* to;
    size_t bytes;
    ptl_op_t op = PTL_SUM;
    const void* expected = nullptr;  // of PTL_CSWAP
  };
  int pe;  // of the world
  std::vector<Message> messages{};
  client::Descriptor memory{};

  // Those that engines of this PE have done themselves.
  static std::atomic<uint64_t> done_by_memory;

  bool is_by_memory() const;
  // How many successes it counts.
  uint32_t counts() const { return is_by_memory() ? 1 : static_cast<uint32_t>(messages.size()); }
  // As GOAL_Park says; `access` is one of these.
  static int park(void* access, ptl_handle_ct_t trigger, ptl_size_t threshold, ptl_handle_ct_t counter);

 private:
  static constexpr size_t kMostByMemory = 16 * 1024;  // bytes: an engine that copies serves nobody else
  static int do_by_memory(void* access);
};

// A word of this PE that is waited for.
struct Await {
  const void* word;
  uint32_t watched;  // its bits
  ptl_datatype_t type;
  ptlx_comparison_t comparison;
  uint64_t value;

  static int park(void* await, ptl_handle_ct_t trigger, ptl_size_t threshold, ptl_handle_ct_t counter);
};

struct Collective {
  GOAL_Call call;
  CallFacts facts;  // that all PEs must have alike
  // collect: the sizes and places of the parts of all PEs, known when the capture has ended.
  std::vector<size_t> sizes{};
  std::vector<ptrdiff_t> begins{};
};

enum class What : uint8_t { access, await, collective, copy, gated, signal, join };

struct Node {
  What what = What::join;
  std::vector<GOAL_Piece> memory{}, from{};  // access, await: what is touched here; copy: memory = from
  size_t bytes = 0;                          // of each
  int number = 0;                            // of a gate or a signal
  std::unique_ptr<Access> access{};
  std::unique_ptr<Await> await{};
  std::unique_ptr<Collective> collective{};
  std::vector<NodeId> after{};
  NodeId base = kNothing;  // what had been waited for
};

using Recording = client::Recording<Node>;

// Returns a copy that lives as long as the graph.
std::byte* kept(Recording& recording, const void* bytes, size_t size);

inline GOAL_Piece piece(const void* at, size_t bytes) { return {GOAL_USERSPACE, 0, reinterpret_cast<uintptr_t>(at), bytes}; }

}  // namespace portunus::shmem::graph
