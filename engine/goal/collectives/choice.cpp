// The table of algorithms, and reading what overrides it: see choice.hpp.
//
// Thread: any; pure.
#include "engine/goal/collectives/choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace portunus::goal::collectives {

namespace {

constexpr uint64_t kKiB = 1024, kAnySize = ~uint64_t{0};
constexpr uint32_t kAnyRanks = ~uint32_t{0};

// What is used: of each collective the first line that holds. Sizes as choice.hpp counts them.
struct Rule {
  Collective collective;
  uint64_t up_to_bytes;
  uint32_t up_to_ranks;
  Algorithm algorithm;
};
constexpr Rule kRules[] = {
    {Collective::barrier, kAnySize, kAnyRanks, GOAL_DISSEMINATION},

    {Collective::bcast, kAnySize, 2, GOAL_LINEAR},
    {Collective::bcast, 32 * kKiB, kAnyRanks, GOAL_BINOMIAL},
    {Collective::bcast, 256 * kKiB, 8, GOAL_BINOMIAL},
    {Collective::bcast, kAnySize, 16, GOAL_PIPELINE},
    {Collective::bcast, kAnySize, kAnyRanks, GOAL_SCATTER_ALLGATHER},

    {Collective::reduce, 32 * kKiB, kAnyRanks, GOAL_BINOMIAL},
    {Collective::reduce, kAnySize, 2, GOAL_BINOMIAL},
    {Collective::reduce, kAnySize, kAnyRanks, GOAL_HALVING},

    {Collective::allreduce, 8 * kKiB, kAnyRanks, GOAL_DOUBLING},
    {Collective::allreduce, 512 * kKiB, kAnyRanks, GOAL_HALVING},
    {Collective::allreduce, kAnySize, 64, GOAL_RING},
    {Collective::allreduce, kAnySize, kAnyRanks, GOAL_HALVING},

    {Collective::gather, kAnySize, 4, GOAL_LINEAR},
    {Collective::gather, 2 * kKiB, kAnyRanks, GOAL_BINOMIAL},
    {Collective::gather, kAnySize, kAnyRanks, GOAL_LINEAR},

    {Collective::scatter, kAnySize, 4, GOAL_LINEAR},
    {Collective::scatter, 2 * kKiB, kAnyRanks, GOAL_BINOMIAL},
    {Collective::scatter, kAnySize, kAnyRanks, GOAL_LINEAR},

    {Collective::allgather, 64 * kKiB, kAnyRanks, GOAL_DOUBLING},
    {Collective::allgather, kAnySize, kAnyRanks, GOAL_RING},

    {Collective::allgatherv, 32 * kKiB, kAnyRanks, GOAL_BRUCK},
    {Collective::allgatherv, kAnySize, kAnyRanks, GOAL_RING},

    {Collective::alltoall, kAnySize, 16, GOAL_PAIRWISE},
    {Collective::alltoall, 256, kAnyRanks, GOAL_BRUCK},
    {Collective::alltoall, kAnySize, kAnyRanks, GOAL_PAIRWISE},

    {Collective::reduce_scatter, 256 * kKiB, kAnyRanks, GOAL_HALVING},
    {Collective::reduce_scatter, kAnySize, kAnyRanks, GOAL_RING},
};
constexpr uint64_t kSegment = 64 * kKiB;  // of a pipeline

// What there is besides, only by name.
struct Offer {
  Collective collective;
  Algorithm algorithm;
};
constexpr Offer kOffers[] = {
    {Collective::barrier, GOAL_BINOMIAL},
    {Collective::allgather, GOAL_BRUCK},
};

constexpr std::string_view kCollectiveNames[] = {"barrier", "bcast",     "reduce",     "allreduce", "gather",
                                                 "scatter", "allgather", "allgatherv", "alltoall",  "reduce_scatter"};
constexpr std::string_view kAlgorithmNames[] = {"auto",     "linear",  "binomial", "pipeline", "scatter_allgather", "dissemination",
                                                "doubling", "halving", "ring",     "bruck",    "pairwise"};

bool offers(Collective collective, Algorithm algorithm) {
  const auto fits = [&](const auto& line) { return line.collective == collective && line.algorithm == algorithm; };
  return algorithm == GOAL_AUTO || std::ranges::any_of(kRules, fits) || std::ranges::any_of(kOffers, fits);
}

[[noreturn]] void refuse(std::string_view item, const std::string& why) {
  throw std::invalid_argument("\"" + std::string(item) + "\": " + why);
}

std::string names_of(Collective collective) {
  std::string names;
  for (size_t i = 0; i < std::size(kAlgorithmNames); ++i) {
    if (offers(collective, static_cast<Algorithm>(i))) names += (i == 0 ? "" : ", ") + std::string(kAlgorithmNames[i]);
  }
  return names;
}

template <class Names>
size_t number_of(const Names& names, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(names, name) - std::begin(names));
}

}  // namespace

const Choices& Choices::environment() {
  static const Choices choices = [] {
    const char* text = std::getenv(kVariable);
    try {
      return text ? parse(text) : Choices();
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string("the variable ") + kVariable + " has " + error.what());
    }
  }();
  return choices;
}

Choices Choices::parse(std::string_view text) {
  Choices choices;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == item.npos) refuse(item, "write COLLECTIVE=ALGORITHM, or nodes=on or nodes=off, with commas between");
    const std::string_view left = item.substr(0, equals), right = item.substr(equals + 1);
    if (left == "nodes") {
      if (right != "on" && right != "off") refuse(item, "nodes is on or off");
      choices.nodes_first_ = right == "on";
      continue;
    }
    const size_t collective = number_of(kCollectiveNames, left), algorithm = number_of(kAlgorithmNames, right);
    if (collective == std::size(kCollectiveNames)) {
      std::string names;
      for (const std::string_view name : kCollectiveNames) names += (names.empty() ? "" : ", ") + std::string(name);
      refuse(item, "the collectives with a choice are " + names);
    }
    if (!choices.force(static_cast<Collective>(collective), static_cast<Algorithm>(algorithm)))
      refuse(item, "the algorithms of " + std::string(left) + " are " + names_of(static_cast<Collective>(collective)));
  }
  return choices;
}

bool Choices::force(Collective collective, Algorithm algorithm) {
  if (!offers(collective, algorithm)) return false;
  if (algorithm != GOAL_AUTO) forced_[static_cast<size_t>(collective)] = algorithm;
  return true;
}

Choice Choices::of(Collective collective, uint64_t bytes, uint32_t ranks) const {
  const Algorithm forced = forced_[static_cast<size_t>(collective)];
  if (forced != GOAL_AUTO) return {forced, kSegment};
  const Rule& rule = *std::ranges::find_if(
      kRules, [&](const Rule& line) { return line.collective == collective && bytes <= line.up_to_bytes && ranks <= line.up_to_ranks; });
  return {rule.algorithm, kSegment};
}

}  // namespace portunus::goal::collectives
