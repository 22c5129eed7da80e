// pieces.hpp: along one dimension, what a target of one axis exchanges with each target of another.
//
// Each side lists alone: it walks its own indices in ascending order and cuts where either axis jumps. The list that i makes
// for j is the list that j makes from i, family by family, so that no index has to travel. Pieces are kept as families: a
// piece, how often it repeats at equal distances, and how often all that repeats again; memory is that of one period of both
// axes. Callers: plans, cost. Any thread; a list is not changed once it is made.
//
// The order of a list, and so of the elements in a message: family by family; within one, round by round, repeat by repeat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shmem/distribution/ccc.h"

namespace portunus::distribution {

// Offsets along the dimension at both ends, in elements. Steps are not negative.
struct Family {
  int64_t from, to, length;
  int64_t count, from_step, to_step;
  int64_t rounds, from_round, to_round;

  int64_t pieces() const { return count * rounds; }
  int64_t elements() const { return length * count * rounds; }
};

class Pieces {
 public:
  // Pieces in ascending order of their indices; joined with the one before where both ends go on.
  void add(const Family& piece);
  // Ends a stretch that repeats `rounds` times: what was added since the last call does.
  void close(int64_t rounds, int64_t from_round, int64_t to_round);

  const std::vector<Family>& families() const { return families_; }
  int64_t elements() const { return elements_; }
  int64_t pieces() const;
  // Elements before family f.
  int64_t before(size_t f) const { return before_[f]; }
  // The family in which element x of the list lies, 0 <= x < elements.
  size_t family_of(int64_t x) const;
  size_t memory() const { return families_.capacity() * sizeof(Family) + before_.capacity() * sizeof(int64_t); }
  // Once all is added.
  void finish();

 private:
  void settle();

  std::vector<Family> families_;
  std::vector<int64_t> before_;
  int64_t elements_ = 0;
  size_t open_ = 0;       // families before this one are closed
  bool pending_ = false;  // the last family is a piece that may still be joined with the next
};

enum class Side { kFrom, kTo };

// For each target of the other axis, what target t of the axis on this side exchanges with it. Both have the same n.
std::vector<Pieces> list_pieces(const ccc_axis& from, const ccc_axis& to, Side side, int64_t t);

}  // namespace portunus::distribution
