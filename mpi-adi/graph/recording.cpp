// recording.cpp: see recording.hpp.
#include "mpi-adi/graph/recording.hpp"

#include <algorithm>

namespace portunus::mpi::graph {
namespace {

template <class T>
const T* kept(std::vector<T>& copy, const T* given, size_t ranks) {
  if (given == nullptr) return nullptr;
  copy.assign(given, given + ranks);
  return copy.data();
}

}  // namespace

Collective::Collective(const GOAL_Call& given, size_t ranks, const Key& its_key) : call(given), key(its_key) {
  call.counts = kept(counts, given.counts, ranks);
  call.in_sizes = kept(in_sizes, given.in_sizes, ranks);
  call.out_sizes = kept(out_sizes, given.out_sizes, ranks);
  call.in_places = kept(in_places, given.in_places, ranks);
  call.out_places = kept(out_places, given.out_places, ranks);
}

void Recording::accesses(const AccessedRank& target) {
  if (std::ranges::find(accessed_, target) == accessed_.end()) accessed_.push_back(target);
}

}  // namespace portunus::mpi::graph
