// overlaps.hpp: what each target of one layout has in common with each of another, for cost and relabelling. No job is
// needed.
//
// Callers: ccc_cost_of, ccc_relabel, cccmap. Holds the lists of all targets of each axis: O(pieces per period of all).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "shmem/distribution/layout/grid.hpp"
#include "shmem/distribution/layout/move.hpp"

namespace portunus::distribution {

class Overlaps {
 public:
  // For a pair that check_pair has accepted.
  Overlaps(const ccc_layout& from, const ccc_layout& to, const std::array<int, CCC_MOST_AXES>& order, size_t size);
  // The data that target i of `from` has for target j of `to`, by their numbers. Its lists are this object's.
  Move move(int64_t i, int64_t j) const;

 private:
  const ccc_layout &from_, &to_;
  std::array<int, CCC_MOST_AXES> order_;
  int64_t size_;
  std::array<std::vector<std::vector<Pieces>>, CCC_MOST_AXES> lists_;
};

// A move without its lists: strides of both arrays.
Move strides_of_move(const ccc_layout& from, const ccc_layout& to, const std::array<int, CCC_MOST_AXES>& order, int64_t size);

ccc_cost cost_of(const ccc_layout& from, const ccc_layout& to, const std::array<int, CCC_MOST_AXES>& order, size_t size);

}  // namespace portunus::distribution
