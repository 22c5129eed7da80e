// Which algorithm a collective uses, by size and number of ranks; one table (choice.cpp), and what overrides it.
//
// Thread: any; plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/goal/goal_collectives.h"

namespace portunus::goal::collectives {

using Algorithm = GOAL_Algorithm;

// Those that have more than one algorithm. In brackets: what their size is.
enum class Collective : uint8_t {
  barrier,         // (0)
  bcast,           // (bytes)
  reduce,          // (bytes of the vector)
  allreduce,       // (bytes of the vector)
  gather,          // (bytes of each rank)
  scatter,         // (bytes of each rank)
  allgather,       // (bytes of all ranks together)
  allgatherv,      // (bytes of all ranks together)
  alltoall,        // (bytes from each rank to each)
  reduce_scatter,  // (bytes of the whole vector)
};

struct Choice {
  Algorithm algorithm = GOAL_AUTO;
  uint64_t segment = 0;  // bytes, where messages are cut
};

class Choices {
 public:
  // What the environment says for the whole job. Throws as parse().
  static const Choices& environment();
  static constexpr const char* kVariable = "PTL_COLLECTIVES";
  // Algorithms by name and whether nodes come first, as in "allreduce=ring,bcast=pipeline,nodes=off". Throws
  // std::invalid_argument with a sentence.
  static Choices parse(std::string_view text);
  // Uses `algorithm` for this collective, whatever the size. False if it has no such algorithm; GOAL_AUTO: as the table says.
  [[nodiscard]] bool force(Collective collective, Algorithm algorithm);

  [[nodiscard]] Choice of(Collective collective, uint64_t bytes, uint32_t ranks) const;
  // Is one named for this collective?
  [[nodiscard]] bool is_forced(Collective collective) const { return forced_[static_cast<size_t>(collective)] != GOAL_AUTO; }
  [[nodiscard]] bool nodes_first() const { return nodes_first_; }

 private:
  static constexpr size_t kCollectives = 10;
  Algorithm forced_[kCollectives] = {};
  bool nodes_first_ = true;
};

}  // namespace portunus::goal::collectives
