// Dependencies between operations, found from the memory that operations read and write.
//
// Operations are told in the order of a sequential program. Each one must wait for the last writer of what it reads or
// writes, and for those who have read since what it writes; nothing else.
//
// Thread: any; pure.
// Invariants: ranges are disjoint; the readers of one all came after its writer.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/goal/schedules/plan.hpp"

namespace portunus::goal::collectives {

class DataFlow {
 public:
  using Op = uint32_t;
  static constexpr Op kNobody = 0xffffffff;

  // `op` reads or writes the range; calls wait_for(other) for each operation that must have ended before, maybe twice.
  // Cost: O(log n) in the ranges, and the readers of a range that is written.
  template <class WaitFor>
  void read(Op op, const Memory& from, uint64_t bytes, WaitFor&& wait_for) {
    each_range(from, bytes, [&](Range& range) {
      if (range.writer != kNobody && range.writer != op) wait_for(range.writer);
      range.readers.push_back(op);
    });
  }
  template <class WaitFor>
  void write(Op op, const Memory& to, uint64_t bytes, WaitFor&& wait_for) {
    each_range(to, bytes, [&](Range& range) {
      if (range.readers.empty() && range.writer != kNobody && range.writer != op) wait_for(range.writer);
      for (const Op reader : range.readers) {
        if (reader != op) wait_for(reader);
      }
      range.writer = op;
      range.readers.clear();
    });
  }

 private:
  struct Range {
    uint64_t end = 0;
    Op writer = kNobody;
    std::vector<Op> readers{};
  };
  using Ranges = std::map<uint64_t, Range>;  // by their first byte

  // Visits the ranges that make up the memory, after cutting those that reach out of it and filling the gaps.
  template <class Visit>
  void each_range(const Memory& memory, uint64_t bytes, Visit&& visit) {
    Ranges& ranges = ranges_[{memory.space, memory.number}];
    const uint64_t end = memory.place + bytes;
    cut(ranges, memory.place);
    cut(ranges, end);
    auto range = ranges.lower_bound(memory.place);
    for (uint64_t at = memory.place; at < end; at = range->second.end, ++range) {
      if (range == ranges.end() || range->first > at) {
        const uint64_t next = range == ranges.end() || range->first > end ? end : range->first;
        range = ranges.emplace_hint(range, at, Range{.end = next});
      }
      visit(range->second);
    }
  }
  static void cut(Ranges& ranges, uint64_t at) {
    auto range = ranges.lower_bound(at);
    if (range == ranges.begin()) return;
    --range;
    if (range->second.end <= at) return;
    Range rest = range->second;
    range->second.end = at;
    ranges.emplace(at, std::move(rest));
  }

  std::map<std::pair<Space, uint32_t>, Ranges> ranges_;  // by kind of memory and number of the argument
};

}  // namespace portunus::goal::collectives
