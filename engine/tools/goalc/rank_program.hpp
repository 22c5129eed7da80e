// The schedule of one rank of a recorded job while it is made: which operation follows which.
//
// Thread: one.
// Invariants: vertices of a kind of messages are added in the order in which these match.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/goal/collectives/choice.hpp"
#include "engine/goal/collectives/script.hpp"
#include "engine/goal/schedules/plan.hpp"
#include "engine/tools/record/format.hpp"

namespace portunus::goalc {

// A communicator of the recording, as all its ranks know it.
struct CommFacts {
  uint64_t hash = 0;
  std::vector<int> ranks;  // in the job
};

// A collective of one rank, as its record has it.
struct CollectiveCall {
  record::Collective kind;
  uint32_t root = 0;
  uint64_t bytes = 0;
  uint32_t leaving = 0;
  std::span<const uint64_t> numbers;
};

class RankProgram {
 public:
  using Vertices = std::vector<goal::VertexId>;

  explicit RankProgram(uint32_t rank) : rank_(rank) {}

  void compute(uint64_t ns);
  // Operations that start when what the program has waited for has ended. A blocking one is waited for at once.
  goal::VertexId send(uint64_t bytes, uint32_t peer, uint32_t tag, bool blocking);
  goal::VertexId recv(uint64_t bytes, uint32_t peer, uint32_t tag, bool blocking);
  // Those that the program knows nothing of: they start with the schedule, or after what is named.
  goal::VertexId send_after(uint64_t bytes, uint32_t peer, uint32_t tag, std::span<const goal::VertexId> after);
  goal::VertexId recv_freely(uint64_t bytes, uint32_t peer, uint32_t tag) { return builder_.recv({}, bytes, peer, tag); }
  goal::VertexId join_freely() { return builder_.join(); }
  // The operations that end last.
  Vertices collective(const CollectiveCall& call, const CommFacts& comm, uint32_t tag, bool crowded);

  void wait_for(std::span<const goal::VertexId> vertices);
  void wait_for(goal::VertexId v) { wait_for(std::span(&v, 1)); }
  // The point that the program has reached, as one vertex; a new one, that others may be put before.
  goal::VertexId reached();
  goal::VertexId pass();
  void after(goal::VertexId v, goal::VertexId prerequisite) { builder_.after(v, prerequisite); }

  void remember(uint64_t request, Vertices vertices) { requests_[request] = std::move(vertices); }
  void wait_for_request(uint64_t request);

  // The graph alone, with a calc for what is worked on memory.
  [[nodiscard]] goal::Schedule finish();

 private:
  goal::VertexId step(goal::VertexId v, bool blocking);
  void add(goal::collectives::Script& script, const CollectiveCall& call, uint32_t me, uint32_t size, bool crowded);
  void add_reduction(goal::collectives::Script& script, const CollectiveCall& call, uint32_t me, uint32_t size, bool crowded);

  uint32_t rank_;
  goal::Builder builder_;
  Vertices now_;  // what the next operation waits for
  uint64_t computed_ns_ = 0;
  std::unordered_map<uint64_t, Vertices> requests_;
};

}  // namespace portunus::goalc
