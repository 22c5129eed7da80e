// The part of one rank in a collective, written as a sequential program: send, receive, combine.
//
// From the memory of the steps follows which of them must wait for which; steps that share nothing run at once. So one
// buffer may be input and output, and nothing is overwritten before it was read, whatever the algorithm. Where order
// does not show in memory (barriers), it is asked for with after() and after_start().
//
// The n-th message from one rank to another with a tag meets the n-th that is received with it; collectives need but one
// tag. Messages and copies of no bytes are left out, on both sides; signals are messages without content.
//
// Thread: any; pure, no state beside the object and its builder.
// Invariants: a step waits for earlier ones only, so there is no circle within a rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/goal/collectives/data_flow.hpp"
#include "engine/goal/schedules/plan.hpp"

namespace portunus::goal::collectives {

// How elements are combined.
struct Element {
  ptlx_local_op_t op = PTLX_ADD;
  ptl_datatype_t type = PTL_UINT8_T;
  [[nodiscard]] uint64_t width() const { return width_of(type); }
};

class Script {
 public:
  // Adds to `builder`. `tag` is added to that of all messages. `ranks`: the job's rank of each peer; empty: the same. It
  // must outlive the script.
  explicit Script(Builder& builder, uint32_t tag = 0, std::span<const int> ranks = {})
      : builder_(builder), first_(builder.plan().graph.size()), tag_(tag), ranks_(ranks) {}

  VertexId send(const Memory& from, uint64_t bytes, uint32_t peer, uint32_t tag = 0);
  VertexId recv(const Memory& to, uint64_t bytes, uint32_t peer, uint32_t tag = 0);
  VertexId send_signal(uint32_t peer);
  VertexId recv_signal(uint32_t peer);
  VertexId copy(const Memory& to, const Memory& from, uint64_t bytes);
  // to[i] = a[i] op b[i]. Any two of the three may be the same; else they do not overlap.
  VertexId combine(const Element& element, const Memory& to, const Memory& a, const Memory& b, uint64_t count);

  void after(VertexId dependent, VertexId prerequisite) { depend(dependent, prerequisite, After::finish); }
  void after_start(VertexId dependent, VertexId prerequisite) { depend(dependent, prerequisite, After::start); }

  // A new piece of scratchpad, aligned for every type.
  Memory scratch(uint64_t bytes) { return builder_.scratch(bytes); }

  // The steps so far are first() .. end-1 of the builder.
  [[nodiscard]] VertexId first() const { return first_; }
  // Does it wait for another step? Does another one wait for its end?
  [[nodiscard]] bool waits(VertexId v) const { return waits_[v - first_]; }
  [[nodiscard]] bool is_waited_for(VertexId v) const { return waited_for_[v - first_]; }

 private:
  [[nodiscard]] uint32_t rank_of(uint32_t peer) const { return ranks_.empty() ? peer : static_cast<uint32_t>(ranks_[peer]); }
  VertexId step(VertexId v);
  void reads(VertexId v, const Memory& from, uint64_t bytes);
  void writes(VertexId v, const Memory& to, uint64_t bytes);
  void depend(VertexId dependent, VertexId prerequisite, After after);

  Builder& builder_;
  VertexId first_;
  uint32_t tag_;
  std::span<const int> ranks_;
  DataFlow flow_;
  std::vector<VertexId> asked_by_;  // for each step: the last one that waits for it because of memory
  std::vector<bool> waits_, waited_for_;
};

}  // namespace portunus::goal::collectives
