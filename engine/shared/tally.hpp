// tally.hpp: how much of a limit is in use.
//
// Thread: any, for `take` and `give`; those named `held` are the baton holder's and take no locked instruction. Invariants: as long
// as one thread takes at a time the limit is met exactly; a holder and others who take the last units at once may pass it by one each.
#pragma once

#include <atomic>

namespace portunus {

class Tally {
 public:
  // One unit more; false when `limit` are in use.
  bool take(int limit) {
    if (others_.fetch_add(1, std::memory_order_relaxed) + holders_.load(std::memory_order_relaxed) < limit) return true;
    others_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  bool take_held(int limit) {
    if (load() >= limit) return false;
    add_held(1);
    return true;
  }
  void give() { others_.fetch_sub(1, std::memory_order_relaxed); }
  void give_held() { add_held(-1); }
  int load() const { return others_.load(std::memory_order_relaxed) + holders_.load(std::memory_order_relaxed); }
  void reset() {
    others_.store(0, std::memory_order_relaxed);
    holders_.store(0, std::memory_order_relaxed);
  }

 private:
  void add_held(int units) { holders_.store(holders_.load(std::memory_order_relaxed) + units, std::memory_order_relaxed); }

  std::atomic<int> others_{0};
  std::atomic<int> holders_{0};  // what holders took less what they gave back, also for others: may be negative
};

}  // namespace portunus
