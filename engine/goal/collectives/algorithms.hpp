// The collectives that have more than one algorithm, which these are, and their names for people.
//
// Thread: any; constant data.
// Invariants: a table of rules (rules.hpp, choice.cpp) names only what is offered here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/goal/goal_collectives.h"

namespace portunus::goal::collectives {

using Algorithm = GOAL_Algorithm;

// In brackets: what their size is.
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
constexpr size_t kCollectives = 10;

// All that this collective has; GOAL_AUTO is none.
[[nodiscard]] std::span<const Algorithm> offered(Collective collective);
[[nodiscard]] bool offers(Collective collective, Algorithm algorithm);

[[nodiscard]] std::string_view name_of(Collective collective);
[[nodiscard]] std::string_view name_of(Algorithm algorithm);
[[nodiscard]] std::optional<Collective> collective_named(std::string_view name);
[[nodiscard]] std::optional<Algorithm> algorithm_named(std::string_view name);  // "auto", too

// For sentences: "barrier, bcast, ..." and "linear, binomial, ...".
[[nodiscard]] std::string names_of_collectives();
[[nodiscard]] std::string names_offered(Collective collective);

}  // namespace portunus::goal::collectives
