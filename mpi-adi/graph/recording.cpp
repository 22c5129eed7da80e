// recording.cpp: see recording.hpp.
#include "mpi-adi/graph/recording.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

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

NodeId Recording::push(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId Recording::frontier() {
  if (frontier_.empty()) return kNothing;
  if (frontier_.size() > 1) {
    Node join;
    join.after = frontier_;
    frontier_ = {push(std::move(join))};
  }
  return frontier_.front();
}

NodeId Recording::add(Node node) {
  node.base = frontier();
  if (node.base != kNothing) node.after.push_back(node.base);
  return push(std::move(node));
}

NodeId Recording::add_behind(NodeId before, Node node) {
  assert(before < nodes_.size());
  node.base = nodes_[before].base;
  node.after = {before};
  return push(std::move(node));
}

void Recording::wait_for(std::span<const NodeId> ends) {
  if (ends.empty()) return;
  std::vector<NodeId> all(ends.begin(), ends.end());
  for (const NodeId old : frontier_)
    if (std::ranges::none_of(ends, [&](NodeId end) { return end == old || nodes_[end].base == old; })) all.push_back(old);
  frontier_ = std::move(all);
}

void Recording::accesses(const AccessedRank& target) {
  if (std::ranges::find(accessed_, target) == accessed_.end()) accessed_.push_back(target);
}

std::byte* Recording::memory(size_t bytes) {
  memory_.push_back(std::make_unique<std::byte[]>(bytes + 1));
  return memory_.back().get();
}

}  // namespace portunus::mpi::graph
