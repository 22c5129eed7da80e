// order.hpp: accumulates that do not keep their order by themselves, and waiting for them.
//
// Portals carries out atomics on one target in the order of the calls up to a number of bytes (PTL_WAW order); shorter ones may overtake
// longer ones. MPI wants the order kept on each place. So each long one is remembered with the range that it changes, and an accumulate on
// some of it waits until it is complete at the target.
//
// Thread: any, locked. Cost: a load while nothing long is pending. Source: MPI-5.0, 12.7.2; Portals 4.3, 3.1 (ordering).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace portunus::mpi::rma {

class LongAccumulates {
 public:
  // Notes that bytes begin .. end - 1 of a target's memory are changed out of order from now on.
  void add(int target, int64_t begin, int64_t end) {
    std::lock_guard lock(mutex_);
    if (!all_.empty() && all_.back().target == target && all_.back().end == begin) all_.back().end = end;
    else all_.push_back({target, begin, end});
    any_.store(true, std::memory_order_relaxed);  // read by this thread, or by one that it has synchronized with
  }
  // Tells whether one of them is pending there. `none()`: everything that was issued in the window is complete; a counter does not tell
  // more.
  template <class None>
  bool overlap(int target, int64_t begin, int64_t end, None&& none) {
    if (!any_.load(std::memory_order_relaxed)) return false;
    std::lock_guard lock(mutex_);
    if (none()) all_.clear();
    any_.store(!all_.empty(), std::memory_order_relaxed);
    for (const One& one : all_)
      if (one.target == target && one.begin < end && begin < one.end) return true;
    return false;
  }

 private:
  struct One {
    int target;
    int64_t begin, end;
  };

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<One> all_;
};

}  // namespace portunus::mpi::rma
