// partial_reduce.hpp: long reductions that the threads which call MPI do themselves, each a part of them.
//
// Rank i gets part i of everyone's vector and combines them in the order of the ranks; then the parts come together at the
// root, or everywhere. A rank keeps as much as one vector, and combines as much, however many ranks there are.
// Thread: as collectives. Source: MPI-5.0, 6.9.1 (order of evaluation), 6.9.5.
#pragma once

#include <memory>
#include <vector>

#include "mpi-adi/collectives/combine.hpp"
#include "mpi-adi/collectives/run.hpp"

namespace portunus::mpi::collectives {

constexpr int kAllRanks = -1;

// Sizes and places of the packed parts of a vector.
struct Parts {
  Parts(const Call& call, const Elements& vector);
  std::vector<size_t> counts;
  Pieces pieces;
};

// The first half; the second is what comes `then`.
class ReduceInParts : public Work {
 public:
  // `to` is empty where nothing comes out. `root`: or kAllRanks.
  ReduceInParts(const Call& call, const Elements& from, const Elements& to, MPI_Op op, int root);
  // Is it worthwhile, two steps instead of one? Equal on all ranks. Each gets and combines ranks - 2 vectors less.
  static bool is_for(const Call& call, const Elements& vector) {
    constexpr size_t kLeastSaved = 128 * 1024;
    const auto ranks = static_cast<size_t>(call.comm->size);
    return ranks > 2 && vector.count() >= ranks && vector.bytes() * (ranks - 2) >= kLeastSaved;
  }

  void describe(GOAL_Call& call) override { describe_exchange(call, parts_.pieces, contributions_); }
  void fill(std::byte* in) const override { from_.pack(in); }
  void drain(const std::byte* out) const override { combine(op_, out, parts_.counts.size(), share_->elements()); }

 private:
  Elements from_;
  OpHold op_;
  Parts parts_;
  Pieces contributions_;          // of all ranks to this one's part
  std::shared_ptr<Image> share_;  // what this rank combines
};

}  // namespace portunus::mpi::collectives
