// Which algorithm a collective uses, by size, number of ranks and where these are; one table (choice.cpp), and what overrides it.
//
// Thread: any; plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/goal/collectives/algorithms.hpp"
#include "engine/goal/collectives/rules.hpp"

namespace portunus::goal::collectives {

struct Choice {
  Algorithm algorithm = GOAL_AUTO;
  uint64_t segment = 0;  // bytes, where messages are cut
};

class Choices {
 public:
  // The choices that the environment makes for the whole job. Throws as parse().
  static const Choices& environment();
  static constexpr const char* kVariable = "PTL_COLLECTIVES";
  // Algorithms by name, a file of rules (rules.hpp), and whether nodes come first, as in "allreduce=ring,file=/etc/rules,nodes=off". A
  // name wins over a file, a file over the table; of several files the first that has a line. Throws std::invalid_argument with a sentence.
  using Read = std::string (*)(const std::string& path);
  static Choices parse(std::string_view text, Read read = read_rules);
  // Uses `algorithm` for this collective, whatever the size. False if it has no such algorithm; GOAL_AUTO: as the table says.
  [[nodiscard]] bool force(Collective collective, Algorithm algorithm);

  // The placement of the ranks: all together, those of a node among themselves, and one of each node.
  struct Places {
    RankPlacement all, within, between;
  };
  void take_place(const Places& places) { places_ = places; }
  // The same for ranks of one node, and for one of each node: the two levels of levels.hpp.
  [[nodiscard]] Choices within() const { return at(places_.within); }
  [[nodiscard]] Choices between() const { return at(places_.between); }

  [[nodiscard]] Choice of(Collective collective, uint64_t bytes, uint32_t ranks) const;
  // Is one named for this collective? Rules of a file name none: they only say which schedule is used where schedules are used.
  [[nodiscard]] bool is_forced(Collective collective) const { return forced_[static_cast<size_t>(collective)] != GOAL_AUTO; }
  [[nodiscard]] bool nodes_first() const { return nodes_first_; }

 private:
  [[nodiscard]] Choices at(RankPlacement place) const {
    Choices there = *this;
    there.places_ = {place, place, place};
    return there;
  }

  Algorithm forced_[kCollectives] = {};
  bool nodes_first_ = true;
  Places places_;
  std::shared_ptr<const std::vector<Rule>> rules_;  // shared by copies, of which each call of a collective makes one; or NULL
};

}  // namespace portunus::goal::collectives
