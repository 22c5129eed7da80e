// store_buffers.hpp: the memory of x86. A store waits in its thread's queue and reaches memory later; loads see the own
// queue first; updates (read-modify-write), fences and system calls wait until the queue is empty.
//
// Thread: one. Invariants: a model is a value.
// Source: Sewell et al., x86-TSO: a rigorous and usable programmer's model for x86 multiprocessors (2010).
#pragma once

#include "tests/support/simulated_operation.hpp"

namespace portunus::interleave {

class StoreBuffers {
 public:
  StoreBuffers(const std::vector<uint32_t>& initial, size_t threads) : values_(initial), queues_(threads) {}

  std::vector<Outcome<StoreBuffers>> apply(size_t thread, const Op& op) const {
    if (op.kind == Kind::load || op.kind == Kind::await) {
      const uint32_t value = seen(thread, op.where);
      if (op.kind == Kind::await && value != op.expected) return {};
      return {{*this, value}};
    }
    StoreBuffers after = *this;
    if (op.kind == Kind::store) {
      after.queues_[thread].push_back({op.where, op.value});
      return {{after}};
    }
    if (!queues_[thread].empty()) return {};  // a flush comes first
    if (op.kind == Kind::fence_all)
      for (const auto& queue : queues_)
        if (!queue.empty()) return {};
    const uint32_t old = values_[op.where];
    if (op.update() && op.changes(old)) after.values_[op.where] = op.updated(old);
    return {{after, old}};
  }
  bool waiting(size_t thread) const { return !queues_[thread].empty(); }
  // The oldest store of the thread reaches memory.
  void flush(size_t thread) {
    auto& queue = queues_[thread];
    values_[queue.front().where] = queue.front().value;
    queue.erase(queue.begin());
  }
  void forget(size_t) {}
  void compact() {}
  // Can others neither see nor disturb the operation? `alone`: nobody else uses its location at this time. A store may come before or
  // behind a fence that another thread has everybody execute.
  bool private_to(size_t thread, const Op& op, bool alone) const {
    return (op.kind == Kind::store && alone) || (op.kind == Kind::fence && queues_[thread].empty()) || (op.kind == Kind::load && alone);
  }
  void collect(uint8_t where, Numbering& numbers) const { numbers.add(values_[where]); }  // such words are not stored to
  uint32_t newest(uint8_t where) const { return values_[where]; }
  void describe(std::string& key, const std::vector<Numbering>& numbers) const {
    for (size_t i = 0; i < values_.size(); ++i) put(key, numbers[i].of(values_[i]));
    for (const auto& queue : queues_) {
      put(key, static_cast<uint32_t>(queue.size()));
      for (const Waiting& entry : queue) put(key, entry.where), put(key, entry.value);
    }
  }

 private:
  struct Waiting {
    uint8_t where;
    uint32_t value;
  };
  uint32_t seen(size_t thread, uint8_t where) const {
    const auto& queue = queues_[thread];
    for (auto entry = queue.rbegin(); entry != queue.rend(); ++entry)
      if (entry->where == where) return entry->value;
    return values_[where];
  }

  std::vector<uint32_t> values_;
  std::vector<std::vector<Waiting>> queues_;
};

}  // namespace portunus::interleave
