// One collective through slots, on one rank: what it gives, whose contributions it needs, and what it takes of them.
//
// Thread: one at a time per object.
// Invariants: begin(), then is_there() until it is, then take().
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/goal/goal_call.h"
#include "engine/goal/node/slots.hpp"

namespace portunus::goal::node {

class SlotCall {
 public:
  // `bytes`: of a rank's part or vector; `what`: what all ranks must say of the call, which stays where it is. Its memory is looked at in
  // begin() and take() only.
  SlotCall(const GOAL_Call& call, size_t bytes, uint64_t what, size_t rank, size_t size, uint64_t number);

  [[nodiscard]] uint64_t number() const { return number_; }
  [[nodiscard]] bool may_begin(Slots& slots, uint64_t taken) const { return !gives_ || slots.has_room(number_, taken); }
  void begin(Slots& slots, uint64_t taken) const;
  // All need what all give: the last to come makes it whole for everybody.
  [[nodiscard]] bool is_everybodys() const { return everybodys_; }
  // Whether all that this rank needs is there.
  bool is_there(const Slots& slots) {
    while (next_ < end_ && (next_ == rank_ || (meets_ ? slots.has_begun(next_, number_) : slots.has_posted(next_, number_)))) ++next_;
    return next_ == end_;
  }
  // False: another rank's call is another one; nothing was taken.
  bool take(const Slots& slots) const;

 private:
  const GOAL_Call& call_;
  size_t bytes_, rank_, size_;
  uint64_t number_, what_;
  size_t first_ = 0, end_ = 0, next_ = 0;  // of the ranks whose contributions this one needs
  bool gives_ = true, meets_ = false, everybodys_ = false;
};

}  // namespace portunus::goal::node
