// ccc_tree.hpp: the part of ccc.hpp that reduces: the binary tree over numbers 0 .. n - 1, whose node of width w (a power of two) at a
// multiple of w has what of w numbers from there exist. A part of the numbers is a list of nodes, few, in the order of numbers.
#ifndef CCC_TREE_HPP
#define CCC_TREE_HPP

#include <algorithm>
#include <bit>
#include <vector>

#include "ccc_array.hpp"

namespace ccc {

class Tree {
 public:
  explicit Tree(index_t n) : n_(n) {}

  // f(begin, end) for the largest nodes that lie within from .. to - 1, in order.
  template <class F>
  void nodes(index_t from, index_t to, F f) const {
    while (from < to) {
      index_t end = from + 1;
      for (index_t width = 2; from % width == 0; width *= 2) {
        const index_t more = std::min(n_, from + width);
        if (more > to) break;
        end = more;
        if (more == n_) break;
      }
      f(from, end);
      from = end;
    }
  }
  size_t most_nodes() const { return 2 * static_cast<size_t>(std::bit_width(static_cast<uint64_t>(n_))); }

  // A node's value: its halves', combined. leaf(number) has the value of one.
  template <class M, class Leaf, class F>
  static M fold(index_t begin, index_t end, const Leaf& leaf, F& op) {
    if (end - begin == 1) return leaf(begin);
    if (end - begin == 8) {
      auto four = [&](index_t i) {
        M a = leaf(i), b = leaf(i + 1), c = leaf(i + 2), d = leaf(i + 3);
        M left = op(a, b), right = op(c, d);
        return M(op(left, right));
      };
      M left = four(begin), right = four(begin + 4);
      return op(left, right);
    }
    const index_t middle = half(begin, end);
    M left = fold<M>(begin, middle, leaf, op), right = fold<M>(middle, end, leaf, op);
    return op(left, right);
  }

  // The same of nodes that are known; `next` is the first of them, and in the end the one behind the node's last.
  template <class M, class F>
  static M join(index_t begin, index_t end, const std::pair<index_t, M>*& next, F& op) {
    if (next->first == end) return (next++)->second;
    const index_t middle = half(begin, end);
    M left = join<M>(begin, middle, next, op), right = join<M>(middle, end, next, op);
    return op(left, right);
  }

 private:
  static index_t half(index_t begin, index_t end) {
    return begin + static_cast<index_t>(std::bit_floor(static_cast<uint64_t>(end - begin - 1)));
  }
  index_t n_;
};

}  // namespace ccc

#endif
