// partial_reduce.cpp: the two halves of a long reduction.
#include "mpi-adi/collectives/partial_reduce.hpp"

namespace portunus::mpi::collectives {
namespace {

// The combined parts come together at the root, or everywhere.
class Collect : public Work {
 public:
  Collect(const Call& call, std::shared_ptr<Image> share, const Elements& to, const Parts& parts, int root)
      : share_(std::move(share)), to_(to), parts_(parts), root_(root) {
    const Elements& mine = share_->elements();
    in_bytes = mine.bytes();
    user_in = mine.data();
    in_is_direct = mine.contiguous();
    out_bytes = to.bytes();
    user_out = to.data();
    out_is_direct = to.contiguous();
    gets_ = root == kAllRanks || root == call.comm->rank;
  }
  void describe(GOAL_Call& call) override {
    call.kind = root_ == kAllRanks ? GOAL_CALL_ALLGATHERV : GOAL_CALL_GATHERV;
    call.root = root_ == kAllRanks ? 0 : root_;
    call.bytes = in_bytes;
    call.out_sizes = parts_.pieces.sizes.data();
    call.out_places = parts_.pieces.places.data();
  }
  void fill(std::byte* in) const override { share_->elements().pack(in); }
  void drain(const std::byte* out) const override {
    if (gets_ && (!out_is_direct || out != user_out)) to_.unpack(out);
  }

 private:
  std::shared_ptr<Image> share_;
  Elements to_;
  Parts parts_;
  int root_;
  bool gets_;
};

}  // namespace

Parts::Parts(const Call& call, const Elements& vector) {
  const auto ranks = static_cast<size_t>(call.comm->size);
  const size_t element = vector.bytes() / vector.count();
  size_t first = 0;
  for (size_t i = 0; i < ranks; ++i) {
    counts.push_back(vector.count() / ranks + (i < vector.count() % ranks ? 1 : 0));
    pieces.add(counts.back() * element, static_cast<ptrdiff_t>(first * element));
    first += counts.back();
  }
}

ReduceInParts::ReduceInParts(const Call& call, const Elements& from, const Elements& to, MPI_Op op, int root)
    : from_(from), op_(op), parts_(call, from) {
  const auto rank = static_cast<size_t>(call.comm->rank);
  const size_t own = parts_.pieces.sizes[rank], ranks = parts_.counts.size();
  for (size_t i = 0; i < ranks; ++i) contributions_.add(own, static_cast<ptrdiff_t>(i * own));
  share_ = std::make_shared<Image>(from.part(0, parts_.counts[rank]));
  key.kind = GOAL_CALL_ALLTOALLV;
  in_bytes = from.bytes();
  user_in = from.data();
  in_is_direct = from.contiguous();
  out_bytes = ranks * own;
  then = std::make_unique<Collect>(call, share_, to, parts_, root);
}

}  // namespace portunus::mpi::collectives
