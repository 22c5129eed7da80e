// The algorithms that each collective offers: see algorithms.hpp.
//
// Thread: any; pure.
#include "engine/goal/collectives/algorithms.hpp"

#include <algorithm>
#include <array>

namespace portunus::goal::collectives {

namespace {

constexpr std::array<std::string_view, kCollectives> kCollectiveNames = {
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "allgatherv", "alltoall", "reduce_scatter"};
constexpr std::array<std::string_view, 11> kAlgorithmNames = {
    "auto", "linear", "binomial", "pipeline", "scatter_allgather", "dissemination", "doubling", "halving", "ring", "bruck", "pairwise"};

// One row for each collective, in their order.
constexpr size_t kMostOffered = 5;
struct Row {
  size_t count;
  std::array<Algorithm, kMostOffered> algorithms;
};
constexpr std::array<Row, kCollectives> kOffered = {{
    {2, {GOAL_BINOMIAL, GOAL_DISSEMINATION}},
    {4, {GOAL_LINEAR, GOAL_BINOMIAL, GOAL_PIPELINE, GOAL_SCATTER_ALLGATHER}},
    {2, {GOAL_BINOMIAL, GOAL_HALVING}},
    {5, {GOAL_DOUBLING, GOAL_HALVING, GOAL_RING, GOAL_PIPELINE, GOAL_DISSEMINATION}},
    {2, {GOAL_LINEAR, GOAL_BINOMIAL}},
    {2, {GOAL_LINEAR, GOAL_BINOMIAL}},
    {4, {GOAL_DOUBLING, GOAL_RING, GOAL_BRUCK, GOAL_PIPELINE}},
    {2, {GOAL_RING, GOAL_BRUCK}},
    {2, {GOAL_BRUCK, GOAL_PAIRWISE}},
    {2, {GOAL_HALVING, GOAL_RING}},
}};

template <class Value, class Names>
std::optional<Value> named(const Names& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

}  // namespace

std::span<const Algorithm> offered(Collective collective) {
  const Row& row = kOffered[static_cast<size_t>(collective)];
  return std::span(row.algorithms).first(row.count);
}

bool offers(Collective collective, Algorithm algorithm) {
  const std::span<const Algorithm> all = offered(collective);
  return std::ranges::find(all, algorithm) != all.end();
}

std::string_view name_of(Collective collective) { return kCollectiveNames[static_cast<size_t>(collective)]; }
std::string_view name_of(Algorithm algorithm) { return kAlgorithmNames[static_cast<size_t>(algorithm)]; }
std::optional<Collective> collective_named(std::string_view name) { return named<Collective>(kCollectiveNames, name); }
std::optional<Algorithm> algorithm_named(std::string_view name) { return named<Algorithm>(kAlgorithmNames, name); }

std::string names_of_collectives() {
  std::string names;
  for (const std::string_view name : kCollectiveNames) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

std::string names_offered(Collective collective) {
  std::string names;
  for (const Algorithm algorithm : offered(collective)) names.append(names.empty() ? "" : ", ").append(name_of(algorithm));
  return names;
}

}  // namespace portunus::goal::collectives
