// tree.hpp: who passes a stream's versions on to whom, of those that do not share the writer's node.
//
// Position 0 is the writer. A few readers hang on the writer itself; more form a binomial tree, whose inner nodes forward by triggered
// puts. A *branch* is what hangs on one child of the writer: where one of it dies, no versions go there any more.
//
// Thread: any; pure.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

namespace portunus::views {

class Tree {
 public:
  static constexpr size_t kMostDirect = 4;

  Tree() = default;
  explicit Tree(std::vector<int> processes) : processes_(std::move(processes)) {}

  size_t size() const { return processes_.size(); }
  int process(size_t position) const { return processes_[position]; }
  // 0 is the writer's; size(): it is not in the tree.
  size_t position(int process) const {
    size_t at = 0;
    while (at < processes_.size() && processes_[at] != process) ++at;
    return at;
  }
  size_t parent(size_t position) const { return direct() ? 0 : position & (position - 1); }
  std::vector<size_t> children(size_t position) const {
    std::vector<size_t> all;
    for (size_t i = position + 1; i < size(); ++i)
      if (parent(i) == position) all.push_back(i);
    return all;
  }
  // All positions of the branch that a reader belongs to.
  std::vector<size_t> branch(size_t position) const {
    std::vector<size_t> all;
    for (size_t i = 1; i < size(); ++i)
      if (top(i) == top(position)) all.push_back(i);
    return all;
  }

 private:
  bool direct() const { return size() <= kMostDirect + 1; }
  size_t top(size_t position) const { return direct() ? position : std::bit_floor(position); }
  std::vector<int> processes_;
};

}  // namespace portunus::views
