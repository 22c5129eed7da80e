// Memory that the ranks of a group map together, and the agreement on whether there is any.
//
// Rank 0 makes it and tells the others its name, which is gone as soon as all have mapped it: nothing is left in the file
// system, however a rank ends. All ranks decide alike: each step is an allgather of one record of each rank, by a schedule, or through
// slots where the group has these.
//
// Thread: one at a time per group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/client/shared_memory.hpp"
#include "engine/goal/goal_collectives.h"
#include "engine/goal/node/waiting.hpp"

namespace portunus::goal::node {

// The record by which each rank tells all others of itself.
struct Record {
  uint64_t well = 0;     // 0: this rank cannot
  uint64_t crowded = 0;  // it has too few cores
  uint64_t engine = 0;   // its engine has a core of its own
  int64_t process = 0;   // its number there; or the kind of call that it makes
  int64_t memory = 0;    // rank 0: that of the memory; or where it has the word by which its memory is probed; or bytes that it gives
  uint64_t free = 0;     // bytes of memory that its groups may still take
};

// The records of all ranks, again and again. Collective.
class Agreement {
 public:
  // Gives a record to all, and gets everybody's.
  using Through = std::function<int(const Record& mine, std::vector<Record>& all)>;
  Agreement(const GOAL_Group& group, unsigned context, const AbortPredicate& abort, Through through = {});
  ~Agreement();
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;
  // GOAL_SUCCESS: `all` holds everybody's. Else a rank has ended, GOAL_ABANDONED, or there is no room for the schedule.
  int tell(const Record& mine);
  [[nodiscard]] bool all_well() const;
  std::vector<Record> all;

 private:
  const AbortPredicate& abort_;
  GOAL_Group group_;
  unsigned context_;
  Through through_;
  Record mine_;
  GOAL_Schedule schedule_ = nullptr;
  unsigned runs_ = 0;
};

// How a group stands with memory of one kind: `none` and `failed` are for good.
struct Standing {
  enum State : uint8_t { early, here, none, failed };
  uint32_t tag;        // of the agreement about it
  unsigned calls = 0;  // that would have used it, while early
  State state = early;
};

class SharedMemory {
 public:
  // `each` zeroed bytes (a multiple of 64) of each rank, if all of them `may`, and `later` ones behind. Collective. GOAL_SUCCESS: made()
  // says whether there is memory; else as Agreement::tell.
  int make(Agreement& agreement, const GOAL_Group& group, size_t each, bool may, size_t later = 0);
  // As client::SharedMemory::reserve.
  bool reserve(const std::byte* from, size_t bytes) const { return memory_.reserve(from, bytes); }
  // Instead: such memory lies at `start` in memory that another object has made, on all ranks.
  void lie_at(std::byte* start, size_t each) {
    start_ = start;
    each_ = each;
  }
  [[nodiscard]] bool made() const { return start_ != nullptr; }
  [[nodiscard]] std::byte* part(size_t rank) const { return start_ + rank * each_; }

 private:
  client::SharedMemory memory_{"goal", client::SharedMemory::Pages::reserved};
  std::byte* start_ = nullptr;
  size_t each_ = 0;
};

}  // namespace portunus::goal::node
