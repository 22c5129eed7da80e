// The order in which ranks held locks, by the times at which ranks took it and gave it back.
//
// Thread: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace portunus::goalc {

class Locks {
 public:
  // In the order of each rank's records.
  void taken(uint32_t rank, uint64_t lock, uint64_t time_ns) { events_[lock].push_back({time_ns, rank, counts_[rank].taken++, true}); }
  void given_back(uint32_t rank, uint64_t lock, uint64_t time_ns) {
    events_[lock].push_back({time_ns, rank, counts_[rank].given++, false});
  }
  void resolve();

  // The rank that had the next lock that `rank` takes before it, and the one that has the next that it gives back after it; -1: nobody, or
  // the rank itself. In the order of the rank's records.
  int before(uint32_t rank) { return take(befores_[rank], asked_[rank].taken); }
  int next(uint32_t rank) { return take(nexts_[rank], asked_[rank].given); }

 private:
  struct Event {
    uint64_t time_ns = 0;
    uint32_t rank = 0;
    size_t index = 0;
    bool taken = false;
  };
  struct Counts {
    size_t taken = 0, given = 0;
  };
  static int take(const std::vector<int>& of, size_t& index) { return index < of.size() ? of[index++] : -1; }

  std::map<uint64_t, std::vector<Event>> events_;
  std::map<uint32_t, Counts> counts_, asked_;
  std::map<uint32_t, std::vector<int>> befores_, nexts_;
};

}  // namespace portunus::goalc
