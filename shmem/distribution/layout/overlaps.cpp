// overlaps.cpp: lists for all targets, and sums over all pairs.
#include "shmem/distribution/layout/overlaps.hpp"

#include <algorithm>
#include <unordered_map>

namespace portunus::distribution {

Move strides_of_move(const ccc_layout& from, const ccc_layout& to, const std::array<int, CCC_MOST_AXES>& order, int64_t size) {
  Move move;
  move.axes = from.axes;
  move.size = size;
  const Coordinates from_strides = strides_of(from), to_strides = strides_of(to);
  for (size_t d = 0; d < static_cast<size_t>(from.axes); ++d) {
    move.from_stride[d] = from_strides[d] * size;
    move.to_stride[d] = to_strides[static_cast<size_t>(order[d])] * size;
  }
  return move;
}

Overlaps::Overlaps(const ccc_layout& from, const ccc_layout& to, const std::array<int, CCC_MOST_AXES>& order, size_t size)
    : from_(from), to_(to), order_(order), size_(static_cast<int64_t>(size)) {
  for (size_t d = 0; d < static_cast<size_t>(from.axes); ++d)
    for (int64_t t = 0; t < processors(from.axis[d]); ++t)
      lists_[d].push_back(list_pieces(from.axis[d], to.axis[order[d]], Side::kFrom, t));
}

Move Overlaps::move(int64_t i, int64_t j) const {
  Move move = strides_of_move(from_, to_, order_, size_);
  const Coordinates here = coordinates_of(from_, i), there = coordinates_of(to_, j);
  for (size_t d = 0; d < static_cast<size_t>(from_.axes); ++d)
    move.lists[d] = &lists_[d][static_cast<size_t>(here[d])][static_cast<size_t>(there[static_cast<size_t>(order_[d])])];
  return move;
}

ccc_cost cost_of(const ccc_layout& from, const ccc_layout& to, const std::array<int, CCC_MOST_AXES>& order, size_t size) {
  const Overlaps overlaps(from, to, order, size);
  ccc_cost cost{};
  std::unordered_map<int, int64_t> of_pe;
  for (int64_t i = 0; i < targets_of(from); ++i)
    for (int64_t j = 0; j < targets_of(to); ++j) {
      const int source = pe_of(from, i), sink = pe_of(to, j);
      const Move move = overlaps.move(i, j);
      if (source == sink || move.empty()) continue;
      ++cost.messages;
      cost.bytes += move.bytes();
      cost.pieces += move.pieces();
      of_pe[source] += move.bytes();
      of_pe[sink] += move.bytes();
    }
  for (const auto& [pe, bytes] : of_pe) cost.most_bytes_of_a_pe = std::max(cost.most_bytes_of_a_pe, bytes);
  return cost;
}

}  // namespace portunus::distribution
