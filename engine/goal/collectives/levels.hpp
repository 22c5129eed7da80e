// Two levels of ranks: those of a node among themselves, and one leader of each node.
//
// Thread: any; pure.
// Invariants: the root leads its node, in other nodes the lowest rank does. Nodes are in the order of their lowest
// ranks, ranks of a node ascend, but a leader comes first in its node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/goal/collectives/team.hpp"

namespace portunus::goal::collectives {

class Levels {
 public:
  // nodes[i]: any number that is the same for ranks of one node. Cost: O(n log n).
  Levels(uint32_t rank, std::span<const uint32_t> nodes, uint32_t root = 0);
  Levels(const Levels&) = delete;
  Levels& operator=(const Levels&) = delete;

  // Is there anything to gain: several nodes, and one that has several ranks?
  [[nodiscard]] static bool worthwhile(std::span<const uint32_t> nodes);

  [[nodiscard]] Team node() const { return {place_, size(mine_), members(mine_)}; }  // rank 0 leads
  [[nodiscard]] bool leads() const { return place_ == 0; }
  [[nodiscard]] Team leaders() const { return {mine_, count(), leaders_}; }  // meaningful for leaders only
  [[nodiscard]] uint32_t root() const { return root_; }                      // among leaders

  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(leaders_.size()); }
  [[nodiscard]] uint32_t mine() const { return mine_; }
  [[nodiscard]] uint32_t size(uint32_t node) const { return first_[node + 1] - first_[node]; }
  [[nodiscard]] uint32_t first(uint32_t node) const { return first_[node]; }
  [[nodiscard]] std::span<const uint32_t> members(uint32_t node) const { return std::span(order_).subspan(first_[node], size(node)); }
  // All ranks, node by node.
  [[nodiscard]] std::span<const uint32_t> order() const { return order_; }

 private:
  std::vector<uint32_t> order_, first_, leaders_;
  uint32_t mine_ = 0, place_ = 0, root_ = 0;
};

}  // namespace portunus::goal::collectives
