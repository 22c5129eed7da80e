// in_parts.cpp: the two halves of a long reduction.
#include "mpi-adi/collectives/in_parts.hpp"

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
    waits_for_all = root == kAllRanks;
  }
  int build(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer in, GOAL_Buffer out) const override {
    if (root_ == kAllRanks) return GOAL_Allgatherv(schedule, group, in, out, parts_.sizes.data(), parts_.places.data(), nullptr);
    return GOAL_Gatherv(schedule, group, in, in_bytes, out, parts_.sizes.data(), parts_.places.data(), root_, nullptr);
  }
  bool on_node(GOAL_Node_call& call) const override {
    call.kind = root_ == kAllRanks ? GOAL_NODE_ALLGATHERV : GOAL_NODE_GATHERV;
    call.root = root_ == kAllRanks ? 0 : root_;
    call.bytes = in_bytes;
    call.out_sizes = parts_.sizes.data();
    call.out_places = parts_.places.data();
    return true;
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
    sizes.push_back(counts.back() * element);
    places.push_back(static_cast<ptrdiff_t>(first * element));
    first += counts.back();
  }
}

ReduceInParts::ReduceInParts(const Call& call, const Elements& from, const Elements& to, MPI_Op op, int root)
    : from_(from), op_(op), parts_(call, from) {
  const auto rank = static_cast<size_t>(call.comm->rank);
  const size_t own = parts_.sizes[rank];
  for (size_t i = 0; i < parts_.sizes.size(); ++i) {
    in_sizes_.push_back(own);
    in_places_.push_back(static_cast<ptrdiff_t>(i * own));
  }
  share_ = std::make_shared<Image>(from.part(0, parts_.counts[rank]));
  in_bytes = from.bytes();
  user_in = from.data();
  in_is_direct = from.contiguous();
  out_bytes = parts_.sizes.size() * own;
  waits_for_all = true;
  then = std::make_unique<Collect>(call, share_, to, parts_, root);
}

int ReduceInParts::build(GOAL_Schedule* schedule, const GOAL_Group* group, GOAL_Buffer in, GOAL_Buffer out) const {
  return GOAL_Alltoallv(schedule, group, in, parts_.sizes.data(), parts_.places.data(), out, in_sizes_.data(), in_places_.data(), nullptr);
}

}  // namespace portunus::mpi::collectives
