// Sorting ranks by node: see levels.hpp.
//
// Thread: any; pure.
#include "engine/goal/collectives/levels.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace portunus::goal::collectives {

Levels::Levels(uint32_t rank, std::span<const uint32_t> nodes, uint32_t root) {
  std::unordered_map<uint32_t, uint32_t> numbers;  // of nodes, in the order of their lowest ranks
  std::vector<uint32_t> number(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) number[i] = numbers.try_emplace(nodes[i], static_cast<uint32_t>(numbers.size())).first->second;
  order_.resize(nodes.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto place = [&](uint32_t r) { return std::pair(number[r], r == root ? 0 : r + uint64_t{1}); };
  std::ranges::sort(order_, {}, place);
  for (uint32_t i = 0; i < order_.size(); ++i) {
    if (i == 0 || number[order_[i]] != number[order_[i - 1]]) {
      first_.push_back(i);
      leaders_.push_back(order_[i]);
    }
    if (order_[i] == rank) place_ = i - first_.back();
  }
  first_.push_back(static_cast<uint32_t>(order_.size()));
  mine_ = number[rank];
  root_ = number[root];
}

bool Levels::worthwhile(std::span<const uint32_t> nodes) {
  std::vector<uint32_t> sorted(nodes.begin(), nodes.end());
  std::ranges::sort(sorted);
  const auto different = static_cast<size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
  return different > 1 && different < nodes.size();
}

}  // namespace portunus::goal::collectives
