// partial_reduce.hpp: long reductions that the threads which call MPI do themselves, each a part of them.
//
// Rank i gets part i of everyone's vector and combines them in the order of the ranks; then the parts come together at the
// root, or everywhere. A rank keeps as much as one vector, and combines as much, however many ranks there are.
// Thread: as collectives. Source: MPI-5.0, 6.9.1 (order of evaluation), 6.9.5.
#pragma once

#include <memory>

#include "mpi-adi/collectives/movement.hpp"
#include "mpi-adi/collectives/run.hpp"

namespace portunus::mpi::collectives {

// The parts of a vector that lie one behind the other, of so many elements: counts(rank).
template <class Count>
Parts divided(const Elements& vector, int ranks, Count&& counts) {
  Parts parts(ranks);
  ptrdiff_t first = 0;
  for (int i = 0; i < ranks; ++i) {
    const size_t count = counts(i);
    parts.add(i, vector.part(std::exchange(first, first + static_cast<ptrdiff_t>(count)), count));
  }
  parts.close();
  return parts;
}

// The first half; the second is what comes `then`.
class ReduceInParts : public Movement<Parts, Contributions> {
 public:
  // `to` is empty where nothing comes out. `root`: or kAllRanks.
  ReduceInParts(const Call& call, const Elements& from, const Elements& to, MPI_Op op, int root)
      : ReduceInParts(call, from, to, op, root, std::make_shared<Image>(from.part(0, share_of(call, from, call.comm->rank)))) {}
  // Is it worthwhile, two steps instead of one? Equal on all ranks. Each gets and combines ranks - 2 vectors less.
  static bool is_for(const Call& call, const Elements& vector) {
    constexpr size_t kLeastSaved = 128 * 1024;
    const auto ranks = static_cast<size_t>(call.comm->size);
    return ranks > 2 && vector.count() >= ranks && vector.bytes() * (ranks - 2) >= kLeastSaved;
  }

 private:
  // The combined parts come together. They lie in `share`.
  class Collect : public Movement<Elements, Parts> {
   public:
    Collect(int root, std::shared_ptr<Image> share, Parts to)
        : Movement(root == kAllRanks ? GOAL_CALL_ALLGATHERV : GOAL_CALL_GATHERV, root == kAllRanks ? 0 : root, share->elements().bytes(),
                   share->elements(), std::move(to)),
          share_(std::move(share)) {}

   private:
    std::shared_ptr<Image> share_;
  };

  ReduceInParts(const Call& call, const Elements& from, const Elements& to, MPI_Op op, int root, std::shared_ptr<Image> share)
      : Movement(GOAL_CALL_ALLTOALLV, 0, 0, parts_of(call, from),
                 Contributions(op, share->elements(), call.comm->size, 0, call.comm->size, share->elements().bytes())) {
    const bool gets = root == kAllRanks || root == call.comm->rank;
    then = std::make_unique<Collect>(root, std::move(share), gets ? parts_of(call, to) : Parts());
  }
  static size_t share_of(const Call& call, const Elements& vector, int rank) {
    const auto ranks = static_cast<size_t>(call.comm->size);
    return vector.count() / ranks + (static_cast<size_t>(rank) < vector.count() % ranks ? 1 : 0);
  }
  static Parts parts_of(const Call& call, const Elements& vector) {
    return divided(vector, call.comm->size, [&](int i) { return share_of(call, vector, i); });
  }
};

}  // namespace portunus::mpi::collectives
