// recording.hpp: the operations of a captured graph on this process, and what each waits for.
//
// Edges come from program order: an operation depends on what had been waited for when it was recorded, and on nothing else.
//
// Thread: one at a time per object. Invariant: a node waits only for nodes that were recorded before it.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace portunus::client {

using NodeId = uint32_t;
constexpr NodeId kNothing = UINT32_MAX;

// Node has `std::vector<NodeId> after`, and `NodeId base`: what had been waited for. One that is made without values ends when all that it
// is behind has ended.
template <class Node>
class Recording {
 public:
  // Behind all that has been waited for, and what the node is behind already.
  NodeId add(Node node) {
    node.base = frontier();
    if (node.base != kNothing) node.after.push_back(node.base);
    return push(std::move(node));
  }
  // Behind one node alone.
  NodeId add_behind(NodeId before, Node node) {
    assert(before < nodes_.size());
    node.base = nodes_[before].base;
    node.after = {before};
    return push(std::move(node));
  }
  // Nodes that are added from now on come behind these.
  void wait_for(std::span<const NodeId> ends) {
    if (ends.empty()) return;
    std::vector<NodeId> all(ends.begin(), ends.end());
    for (const NodeId old : frontier_)
      if (std::ranges::none_of(ends, [&](NodeId end) { return end == old || nodes_[end].base == old; })) all.push_back(old);
    frontier_ = std::move(all);
  }
  // Memory that lives as long as the graph.
  std::byte* memory(size_t bytes) {
    memory_.push_back(std::make_unique<std::byte[]>(bytes + 1));
    return memory_.back().get();
  }
  void clear() { nodes_.clear(); }

  std::deque<Node>& nodes() { return nodes_; }
  const std::deque<Node>& nodes() const { return nodes_; }

 private:
  NodeId push(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<NodeId>(nodes_.size() - 1);
  }
  // One node that ends when all have that were waited for.
  NodeId frontier() {
    if (frontier_.empty()) return kNothing;
    if (frontier_.size() > 1) {
      Node join;
      join.after = frontier_;
      frontier_ = {push(std::move(join))};
    }
    return frontier_.front();
  }

  std::deque<Node> nodes_;
  std::vector<NodeId> frontier_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace portunus::client
