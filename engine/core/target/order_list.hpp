// An intrusive doubly-linked list in order of appending.
//
// Thread: whoever holds the baton; no synchronisation inside.
// Invariants: a node is in at most one OrderList; it is owned by the caller and does not move while linked.
// Node grants access to `Links<Node>& order_links()`.
#pragma once

#include <cassert>

namespace portunus {

template <class Node>
struct Links {
  Node* prev = nullptr;
  Node* next = nullptr;
};

template <class Node>
class OrderList {
 public:
  Node* first() const { return first_; }
  static Node* next(Node& node) { return node.order_links().next; }

  void push_back(Node& node) {
    assert((first_ == nullptr) == (last_ == nullptr) && (!last_ || !last_->order_links().next));
    node.order_links() = {last_, nullptr};
    (last_ ? last_->order_links().next : first_) = &node;
    last_ = &node;
  }

  void remove(Node& node) {
    const Links<Node> links = node.order_links();
    assert(links.prev ? links.prev->order_links().next == &node : first_ == &node);
    assert(links.next ? links.next->order_links().prev == &node : last_ == &node);
    (links.prev ? links.prev->order_links().next : first_) = links.next;
    (links.next ? links.next->order_links().prev : last_) = links.prev;
    node.order_links() = {};
  }

 private:
  friend struct Inside;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

}  // namespace portunus
