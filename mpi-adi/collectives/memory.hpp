// memory.hpp: the memory that a schedule of its own works on: the user's, or what is packed.
//
// Thread: one at a time per object. Invariants: it is bound to one work.
#pragma once

#include <memory>

#include "mpi-adi/collectives/work.hpp"

namespace portunus::mpi::collectives {

class Memory {
 public:
  explicit Memory(const Work& work) {
    if (!work.out_is_direct) out_.reset(new std::byte[work.out_bytes + 1]);
    if (!work.in_is_out && !input_is_direct(work)) in_.reset(new std::byte[work.in_bytes + 1]);
  }
  GOAL_Buffer in(const Work& work) const {
    if (work.in_is_out) return out(work);
    if (in_) return GOAL_User(in_.get());
    return work.in_place ? GOAL_InPlace() : GOAL_User(work.user_in);
  }
  GOAL_Buffer out(const Work& work) const { return GOAL_User(out_ ? out_.get() : work.user_out); }
  void fill(const Work& work) const {
    if (std::byte* packed = work.in_is_out ? out_.get() : in_.get()) work.fill(packed);
  }
  void drain(const Work& work) const { work.drain(out_ ? out_.get() : work.user_out); }

 private:
  static bool input_is_direct(const Work& work) { return work.in_is_direct && (!work.in_place || work.out_is_direct); }

  std::unique_ptr<std::byte[]> in_, out_;
};

}  // namespace portunus::mpi::collectives
