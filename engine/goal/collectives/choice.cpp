// The table of algorithms, and reading what overrides it: see choice.hpp.
//
// Thread: any; pure.
#include "engine/goal/collectives/choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

namespace portunus::goal::collectives {

namespace {

constexpr uint64_t kKiB = 1024;

constexpr Where several_and(int asked, int there) {
  return {static_cast<uint8_t>(RankPlacement::kSeveral | asked), static_cast<uint8_t>(RankPlacement::kSeveral | there)};
}
constexpr Where kCrowded = several_and(RankPlacement::kCrowded, RankPlacement::kCrowded);
constexpr Where kCrowdedOnNode = several_and(RankPlacement::kCrowded | RankPlacement::kNetwork, RankPlacement::kCrowded);
constexpr Where kCrowdedNetwork =
    several_and(RankPlacement::kCrowded | RankPlacement::kNetwork, RankPlacement::kCrowded | RankPlacement::kNetwork);
constexpr Where kSlowWire = {RankPlacement::kSlow, RankPlacement::kSlow};
constexpr Where kAcross = {RankPlacement::kSeveral | RankPlacement::kNetwork, RankPlacement::kNetwork};  // one on each node
constexpr Where kAcrossFast = {RankPlacement::kSeveral | RankPlacement::kNetwork | RankPlacement::kSlow, RankPlacement::kNetwork};
constexpr Where kNetworkWithinNode = several_and(RankPlacement::kNetwork, RankPlacement::kNetwork);

// The table in use: of each collective the first line that holds. Those for crowded ranks were measured with up to 8 on 2 cores: there what
// counts is how often ranks take turns, not how much goes on at a time. Those for more than 8 nodes were simulated (ptlsim).
constexpr Rule kRules[] = {
    {Collective::barrier, kAnySize, kAnyRanks, GOAL_DISSEMINATION},

    {Collective::bcast, kAnySize, 2, GOAL_LINEAR},
    {Collective::bcast, kAnySize, 4, GOAL_LINEAR, kCrowdedOnNode},
    {Collective::bcast, 256 * kKiB, 8, GOAL_LINEAR, kCrowded},
    {Collective::bcast, kAnySize, 8, GOAL_BINOMIAL, kCrowded},
    {Collective::bcast, 32 * kKiB, kAnyRanks, GOAL_BINOMIAL},
    {Collective::bcast, 256 * kKiB, 8, GOAL_BINOMIAL},
    {Collective::bcast, 1024 * kKiB, 16, GOAL_SCATTER_ALLGATHER, kAcross},
    {Collective::bcast, kAnySize, 16, GOAL_PIPELINE},
    {Collective::bcast, 64 * kKiB, kAnyRanks, GOAL_BINOMIAL, kAcrossFast},
    {Collective::bcast, kAnySize, kAnyRanks, GOAL_SCATTER_ALLGATHER},

    {Collective::reduce, 32 * kKiB, kAnyRanks, GOAL_BINOMIAL},
    {Collective::reduce, kAnySize, 2, GOAL_BINOMIAL},
    {Collective::reduce, kAnySize, 4, GOAL_BINOMIAL, kCrowdedOnNode},
    {Collective::reduce, kAnySize, 8, GOAL_BINOMIAL, kCrowdedNetwork},
    {Collective::reduce, kAnySize, kAnyRanks, GOAL_HALVING},

    {Collective::allreduce, 1024 * kKiB, 2, GOAL_DOUBLING, kNetworkWithinNode},
    {Collective::allreduce, 8 * kKiB, kAnyRanks, GOAL_DOUBLING},
    {Collective::allreduce, 128 * kKiB, kAnyRanks, GOAL_HALVING},
    {Collective::allreduce, kAnySize, 2, GOAL_PIPELINE, kSlowWire},
    {Collective::allreduce, 1024 * kKiB, 8, GOAL_PIPELINE, kSlowWire},
    {Collective::allreduce, 512 * kKiB, kAnyRanks, GOAL_HALVING},
    {Collective::allreduce, kAnySize, 64, GOAL_RING},
    {Collective::allreduce, kAnySize, kAnyRanks, GOAL_HALVING},

    {Collective::gather, kAnySize, 4, GOAL_LINEAR},
    {Collective::gather, kAnySize, 8, GOAL_LINEAR, kCrowdedOnNode},
    {Collective::gather, 2 * kKiB, kAnyRanks, GOAL_BINOMIAL},
    {Collective::gather, kAnySize, kAnyRanks, GOAL_LINEAR},

    {Collective::scatter, kAnySize, 4, GOAL_LINEAR},
    {Collective::scatter, kAnySize, 8, GOAL_LINEAR, kCrowded},
    {Collective::scatter, 2 * kKiB, kAnyRanks, GOAL_BINOMIAL},
    {Collective::scatter, kAnySize, kAnyRanks, GOAL_LINEAR},

    {Collective::allgather, 64 * kKiB, kAnyRanks, GOAL_DOUBLING},
    {Collective::allgather, kAnySize, 2, GOAL_PIPELINE, kSlowWire},
    {Collective::allgather, 1024 * kKiB, 8, GOAL_PIPELINE, kSlowWire},
    {Collective::allgather, kAnySize, 8, GOAL_RING},
    {Collective::allgather, 512 * kKiB, kAnyRanks, GOAL_DOUBLING, kAcross},
    {Collective::allgather, kAnySize, kAnyRanks, GOAL_RING},

    {Collective::allgatherv, 32 * kKiB, kAnyRanks, GOAL_BRUCK},
    {Collective::allgatherv, kAnySize, kAnyRanks, GOAL_RING},

    {Collective::alltoall, 4 * kKiB, 8, GOAL_BRUCK, kCrowdedNetwork},
    {Collective::alltoall, kAnySize, 16, GOAL_PAIRWISE},
    {Collective::alltoall, 256, kAnyRanks, GOAL_BRUCK},
    {Collective::alltoall, kAnySize, kAnyRanks, GOAL_PAIRWISE},

    {Collective::reduce_scatter, 256 * kKiB, kAnyRanks, GOAL_HALVING},
    {Collective::reduce_scatter, kAnySize, 8, GOAL_RING},
    {Collective::reduce_scatter, 512 * kKiB, kAnyRanks, GOAL_HALVING, kAcrossFast},
    {Collective::reduce_scatter, kAnySize, kAnyRanks, GOAL_RING},
};
constexpr uint64_t kSegment = 64 * kKiB;  // of a pipeline

[[noreturn]] void refuse(std::string_view item, const std::string& why) {
  throw std::invalid_argument("\"" + std::string(item) + "\": " + why);
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

Choices Choices::parse(std::string_view text, Read read) {
  Choices choices;
  std::vector<Rule> rules;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == item.npos) refuse(item, "write COLLECTIVE=ALGORITHM, file=PATH, or nodes=on or nodes=off, with commas between");
    const std::string_view left = item.substr(0, equals), right = item.substr(equals + 1);
    if (left == "nodes") {
      if (right != "on" && right != "off") refuse(item, "nodes is on or off");
      choices.nodes_first_ = right == "on";
      continue;
    }
    if (left == "file") {
      try {
        std::ranges::copy(parse_rules(read(std::string(right))), std::back_inserter(rules));
      } catch (const std::invalid_argument& error) {
        refuse(item, error.what());
      }
      continue;
    }
    const std::optional<Collective> collective = collective_named(left);
    const std::optional<Algorithm> algorithm = algorithm_named(right);
    if (!collective) refuse(item, "the collectives with a choice are " + names_of_collectives());
    if (!algorithm || !choices.force(*collective, *algorithm))
      refuse(item, "the algorithms of " + std::string(left) + " are auto, " + names_offered(*collective));
  }
  if (!rules.empty()) choices.rules_ = std::make_shared<const std::vector<Rule>>(std::move(rules));
  return choices;
}

bool Choices::force(Collective collective, Algorithm algorithm) {
  if (algorithm == GOAL_AUTO) return true;
  if (!offers(collective, algorithm)) return false;
  forced_[static_cast<size_t>(collective)] = algorithm;
  return true;
}

Choice Choices::of(Collective collective, uint64_t bytes, uint32_t ranks) const {
  const Algorithm forced = forced_[static_cast<size_t>(collective)];
  if (forced != GOAL_AUTO) return {forced, kSegment};
  const auto holds = [&](const Rule& rule) { return rule.holds(collective, bytes, ranks, places_.all); };
  if (rules_) {
    const auto rule = std::ranges::find_if(*rules_, holds);
    if (rule != rules_->end()) return {rule->algorithm, kSegment};
  }
  return {std::ranges::find_if(kRules, holds)->algorithm, kSegment};
}

}  // namespace portunus::goal::collectives
