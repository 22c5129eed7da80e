// One collective through slots, on one rank: what it gives, whose contributions it needs, and what it takes of them.
//
// A contribution has the same length on all ranks, or each rank knows all lengths, but for GATHERV, SCATTERV and ALLTOALLV. There it is a
// table of parts, one for each rank that gets one, and those parts that fit in behind it; a part that does not is read from where it lies
// in the memory of the rank that gives it. Only those who read memory in place may make such calls.
//
//     part   | where it lies : 64 | its bytes : 64 |      from the contribution's beginning on, or PeerMemory::in_process
//
// Thread: one at a time per object.
// Invariants: begin(), then is_there() until it is, then take(), then is_released() until it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/goal/goal_call.h"
#include "engine/goal/node/peer_memory.hpp"
#include "engine/goal/node/slots.hpp"

namespace portunus::goal::node {

class SlotCall {
 public:
  // `bytes`: of the longest contribution, see fits_slots(); `what`: what all ranks must say of the call, which stays where it is. Its
  // memory is looked at in begin() and take(), and by others until is_released().
  SlotCall(const GOAL_Call& call, size_t bytes, uint64_t what, size_t rank, size_t size, uint64_t number);

  // The same call again, under another number.
  void renew(uint64_t number) {
    number_ = number;
    next_ = first_;
    lends_ = differs_ = false;
  }
  // Bytes that a rank contributes; `bytes` as above.
  static size_t contribution(const GOAL_Call& call, size_t bytes, size_t rank, size_t size);

  [[nodiscard]] uint64_t number() const { return number_; }
  [[nodiscard]] bool may_begin(Slots& slots, uint64_t taken) const { return !gives_ || slots.has_room(number_, taken); }
  void begin(Slots& slots, uint64_t taken);
  // All need what all give: the last to come makes it whole for everybody.
  [[nodiscard]] bool is_everybodys() const { return everybodys_; }
  // Whether all that this rank needs is there.
  bool is_there(const Slots& slots) {
    while (next_ < end_ &&
           (next_ == rank_ || (meets_ ? slots.has_begun(next_, number_, what_, differs_) : slots.has_posted(next_, number_))))
      ++next_;
    return next_ == end_;
  }
  // GOAL_SUCCESS; GOAL_MISMATCH: another rank's call is another one; GOAL_ERR_FAILED: a rank has ended. `others`: the memory of the group's
  // ranks.
  [[nodiscard]] int take(const Slots& slots, const PeerMemory& others) const;
  // Whether nobody needs this rank's memory any more.
  [[nodiscard]] bool is_released(const Slots& slots) const { return !lends_ || all_have_taken(slots); }

 private:
  struct Part {
    uint64_t at, bytes;
  };

  // This rank's part of another's contribution to an ALLTOALL or SCATTER, in which the part of that one itself is left out.
  [[nodiscard]] const std::byte* part_of(const Slots& slots, size_t from) const;
  // Writes the contribution, in which what this rank keeps for itself is left out.
  void give(std::byte* to, size_t room);
  void give_parts(std::byte* to, size_t room);
  [[nodiscard]] int take_parts(const Slots& slots, const PeerMemory& others) const;
  [[nodiscard]] bool all_have_taken(const Slots& slots) const;
  // The bytes of a REDUCE_SCATTER that a rank gets.
  [[nodiscard]] size_t scattered_to(size_t rank) const;
  // Those that the ranks before this one get.
  [[nodiscard]] size_t scattered_before() const;

  const GOAL_Call& call_;
  size_t bytes_, rank_, size_;
  uint64_t number_, what_;
  size_t given_;                           // bytes of each rank's contribution, at most; 0 where not all ranks know them
  size_t first_ = 0, end_ = 0, next_ = 0;  // of the ranks whose contributions this one needs
  bool gives_ = true, is_read_ = true, meets_ = false, everybodys_ = false, lends_ = false, differs_ = false;
};

}  // namespace portunus::goal::node
